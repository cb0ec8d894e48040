/*
 * Tests of daemon/core/masterset_change and what belongs to it: how one set of masters follows another while
 * the daemon runs, with servers played by the test.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/view.h"
#include "proto/record.h"
#include "tests/support/replay.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS 6
#define TEXT    640
#define ID(n)   ((uint64_t)STORY_ID + (n))

/* A server as far as sets go: server n is at place "master-<n+1>", and its id is STORY_ID + n. */
struct server {
	bool up, admitted;
	uint64_t incarnation;
	char set[TEXT], places[TEXT];
	enum agreement agreement;
	char next[TEXT], next_places[TEXT];
	enum next_step step;
	const char *unacknowledged; /* daemons that have not acknowledged */
	const char *living;         /* and those that are registered there under its set */
	enum next_step given;       /* what it heard last */
	bool left;
};

static struct story w;
static struct server servers[SERVERS];
static int slots[CORE_SLOTS_MAX];        /* which server; -1: closed, or no server */
static char where[CORE_SLOTS_MAX][TEXT]; /* the place of a slot that was moved */
static struct call asked[CORE_SLOTS_MAX], admits[CORE_SLOTS_MAX];
static char asked_set[CORE_SLOTS_MAX][TEXT], asked_places[CORE_SLOTS_MAX][TEXT];
static char asked_next[CORE_SLOTS_MAX][TEXT], asked_next_places[CORE_SLOTS_MAX][TEXT];
static char said[1024];   /* to connections, since it was read last */
static unsigned followed; /* slots that were moved */
static unsigned adopts;   /* slots that were asked to adopt a lease, as bits */

static void
text_copy(char out[TEXT], struct slice from)
{
	ck_assert_uint_lt(from.n, TEXT);
	if (from.n > 0)
		memcpy(out, from.p, from.n);
	out[from.n] = '\0';
}

static void happens(const struct event *event);

static void
link_event(unsigned slot, bool up)
{
	happens(&(struct event){
		.type = up ? EVENT_LINK_UP : EVENT_LINK_DOWN, .master = slot, .text = slice_of("reset")});
}

static int
server_at(struct slice place)
{
	for (int i = 0; i < SERVERS; i++) {
		char text[32];

		snprintf(text, sizeof(text), "master-%d", i + 1);
		if (slice_equal(place, slice_of(text)))
			return i;
		snprintf(text, sizeof(text), "moved-%d", i + 1); /* its other address */
		if (slice_equal(place, slice_of(text)))
			return i;
	}
	return -1;
}

static void
moved(const struct move *move)
{
	unsigned slot = move->master;
	int server = server_at(move->place);
	bool was = slots[slot] >= 0 && servers[slots[slot]].up;

	followed++;
	text_copy(where[slot], move->place);
	memset(&asked[slot], 0, sizeof(asked[slot]));
	memset(&admits[slot], 0, sizeof(admits[slot]));
	slots[slot] = server;
	if (was)
		link_event(slot, false);
	if (server >= 0 && servers[server].up && slots[slot] == server)
		link_event(slot, true);
}

/* What this step wants; HELLOs are kept until answer_hello(). */
static void
happens(const struct event *event)
{
	struct move moves[CORE_SLOTS_MAX];
	char places[CORE_SLOTS_MAX][TEXT];
	size_t n = 0;

	step(&w, event);
	for (size_t i = 0; i < w.actions.n; i++) {
		const struct action *a = &w.actions.list[i];
		const struct call *call = &a->u.call;

		if (a->type == ACTION_REPLY)
			snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s;",
				a->u.reply.type == REPLY_INT ? "int " : "", a->u.reply.text);
		if (a->type == ACTION_MASTER && n < CORE_SLOTS_MAX) {
			moves[n] = a->u.move;
			text_copy(places[n], a->u.move.place);
			moves[n].place = slice_of(places[n]);
			n++;
		}
		if (a->type == ACTION_CALL && call->op == CALL_ADMIT)
			admits[call->master] = *call;
		if (a->type == ACTION_CALL && call->op == CALL_ADOPT)
			adopts |= 1U << call->master;
		if (a->type != ACTION_CALL || call->op != CALL_HELLO)
			continue;
		asked[call->master] = *call;
		text_copy(asked_set[call->master], call->masterset);
		text_copy(asked_places[call->master], call->places);
		text_copy(asked_next[call->master], call->next.set);
		text_copy(asked_next_places[call->master], call->next.places);
	}
	for (size_t i = 0; i < n; i++)
		moved(&moves[i]);
}

