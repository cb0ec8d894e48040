/*
 * What one turn costs if a client has much of everything: no list is walked for each element of another list
 * that clients make long as well. Each story compares the processor time of the turn with that of the
 * requests that led to it, which are as many; a walk within a walk takes many times as long.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/base/counts.h"
#include "daemon/core/core.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/persist/state.h"
#include "proto/record.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MANY = 20000, FIRST_CONN = 1000 };

#define ID SLICE("6f1c0d8e5b7a4e9f")

static int64_t
cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void
quickly_run(struct story *w, conn_id conn, struct command command)
{
	command.retries = COMMAND_RETRIES_ANY;
	story_step_quickly(w, &(struct event){.type = EVENT_COMMAND, .conn = conn, .command = &command});
}

static size_t
actions_of(const struct story *w, enum action_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < w->actions.n; i++)
		n += w->actions.list[i].type == type;
	return n;
}

/* No limit is in the way. */
static void
story_of_many(struct story *w)
{
	story_init(w);
	w->settings.grants_per_session = 4 * MANY;
	w->settings.waiters_per_session = 4 * MANY;
	w->settings.lost_per_session = 4 * MANY;
	story_anew(w);
}

/* The time from began_us on is that of a turn, and that from before_us to began_us led to it: the turn takes
 * no more than so many times as long. */
static void
ck_turn(const char *what, int64_t before_us, int64_t began_us, int64_t times)
{
	int64_t turn_us = cpu_us() - began_us, led_us = began_us - before_us;

	(void)printf("%s: %lld us, after %lld us\n", what, (long long)turn_us, (long long)led_us);
	ck_assert_msg(turn_us < times * led_us, "%s: %lld us, after %lld us", what, (long long)turn_us,
		(long long)led_us);
}

/* The lease of the name, for all who ask for it. */
static void
granted_many(struct story *w, const char *name, uint64_t attempt)
{
	struct vote yes = {.op = CALL_ACQUIRE,
		.name = slice_of(name),
		.attempt = attempt,
		.token_first = 1000000 * (int64_t)attempt,
		.token_last = 1000000 * (int64_t)attempt + 999999,
		.time_us = w->now.ms * 1000 + 5000000};

	story_step_quickly(w, &(struct event){.type = EVENT_VOTE, .vote = &yes});
}

/* Reads the name once for each of n tags, by the session of this id if one is given. The first of these reads
 * is the attempt with this number. */
static void
read_many(struct story *w, conn_id conn, const char *name, int n, struct slice as, uint64_t attempt)
{
	for (int i = 0; i < n; i++) {
		char tag[24];

		(void)snprintf(tag, sizeof(tag), "t%d", i);
		quickly_run(w, conn,
			(struct command){.verb = VERB_LOCK,
				.name = slice_of(name),
				.kind = KIND_SHARED,
				.owner = slice_of(tag),
				.wait_ms = COMMAND_WAIT_RULE,
				.as = as});
		if (i == 0)
			granted_many(w, name, attempt);
	}
}

/* No master answers any more, and the lease is over. */
static void
lose_all(struct story *w)
{
	w->now.ms += LEASE_MS;
	for (unsigned i = 0; i < w->settings.masters; i++)
		w->core->masters[i].registered_ms = w->now.ms;
	story_step_quickly(w, &(struct event){.type = EVENT_TIMER});
}

/* Timers, until the session of the connection that was closed has ended. */
static void
until_ended(struct story *w, size_t sessions)
{
	while (w->core->counts.sessions > sessions) {
		w->now.ms++;
		story_step_quickly(w, &(struct event){.type = EVENT_TIMER});
	}
}

/* Each loss is compared with what is withheld, not with all holders. */
START_TEST(many_losses_of_a_name_with_many_holders_end_with_their_session)
{
	struct story w;
	int64_t before_us, began_us;
	size_t sessions;

	story_of_many(&w);
	run(&w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_NEXT});
	before_us = cpu_us();
	read_many(&w, 1, "a", MANY, (struct slice){0}, 1);
	lose_all(&w);
	read_many(&w, 2, "a", MANY, (struct slice){0}, 2);
	ck_assert_uint_eq(w.core->counts.grants, MANY);
	sessions = w.core->counts.sessions;
	began_us = cpu_us();
	story_step_quickly(&w, &(struct event){.type = EVENT_CLOSE, .conn = 1, .end = END_CLEAN});
	until_ended(&w, sessions - 1);
	ck_turn("losses and holders", before_us, began_us, 1);
	core_check(w.core, w.now.ms);
	story_done(&w);
}
END_TEST

