/*
 * Tests of daemon/redis/replicas: who belongs to a group, who of it has to acknowledge, how it changes, and
 * what is said when too few acknowledge. No I/O: the answers of the master are made here.
 */
#include "daemon/redis/replicas.h"
#include "tests/support/suite.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

/* ---- a master ---- */

/* What a master stores, and which replicas it has: "b", "c 90" for one that has come so far, else all; all
 * names are addresses at port 1. */
struct stage {
	struct replicas r;
	char members[200], joining[200];
	const char *replid;
	int offset;
};

static void
begin(struct stage *s, const char *self, unsigned count, const char *named)
{
	struct replicas_found found = {.count = count};

	*s = (struct stage){.r.watched = true, .replid = "aaaa", .offset = 100};
	snprintf(found.self, sizeof found.self, "%s", self);
	roster_read(&found.named, slice_of(named));
	replicas_find(&s->r, &found, true);
}

static struct redisReply
text_reply(char *text)
{
	return (struct redisReply){.type = REDIS_REPLY_STRING, .str = text, .len = strlen(text)};
}

static void
info_of(const struct stage *s, const char *replicas, char *out, size_t size)
{
	char copy[300], *rest = NULL;
	size_t n = 0;
	int i = 0;

	snprintf(copy, sizeof copy, "%s", replicas);
	for (const char *at = copy; *at; at++)
		i += *at == ';';
	n += (size_t)snprintf(out, size, "# Replication\r\nrole:master\r\nconnected_slaves:%d\r\n", i);
	i = 0;
	for (char *one = strtok_r(copy, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
		int offset = s->offset;
		char name[60];

		if (sscanf(one, "%59s %d", name, &offset) < 1)
			continue;
		n += (size_t)snprintf(out + n, size - n,
			"slave%d:ip=%.*s,port=1,state=online,offset=%d,lag=0\r\n", i++,
			(int)strcspn(name, ":"), name, offset);
	}
	snprintf(out + n, size - n, "master_replid:%s\r\nmaster_repl_offset:%d\r\n", s->replid, s->offset);
}

static void
round_begin(struct stage *s, struct replicas_round *round)
{
	struct redisReply fields[2] = {text_reply(s->members), text_reply(s->joining)};
	struct redisReply *elements[2] = {&fields[0], &fields[1]};
	struct redisReply group = {.type = REDIS_REPLY_ARRAY, .elements = 2, .element = elements};
	char text[2000];
	struct redisReply info;

	for (int i = 0; i < 2; i++)
		if (fields[i].len == 0)
			fields[i].type = REDIS_REPLY_NIL;
	info_of(s, "", text, sizeof text);
	info = text_reply(text);
	replicas_read_group(round, &group);
	replicas_read_target(round, &info);
}

/* A round of these replicas; what it asks the master to store is stored. */
static enum replicas_worth
judge(struct stage *s, const char *replicas)
{
	unsigned asked = replicas_ask(&s->r);
	struct replicas_round round;
	enum replicas_worth worth;
	char text[2000];
	struct redisReply info;

	round_begin(s, &round);
	round.acknowledged = 0; /* of WAIT, as if it had been in vain: who has come so far, INFO says */
	info_of(s, replicas, text, sizeof text);
	info = text_reply(text);
	worth = replicas_judge(&s->r, &round, asked, &info);
	if (s->r.change.due) {
		const struct replicas_change *c = &s->r.change;

		snprintf(s->members, sizeof s->members, "%.*s", SLICE_ARG(roster_text(&c->next_members)));
		snprintf(s->joining, sizeof s->joining, "%.*s", SLICE_ARG(roster_text(&c->next_joining)));
	}
	s->offset += 10;
	return worth;
}

/* ---- rounds ---- */

START_TEST(a_majority_of_the_group_is_the_master_and_so_many_more)
{
	static const unsigned needed[] = {0, 1, 1, 2, 2, 3, 3};
	static const char names[] = "b:1 c:1 d:1 e:1 f:1 g:1";

	for (unsigned n = 0; n < sizeof needed / sizeof *needed; n++) {
		char some[30];
		struct stage s;

		snprintf(some, sizeof some, "%.*s", (int)n * 4, names);
		begin(&s, "a:1", n, some);
		ck_assert_uint_eq(s.r.known, n);
		ck_assert_uint_eq(s.r.needed, needed[n]);
		ck_assert_uint_eq(replicas_ask(&s.r), needed[n]);
		/* Two of such majorities have a server in common. */
		ck_assert_uint_gt(2 * (1 + needed[n]), 1 + n);
	}
}
END_TEST

/* What is stored, who is the master, who has acknowledged, and what that is worth. */
START_TEST(the_stored_group_says_who_counts)
{
	static const struct {
		const char *members, *joining, *self, *replicas;
		bool enough;
	} cases[] = {
		{"a:1 b:1 c:1", "", "a:1", "b;", true},
		{"a:1 b:1 c:1", "", "a:1", "", false},
		/* One that is behind has not acknowledged. */
		{"a:1 b:1 c:1", "", "a:1", "b 50;", false},
		{"a:1 b:1 c:1", "", "a:1", "b 50;c;", true},
		/* After a failover: new replicas, however many, do not stand for those before. */
		{"a:1 b:1 c:1", "", "c:1", "x;y;", false},
		{"a:1 b:1 c:1", "", "c:1", "x;y;z;u;v;", false},
		{"a:1 b:1 c:1", "", "c:1", "x;y;b;", true},
		{"a:1 b:1 c:1", "", "c:1", "x;y;b 50;", false},
		{"a:1 b:1 c:1", "", "c:1", "a;", true},
		/* A master that is no member needs a majority of the members. */
		{"a:1 b:1 c:1", "", "x:1", "b;", false},
		{"a:1 b:1 c:1", "", "x:1", "b;c;", true},
		/* The master before needs this one, and does not have it. */
		{"a:1 b:1", "", "b:1", "x;y;", true},
		{"a:1 b:1", "", "a:1", "x;y;", false},
		{"a:1 b:1 c:1 d:1", "", "b:1", "c;", true},
		{"a:1 b:1 c:1 d:1", "", "b:1", "a;", false},
		{"a:1 b:1 c:1 d:1", "", "b:1", "a;d;", true},
		{"a:1 b:1 c:1 d:1", "", "a:1", "c;", false},
		{"a:1 b:1", "b:1 a:1", "b:1", "", false},
		{"a:1", "", "b:1", "x;y;", false},
		{"a:1", "", "b:1", "a;", true},
		/* While members join, both groups have to have it. */
		{"a:1 b:1 c:1", "a:1 b:1 c:1 x:1 y:1", "a:1", "b;", false},
		{"a:1 b:1 c:1", "a:1 b:1 c:1 x:1 y:1", "a:1", "x;y;", false},
		{"a:1 b:1 c:1", "a:1 b:1 c:1 x:1 y:1", "a:1", "b;x;", true},
		{"a:1 b:1 c:1", "a:1 b:1 c:1 x:1 y:1", "c:1", "x;y;", false},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct stage s;

		begin(&s, cases[i].self, 0, "");
		snprintf(s.members, sizeof s.members, "%s", cases[i].members);
		snprintf(s.joining, sizeof s.joining, "%s", cases[i].joining);
		ck_assert_msg(
			(judge(&s, cases[i].replicas) == REPLICAS_ENOUGH) == cases[i].enough, "case %zu", i);
		ck_assert(s.r.missing == !cases[i].enough);
	}
}
END_TEST

START_TEST(the_first_group_is_what_is_in_view)
{
	struct stage s;

	/* A sentinel without memory knows none of those that are connected. */
	begin(&s, "a:1", 0, "");
	ck_assert_int_ne(judge(&s, "b 50;c 50;"), REPLICAS_ENOUGH);
	ck_assert_str_eq(s.members, "");
	ck_assert_int_eq(judge(&s, "b;c 50;"), REPLICAS_ENOUGH);
	ck_assert_str_eq(s.members, "a:1 b:1 c:1");
	/* Some that are down, and one that is counted without a name: then nothing can be stored. */
	begin(&s, "a:1", 4, "b:1 c:1");
	ck_assert_int_eq(judge(&s, "b;"), REPLICAS_TOO_FEW);
	ck_assert_uint_eq(s.r.known, 4);
	ck_assert_int_eq(judge(&s, "b;c;"), REPLICAS_ENOUGH);
	ck_assert_str_eq(s.members, "");
}
END_TEST

START_TEST(a_group_changes_when_all_of_it_follow)
{
	struct stage s;

	begin(&s, "a:1", 0, "");
	judge(&s, "b;c;");
	ck_assert_str_eq(s.members, "a:1 b:1 c:1");
	/* One of those before is away. */
	judge(&s, "b;x;");
	judge(&s, "b;x;");
	ck_assert_str_eq(s.joining, "");
	/* Or the new one is behind. */
	judge(&s, "b;c;x 50;");
	ck_assert_str_eq(s.joining, "");
	judge(&s, "b;c;x;");
	ck_assert_str_eq(s.members, "a:1 b:1 c:1");
	ck_assert_str_eq(s.joining, "a:1 b:1 c:1 x:1");
	/* Nobody who does not know that may be left. */
	judge(&s, "b;x;c 100;");
	ck_assert_str_eq(s.members, "a:1 b:1 c:1");
	judge(&s, "b;x;c;");
	ck_assert_str_eq(s.members, "a:1 b:1 c:1 x:1");
	ck_assert_str_eq(s.joining, "");
	/* One that leaves stays a member, even if everybody else has forgotten it. */
	judge(&s, "b;c;");
	judge(&s, "b;c;");
	ck_assert_str_eq(s.members, "a:1 b:1 c:1 x:1");
}
END_TEST

START_TEST(what_another_stream_had_settles_nothing)
{
	struct stage s;

	begin(&s, "a:1", 0, "");
	snprintf(s.members, sizeof s.members, "a:1 b:1");
	snprintf(s.joining, sizeof s.joining, "a:1 b:1 x:1");
	judge(&s, "b;x 50;");
	ck_assert_str_ne(s.joining, "");
	s.replid = "bbbb";
	s.offset = 5000;
	judge(&s, "b;x 4000;"); /* beyond what settled it in the stream before */
	ck_assert_str_ne(s.joining, "");
	judge(&s, "b;x;");
	ck_assert_str_eq(s.members, "a:1 b:1 x:1");
}
END_TEST

START_TEST(what_a_master_has_forgotten_its_daemons_remember)
{
	struct stage s;

	begin(&s, "a:1", 0, "");
	judge(&s, "b;c;");
	judge(&s, "b;c;");
	s.members[0] = '\0';
	s.replid = "bbbb";
	ck_assert_int_ne(judge(&s, "x;y;"), REPLICAS_ENOUGH);
	ck_assert_str_eq(s.members, "");
	ck_assert_int_eq(judge(&s, "x;y;c;"), REPLICAS_ENOUGH);
	ck_assert_str_eq(s.members, "a:1 b:1 c:1");
}
END_TEST

/* Its daemon may have missed that c had become the first: then a and d, where that is stored, do without c
 * and b.
 */
START_TEST(a_group_that_is_only_remembered_wants_a_majority_of_all)
{
	struct replicas_found found = {.count = 4};
	struct stage s;

	begin(&s, "c:1", 0, "");
	snprintf(s.members, sizeof s.members, "a:1 b:1 c:1 d:1");
	ck_assert_int_eq(judge(&s, "b;"), REPLICAS_ENOUGH);
	s.members[0] = '\0';
	s.replid = "bbbb";
	ck_assert_int_ne(judge(&s, "b;"), REPLICAS_ENOUGH);
	ck_assert_str_eq(s.members, "");
	ck_assert_int_eq(judge(&s, "b;d;"), REPLICAS_ENOUGH);
	ck_assert_str_eq(s.members, "c:1 a:1 b:1 d:1");
	ck_assert_int_ne(judge(&s, "b;"), REPLICAS_ENOUGH);
	/* So is what the sentinels name by now. */
	begin(&s, "a:1", 0, "");
	snprintf(s.members, sizeof s.members, "a:1 b:1 c:1");
	judge(&s, "b;");
	roster_read(&found.named, SLICE("b:1 c:1 d:1 e:1"));
	snprintf(found.self, sizeof found.self, "a:1");
	replicas_find(&s.r, &found, false);
	s.members[0] = '\0';
	s.replid = "bbbb";
	ck_assert_int_ne(judge(&s, "b;"), REPLICAS_ENOUGH);
	ck_assert_int_eq(judge(&s, "b;d;"), REPLICAS_ENOUGH);
}
END_TEST

START_TEST(who_is_declared_gone_counts_no_more)
{
	struct stage s;

	begin(&s, "c:1", 0, "");
	snprintf(s.members, sizeof s.members, "a:1 b:1 c:1");
	ck_assert_int_eq(judge(&s, "x;y;"), REPLICAS_TOO_FEW);
	ck_assert_str_eq(s.r.why,
		"NOREPLICAS 0 of 2 replicas acknowledge, at least 1 must; 2 more count when a:1 follows, "
		"or after MASTERS FORGET");
	ck_assert_str_eq(replicas_forget(&s.r, SLICE("d:1")), "is no member of the group");
	ck_assert_str_eq(replicas_forget(&s.r, SLICE("c:1")), "is the master");
	ck_assert_ptr_null(replicas_forget(&s.r, SLICE("a:1")));
	ck_assert_int_eq(judge(&s, "x;y;"), REPLICAS_TOO_FEW);
	ck_assert_str_eq(s.members, "c:1 b:1");
	ck_assert_ptr_null(replicas_forget(&s.r, SLICE("b:1")));
	judge(&s, "x;y;");
	ck_assert_str_eq(s.members, "c:1");
	ck_assert_int_eq(judge(&s, "x;y;"), REPLICAS_ENOUGH);
	judge(&s, "x;y;");
	judge(&s, "x;y;");
	ck_assert_str_eq(s.members, "c:1 x:1 y:1");
	ck_assert_str_eq(replicas_forget(&s.r, SLICE("x:1")),
		"follows the master, and counts again as soon as it is gone");
	s.r.watched = false;
	ck_assert_ptr_nonnull(replicas_forget(&s.r, SLICE("x:1")));
}
END_TEST

START_TEST(nodes_are_known_by_their_ids)
{
	struct replicas_found found = {.self = "A", .count = 1, .ids = true};
	struct stage s;

	begin(&s, "A", 0, "");
	roster_read(&found.named, SLICE("B"));
	roster_read(&found.addresses, SLICE("b:1"));
	replicas_find(&s.r, &found, false);
	ck_assert_int_eq(judge(&s, "b;"), REPLICAS_ENOUGH);
	ck_assert_str_eq(s.members, "A B");
	/* One that migrated, and is not in the table yet; B is connected, and behind. */
	ck_assert_int_ne(judge(&s, "b 50;x;"), REPLICAS_ENOUGH);
	ck_assert_int_eq(judge(&s, "b;x;"), REPLICAS_ENOUGH);
	ck_assert_uint_eq(replicas_ask(&s.r), 2);
	/* It has another address. */
	roster_read(&found.addresses, SLICE("y:1"));
	replicas_find(&s.r, &found, false);
	ck_assert_int_eq(judge(&s, "y;"), REPLICAS_ENOUGH);
}
END_TEST

START_TEST(of_nodes_that_cannot_be_told_apart_the_worst_is_assumed)
{
	struct replicas_found found = {.self = "C", .count = 3, .ids = true};
	struct stage s;

	begin(&s, "C", 0, "");
	snprintf(s.members, sizeof s.members, "A B C");
	/* They announce what they do not connect from: two of them, and a third that nobody names. */
	roster_read(&found.named, SLICE("B X"));
	roster_read(&found.addresses, SLICE("nat:1 nat:2"));
	replicas_find(&s.r, &found, false);
	judge(&s, "u;");
	ck_assert_int_ne(judge(&s, "u;"), REPLICAS_ENOUGH);
	ck_assert_int_ne(judge(&s, "u;v 50;"), REPLICAS_ENOUGH);
	ck_assert_int_ne(judge(&s, "u;v 50;w;"), REPLICAS_ENOUGH);
	ck_assert_int_eq(judge(&s, "u;v;"), REPLICAS_ENOUGH);
	/* The master before is not one of those of whom a majority will do. */
	snprintf(s.members, sizeof s.members, "A B C D");
	roster_read(&found.named, SLICE("A B"));
	replicas_find(&s.r, &found, false);
	ck_assert_int_ne(judge(&s, "u;v 50;"), REPLICAS_ENOUGH);
	ck_assert_int_eq(judge(&s, "u;v;"), REPLICAS_ENOUGH);
}
END_TEST

START_TEST(a_new_master_is_the_first_of_the_group_when_all_follow)
{
	struct stage s;

	begin(&s, "b:1", 0, "");
	snprintf(s.members, sizeof s.members, "a:1 b:1");
	ck_assert_int_eq(judge(&s, ""), REPLICAS_ENOUGH);
	judge(&s, "");
	ck_assert_str_eq(s.joining, "");
	judge(&s, "a;");
	ck_assert_str_eq(s.joining, "b:1 a:1");
	ck_assert_int_ne(judge(&s, ""), REPLICAS_ENOUGH);
	judge(&s, "a;");
	ck_assert_str_eq(s.members, "b:1 a:1");
	ck_assert_int_ne(judge(&s, ""), REPLICAS_ENOUGH);
}
END_TEST

START_TEST(after_a_move_of_the_slot_the_nodes_before_vouch_for_it_themselves)
{
	struct replicas_found found = {.self = "C", .count = 1, .ids = true};
	struct stage s;

	begin(&s, "C", 0, "");
	snprintf(s.members, sizeof s.members, "A B");
	roster_read(&found.named, SLICE("D"));
	roster_read(&found.addresses, SLICE("d:1"));
	replicas_find(&s.r, &found, false);
	ck_assert_int_ne(judge(&s, "d;"), REPLICAS_ENOUGH);
	roster_read(&found.gone, SLICE("A"));
	replicas_find(&s.r, &found, false);
	ck_assert_int_ne(judge(&s, "d;"), REPLICAS_ENOUGH);
	roster_read(&found.gone, SLICE("A B"));
	replicas_find(&s.r, &found, false);
	/* Not alone, either. */
	ck_assert_int_ne(judge(&s, ""), REPLICAS_ENOUGH);
	ck_assert_int_eq(judge(&s, "d;"), REPLICAS_ENOUGH);
	judge(&s, "d;");
	judge(&s, "d;");
	ck_assert_str_eq(s.members, "C D");
}
END_TEST

START_TEST(wait_counts_on_those_that_do_not_count)
{
	struct stage s;

	begin(&s, "a:1", 0, "");
	judge(&s, "b;c;");
	ck_assert_uint_eq(replicas_ask(&s.r), 1);
	judge(&s, "b;c 50;x 50;y 50;");
	ck_assert_uint_eq(replicas_ask(&s.r), 3);
}
END_TEST

START_TEST(more_is_asked_while_enough_are_connected)
{
	struct replicas_round round;
	char text[400];
	struct redisReply info;
	struct stage s;

	begin(&s, "a:1", 0, "");
	snprintf(s.members, sizeof s.members, "a:1 b:1 c:1");
	round_begin(&s, &round);
	round.acknowledged = 1;
	info_of(&s, "b 50;x;", text, sizeof text);
	info = text_reply(text);
	ck_assert_int_eq(replicas_judge(&s.r, &round, 1, &info), REPLICAS_AGAIN);
	round.acknowledged = 0; /* in time */
	ck_assert_int_eq(replicas_judge(&s.r, &round, 1, &info), REPLICAS_TOO_FEW);
}
END_TEST

/* ---- answers ---- */

START_TEST(a_round_without_sense_is_no_acknowledgement)
{
	static const char *const texts[] = {"",
		"role:slave\r\nmaster_replid:aaaa\r\nmaster_repl_offset:100\r\n",
		"role:master\r\nmaster_repl_offset:100\r\n", "role:master\r\nmaster_replid:aaaa\r\n",
		"role:master\r\nmaster_replid:bbbb\r\nmaster_repl_offset:100\r\n",
		"role:master\r\nmaster_replid:aaaa\r\nmaster_repl_offset:100\r\nconnected_slaves:9\r\nslave0:"
		"\r\nslave1:"
		"ip=,port=,state=online,offset=100\r\nslave2:ip=b,port=1,state=online,offset=-5\r\n"
		"slave3:ip=b,port=1,state=wait_bgsave,offset=100\r\n"};
	struct replicas_round round;
	struct stage s;

	begin(&s, "a:1", 1, "b:1");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char copy[400];
		struct redisReply info;

		snprintf(copy, sizeof copy, "%s", texts[i]);
		info = text_reply(copy);
		round_begin(&s, &round);
		ck_assert_int_ne(replicas_judge(&s.r, &round, 0, &info), REPLICAS_ENOUGH);
		ck_assert(s.r.missing);
		ck_assert(!s.r.change.due);
	}
	/* An error in place of the group, as of a node that serves the slot no more. */
	replicas_read_group(
		&round, &(struct redisReply){.type = REDIS_REPLY_ERROR, .str = (char[]){"MOVED"}});
	ck_assert(!round.stored_known);
}
END_TEST