/* As lua/hello.lua does it, as far as these tests go. */
static void
server_hears(struct server *s, unsigned slot)
{
	const struct call *call = &asked[slot];
	const char *set = asked_set[slot];
	bool stored = strcmp(set, s->set) == 0 && set[0] != '\0';

	s->given = call->next.step;
	s->left |= call->next.step == NEXT_LEFT;
	if (stored && call->agreement > s->agreement)
		s->agreement = call->agreement;
	if (!stored && call->agreement == AGREEMENT_AGREED && set[0] > s->set[0]) {
		char newcomer[32];

		snprintf(newcomer, sizeof(newcomer), "%016" PRIx64 "+", call->id);
		if (strstr(set, newcomer) != NULL) {
			s->admitted = false;
			s->incarnation += 100;
		}
		snprintf(s->set, TEXT, "%s", set);
		snprintf(s->places, TEXT, "%s", asked_places[slot]);
		s->next[0] = '\0';
		s->step = NEXT_NONE;
		s->agreement = AGREEMENT_AGREED;
		stored = true;
	}
	if (!stored || asked_next[slot][0] == '\0')
		return;
	if (s->next[0] == '\0') {
		snprintf(s->next, TEXT, "%s", asked_next[slot]);
		snprintf(s->next_places, TEXT, "%s", asked_next_places[slot]);
		s->step = NEXT_OFFERED;
	} else if (strcmp(s->next, asked_next[slot]) == 0 && call->next.step == NEXT_ACCEPTED) {
		s->step = NEXT_ACCEPTED;
	}
}

static void
answer_hello(unsigned slot)
{
	struct call call = asked[slot];
	struct server *s = &servers[slots[slot]];
	struct vote v = {.op = CALL_HELLO, .master = slot, .attempt = call.attempt, .id = ID(0)};
	char run[16];

	server_hears(s, slot);
	memset(&asked[slot], 0, sizeof(asked[slot]));
	snprintf(run, sizeof(run), "run-%d", slots[slot]);
	v.id = ID((unsigned)slots[slot]);
	v.run = slice_of(run);
	v.time_us = w.now.ms * 1000 + 5000000;
	v.masterset = slice_of(s->set);
	v.places = slice_of(s->places);
	v.agreement = s->agreement;
	if (strcmp(asked_set[slot], s->set) != 0 && asked_set[slot][0] != '\0' && s->set[0] != '\0') {
		v.hello = HELLO_OTHERSET;
		v.text = slice_of(s->living);
	} else {
		v.admitted = s->admitted;
		v.incarnation = s->incarnation;
		v.highest = 1;
		v.next = (struct next_set){
			.set = slice_of(s->next), .places = slice_of(s->next_places), .step = s->step};
		v.unacknowledged = slice_of(s->unacknowledged);
	}
	happens(&(struct event){.type = EVENT_VOTE, .vote = &v});
}

static void
admission(unsigned slot)
{
	struct vote v = {.op = CALL_ADMIT,
		.master = slot,
		.attempt = admits[slot].attempt,
		.time_us = w.now.ms * 1000 + 5000000,
		.highest = 1};

	memset(&admits[slot], 0, sizeof(admits[slot]));
	servers[slots[slot]].admitted = true;
	happens(&(struct event){.type = EVENT_VOTE, .vote = &v});
}

/* The HELLOs that are under way are answered, and those that follow from that. */
static void
answers(void)
{
	for (int round = 0; round < 20; round++) {
		w.now.ms++;
		w.now.wall_us += 1000;
		happens(&(struct event){.type = EVENT_TIMER});
		for (unsigned slot = 0; slot < CORE_SLOTS_MAX; slot++) {
			if (asked[slot].attempt > 0 && slots[slot] >= 0 && servers[slots[slot]].up)
				answer_hello(slot);
			if (admits[slot].attempt > 0 && slots[slot] >= 0 && servers[slots[slot]].up)
				admission(slot);
		}
	}
}

static void
passes(int64_t ms)
{
	for (int64_t until_ms = w.now.ms + ms; w.now.ms < until_ms;)
		answers();
}

#define SET3_REST " 0000000000001001:url 0000000000001002:url 0000000000001003:url"
#define SET3      "1" SET3_REST
#define SET1      "1 0000000000001001:url"

/* So many masters of a set that is agreed on, and the others empty. */
static void
begin(unsigned masters, bool follow)
{
	static const struct rule rule = {.match = "*", .lease_ms = LEASE_MS, .wait_ms = -1};
	const char *set = masters == 3 ? SET3 : SET1;
	const char *places = masters == 3 ? "master-1 master-2 master-3" : "master-1";

	story_init(&w);
	core_free(w.core);
	w.settings.masters = masters;
	w.settings.follow = follow;
	w.settings.rules = &rule;
	w.settings.rule_count = 1;
	w.core = core_new(&w.settings, w.now);
	ck_assert_ptr_nonnull(w.core);
	memset(asked, 0, sizeof(asked));
	memset(admits, 0, sizeof(admits));
	memset(where, 0, sizeof(where));
	said[0] = '\0';
	for (unsigned i = 0; i < SERVERS; i++) {
		servers[i] = (struct server){.up = true,
			.admitted = i < masters,
			.incarnation = MEMORY + i,
			.unacknowledged = "",
			.living = ""};
		if (i >= masters)
			continue;
		snprintf(servers[i].set, TEXT, "%s", set);
		snprintf(servers[i].places, TEXT, "%s", places);
		servers[i].agreement = AGREEMENT_AGREED;
	}
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		slots[i] = i < masters ? (int)i : -1;
	for (conn_id c = 1; c <= 3; c++) {
		struct peer peer = {.pid = 100, .uid = 0};

		happens(&(struct event){.type = EVENT_OPEN, .conn = c, .peer = &peer});
	}
	for (unsigned i = 0; i < masters; i++)
		link_event(i, true);
	answers();
	followed = 0;
}

