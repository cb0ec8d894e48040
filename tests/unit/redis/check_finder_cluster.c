/*
 * Tests of daemon/redis/finder_cluster: what the answers of a cluster's nodes say of the owner of a slot, and
 * that answers without sense say nothing.
 */
#include "daemon/redis/finder_cluster.h"
#include "daemon/redis/finder_inner.h"
#include "tests/support/suite.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY  "{holdfast}:node"
#define SLOT "8121"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ID_C "cccccccccccccccccccccccccccccccccccccccc"
#define ID_D "dddddddddddddddddddddddddddddddddddddddd"

#define A_MASTER ID_A " 10.0.0.1:7001@17001 myself,master - 0 0 5 connected 5461-10922\n"
#define B_OTHER  ID_B " 10.0.0.2:7002@17002 master - 0 1 9 connected 0-5460 10923-16383\n"
#define C_OF_A   ID_C " 10.0.0.3:7003@17003,c.example slave " ID_A " 0 1 5 connected\n"
#define D_OF_A   ID_D " 10.0.0.4:7004@17004 slave,fail " ID_A " 0 1 5 disconnected\n"

static struct redisReply *
reply_of(const char *text)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;

	redisReaderFeed(reader, text, strlen(text));
	ck_assert_int_eq(redisReaderGetReply(reader, &reply), REDIS_OK);
	ck_assert_msg(reply != NULL, "%s", text);
	redisReaderFree(reader);
	return reply;
}

static struct redisReply *
bulk_of(const char *text)
{
	char *bulk = NULL;
	struct redisReply *reply;

	ck_assert_int_gt(asprintf(&bulk, "$%zu\r\n%s\r\n", strlen(text), text), 0);
	reply = reply_of(bulk);
	free(bulk);
	return reply;
}

struct asked {
	struct finder_address address;
	struct opinion believed;
	struct inquiry inquiry;
	struct opinion opinion;
	char why[FINDER_WHY_MAX];
};

static void
ask(struct asked *q)
{
	memset(q, 0, sizeof *q);
	q->address = (struct finder_address){.host = "asked.example", .port = 7001};
	q->inquiry =
		(struct inquiry){.name = "cluster", .key = KEY, .slot = slot_of(KEY), .address = &q->address};
}

/* Whether both answers together are an opinion. */
static bool
told(struct asked *q, const char *table, const char *key)
{
	struct redisReply *nodes = bulk_of(table), *one = reply_of(key);
	bool sense;

	q->opinion = (struct opinion){0};
	q->why[0] = '\0';
	sense = finder_cluster.read(&q->inquiry, 0, nodes, &q->opinion, q->why) &&
		finder_cluster.read(&q->inquiry, 1, one, &q->opinion, q->why);
	freeReplyObject(nodes);
	freeReplyObject(one);
	ck_assert(sense || q->why[0] != '\0');
	return sense;
}

START_TEST(a_slot_is_that_of_redis)
{
	ck_assert_uint_eq(slot_of("123456789"), 12739);
	ck_assert_uint_eq(slot_of("foo"), 12182);
	ck_assert_uint_eq(slot_of("{user1000}.following"), slot_of("user1000"));
	ck_assert_uint_eq(slot_of("foo{{bar}}zap"), slot_of("{bar"));
	ck_assert_uint_eq(slot_of("foo{}{bar}"), 8363);
	ck_assert_uint_eq(slot_of("a{b"), slot_of("a{b"));
	ck_assert_uint_eq(slot_of(KEY), (unsigned)atoi(SLOT));
}
END_TEST

START_TEST(the_questions_are_those_that_every_cluster_knows)
{
	const char *words[FINDER_WORDS_MAX];
	struct asked q;

	ask(&q);
	ck_assert_int_eq(finder_cluster.ask(&q.inquiry, 0, words), 2);
	ck_assert_str_eq(words[0], "CLUSTER");
	ck_assert_str_eq(words[1], "NODES");
	ck_assert_int_eq(finder_cluster.ask(&q.inquiry, 1, words), 2);
	ck_assert_str_eq(words[0], "EXISTS");
	ck_assert_str_eq(words[1], KEY);
}
END_TEST