/* What is forgotten is the oldest loss, however much was given back before it. */
START_TEST(many_holds_are_lost_by_a_session_that_gave_many_back)
{
	struct story w;
	int64_t before_us, began_us;

	story_of_many(&w);
	w.settings.lost_per_session = MANY / 2;
	story_anew(&w);
	before_us = cpu_us();
	read_many(&w, 1, "b", MANY / 2, ID, 1);
	for (int64_t i = 0; i < MANY / 2; i++) {
		char tag[24];

		(void)snprintf(tag, sizeof(tag), "t%lld", (long long)i);
		quickly_run(&w, 1,
			(struct command){.verb = VERB_UNLOCK,
				.name = SLICE("b"),
				.owner = slice_of(tag),
				.token = 1000000 + i,
				.as = ID});
	}
	read_many(&w, 1, "a", MANY, ID, 2);
	ck_assert_uint_eq(w.core->counts.grants, MANY);
	began_us = cpu_us();
	lose_all(&w);
	ck_turn("losses beside what was given back", before_us, began_us, 1);
	ck_assert_uint_eq(w.core->counts.grants, 0);
	core_check(w.core, w.now.ms);
	story_done(&w);
}
END_TEST

/* ---- a session with many connections ---- */

static struct slice
secret_of(struct story *w, char secret[64])
{
	run(w, 1, (struct command){.verb = VERB_SESSION_SECRET});
	(void)snprintf(secret, 64, "%s", story_text(w));
	return slice_of(secret);
}

/* So many connections join the session of connection 1. */
static void
join_many(struct story *w, int n, struct slice secret)
{
	const struct peer peer = {.pid = 4711, .uid = 0};

	for (int i = 0; i < n; i++) {
		conn_id conn = FIRST_CONN + (conn_id)i;

		story_step_quickly(w, &(struct event){.type = EVENT_OPEN, .conn = conn, .peer = &peer});
		quickly_run(w, conn, (struct command){.verb = VERB_SESSION_JOIN, .secret = secret});
	}
}

START_TEST(many_losses_close_each_of_many_connections_once)
{
	enum { CONNS = 500, HOLDS = 500 };
	struct story w;
	char secret[64];

	story_of_many(&w);
	join_many(&w, CONNS, secret_of(&w, secret));
	read_many(&w, 1, "a", HOLDS, (struct slice){0}, 1);
	lose_all(&w);
	ck_assert_uint_eq(w.core->counts.grants, 0);
	ck_assert_uint_eq(actions_of(&w, ACTION_CLOSE), CONNS + 1);
	core_check(w.core, w.now.ms);
	story_done(&w);
}
END_TEST

START_TEST(a_connection_that_joins_after_a_loss_is_closed_for_the_next)
{
	struct story w;
	char secret[64];
	struct slice text;

	story_of_many(&w);
	text = secret_of(&w, secret);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 1000);
	run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 1000});
	ck_assert_uint_eq(actions_of(&w, ACTION_CLOSE), 1);
	ck_assert_str_eq(run(&w, 2, (struct command){.verb = VERB_SESSION_JOIN, .secret = text}), "c2 :0");
	close_as(&w, 1, END_GONE);
	lock(&w, 2, "b");
	granted(&w, "b", 2, 2000);
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("b"), .token = 2000}),
		"c2 close | c3 :988");
	story_done(&w);
}
END_TEST

/* Each connection waits once, for a name that another client has. */
static void
wait_many(struct story *w, int n)
{
	for (int i = 0; i < n; i++)
		quickly_run(w, FIRST_CONN + (conn_id)i,
			(struct command){
				.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = COMMAND_WAIT_RULE});
}