static struct masterset_view
view(void)
{
	struct masterset_view set;

	core_view_masterset(w.core, &set);
	return set;
}

static void
command(conn_id conn, struct masters_change ask)
{
	happens(&(struct event){.type = EVENT_MASTERS, .conn = conn, .masters = &ask});
}

static void
replace(const char *old, const char *place, const char *way)
{
	command(1, (struct masters_change){.op = MASTERS_REPLACE,
			   .old = slice_of(old),
			   .places = {slice_of(place)},
			   .ways = {slice_of(way)}});
}

static void
add(const char *one, const char *other)
{
	command(1, (struct masters_change){.op = MASTERS_ADD,
			   .places = {slice_of(one), slice_of(other)},
			   .ways = {SLICE("url"), SLICE("url")}});
}

static unsigned
slot_of(int server)
{
	unsigned slot = 0;

	while (slots[slot] != server)
		slot++;
	return slot;
}

static void
says(const char *what)
{
	ck_assert_msg(strstr(said, what) != NULL && (what[0] != '\0' || said[0] == '\0'), "said: %s", said);
	said[0] = '\0';
}

#define REPLACED_REST " 0000000000001001:url 0000000000001002:url 0000000000001004+url"
#define REPLACED      "2" REPLACED_REST

START_TEST(a_member_is_replaced)
{
	struct master_view master;

	begin(3, false);
	replace("master-3", "master-4", "url");
	ck_assert_str_eq(view().change, "checking");
	answer_hello(3);
	ck_assert_str_eq(view().change, "offered");
	ck_assert_str_eq(view().next, REPLACED);
	ck_assert_str_eq(view().next_places, "master-1 master-2 master-4 | master-3");
	says("");
	answers();
	ck_assert_str_eq(view().set, REPLACED);
	ck_assert_str_eq(view().change, "none");
	says("int ");
	ck_assert_int_eq(slots[2], 3);
	ck_assert(servers[2].left);
	ck_assert_str_eq(servers[2].set, REPLACED);
	ck_assert_str_eq(servers[3].set, REPLACED);
	ck_assert_uint_eq(core_masters(w.core), 3);
	core_view_master(w.core, w.now.ms, 2, &master);
	ck_assert_str_eq(master.place, "master-4");
	ck_assert_int_eq(master.state, MASTER_GUARDED);
	passes(GUARD_MS + 500);
	core_view_master(w.core, w.now.ms, 2, &master);
	ck_assert_int_eq(master.state, MASTER_ADMITTED);
	story_done(&w);
}
END_TEST

START_TEST(a_member_that_is_gone_is_replaced)
{
	begin(3, false);
	servers[2].up = false;
	link_event(2, false);
	replace("master-3", "master-4", "url");
	answers();
	ck_assert_str_eq(view().set, REPLACED);
	ck_assert(!servers[2].left);
	/* It is tried for a while to be told. */
	ck_assert_uint_eq(core_masters(w.core), 4);
	passes(61000);
	ck_assert_uint_eq(core_masters(w.core), 3);
	story_done(&w);
}
END_TEST

START_TEST(one_master_becomes_three)
{
	begin(1, false);
	add("master-2", "master-5");
	answers();
	says("int ");
	ck_assert_str_eq(view().set, "2 0000000000001001:url 0000000000001002+url 0000000000001005+url");
	ck_assert_uint_eq(core_masters(w.core), 3);
	ck_assert_int_eq(slots[1], 1);
	ck_assert_int_eq(slots[2], 4);
	ck_assert(!servers[1].admitted && !servers[4].admitted);
	passes(GUARD_MS + 2000);
	ck_assert(servers[1].admitted && servers[4].admitted);
	story_done(&w);
}
END_TEST

START_TEST(the_way_to_a_member_changes)
{
	static const char text[] = "2 0000000000001001:url 0000000000001002:sentinel 0000000000001003:url";

	begin(3, false);
	replace("master-2", "master-2", "sentinel");
	answers();
	says("int ");
	ck_assert_str_eq(view().set, text);
	ck_assert_int_eq(slots[1], 1);
	/* The same server: nothing is guarded. */
	ck_assert(servers[1].admitted);
	story_done(&w);
}
END_TEST