START_TEST(the_owner_says_so_itself)
{
	struct asked q;

	ask(&q);
	ck_assert(told(&q, A_MASTER B_OTHER C_OF_A D_OF_A, ":1\r\n"));
	ck_assert_str_eq(q.opinion.at.host, "10.0.0.1");
	ck_assert_uint_eq(q.opinion.at.port, 7001);
	ck_assert_str_eq(q.opinion.node, ID_A);
	ck_assert_int_eq(q.opinion.epoch, 5);
	ck_assert_uint_eq(q.opinion.replicas, 2); /* the one that is down, too */
	ck_assert_str_eq(q.opinion.cause, "");
	/* Under way to another node it is the owner still. */
	ck_assert(told(&q, A_MASTER, "-ASK " SLOT " 10.0.0.2:7002\r\n"));
}
END_TEST

START_TEST(another_node_names_the_place_for_its_clients)
{
	static const struct {
		const char *moved, *host;
		unsigned port;
	} cases[] = {
		{"-MOVED " SLOT " 192.0.2.7:17\r\n", "192.0.2.7", 17},
		{"-MOVED " SLOT " redis.example:7001\r\n", "redis.example", 7001},
		{"-MOVED " SLOT " fd00::1:7001\r\n", "fd00::1", 7001},
		{"-MOVED " SLOT " :7001\r\n", "asked.example", 7001},
		{"-MOVED " SLOT " ?:7001\r\n", "asked.example", 7001},
	};
	struct asked q;

	ask(&q);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert_msg(told(&q,
				      ID_A " 10.0.0.1:7001@17001 master - 0 0 5 connected 8121\n" ID_B
					   " 10.0.0.2:7002@17002 myself,master - 0 1 9 connected 0-8120\n",
				      cases[i].moved),
			"%s: %s", cases[i].moved, q.why);
		ck_assert_str_eq(q.opinion.at.host, cases[i].host);
		ck_assert_uint_eq(q.opinion.at.port, cases[i].port);
		ck_assert_str_eq(q.opinion.node, ID_A);
	}
}
END_TEST

START_TEST(the_owner_has_the_name_that_it_announces)
{
	static const struct {
		const char *address, *host;
	} cases[] = {
		{"10.0.0.1:7001@17001,a.example", "a.example"},
		{"10.0.0.1:7001@17001,a.example,shard-id=1", "a.example"},
		{"10.0.0.1:7001@17001,,shard-id=1", "10.0.0.1"},
		{"10.0.0.1:7001", "10.0.0.1"},
		{"::1:7001@17001", "::1"},
		{":7001@17001", "asked.example"},
	};
	struct asked q;

	ask(&q);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char table[200];

		snprintf(table, sizeof table, ID_A " %s myself,master - 0 0 0 connected 0-16383\n",
			cases[i].address);
		ck_assert_msg(told(&q, table, ":0\r\n"), "%s: %s", cases[i].address, q.why);
		ck_assert_str_eq(q.opinion.at.host, cases[i].host);
		ck_assert_uint_eq(q.opinion.at.port, 7001);
	}
}
END_TEST