START_TEST(releases_need_no_acknowledgement)
{
	struct replicas r = {.watched = true};

	ck_assert(replicas_matter(&r, CALL_ACQUIRE));
	ck_assert(replicas_matter(&r, CALL_RENEW));
	ck_assert(replicas_matter(&r, CALL_RECLAIM));
	ck_assert(replicas_matter(&r, CALL_ADMIT));
	ck_assert(replicas_matter(&r, CALL_HELLO));
	ck_assert(replicas_matter(&r, CALL_LATCH));
	ck_assert(!replicas_matter(&r, CALL_RELEASE));
	ck_assert(!replicas_matter(&r, CALL_LEAVE));
	ck_assert(!replicas_matter(&r, CALL_ENTER));
	r.watched = false;
	ck_assert(!replicas_matter(&r, CALL_ACQUIRE));
}
END_TEST

static bool
disbelieved(const struct replicas *r, enum call_op op, enum outcome outcome, enum hello_result hello)
{
	const struct call call = {.op = op, .master = 2, .attempt = 7};
	struct vote vote = {.op = op, .outcome = outcome, .hello = hello, .time_us = 12345};
	bool less = replicas_disbelieve(r, &call, &vote);

	ck_assert_int_eq(vote.time_us, 12345); /* by which standstills are noticed */
	ck_assert(less == (vote.outcome != outcome));
	return less;
}