/* Also of the only master; the slot in which it was looked at is closed. */
START_TEST(a_member_at_another_address_is_reached_there)
{
	for (unsigned masters = 1; masters <= 3; masters += 2) {
		begin(masters, false);
		replace("master-1", "moved-1", "url");
		answers();
		says("int ");
		passes(3000);
		ck_assert_str_eq(where[0], "moved-1");
		ck_assert_int_eq(slots[0], 0);
		ck_assert_int_eq(slots[masters], -1);
		ck_assert(servers[0].admitted);
		ck_assert_uint_eq(servers[0].incarnation, MEMORY);
		story_done(&w);
	}
}
END_TEST

/* Another daemon changed the set: the address that it left is ours, or it has merely another name for it. */
START_TEST(a_member_moves_with_the_set_only_from_the_address_that_was_left)
{
	static const char *const places[] = {
		"moved-1 master-2 master-3 | gone", "moved-1 master-2 master-3 | master-1"};

	for (size_t at = 0; at < 2; at++) {
		begin(3, false);
		for (unsigned i = 0; i < 3; i++) {
			snprintf(servers[i].set, TEXT, "2" SET3_REST);
			snprintf(servers[i].places, TEXT, "%s", places[at]);
		}
		passes(3000);
		ck_assert_str_eq(view().set, "2" SET3_REST);
		ck_assert_str_eq(where[0], at == 0 ? "" : "moved-1");
		ck_assert_uint_eq(followed, at);
		ck_assert_uint_eq(servers[0].incarnation, MEMORY);
		story_done(&w);
	}
}
END_TEST

START_TEST(each_step_is_taken_at_all_that_stay_before_the_next)
{
	begin(3, false);
	servers[1].up = false;
	replace("master-3", "master-4", "url");
	answers();
	passes(400);
	ck_assert_str_eq(view().change, "offered");
	ck_assert_int_eq(servers[0].step, NEXT_OFFERED);
	servers[1].up = true;
	answer_hello(1);
	ck_assert_int_eq(servers[1].step, NEXT_OFFERED);
	/* What it told has to be told to the others first. */
	ck_assert_str_eq(view().set, SET3);
	answers();
	ck_assert_str_eq(view().set, REPLACED);
	story_done(&w);
}
END_TEST

START_TEST(a_change_waits_for_the_daemons_that_do_not_know_of_it)
{
	begin(3, false);
	servers[0].unacknowledged = "0badcafe";
	replace("master-3", "master-4", "url");
	answers();
	ck_assert_int_eq(servers[0].step, NEXT_ACCEPTED);
	ck_assert_int_eq(servers[1].step, NEXT_ACCEPTED);
	passes(2000);
	ck_assert_str_eq(view().change, "accepted");
	ck_assert_str_eq(view().set, SET3);
	servers[0].unacknowledged = "";
	passes(1000);
	ck_assert_str_eq(view().set, REPLACED);
	story_done(&w);
}
END_TEST

static void
until_in_force(void)
{
	for (int i = 0; i < 10000 && strcmp(view().set, REPLACED) != 0; i++) {
		unsigned slot = (unsigned)i % CORE_SLOTS_MAX;

		if (asked[slot].attempt > 0 && slots[slot] >= 0)
			answer_hello(slot);
		w.now.ms++;
		happens(&(struct event){.type = EVENT_TIMER});
	}
	ck_assert_str_eq(view().set, REPLACED);
}

/* One of these may have forgotten it before the other one said so. */
START_TEST(a_newcomer_gets_the_set_when_a_majority_says_it_once_more)
{
	begin(3, false);
	replace("master-3", "master-4", "url");
	until_in_force();
	servers[1].up = false;
	passes(300);
	ck_assert_str_eq(servers[0].set, REPLACED);
	ck_assert_str_eq(servers[3].set, "");
	servers[1].up = true;
	for (int i = 0; i < 3 && strcmp(servers[1].set, REPLACED) != 0; i++)
		answer_hello(1);
	ck_assert_str_eq(servers[1].set, REPLACED);
	/* What the newcomer is told now left before anything was told again. */
	servers[0].up = servers[1].up = false;
	answers();
	ck_assert_str_eq(servers[3].set, "");
	servers[0].up = servers[1].up = true;
	passes(400);
	ck_assert_str_eq(servers[3].set, REPLACED);
	story_done(&w);
}
END_TEST

START_TEST(a_change_that_is_offered_can_be_given_up)
{
	begin(3, false);
	servers[1].up = false;
	replace("master-3", "master-4", "url");
	answers();
	passes(200);
	command(2, (struct masters_change){.op = MASTERS_ABORT});
	says("MASTERS ABORT was asked for");
	ck_assert_str_eq(view().next, "3" SET3_REST);
	story_done(&w);
}
END_TEST

START_TEST(a_change_that_waits_for_a_member_that_is_gone_can_be_given_up)
{
	begin(3, false);
	servers[1].up = false;
	replace("master-3", "master-4", "url");
	answers();
	link_event(1, false);
	command(2, (struct masters_change){.op = MASTERS_ABORT});
	says("MASTERS ABORT was asked for");
	ck_assert_str_eq(view().next, "3" SET3_REST);
	story_done(&w);
}
END_TEST