START_TEST(all_places_of_the_owner_are_kept)
{
	static const struct {
		const char *address, *key;
		const char *at;
		size_t aliases;
	} cases[] = {
		/* As the owner says it, and as others do. */
		{"10.0.0.1:7001@17001,a.example myself,master", ":1\r\n", "a.example", 3},
		{"10.0.0.1:7001@17001,a.example master", "-MOVED " SLOT " 10.0.0.1:7001\r\n", "10.0.0.1", 2},
		{":7001@17001 myself,master", ":1\r\n", "asked.example", 2},
	};
	struct asked q;

	ask(&q);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char table[200];

		snprintf(table, sizeof table, ID_A " %s - 0 0 5 connected 0-16383\n", cases[i].address);
		ck_assert_msg(told(&q, table, cases[i].key), "%s: %s", cases[i].address, q.why);
		ck_assert_str_eq(q.opinion.at.host, cases[i].at);
		ck_assert_uint_eq(q.opinion.aliases, cases[i].aliases);
		if (i < 2) {
			ck_assert_str_eq(q.opinion.alias[0].host, "10.0.0.1");
			ck_assert_str_eq(q.opinion.alias[1].host, "a.example");
		}
		if (i != 1)
			ck_assert_str_eq(q.opinion.alias[q.opinion.aliases - 1].host, "asked.example");
	}
}
END_TEST

START_TEST(replicas_that_may_follow_the_master_before_are_told)
{
	static const char e[] =
		"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee 10.0.0.5:1@1 slave " ID_B " 0 1 9 connected\n";
	static const char c[] = ID_C " 10.0.0.3:7003@17003 myself,master - 0 1 10 connected 5461-10922\n";
	static const char *const flags[] = {"master", "master,fail?", "master,fail"};
	struct asked q;

	/* C has taken over from A, and has a replica; D is where A is, and E belongs to another master. */
	for (size_t i = 0; i < 3; i++) {
		char table[1500];

		snprintf(table, sizeof table,
			ID_A " 10.0.0.1:7001@17001 %s - 0 0 5 connected\n" B_OTHER
			     "ffffffffffffffffffffffffffffffffffffffff 10.0.0.6:7006@1,f.example slave " ID_C
			     " 0 1 9 connected\n%s" D_OF_A "%s",
			flags[i], c, e);
		ask(&q);
		ck_assert(told(&q, table, ":1\r\n"));
		ck_assert_uint_eq(q.opinion.replicas, 1);
		ck_assert(slice_equal(
			roster_text(&q.opinion.named), SLICE("ffffffffffffffffffffffffffffffffffffffff")));
		ck_assert(slice_equal(roster_text(&q.opinion.addresses), SLICE("10.0.0.6:7006")));
		ck_assert_uint_eq(q.opinion.previous.n, 1);
		ck_assert_str_eq(q.opinion.asked, ID_C);
		ck_assert_str_eq(q.opinion.leader, "");
	}
	/* The master that was believed before has other slots; its replicas count all the same. */
	ask(&q);
	snprintf(q.believed.node, sizeof q.believed.node, "%s", ID_B);
	q.inquiry.believed = &q.believed;
	ck_assert(told(&q,
		B_OTHER ID_C " 10.0.0.3:7003@17003 master - 0 1 10 connected 5461-10922\n"
			     "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee 10.0.0.5:1@1 myself,slave " ID_B
			     " 0 1 9 connected\n",
		"-MOVED " SLOT " 10.0.0.3:7003\r\n"));
	ck_assert_uint_eq(q.opinion.previous.n, 1);
	ck_assert_str_eq(q.opinion.leader, ID_B);
}
END_TEST

static void
cause_is(const char *before, const char *expected)
{
	char table[600];
	struct asked q;

	ask(&q);
	snprintf(q.believed.node, sizeof q.believed.node, "%s", ID_B);
	q.inquiry.believed = &q.believed;
	snprintf(table, sizeof table, "%s%s", A_MASTER, before);
	ck_assert(told(&q, table, ":1\r\n"));
	ck_assert_str_eq(q.opinion.cause, expected);
}

START_TEST(the_cause_of_a_change_is_told)
{
	cause_is("", "failover: the node before has left the cluster");
	cause_is(
		ID_B " h:1@1 slave " ID_A " 0 1 9 connected\n", "failover: the node before is a replica now");
	cause_is(ID_B " h:1@1 master,fail - 0 1 9 connected\n", "failover: the node before has failed");
	cause_is(ID_B " h:1@1 master - 0 1 9 connected\n", "the node before has lost all its slots");
	cause_is(B_OTHER, "the slot was moved from another node");
}
END_TEST