START_TEST(what_may_be_lost_is_not_believed)
{
	struct replicas r = {.watched = true};

	/* What is told of memory, or given. */
	ck_assert(disbelieved(&r, CALL_ACQUIRE, OUTCOME_YES, 0));
	ck_assert(disbelieved(&r, CALL_RENEW, OUTCOME_YES, 0));
	ck_assert(disbelieved(&r, CALL_LATCH, OUTCOME_YES, 0));
	ck_assert(disbelieved(&r, CALL_LATCH, OUTCOME_NO, 0));
	ck_assert(disbelieved(&r, CALL_HELLO, OUTCOME_YES, HELLO_GOOD));
	/* What refuses. */
	ck_assert(!disbelieved(&r, CALL_ACQUIRE, OUTCOME_BUSY, 0));
	ck_assert(!disbelieved(&r, CALL_RENEW, OUTCOME_NO, 0));
	ck_assert(!disbelieved(&r, CALL_HELLO, OUTCOME_YES, HELLO_REPLICA));
	ck_assert(!disbelieved(&r, CALL_HELLO, OUTCOME_ERROR, 0));
}
END_TEST

START_TEST(a_hello_that_is_not_acknowledged_is_an_error)
{
	const struct call call = {.op = CALL_HELLO};
	struct vote vote = {.op = CALL_HELLO, .outcome = OUTCOME_YES, .hello = HELLO_GOOD};
	struct stage s;

	begin(&s, "a:1", 2, "b:1 c:1");
	judge(&s, "");
	ck_assert(replicas_disbelieve(&s.r, &call, &vote));
	ck_assert_int_eq(vote.outcome, OUTCOME_ERROR);
	ck_assert(slice_equal(vote.text, SLICE("NOREPLICAS 0 of 2 replicas acknowledge, at least 1 must")));
}
END_TEST