START_TEST(a_change_that_is_accepted_cannot)
{
	begin(3, false);
	servers[0].unacknowledged = "0badcafe";
	replace("master-3", "master-4", "url");
	answers();
	command(2, (struct masters_change){.op = MASTERS_ABORT});
	says("is accepted");
	servers[0].unacknowledged = "";
	passes(1000);
	says("int ");
	command(2, (struct masters_change){.op = MASTERS_ABORT});
	says("no change of the masters is under way");
	story_done(&w);
}
END_TEST

START_TEST(what_cannot_be_is_refused_with_the_reason)
{
	begin(3, false);
	replace("master-9", "master-4", "url");
	says("master-9 is no member of the set: its members are master-1 master-2 master-3");
	replace("master-3", "master-2", "url");
	says("master-2 is a member of the set already");
	replace("master-3", "master-3", "url");
	says("master-3 is a member of the set already");
	add("master-4", "master-4");
	says("master-4 is named twice");
	replace("master-3", "master-4", "url");
	replace("master-2", "master-5", "url");
	says("a change of the masters is under way");
	answers();
	says("int ");
	servers[0].up = false;
	link_event(0, false);
	replace("master-2", "master-5", "url");
	says("master-1, which stays, cannot be used");
	ck_assert_str_eq(view().change, "none");
	story_done(&w);
}
END_TEST

/* No member would stay that refuses the calls of the set before. */
START_TEST(the_only_master_is_not_replaced)
{
	begin(1, false);
	replace("master-1", "master-2", "url");
	answers();
	says("the only master cannot be replaced");
	ck_assert_str_eq(view().set, SET1);
	ck_assert_uint_eq(core_masters(w.core), 1);
	replace("master-1", "master-1", "sentinel");
	answers();
	says("int ");
	ck_assert_str_eq(view().set, "2 0000000000001001:sentinel");
	story_done(&w);
}
END_TEST

START_TEST(a_newcomer_that_daemons_use_is_refused)
{
	begin(3, false);
	snprintf(servers[3].set, TEXT, "4 0000000000001004:url");
	snprintf(servers[3].places, TEXT, "master-4");
	servers[3].agreement = AGREEMENT_AGREED;
	servers[3].living = "0badcafe";
	replace("master-3", "master-4", "url");
	answers();
	says("belongs to another set of masters, whose daemons live (0badcafe)");
	ck_assert_uint_eq(core_masters(w.core), 3);
	/* When they are gone it may come, with a later generation. */
	servers[3].living = "";
	replace("master-3", "master-4", "url");
	answers();
	says("int ");
	ck_assert_int_eq(view().generation, 5);
	story_done(&w);
}
END_TEST

START_TEST(a_newcomer_that_does_not_answer_is_not_waited_for)
{
	begin(3, false);
	servers[3].up = false;
	replace("master-3", "master-4", "url");
	passes(4000);
	says("");
	passes(1500);
	says("master-4 cannot be used");
	ck_assert_str_eq(view().change, "none");
	ck_assert_str_eq(view().set, SET3);
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_drives_a_change_that_it_is_told_of)
{
	begin(3, false);
	snprintf(servers[0].next, TEXT, "%s", REPLACED);
	snprintf(servers[0].next_places, TEXT, "master-1 master-2 master-4 | master-3");
	servers[0].step = NEXT_OFFERED;
	passes(1000);
	ck_assert_str_eq(view().set, REPLACED);
	ck_assert_int_eq(slots[2], 3);
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_follows_a_set_that_is_in_force)
{
	begin(3, false);
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			continue;
		snprintf(servers[i].set, TEXT, "%s", "3" REPLACED_REST);
		snprintf(servers[i].places, TEXT, "master-1 master-2 master-4 | master-3");
		servers[i].agreement = AGREEMENT_AGREED;
	}
	passes(1000);
	ck_assert_str_eq(view().set, "3" REPLACED_REST);
	ck_assert_int_eq(slots[2], 3);
	ck_assert_str_eq(servers[2].set, "3" REPLACED_REST);
	story_done(&w);
}
END_TEST

/* The same, as it finds it when it starts with the list of before. */
static void
starts_with_the_old_list(bool follow)
{
	begin(3, follow);
	core_free(w.core);
	w.core = core_new(&w.settings, w.now);
	memset(asked, 0, sizeof(asked));
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			continue;
		snprintf(servers[i].set, TEXT, "%s", "3" REPLACED_REST);
		snprintf(servers[i].places, TEXT, "master-1 master-2 master-4 | master-3");
		servers[i].agreement = AGREEMENT_AGREED;
	}
	servers[2].up = false;
	link_event(0, true);
	link_event(1, true);
	answers();
	passes(1000);
}

START_TEST(a_daemon_that_starts_with_an_old_list_follows_if_it_may)
{
	starts_with_the_old_list(true);
	ck_assert_str_eq(view().word, "agreed");
	ck_assert_int_eq(slots[2], 3);
	story_done(&w);
	starts_with_the_old_list(false);
	ck_assert_str_eq(view().word, "refused");
	ck_assert_int_eq(slots[2], 2);
	story_done(&w);
}
END_TEST