START_TEST(many_connections_that_wait_are_taken_over_in_one_turn)
{
	struct story w;
	char secret[64];
	struct slice text;
	int64_t before_us, began_us;

	story_of_many(&w);
	lock(&w, 2, "a");
	granted(&w, "a", 1, 1000);
	text = secret_of(&w, secret);
	before_us = cpu_us();
	join_many(&w, MANY, text);
	wait_many(&w, MANY);
	ck_assert_uint_eq(w.core->counts.waiters, MANY);
	began_us = cpu_us();
	quickly_run(&w, 3, (struct command){.verb = VERB_SESSION_RESUME, .secret = text});
	ck_turn("connections and waits", before_us, began_us, 1);
	ck_assert_uint_eq(w.core->counts.waiters, 0);
	core_check(w.core, w.now.ms);
	story_done(&w);
}
END_TEST

/* ---- a session that waits for many names ---- */

static struct core *
load(struct story *w, struct buffer *state)
{
	struct record r;
	struct core *core;

	buffer_init(state, SIZE_MAX / 2);
	record_save(&r, state);
	core_save(w->core, &r);
	record_begin(&r, RECORD_END);
	record_end(&r);
	ck_assert(!r.failed);
	ck_assert(record_load(&r, (struct slice){buffer_bytes(state), buffer_length(state)}));
	core = core_load(&w->settings, w->now, &r);
	ck_assert_msg(core != NULL, "%s", r.why);
	return core;
}

START_TEST(many_waits_of_a_session_outlive_a_restart_in_their_order)
{
	struct story w;
	struct buffer state;
	struct core *core;
	int64_t before_us, began_us;

	story_of_many(&w);
	link_down(&w, "gone");
	before_us = cpu_us();
	for (int i = 0; i < MANY; i++) {
		char name[24];

		(void)snprintf(name, sizeof(name), "n%d", i);
		quickly_run(&w, 1,
			(struct command){.verb = VERB_LOCK,
				.name = slice_of(name),
				.id = slice_of(name),
				.wait_ms = COMMAND_WAIT_RULE});
	}
	ck_assert_uint_eq(w.core->counts.waiters, MANY);
	began_us = cpu_us();
	core = load(&w, &state);
	ck_turn("waits at a restart", before_us, began_us, 8);
	core_check(core, w.now.ms);
	core_free(core);
	buffer_done(&state);
	story_done(&w);
}
END_TEST

/* By connections from this one on, and by the session of this id, each for a name of its own. */
static int64_t
wait_apart(struct story *w, conn_id first, const char *prefix, struct slice as)
{
	const struct peer peer = {.pid = 4711, .uid = 0};
	int64_t us = 0;

	for (int i = 0; i < MANY; i++) {
		char name[24];
		int64_t began_us;

		(void)snprintf(name, sizeof(name), "%s%d", prefix, i);
		story_step_quickly(
			w, &(struct event){.type = EVENT_OPEN, .conn = first + (conn_id)i, .peer = &peer});
		began_us = cpu_us();
		quickly_run(w, first + (conn_id)i,
			(struct command){.verb = VERB_LOCK,
				.name = slice_of(name),
				.wait_ms = COMMAND_WAIT_RULE,
				.as = as});
		us += cpu_us() - began_us;
	}
	return us;
}

START_TEST(a_session_of_an_id_that_waits_for_many_names_asks_for_one_more)
{
	struct story w;
	int64_t own_us, id_us;

	story_of_many(&w);
	link_down(&w, "gone");
	own_us = wait_apart(&w, FIRST_CONN, "o", (struct slice){0});
	id_us = wait_apart(&w, FIRST_CONN + MANY, "i", ID);
	(void)printf("waits of an id: %lld us, of sessions: %lld us\n", (long long)id_us, (long long)own_us);
	ck_assert_uint_eq(w.core->counts.waiters, 2 * MANY);
	ck_assert_int_lt(id_us, 5 * own_us);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("many", NULL, NULL, many_losses_of_a_name_with_many_holders_end_with_their_session,
		many_holds_are_lost_by_a_session_that_gave_many_back,
		many_losses_close_each_of_many_connections_once,
		a_connection_that_joins_after_a_loss_is_closed_for_the_next,
		many_connections_that_wait_are_taken_over_in_one_turn,
		many_waits_of_a_session_outlive_a_restart_in_their_order,
		a_session_of_an_id_that_waits_for_many_names_asks_for_one_more);
}