START_TEST(nothing_new_is_begun_while_too_few_acknowledge)
{
	struct stage s;

	begin(&s, "a:1", 2, "b:1 c:1");
	ck_assert_ptr_null(replicas_refuse(&s.r, CALL_ACQUIRE));
	judge(&s, "");
	ck_assert_ptr_eq(replicas_refuse(&s.r, CALL_ACQUIRE), s.r.why);
	ck_assert_ptr_eq(replicas_refuse(&s.r, CALL_LATCH), s.r.why);
	ck_assert_ptr_null(replicas_refuse(&s.r, CALL_RENEW));
	ck_assert_ptr_null(replicas_refuse(&s.r, CALL_RECLAIM));
	ck_assert_ptr_null(replicas_refuse(&s.r, CALL_RELEASE));
	ck_assert_ptr_null(replicas_refuse(&s.r, CALL_HELLO)); /* by which it is seen that they are back */
}
END_TEST

START_TEST(a_list_of_names_is_read_with_care)
{
	struct roster a, b;
	char many[ROSTER_BYTES + 100];

	roster_read(&a, SLICE("  x:1 y:1  x:1 "));
	ck_assert_uint_eq(a.n, 2);
	ck_assert(slice_equal(roster_text(&a), SLICE("x:1 y:1")));
	roster_add(&a, SLICE("z\x1b"));
	roster_add(&a, SLICE("z z"));
	roster_add(&a, SLICE(""));
	ck_assert_uint_eq(a.n, 2);
	roster_read(&b, SLICE("y:1 x:1"));
	ck_assert(roster_same(&a, &b));
	roster_drop_all(&b, &a);
	ck_assert_uint_eq(b.n, 0);
	for (size_t i = 0; i < sizeof many; i++)
		many[i] = i % 9 == 8 ? ' ' : (char)('a' + (i / 9 + i % 9 * (i / 234)) % 26);
	roster_read(&b, (struct slice){many, sizeof many});
	ck_assert(b.over || b.used <= ROSTER_BYTES);
	ck_assert(!roster_has(&b, SLICE("x:1")));
}
END_TEST

int
main(void)
{
	return SUITE_RUN("replicas", NULL, NULL, a_majority_of_the_group_is_the_master_and_so_many_more,
		the_stored_group_says_who_counts, the_first_group_is_what_is_in_view,
		a_group_changes_when_all_of_it_follow, what_another_stream_had_settles_nothing,
		what_a_master_has_forgotten_its_daemons_remember,
		a_group_that_is_only_remembered_wants_a_majority_of_all, who_is_declared_gone_counts_no_more,
		nodes_are_known_by_their_ids, of_nodes_that_cannot_be_told_apart_the_worst_is_assumed,
		a_new_master_is_the_first_of_the_group_when_all_follow,
		after_a_move_of_the_slot_the_nodes_before_vouch_for_it_themselves,
		wait_counts_on_those_that_do_not_count, more_is_asked_while_enough_are_connected,
		a_round_without_sense_is_no_acknowledgement, releases_need_no_acknowledgement,
		what_may_be_lost_is_not_believed, a_hello_that_is_not_acknowledged_is_an_error,
		nothing_new_is_begun_while_too_few_acknowledge, a_list_of_names_is_read_with_care);
}