static bool
still_held(void)
{
	struct resource_view r;

	return core_view_resource(w.core, w.now.ms, SLICE("a"), &r) && strcmp(r.lease, "held") == 0;
}

static int64_t
held_until_ms(void)
{
	struct resource_view r;

	ck_assert(core_view_resource(w.core, w.now.ms, SLICE("a"), &r));
	return w.now.ms + r.lease_ms;
}

static void
holds_with_a_grace(void)
{
	run(&w, 1, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 60000});
	lock(&w, 1, "a");
	for (w.at = 0; w.at < w.settings.masters; w.at++)
		granted(&w, "a", 1, 500);
	w.at = 0;
}

/* The next process begins, with so many masters in its configuration. */
static void
recovers(unsigned masters, struct slice ledger)
{
	char why[RECORD_WHY_MAX];
	struct core *core;

	w.settings.masters = masters;
	w.settings.daemon_id = "00112233445566778899aabbccddeeff";
	core = core_recover(&w.settings, w.now, ledger, why);
	ck_assert_msg(core != NULL, "%s", why);
	core_free(w.core);
	w.core = core;
	memset(asked, 0, sizeof(asked));
	adopts = 0;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		slots[i] = i < masters ? (int)i : -1;
	for (unsigned i = 0; i < masters; i++)
		link_event(i, true);
	answers();
}

/* As a version writes it that keeps no set of masters. */
static struct slice
ledger_without_a_set(void)
{
	struct replay all = {.n = 0};
	struct slice bytes;

	ck_assert(replay_take(&all, (struct slice){buffer_bytes(&w.log), buffer_length(&w.log)}));
	replay_drop(&all, RECORD_LEDGER_SET);
	bytes = replay_bytes(&all);
	replay_done(&all);
	return bytes;
}

/* The process before held "a" at three masters, and has not written which. The next one begins with so many
 * of them. */
static void
crashed_with(unsigned masters, const char *set)
{
	struct slice ledger;

	begin(3, true);
	holds_with_a_grace();
	for (int i = 0; i < 3; i++)
		snprintf(servers[i].set, TEXT, "%s", set);
	ledger = ledger_without_a_set();
	recovers(masters, ledger);
	ck_assert_str_eq(view().word, "agreed");
	free((char *)(uintptr_t)ledger.p);
}

START_TEST(a_daemon_that_recovers_with_an_old_list_adopts_at_all_masters)
{
	crashed_with(1, SET3);
	ck_assert_uint_eq(adopts, 7);
	ck_assert(still_held());
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_that_recovers_with_a_newcomer_adopts_at_the_others)
{
	crashed_with(1, "2 0000000000001001+url 0000000000001002:url 0000000000001003:url");
	ck_assert_uint_eq(adopts, 6);
	ck_assert(still_held());
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_that_recovers_adopts_at_masters_that_came_with_the_last_change)
{
	crashed_with(3, "2 0000000000001001:url 0000000000001002+url 0000000000001003+url");
	ck_assert_uint_eq(adopts, 7);
	ck_assert(still_held());
	story_done(&w);
}
END_TEST

/* The set was changed while the process before ran. In the configuration is the old list: each of its masters
 * is a member, or has left. So the next one begins with the members, as a live daemon has them, and asks all
 * of them to adopt: also the one that came, though it has never been in the list. */
START_TEST(a_daemon_that_recovers_begins_with_the_masters_that_have_its_leases)
{
	begin(3, true);
	holds_with_a_grace();
	replace("master-1", "master-4", "url");
	answers();
	ck_assert_str_eq(view().word, "agreed");
	ck_assert_int_eq(slots[0], 3);
	ck_assert(still_held());
	servers[3].admitted = true;
	servers[1].up = false;
	recovers(3, (struct slice){buffer_bytes(&w.log), buffer_length(&w.log)});
	ck_assert_str_eq(view().word, "agreed");
	ck_assert_int_eq(slots[0], 3);
	ck_assert_uint_eq(adopts, 5);
	ck_assert(still_held());
	story_done(&w);
}
END_TEST

static void
newcomers_come(void)
{
	for (int i = 0; i < 3; i++) {
		snprintf(servers[i].set, TEXT, "%s",
			"2 0000000000001001:url 0000000000001002+url 0000000000001003+url");
		snprintf(servers[i].places, TEXT, "master-1 master-2 master-3");
		servers[i].agreement = AGREEMENT_AGREED;
	}
}

/* The first newcomers beside a single master are guarded, and the process is killed. Its master alone is in
 * the configuration. What the newcomers reclaim counts, as in the process before: they can have given nothing
 * to anybody else. It also does if that process had not heard of the change. */