static void
senseless(const char *table, const char *key, const char *why)
{
	struct asked q;

	ask(&q);
	ck_assert_msg(!told(&q, table, key), "%s%s", table, key);
	ck_assert_msg(strstr(q.why, why) != NULL, "%s", q.why);
}

START_TEST(answers_without_sense_are_no_opinion)
{
	static const char *const rows[] = {"", "\n", "nothing", " 1 2 3 4 5 6 7 8",
		ID_A " 10.0.0.1:0@1 myself,master - 0 0 5 connected 0-16383\n",
		ID_A " 10.0.0.1:65536@1 myself,master - 0 0 5 connected 0-16383\n",
		ID_A " 10.0.0.1 myself,master - 0 0 5 connected 0-16383\n",
		ID_A " @ myself,master - 0 0 5 connected 0-16383\n",
		ID_A " 10.0/0.1:1@1 myself,master - 0 0 5 connected 0-16383\n",
		ID_A " h:1@1,a\x1b[2J myself,master - 0 0 5 connected 0-16383\n",
		ID_A " h:1@1 myself,master - 0 0 -5 connected 0-16383\n",
		ID_A " h:1@1 myself,master - 0 0 9223372036854775808 connected 0-16383\n",
		ID_A " h:1@1 myself,slave - 0 0 5 connected 0-16383\n",
		"A\x1b h:1@1 myself,master - 0 0 5 connected 0-16383\n",
		ID_A "a h:1@1 myself,master - 0 0 5 connected 0-16383\n"};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		senseless(rows[i], ":1\r\n", "says what no node does");
	senseless(ID_A " h:1@1 myself,master - 0 0 5 connected\n", ":1\r\n", "knows no owner of slot " SLOT);
	senseless(ID_A " h:1@1 myself,master - 0 0 5 connected 0-8120 [8121->-" ID_B "] 8122-16384 x 5-2\n",
		":1\r\n", "knows no owner of slot " SLOT);
	/* Just changed between the two answers. */
	senseless(A_MASTER, "-MOVED " SLOT " 10.0.0.2:7002\r\n", "has just changed its mind");
	senseless(ID_A " h:1@1 master - 0 0 5 connected 0-16383\n", ":1\r\n", "has just changed its mind");
}
END_TEST

START_TEST(errors_are_quoted)
{
	static const char *const keys[] = {"-MOVED\r\n", "-MOVED " SLOT "\r\n", "-MOVED " SLOT " h\r\n",
		"-MOVED " SLOT " h:0\r\n", "-MOVED " SLOT " h:x\r\n", "-MOVED 1 h:1\r\n",
		"-MOVED " SLOT " h h:1\r\n", "-CLUSTERDOWN Hash slot not served\r\n", "-NOPERM no\r\n"};
	struct redisReply *error = reply_of("-ERR This instance has cluster support disabled\r\n");
	struct asked q;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		senseless(ID_A " h:1@1 master - 0 0 5 connected 0-16383\n", keys[i], "says ");
	senseless(A_MASTER, "*0\r\n", "says what no node does");
	senseless(A_MASTER, "$-1\r\n", "says what no node does");
	ask(&q);
	ck_assert(!finder_cluster.read(&q.inquiry, 0, error, &q.opinion, q.why));
	ck_assert_str_eq(q.why, "says ERR This instance has cluster support disabled");
	freeReplyObject(error);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("finder_cluster", NULL, NULL, a_slot_is_that_of_redis,
		the_questions_are_those_that_every_cluster_knows, the_owner_says_so_itself,
		another_node_names_the_place_for_its_clients, the_owner_has_the_name_that_it_announces,
		all_places_of_the_owner_are_kept, replicas_that_may_follow_the_master_before_are_told,
		the_cause_of_a_change_is_told, answers_without_sense_are_no_opinion, errors_are_quoted);
}