START_TEST(what_a_single_master_gave_goes_on_after_a_crash_amid_the_guard_of_newcomers)
{
	for (int heard = 0; heard < 2; heard++) {
		int64_t until_ms;

		begin(1, true);
		holds_with_a_grace();
		until_ms = w.now.ms + LEASE_MS + MARGIN_MS;
		if (heard) {
			add("master-2", "master-3");
			answers();
			ck_assert_uint_eq(core_members(w.core), 3);
			until_ms = w.core->quorum->newcomers_until_ms;
			ck_assert_int_gt(until_ms, w.now.ms);
		} else {
			newcomers_come();
		}
		recovers(1, (struct slice){buffer_bytes(&w.log), buffer_length(&w.log)});
		ck_assert_str_eq(view().word, "agreed");
		ck_assert_uint_eq(core_members(w.core), 3);
		ck_assert_int_eq(slots[0], 0);
		ck_assert_int_le(w.core->quorum->newcomers_until_ms, until_ms);
		ck_assert_int_gt(w.core->quorum->newcomers_until_ms, until_ms - LEASE_MS / 20);
		ck_assert(still_held());
		story_done(&w);
	}
}
END_TEST

/* A process is killed in the step in which it took the next set, before the single master was told. That one
 * still grants leases alone, so what the newcomers reclaim for the next process prolongs nothing. */
START_TEST(newcomers_prolong_nothing_while_their_master_has_the_set_before)
{
	int64_t valid_until_ms;

	begin(1, true);
	holds_with_a_grace();
	add("master-2", "master-3");
	for (unsigned i = 0; core_members(w.core) < 3; i++) {
		unsigned slot = i % CORE_SLOTS_MAX;

		ck_assert_uint_lt(i, 10000);
		if (asked[slot].attempt > 0 && slots[slot] >= 0)
			answer_hello(slot);
		w.now.ms += slot == 0;
		if (core_members(w.core) == 1)
			happens(&(struct event){.type = EVENT_TIMER});
	}
	ck_assert_str_eq(servers[0].set, SET1);
	valid_until_ms = held_until_ms();
	recovers(1, (struct slice){buffer_bytes(&w.log), buffer_length(&w.log)});
	ck_assert_str_eq(view().word, "refused");
	ck_assert_uint_eq(core_members(w.core), 3);
	ck_assert(still_held());
	for (w.at = 1; w.at < 3; w.at++)
		(void)answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1);
	ck_assert_int_le(held_until_ms(), valid_until_ms);
	story_done(&w);
}
END_TEST

/* A list that names a server which was never a member is another configuration, and counts. So does a list
 * that must not be followed. */
START_TEST(a_daemon_that_recovers_with_another_list_begins_with_that)
{
	begin(3, false);
	holds_with_a_grace();
	recovers(1, (struct slice){buffer_bytes(&w.log), buffer_length(&w.log)});
	ck_assert_uint_eq(core_members(w.core), 1);
	story_done(&w);
}
END_TEST

/* A member that has not answered may have no offer: the others do not accept theirs yet. */
START_TEST(a_daemon_that_starts_can_give_up_a_change_before_all_members_have_answered)
{
	struct peer peer = {.pid = 100, .uid = 0};

	begin(3, false);
	servers[1].up = false;
	replace("master-3", "master-4", "url");
	answers();
	core_free(w.core);
	w.core = core_new(&w.settings, w.now);
	memset(asked, 0, sizeof(asked));
	happens(&(struct event){.type = EVENT_OPEN, .conn = 2, .peer = &peer});
	link_event(0, true);
	link_event(2, true);
	answers();
	ck_assert_int_eq(servers[0].step, NEXT_OFFERED);
	command(2, (struct masters_change){.op = MASTERS_ABORT});
	ck_assert_str_eq(view().next, "3" SET3_REST);
	story_done(&w);
}
END_TEST

/* It may have forgotten a later set, which the one that has left does not know. */
START_TEST(a_daemon_that_starts_gives_a_set_back_only_if_enough_others_say_it)
{
	begin(3, true);
	core_free(w.core);
	w.core = core_new(&w.settings, w.now);
	memset(asked, 0, sizeof(asked));
	servers[0] = (struct server){.up = true, .incarnation = 1, .unacknowledged = "", .living = ""};
	servers[1].up = false;
	happens(&(struct event){.type = EVENT_LINK_DOWN, .master = 1, .text = slice_of("refused")});
	link_event(2, true);
	link_event(0, true);
	answers();
	passes(3000);
	ck_assert_str_eq(view().set, SET3);
	ck_assert_str_eq(servers[0].set, "");
	servers[1].up = true;
	link_event(1, true);
	answers();
	passes(1000);
	ck_assert_str_eq(servers[0].set, SET3);
	story_done(&w);
}
END_TEST

/* A replica that was promoted may know it as offered. */
START_TEST(a_member_that_knows_the_set_as_offered_only_is_as_good_as_without_memory)
{
	begin(1, false);
	w.now.ms += 2 * LEASE_MS;
	servers[0].agreement = AGREEMENT_OFFERED;
	servers[0].incarnation++;
	link_event(0, false);
	link_event(0, true);
	passes(100);
	ck_assert_int_eq(servers[0].agreement, AGREEMENT_AGREED);
	story_done(&w);
}
END_TEST

START_TEST(a_member_that_forgets_in_a_change_gets_the_next_set_as_well)
{
	begin(3, false);
	servers[0].unacknowledged = "0badcafe";
	replace("master-3", "master-4", "url");
	answers();
	ck_assert_int_eq(servers[1].step, NEXT_ACCEPTED);
	servers[1] = (struct server){.up = true, .incarnation = 1, .unacknowledged = "", .living = ""};
	link_event(1, false);
	link_event(1, true);
	answers();
	passes(1000);
	ck_assert_str_eq(servers[1].set, SET3);
	ck_assert_str_eq(servers[1].next, REPLACED);
	ck_assert_int_eq(servers[1].given, NEXT_ACCEPTED);
	servers[0].unacknowledged = "";
	passes(3000);
	ck_assert_str_eq(view().set, REPLACED);
	story_done(&w);
}
END_TEST

/* With the newcomer, which is guarded as well, most members would know nothing of the leases. */
START_TEST(a_change_waits_for_the_guard_of_a_member_that_stays)
{
	begin(3, false);
	servers[0].unacknowledged = "0badcafe";
	replace("master-3", "master-4", "url");
	answers();
	servers[1] = (struct server){.up = true, .incarnation = 1, .unacknowledged = "", .living = ""};
	link_event(1, false);
	link_event(1, true);
	answers();
	servers[0].unacknowledged = "";
	passes(GUARD_MS - 200);
	ck_assert(!servers[1].admitted);
	ck_assert_str_eq(view().set, SET3);
	ck_assert_int_eq(servers[1].step, NEXT_ACCEPTED);
	passes(2000);
	ck_assert(servers[1].admitted);
	ck_assert_str_eq(view().set, REPLACED);
	story_done(&w);
}
END_TEST

/* What it tells is older than the set in force, and no reason to leave another member without that. */
START_TEST(a_newcomer_that_left_once_tells_no_other_set)
{
	begin(3, false);
	snprintf(servers[3].set, TEXT, "1 0000000000001002:url 0000000000001003:url 0000000000001005+url");
	snprintf(servers[3].places, TEXT, "master-2 master-3 master-5 | master-4");
	servers[3].agreement = AGREEMENT_AGREED;
	replace("master-3", "master-4", "url");
	until_in_force();
	link_event(slot_of(3), false);
	link_event(1, false);
	passes(2 * LEASE_MS);
	ck_assert_str_ne(servers[3].set, REPLACED);
	servers[1] = (struct server){.up = true, .incarnation = 1, .unacknowledged = "", .living = ""};
	link_event(slot_of(3), true);
	link_event(1, true);
	passes(3000);
	ck_assert_str_eq(servers[1].set, REPLACED);
	ck_assert_str_eq(servers[3].set, REPLACED);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("change", NULL, NULL, a_member_is_replaced, a_member_that_is_gone_is_replaced,
		one_master_becomes_three, the_way_to_a_member_changes,
		a_member_at_another_address_is_reached_there,
		a_member_moves_with_the_set_only_from_the_address_that_was_left,
		each_step_is_taken_at_all_that_stay_before_the_next,
		a_change_waits_for_the_daemons_that_do_not_know_of_it,
		a_newcomer_gets_the_set_when_a_majority_says_it_once_more,
		a_change_that_is_offered_can_be_given_up,
		a_change_that_waits_for_a_member_that_is_gone_can_be_given_up,
		a_change_that_is_accepted_cannot, what_cannot_be_is_refused_with_the_reason,
		the_only_master_is_not_replaced, a_newcomer_that_daemons_use_is_refused,
		a_newcomer_that_does_not_answer_is_not_waited_for,
		a_daemon_drives_a_change_that_it_is_told_of, a_daemon_follows_a_set_that_is_in_force,
		a_daemon_that_starts_with_an_old_list_follows_if_it_may,
		a_daemon_that_recovers_with_an_old_list_adopts_at_all_masters,
		a_daemon_that_recovers_with_a_newcomer_adopts_at_the_others,
		a_daemon_that_recovers_adopts_at_masters_that_came_with_the_last_change,
		a_daemon_that_recovers_begins_with_the_masters_that_have_its_leases,
		a_daemon_that_recovers_with_another_list_begins_with_that,
		what_a_single_master_gave_goes_on_after_a_crash_amid_the_guard_of_newcomers,
		newcomers_prolong_nothing_while_their_master_has_the_set_before,
		a_daemon_that_starts_can_give_up_a_change_before_all_members_have_answered,
		a_daemon_that_starts_gives_a_set_back_only_if_enough_others_say_it,
		a_member_that_knows_the_set_as_offered_only_is_as_good_as_without_memory,
		a_member_that_forgets_in_a_change_gets_the_next_set_as_well,
		a_change_waits_for_the_guard_of_a_member_that_stays,
		a_newcomer_that_left_once_tells_no_other_set);
}
