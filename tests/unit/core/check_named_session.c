/*
 * Sessions of an id (PROTOCOL.md 5.11): over whatever connection a request comes, and however often it is
 * repeated. Each test is a short story (tests/support/story.h).
 */
#include "daemon/core/base/base.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define ID       SLICE("6f1c0d8e5b7a4e9f")
#define OTHER_ID SLICE("0a9b8c7d6e5f4a3b")
#define THIRD_ID SLICE("third-0123456789")
#define SLACK_MS 1000 /* of a silence of the default TTL */

/* The token with which the session of this id holds the name; 0: it does not. */
static int64_t
token_of(const struct story *w, struct slice id, const char *name)
{
	struct session *s = named_session_find(w->core, 0, id);
	const struct grant *g =
		s == NULL ? NULL
			  : grant_find(w->core, names_find(&w->core->leases->names, slice_of(name)), s,
				    (struct slice){0});

	return g == NULL ? 0 : g->token;
}

/* An UNLOCK has the token, as its client was told it. */
static const char *
ask_as(struct story *w, conn_id conn, enum verb verb, const char *name, struct slice id)
{
	int64_t token = verb == VERB_UNLOCK ? token_of(w, id, name) : 0;

	return run(w, conn, (struct command){.verb = verb, .name = slice_of(name), .token = token, .as = id});
}

static const char *
ask(struct story *w, conn_id conn, enum verb verb, const char *name)
{
	return ask_as(w, conn, verb, name, ID);
}

static const char *
ask_other(struct story *w, conn_id conn, enum verb verb, const char *name)
{
	return ask_as(w, conn, verb, name, OTHER_ID);
}

/* With the token, by which the session of ID claims the hold. */
static const char *
name_it(struct story *w, conn_id conn, const char *name)
{
	return run(w, conn,
		(struct command){.verb = VERB_CHECK,
			.name = slice_of(name),
			.token = token_of(w, ID, name),
			.as = ID});
}

static const char *
ask_once(struct story *w, conn_id conn, const char *name, struct slice id)
{
	const struct command c = {.verb = VERB_LOCK, .name = slice_of(name), .as = id};

	return step(w, &(struct event){.type = EVENT_COMMAND, .conn = conn, .command = &c});
}

/* Lets time pass, while the master renews whatever it is asked to; what else happened. */
static const char *
keep(struct story *w, int64_t ms)
{
	static char all[4096];

	all[0] = '\0';
	for (int64_t passed = 0; passed < ms; passed++) {
		struct call calls[8];
		size_t n;

		after(w, 1);
		n = story_renewals(w, calls, 8);
		if (n == 0 && w->trace[0] != '\0') {
			ck_assert_uint_lt(strlen(all) + strlen(w->trace) + 1, sizeof(all));
			strcat(all, w->trace);
			strcat(all, ";");
		}
		for (size_t i = 0; i < n; i++) {
			char name[64];

			(void)snprintf(name, sizeof(name), "%.*s", (int)calls[i].name.n, calls[i].name.p);
			ck_assert_str_eq(answer(w, CALL_RENEW, OUTCOME_YES, name, calls[i].attempt), "");
		}
	}
	return all;
}

/* The session of ID holds a, asked for over c1. */
static void
hold(struct story *w)
{
	story_ready(w);
	ck_assert_str_eq(ask(w, 1, VERB_LOCK, "a"), "acquire a#1");
	ck_assert_str_eq(granted(w, "a", 1, 500), "c1 :500");
}

/* ... and that of OTHER_ID waits for it over c2, before c3 of its own. */
static void
hold_and_wait(struct story *w)
{
	hold(w);
	ck_assert_str_eq(ask_other(w, 2, VERB_LOCK, "a"), "");
	ck_assert_str_eq(lock(w, 3, "a"), "");
}

static size_t
sessions(const struct story *w)
{
	struct core_counts counts;

	core_view_counts(w->core, &counts);
	return counts.sessions;
}

START_TEST(a_hold_belongs_to_its_id_over_any_connection)
{
	struct story w;

	hold(&w);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 null");
	ck_assert_str_eq(ask(&w, 2, VERB_CHECK, "a"), "c2 :977");
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "");
	ck_assert_str_eq(ask_other(&w, 2, VERB_UNLOCK, "a"), "c2 -NOTHELD");
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_SESSION_ID, .as = ID}), "c3 :5");
	ck_assert_str_eq(ask(&w, 3, VERB_UNLOCK, "a"), "c3 :0 | release a#1");
	story_done(&w);
}
END_TEST

START_TEST(each_user_has_ids_of_its_own)
{
	struct peer peer = {.pid = 1, .uid = 7, .user = 7};
	struct story w;

	hold(&w);
	step(&w, &(struct event){.type = EVENT_OPEN, .conn = 11, .peer = &peer});
	ck_assert_str_eq(ask(&w, 11, VERB_CHECK, "a"), "c11 null");
	ck_assert_str_eq(ask(&w, 11, VERB_UNLOCK, "a"), "c11 -NOTHELD");
	ck_assert_str_eq(ask(&w, 11, VERB_LOCK, "a"), "");
	ck_assert_str_eq(ask(&w, 2, VERB_UNLOCK, "a"), "c2 :0 | c11 :501");
	story_done(&w);
}
END_TEST

START_TEST(an_id_of_another_daemon_is_told_where_to_ask)
{
	const char *told;
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 -NOTHELD");
	told = w.actions.list[0].u.reply.text;
	ck_assert_ptr_nonnull(strstr(told, "another host's daemon has it"));
	ck_assert_ptr_null(strstr(told, "INSPECT"));
	lock(&w, 2, "a");
	busy(&w, "a", 1);
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 -NOTHELD");
	ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "ask the daemon that INSPECT names"));
	story_done(&w);
}
END_TEST

/* Another daemon holds the name for the id of this user. */
static const char *
elsewhere(struct story *w, uint64_t user, const char *name, struct slice id)
{
	const struct whose whose = {user, slice_of(name), id};

	return step(
		w, &(struct event){.type = EVENT_ELSEWHERE, .whose = &whose, .text = SLICE("it is at d2")});
}

/* The session of ID waits over c1 for a, which another daemon has, and that daemon is to be asked. */
static void
wait_for_itself(struct story *w)
{
	story_ready(w);
	ck_assert_str_eq(ask(w, 1, VERB_LOCK, "a"), "acquire a#1");
	busy(w, "a", 1);
	ck_assert_str_eq(after(w, 332), "acquire a#2");
	ck_assert_str_eq(busy(w, "a", 2), "");
	ck_assert_str_eq(after(w, 1), "whose a 6f1c0d8e5b7a4e9f");
}

START_TEST(an_id_that_waits_for_itself_is_told_where_it_holds_the_name)
{
	const struct reply *told;
	struct story w;

	wait_for_itself(&w);
	ck_assert_str_eq(elsewhere(&w, 7, "a", ID), "");
	ck_assert_str_eq(elsewhere(&w, 0, "b", ID), "");
	ck_assert_str_eq(elsewhere(&w, 0, "a", OTHER_ID), "");
	ck_assert_str_eq(elsewhere(&w, 0, "a", ID), "c1 -NOTHELD | leave a#2");
	told = &w.actions.list[0].u.reply;
	ck_assert_str_eq(told->text, "it is at d2");
	/* The id is unknown again, so that other daemons are asked what it holds. */
	ck_assert(!core_knows_id(w.core, 0, ID));
	story_done(&w);
}
END_TEST

START_TEST(an_id_that_waits_over_another_connection_is_told_there)
{
	struct story w;

	wait_for_itself(&w);
	/* The next question comes after twice as long, whatever the client does meanwhile. */
	ck_assert_str_eq(ask(&w, 2, VERB_LOCK, "a"), "c1 -ERR");
	ck_assert_str_eq(after(&w, 332), "acquire a#3");
	ck_assert_str_eq(busy(&w, "a", 3), "");
	ck_assert_str_eq(ask(&w, 3, VERB_LOCK, "a"), "c2 -ERR");
	ck_assert_str_eq(after(&w, 1), "whose a 6f1c0d8e5b7a4e9f");
	/* Without a connection it keeps its place, and no question is asked. */
	ck_assert_str_eq(close_as(&w, 3, END_GONE), "");
	ck_assert_str_eq(elsewhere(&w, 0, "a", ID), "");
	ck_assert_ptr_null(strstr(after(&w, 1000), "whose"));
	(void)ask(&w, 4, VERB_LOCK, "a");
	ck_assert_ptr_nonnull(strstr(after(&w, 1), "whose"));
	ck_assert_str_eq(elsewhere(&w, 0, "a", ID), "c4 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(an_mlock_that_waits_for_itself_is_told_where_it_holds_a_name)
{
	const struct slice names[] = {SLICE("b"), SLICE("a")};
	const struct command c = {
		.verb = VERB_MLOCK, .wait_ms = COMMAND_WAIT_RULE, .names = names, .name_count = 2, .as = ID};
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(run(&w, 1, c), "acquire a#1 once | acquire b#2 once");
	ck_assert_str_eq(busy(&w, "b", 2), "leave b#2");
	ck_assert_str_eq(busy(&w, "a", 1), "acquire a#3");
	ck_assert_ptr_nonnull(strstr(after(&w, 400), "whose a"));
	ck_assert_str_eq(elsewhere(&w, 0, "b", ID), "");
	ck_assert_ptr_nonnull(strstr(elsewhere(&w, 0, "a", ID), "c1 -NOTHELD"));
	ck_assert(!core_knows_id(w.core, 0, ID));
	story_done(&w);
}
END_TEST

START_TEST(an_id_whose_name_is_held_here_asks_no_daemon)
{
	struct story w;

	hold_and_wait(&w);
	ck_assert_str_eq(keep(&w, 5000), "");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(an_id_is_recognized_by_a_digest_of_one_question)
{
	const uint64_t number = 4711, digest = core_id_digest(number, 0, ID);
	struct story w;

	hold(&w);
	ck_assert(core_knows_id(w.core, 0, ID));
	ck_assert(!core_knows_id(w.core, 7, ID));
	ck_assert(!core_knows_id(w.core, 0, OTHER_ID));
	ck_assert(core_holds_by_digest(w.core, SLICE("a"), number, digest));
	ck_assert(!core_holds_by_digest(w.core, SLICE("b"), number, digest));
	ck_assert(!core_holds_by_digest(w.core, SLICE("a"), number + 1, digest));
	ck_assert(!core_holds_by_digest(w.core, SLICE("a"), number, core_id_digest(number, 7, ID)));
	ck_assert(!core_holds_by_digest(w.core, SLICE("a"), number, core_id_digest(number, 0, OTHER_ID)));
	/* A session that only waits for the name does not hold it. */
	ck_assert_str_eq(ask_other(&w, 2, VERB_LOCK, "a"), "");
	ck_assert(!core_holds_by_digest(w.core, SLICE("a"), number, core_id_digest(number, 0, OTHER_ID)));
	story_done(&w);
}
END_TEST

START_TEST(a_repeated_lock_answers_the_same_token_and_counts_nothing)
{
	struct command tagged = {.verb = VERB_LOCK, .name = SLICE("a"), .owner = SLICE("t"), .as = ID};
	struct story w;

	hold(&w);
	ck_assert_str_eq(ask(&w, 2, VERB_LOCK, "a"), "c2 :500");
	ck_assert_str_eq(ask(&w, 1, VERB_LOCK, "a"), "c1 :500");
	ck_assert_str_eq(ask(&w, 3, VERB_UNLOCK, "a"), "c3 :0 | release a#1");
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "");
	ck_assert_str_eq(run(&w, 1, tagged), "acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 600), "c1 :600");
	ck_assert_str_eq(run(&w, 2, tagged), "c2 :600");
	tagged.verb = VERB_UNLOCK;
	tagged.token = 600;
	ck_assert_str_eq(run(&w, 2, tagged), "c2 :0 | release a#2");
	story_done(&w);
}
END_TEST

START_TEST(a_repeated_unlock_answers_as_the_first_time)
{
	struct command with = {.verb = VERB_UNLOCK, .name = SLICE("a"), .token = 500, .as = ID};
	struct story w;

	hold(&w);
	ck_assert_str_eq(run(&w, 1, with), "c1 :0 | release a#1");
	ck_assert_str_eq(run(&w, 2, with), "c2 :0");
	ck_assert_str_eq(ask(&w, 2, VERB_UNLOCK, "a"), "c2 :0");
	ck_assert_str_eq(ask(&w, 2, VERB_CHECK, "a"), "c2 null");
	ck_assert_str_eq(ask(&w, 2, VERB_DOWNGRADE, "a"), "c2 -NOTHELD");
	ck_assert_str_eq(
		run(&w, 2,
			(struct command){.verb = VERB_EXTEND, .name = SLICE("a"), .extend_ms = 9, .as = ID}),
		"c2 -NOTHELD");
	with.token = 499;
	ck_assert_str_eq(run(&w, 2, with), "c2 -NOTHELD");
	/* A new hold is another matter: what comes late names the token. */
	answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1);
	ask(&w, 2, VERB_LOCK, "a");
	ck_assert_str_eq(granted(&w, "a", 2, 600), "c2 :600");
	with.token = 500;
	ck_assert_str_eq(run(&w, 1, with), "c1 -NOTHELD");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | release a#2");
	/* A plain session remembers nothing of the kind. */
	answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 2);
	lock(&w, 1, "a");
	granted(&w, "a", 3, 700);
	unlock(&w, 1, "a");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(a_loss_is_told_each_time_until_its_hold_is_given_up)
{
	struct command give = {.verb = VERB_UNLOCK, .name = SLICE("a"), .token = 499, .as = ID};
	struct story w;

	hold(&w);
	ck_assert_str_eq(run(&w, 2, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500}),
		"c2 :988");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 -LOST");
	ck_assert_str_eq(ask(&w, 3, VERB_DOWNGRADE, "a"), "c3 -LOST");
	/* An answer may have been lost with its connection: only that the client gives up this hold shows
	 * that it relies on it no more. */
	ck_assert_str_eq(ask(&w, 1, VERB_LOCK, "a"), "c1 -LOST");
	ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "token 500; UNLOCK"));
	ck_assert_str_eq(ask(&w, 2, VERB_LOCK, "a"), "c2 -LOST");
	ck_assert_str_eq(ask(&w, 3, VERB_UNLOCK, "a"), "c3 -LOST");
	ck_assert_str_eq(run(&w, 3, give), "c3 -LOST");
	give.verb = VERB_CHECK;
	give.token = 500;
	ck_assert_str_eq(run(&w, 3, give), "c3 -LOST");
	ck_assert_str_eq(ask(&w, 3, VERB_LOCK, "a"), "c3 -LOST");
	give.verb = VERB_UNLOCK;
	ck_assert_str_eq(run(&w, 1, give), "c1 -LOST | release a#1");
	ck_assert_str_eq(run(&w, 2, give), "c2 -LOST");
	ck_assert_str_eq(ask(&w, 3, VERB_LOCK, "a"), "acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 501), "c3 :501");
	story_done(&w);
}
END_TEST

START_TEST(what_was_given_back_takes_the_place_of_no_loss)
{
	struct story w;

	story_init(&w);
	w.settings.lost_per_session = 1;
	story_anew(&w);
	ask(&w, 1, VERB_LOCK, "a");
	granted(&w, "a", 1, 500);
	run(&w, 2, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500});
	ask(&w, 1, VERB_LOCK, "b");
	granted(&w, "b", 2, 600);
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "b"), "c1 :0 | release b#2");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "b"), "c1 :0");
	ask(&w, 1, VERB_LOCK, "c");
	granted(&w, "c", 3, 700);
	ask(&w, 1, VERB_UNLOCK, "c");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "b"), "c1 -NOTHELD");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "c"), "c1 :0");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(a_place_is_kept_for_a_moment_for_the_same_id)
{
	struct story w;

	hold_and_wait(&w);
	ck_assert_str_eq(close_as(&w, 2, END_GONE), "");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_CLAIM_MS - 1), "");
	ck_assert_str_eq(ask_other(&w, 4, VERB_LOCK, "a"), "");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_CLAIM_MS), "");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | c4 :501");
	ck_assert_str_eq(ask_other(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | c3 :502");
	story_done(&w);

	hold_and_wait(&w);
	close_as(&w, 2, END_GONE);
	ck_assert_str_eq(keep(&w, NAMED_SESSION_CLAIM_MS), "");
	ck_assert_str_eq(ask_other(&w, 4, VERB_LOCK, "a"), "");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | c3 :501");
	story_done(&w);
}
END_TEST

/* Over TCP the end of a connection looks like a half-close, until an answer is written. */
START_TEST(a_place_outlasts_the_answer_to_a_client_that_half_closed)
{
	struct story w;

	hold_and_wait(&w);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_FINISH, .conn = 2}), "c2 null");
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_CLAIM_MS - 1), "");
	ck_assert_str_eq(ask_other(&w, 4, VERB_LOCK, "a"), "");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | c4 :501");
	story_done(&w);

	/* No request comes: others get it when the time is over. */
	hold_and_wait(&w);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_FINISH, .conn = 2}), "c2 null");
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_CLAIM_MS), "");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | c3 :501");
	story_done(&w);

	/* Closed while the first attempt is under way. */
	story_ready(&w);
	ck_assert_str_eq(ask_other(&w, 2, VERB_LOCK, "a"), "acquire a#1");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_FINISH, .conn = 2}), "");
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "");
	ck_assert_str_eq(ask_other(&w, 4, VERB_LOCK, "a"), "c4 :500");
	story_done(&w);

	/* WAIT 0 asked for no place. */
	story_ready(&w);
	ck_assert_str_eq(ask_once(&w, 2, "a", OTHER_ID), "acquire a#1 once");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_FINISH, .conn = 2}), "");
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "release a#1");
	story_done(&w);
}
END_TEST

START_TEST(a_grant_that_no_request_asks_for_is_given_back)
{
	struct story w;

	hold_and_wait(&w);
	close_as(&w, 2, END_ABANDONED);
	keep(&w, 1000);
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_CLAIM_MS - 1001), "");
	ck_assert_str_eq(keep(&w, 1), "c3 :502;");
	ck_assert_str_eq(ask_other(&w, 4, VERB_CHECK, "a"), "c4 null");
	story_done(&w);

	/* Any request that names it shows that its client knows of it. */
	hold_and_wait(&w);
	close_as(&w, 2, END_ABANDONED);
	ask(&w, 1, VERB_UNLOCK, "a");
	ck_assert_str_eq(ask_other(&w, 4, VERB_LOCK, "a"), "c4 :501");
	ck_assert_str_eq(keep(&w, 2 * NAMED_SESSION_CLAIM_MS), "");
	ck_assert_str_eq(ask_other(&w, 1, VERB_CHECK, "a"), "c1 :897");
	story_done(&w);
}
END_TEST

START_TEST(a_lock_that_waits_goes_on_over_another_connection)
{
	struct story w;

	hold_and_wait(&w);
	ck_assert_str_eq(ask_other(&w, 4, VERB_LOCK, "a"), "c2 -ERR");
	/* The connection whose request came again is free for others. */
	ck_assert_str_eq(check(&w, 2, "a"), "c2 null");
	ck_assert_str_eq(close_as(&w, 2, END_CLEAN), "");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | c4 :501");
	story_done(&w);

	/* So does one that tries once, while its answer is on the way. */
	story_ready(&w);
	ck_assert_str_eq(ask_once(&w, 1, "a", ID), "acquire a#1 once");
	ck_assert_str_eq(ask(&w, 2, VERB_LOCK, "a"), "c1 -ERR");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c2 :500");
	story_done(&w);
}
END_TEST

/* A client that had no answer has closed its connection, and asks over another one. The copy that it sent
 * first may be read last. */
START_TEST(a_request_of_a_client_that_half_closed_takes_no_wait_over)
{
	struct slice names[] = {SLICE("b"), SLICE("a")};
	struct command c = {.verb = VERB_LOCK, .name = SLICE("a"), .as = OTHER_ID, .last = true};
	struct story w;

	hold_and_wait(&w);
	ck_assert_str_eq(run(&w, 4, c), "c4 -ERR");
	ck_assert_str_eq(close_as(&w, 4, END_ABANDONED), "");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | c2 :501");
	story_done(&w);

	story_ready(&w);
	c = (struct command){.verb = VERB_MLOCK, .names = names, .name_count = 2, .as = ID};
	c.wait_ms = COMMAND_WAIT_RULE;
	ck_assert_str_eq(run(&w, 1, c), "acquire a#1 once | acquire b#2 once");
	c.last = true;
	ck_assert_str_eq(run(&w, 2, c), "c2 -ERR");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(granted(&w, "b", 2, 600), "c1 [:600 :500]");
	ck_assert_str_eq(run(&w, 2, c), "c2 [:600 :500]");
	story_done(&w);
}
END_TEST

/* Overwrites what calls have left on the stack. */
static __attribute__((noinline)) void
scribble(void)
{
	volatile char room[65536];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 'x';
}

START_TEST(an_mlock_that_is_repeated_answers_the_same_tokens)
{
	struct slice names[] = {SLICE("b"), SLICE("a")};
	struct command c = {
		.verb = VERB_MLOCK, .names = names, .name_count = 2, .wait_ms = COMMAND_WAIT_RULE, .as = ID};
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(run(&w, 1, c), "acquire a#1 once | acquire b#2 once");
	/* It begins anew while it waits. */
	ck_assert_str_eq(run(&w, 2, c), "c1 -ERR");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(granted(&w, "b", 2, 600), "c2 [:600 :500]");
	ck_assert_str_eq(run(&w, 3, c), "c3 [:600 :500]");
	/* The answer is sent after the step: its tokens are not on the stack of that. */
	scribble();
	ck_assert_int_eq(w.actions.list[0].u.reply.tokens[0], 600);
	ck_assert_int_eq(w.actions.list[0].u.reply.tokens[1], 500);
	c.verb = VERB_MUNLOCK;
	ck_assert_str_eq(run(&w, 3, c), "c3 -ERR");
	c.tokens = (const struct slice[]){SLICE("600"), SLICE("499")};
	ck_assert_str_eq(run(&w, 3, c), "c3 :1 | release b#2");
	c.tokens = (const struct slice[]){SLICE("600"), SLICE("500")};
	ck_assert_str_eq(run(&w, 3, c), "c3 :2 | release a#1");
	ck_assert_str_eq(run(&w, 4, c), "c4 :2");
	c.tokens = (const struct slice[]){SLICE("600"), SLICE("499")};
	ck_assert_str_eq(run(&w, 4, c), "c4 :1");
	ck_assert_str_eq(
		run(&w, 4, (struct command){.verb = VERB_MUNLOCK, .names = names, .name_count = 2}), "c4 :0");
	story_done(&w);
}
END_TEST

/* What has the token claims nothing for another hold, and what has none claims none. */
START_TEST(a_request_that_comes_late_changes_no_later_hold)
{
	static const enum verb verbs[] = {VERB_UNLOCK, VERB_EXTEND, VERB_DOWNGRADE};
	struct command c = {.verb = VERB_LOCK,
		.name = SLICE("a"),
		.lease_ms = 800,
		.wait_ms = COMMAND_WAIT_RULE,
		.as = ID};
	struct story w;

	story_ready(&w);
	run(&w, 1, c);
	ck_assert_str_eq(granted(&w, "a", 1, 600), "c1 :600");
	lock(&w, 3, "a");
	c.extend_ms = 1;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		c.verb = verbs[i];
		c.token = 0;
		ck_assert_str_eq(run(&w, 2, c), "c2 -ERR");
		ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "TOKEN"));
		c.token = 500;
		ck_assert_str_eq(run(&w, 2, c), "c2 -NOTHELD");
		/* A connection's own session may leave it out, but a wrong one is refused as well. */
		if (i > 0)
			continue;
		c.as = (struct slice){0};
		ck_assert_str_eq(run(&w, 2, c), "c2 -NOTHELD");
		c.as = ID;
	}
	ck_assert_str_eq(keep(&w, 799), "");
	ck_assert_str_eq(keep(&w, 1), "c3 :601;");
	story_done(&w);
}
END_TEST

/* The EXTEND that comes late may be about this very hold: the client relies on what it was told since. */
START_TEST(an_extend_ends_no_hold_of_an_id_before_its_client_was_told)
{
	struct command c = {.verb = VERB_LOCK,
		.name = SLICE("a"),
		.lease_ms = 5000,
		.wait_ms = COMMAND_WAIT_RULE,
		.as = ID};
	struct story w;

	story_ready(&w);
	run(&w, 1, c);
	granted(&w, "a", 1, 500);
	lock(&w, 3, "a");
	c = (struct command){.verb = VERB_EXTEND, .name = SLICE("a"), .extend_ms = 1, .token = 500, .as = ID};
	ck_assert_str_eq(run(&w, 2, c), "c2 :977");
	ck_assert_str_eq(run(&w, 2, c), "c2 :977");
	ck_assert_str_eq(keep(&w, 987), "");
	ck_assert_str_eq(keep(&w, 1), "c3 :501;");
	/* That it was shortened is told. */
	ck_assert_str_eq(ask(&w, 1, VERB_LOCK, "a"), "c1 -LOST");
	ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "shortened"));
	c.verb = VERB_UNLOCK;
	ck_assert_str_eq(run(&w, 1, c), "c1 -LOST");
	ck_assert_str_eq(ask(&w, 1, VERB_LOCK, "a"), "");
	story_done(&w);

	/* One that is as long again has its LEASE. */
	story_ready(&w);
	c.verb = VERB_LOCK;
	c.lease_ms = 5000;
	c.wait_ms = COMMAND_WAIT_RULE;
	run(&w, 1, c);
	granted(&w, "a", 1, 500);
	c.verb = VERB_EXTEND;
	run(&w, 1, c);
	c.extend_ms = 2000;
	run(&w, 1, c);
	ck_assert_str_eq(keep(&w, 2000), "release a#1;");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 -LOST");
	ck_assert_ptr_null(strstr(w.actions.list[0].u.reply.text, "shortened"));
	story_done(&w);
}
END_TEST

START_TEST(a_lock_that_comes_late_is_given_back_while_its_id_is_used)
{
	struct story w;

	hold(&w);
	ck_assert_str_eq(lock(&w, 3, "a"), "");
	for (int i = 0; i < 3; i++) {
		ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS / 3 - 1), "");
		ck_assert_str_eq(ask(&w, 1, VERB_CHECK, "b"), "c1 null");
	}
	ck_assert_str_eq(keep(&w, 2), "");
	ck_assert_str_eq(keep(&w, 1), "c3 :501;");
	ck_assert_str_eq(name_it(&w, 1, "a"), "c1 -LOST");
	/* It is no loss of which its client has to be told. */
	ck_assert_str_eq(ask(&w, 1, VERB_LOCK, "a"), "");
	story_done(&w);

	/* Its token claims it for good; what may be late as well puts the end off. */
	hold(&w);
	lock(&w, 3, "a");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS - 1), "");
	ck_assert_str_eq(ask(&w, 2, VERB_LOCK, "a"), "c2 :500");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS - 1), "");
	ck_assert_ptr_nonnull(strstr(ask(&w, 2, VERB_CHECK, "a"), "c2 :"));
	ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS - 1), "");
	ck_assert_ptr_nonnull(strstr(name_it(&w, 2, "a"), "c2 :"));
	for (int i = 0; i < 3; i++) {
		ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS - 1), "");
		ck_assert_str_eq(ask(&w, 1, VERB_CHECK, "b"), "c1 null");
	}
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 :0 | c3 :501");
	story_done(&w);

	/* A CHECK without it may be late, too. */
	hold(&w);
	lock(&w, 3, "a");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS - 1), "");
	ck_assert_ptr_nonnull(strstr(ask(&w, 2, VERB_CHECK, "a"), "c2 :"));
	ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS - 1), "");
	ck_assert_str_eq(ask(&w, 1, VERB_CHECK, "b"), "c1 null");
	ck_assert_str_eq(keep(&w, 1), "c3 :501;");
	story_done(&w);

	/* Its holder may be at work: the rule's delay counts. */
	story_ready(&w);
	ask(&w, 1, VERB_LOCK, "fragile");
	granted(&w, "fragile", 1, 500);
	lock(&w, 3, "fragile");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS + CRASH_DELAY_MS - 1), "");
	ck_assert_str_eq(keep(&w, 1), "c3 :501;");
	story_done(&w);
}
END_TEST

START_TEST(a_silent_id_abandons_its_holds)
{
	struct story w;

	hold(&w);
	lock(&w, 3, "a");
	name_it(&w, 1, "a");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS - 1), "");
	ck_assert_str_eq(ask(&w, 2, VERB_CHECK, "other"), "c2 null");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS + SLACK_MS - 1), "");
	/* What was told is long over. */
	ck_assert_str_eq(keep(&w, 1), "c3 :501;");
	ck_assert_str_eq(ask(&w, 2, VERB_UNLOCK, "a"), "c2 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(what_was_told_outlasts_a_short_ttl)
{
	const struct command ttl = {.verb = VERB_SESSION_TTL, .ttl_ms = 700, .as = ID};
	struct story w;

	hold(&w);
	lock(&w, 3, "a");
	ck_assert_str_eq(run(&w, 2, ttl), "c2 +OK");
	/* A lease is renewed beyond the time for which the last answer can have told it. */
	ck_assert_str_eq(keep(&w, LEASE_MS - 1), "");
	ck_assert_str_eq(keep(&w, 1), "c3 :501;");
	story_done(&w);
}
END_TEST

START_TEST(a_request_that_waits_is_a_sign_of_life)
{
	struct story w;

	hold(&w);
	lock(&w, 3, "b");
	granted(&w, "b", 2, 700);
	name_it(&w, 1, "a");
	ck_assert_str_eq(ask(&w, 1, VERB_LOCK, "b"), "");
	ck_assert_str_eq(keep(&w, 3 * NAMED_SESSION_TTL_MS), "");
	ck_assert_str_eq(unlock(&w, 3, "b"), "c3 :0 | c1 :701");
	ck_assert_str_eq(keep(&w, NAMED_SESSION_TTL_MS - 1), "");
	ck_assert_str_eq(ask(&w, 2, VERB_UNLOCK, "b"), "c2 :0 | release b#2");
	story_done(&w);
}
END_TEST

START_TEST(a_hold_with_a_lease_lasts_as_long_as_that)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(run(&w, 1,
				 (struct command){.verb = VERB_LOCK,
					 .name = SLICE("a"),
					 .wait_ms = COMMAND_WAIT_RULE,
					 .lease_ms = 2 * NAMED_SESSION_TTL_MS,
					 .as = ID}),
		"acquire a#1");
	granted(&w, "a", 1, 500);
	lock(&w, 3, "a");
	ck_assert_str_eq(keep(&w, 2 * NAMED_SESSION_TTL_MS - 1), "");
	ck_assert_str_eq(keep(&w, 1), "c3 :501;");
	ck_assert_str_eq(keep(&w, 2 * SLACK_MS), "");
	ck_assert_uint_eq(sessions(&w), 4);
	story_done(&w);
}
END_TEST

/* Connection 3 has b, and the session that holds a waits for it: over connection 1, and for b and c over 2.
 */
static void
hold_and_wait_twice(struct story *w)
{
	struct slice names[] = {SLICE("b"), SLICE("c")};

	hold(w);
	lock(w, 3, "b");
	granted(w, "b", 2, 700);
	ask(w, 1, VERB_LOCK, "b");
	run(w, 2,
		(struct command){.verb = VERB_MLOCK,
			.names = names,
			.name_count = 2,
			.wait_ms = COMMAND_WAIT_RULE,
			.as = ID});
}

START_TEST(an_id_that_is_killed_leaves_its_holds_to_the_announced_deadlines)
{
	const struct command down = {.verb = VERB_LATCH_DOWN, .name = SLICE("d"), .steps = 1, .as = ID};
	struct resource_view view;
	struct story w;

	hold_and_wait_twice(&w);
	ck_assert_str_eq(run(&w, 4, (struct command){.verb = VERB_SESSION_KILL, .session = 5}),
		"c4 :1 | c1 -ERR | c2 -ERR");
	ck_assert_uint_eq(sessions(&w), 4);
	ck_assert_str_eq(ask(&w, 2, VERB_UNLOCK, "a"), "c2 -NOTHELD");
	ck_assert_str_eq(unlock(&w, 3, "b"), "c3 :0 | release b#2");
	/* Its connections are those of others as well, and stay. */
	ck_assert_str_eq(lock(&w, 1, "a"), "");
	ck_assert(core_view_resource(w.core, w.now.ms, SLICE("a"), &view));
	ck_assert(view.hold.withheld && view.hold.valid_ms > LEASE_MS / 2);
	story_done(&w);

	hold(&w);
	step(&w, &(struct event){.type = EVENT_COMMAND, .conn = 2, .command = &down});
	ck_assert_ptr_nonnull(
		strstr(run(&w, 4, (struct command){.verb = VERB_SESSION_KILL, .session = 5}), "c2 -ERR"));
	story_done(&w);
}
END_TEST

START_TEST(a_session_is_ended_with_all_that_it_has)
{
	const struct command down = {.verb = VERB_LATCH_DOWN, .name = SLICE("d"), .steps = 1, .as = ID};
	struct command end = {.verb = VERB_SESSION_END, .as = ID};
	struct story w;

	hold_and_wait_twice(&w);
	/* It may come late, and mean an earlier session. */
	ck_assert_str_eq(run(&w, 4, end), "c4 -ERR");
	end.session = 4;
	ck_assert_str_eq(run(&w, 4, end), "c4 :0");
	end.session = 5;
	ck_assert_str_eq(run(&w, 4, end), "c4 :1 | c1 -ERR | c2 -ERR | release a#1");
	end.session = 0;
	ck_assert_str_eq(run(&w, 4, end), "c4 :0");
	ck_assert_str_eq(ask(&w, 1, VERB_UNLOCK, "a"), "c1 -NOTHELD");
	ck_assert_uint_eq(sessions(&w), 4);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(unlock(&w, 3, "b"), "c3 :0 | c1 :701");
	story_done(&w);

	/* A WAIT that was over before is answered as that, also if the daemon stood still meanwhile. */
	story_ready(&w);
	lock(&w, 3, "b");
	granted(&w, "b", 1, 500);
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("b"), .wait_ms = 100, .as = ID});
	ck_assert_str_eq(run(&w, 2, down), "look d#2");
	w.now.ms += 200;
	w.now.wall_us += 200000;
	ck_assert_str_eq(run(&w, 4, end), "c1 null | c4 :0 | c2 -ERR");
	story_done(&w);
}
END_TEST

START_TEST(an_id_that_comes_to_nothing_leaves_no_session)
{
	struct story w;

	hold(&w);
	ck_assert_uint_eq(sessions(&w), 5);
	ck_assert_str_eq(ask_once(&w, 2, "a", OTHER_ID), "c2 null");
	ck_assert_str_eq(ask_other(&w, 2, VERB_CHECK, "a"), "c2 null");
	ck_assert_str_eq(ask_other(&w, 2, VERB_UNLOCK, "a"), "c2 -NOTHELD");
	ck_assert_uint_eq(sessions(&w), 5);
	story_done(&w);
}
END_TEST

START_TEST(ids_are_limited_and_the_idle_make_room)
{
	struct command other = {.verb = VERB_SESSION_TTL, .ttl_ms = 60001, .as = OTHER_ID};
	struct story w;

	/* Three sessions may outlive their connections. */
	hold(&w);
	ck_assert_str_eq(run(&w, 1, other), "c1 -LIMIT");
	other.ttl_ms = 60000;
	ck_assert_str_eq(run(&w, 1, other), "c1 +OK");
	run(&w, 1, (struct command){.verb = VERB_SESSION_ID, .as = THIRD_ID});
	ck_assert_uint_eq(sessions(&w), 7);
	run(&w, 1, (struct command){.verb = VERB_SESSION_ID, .as = SLICE("fourth-0123456789")});
	ck_assert_uint_eq(sessions(&w), 7);
	/* The one silent for longest went, not the one that holds. */
	ck_assert_str_eq(ask(&w, 1, VERB_CHECK, "a"), "c1 :977");
	ck_assert_ptr_null(named_session_find(w.core, 0, OTHER_ID));
	ck_assert_ptr_nonnull(named_session_find(w.core, 0, THIRD_ID));
	run(&w, 2, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 1000});
	ck_assert_uint_eq(sessions(&w), 7);
	story_done(&w);
}
END_TEST

START_TEST(losses_are_pushed_to_the_connection_that_asked)
{
	struct command onloss = {.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_CLOSE, .as = ID};
	const struct command force = {.verb = VERB_BREAK, .name = SLICE("a"), .token = 500};
	struct story w;

	hold(&w);
	ck_assert_str_eq(run(&w, 3, onloss), "c3 -ERR");
	onloss.onloss = ONLOSS_PUSH;
	ck_assert_str_eq(run(&w, 3, onloss), "c3 +OK");
	ck_assert_str_eq(run(&w, 2, force), "c3 push lost a | c2 :988");
	story_done(&w);

	/* After its end the loss is told on the next use. */
	hold(&w);
	run(&w, 3, onloss);
	close_as(&w, 3, END_CLEAN);
	ck_assert_str_eq(run(&w, 2, force), "c2 :988");
	ck_assert_str_eq(ask(&w, 1, VERB_LOCK, "a"), "c1 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(an_id_is_no_part_of_a_circle)
{
	struct story w;

	hold(&w);
	ask_other(&w, 2, VERB_LOCK, "b");
	granted(&w, "b", 2, 700);
	ck_assert_str_eq(ask(&w, 1, VERB_LOCK, "b"), "");
	ck_assert_str_eq(ask_other(&w, 2, VERB_LOCK, "a"), "");
	ck_assert_str_eq(ask(&w, 3, VERB_UNLOCK, "a"), "c3 :0 | c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_drain_ends_what_waits_and_withholds_what_is_held)
{
	struct story w;

	hold_and_wait(&w);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN}), "c2 -DRAINING | c3 -DRAINING");
	ck_assert_str_eq(ask(&w, 2, VERB_LOCK, "b"), "c2 -DRAINING");
	story_done(&w);
}
END_TEST

/* The session has ended with the daemon, and not because its client gave anything back. */
START_TEST(a_daemon_that_ends_speaks_for_no_id)
{
	static const enum verb verbs[] = {VERB_LOCK, VERB_UNLOCK, VERB_CHECK, VERB_EXTEND, VERB_DOWNGRADE,
		VERB_LATCH_DOWN, VERB_SESSION_ID, VERB_SESSION_ONLOSS, VERB_SESSION_TTL, VERB_SESSION_END};
	const struct slice names[] = {SLICE("a")};
	const struct command many = {.verb = VERB_MUNLOCK, .names = names, .name_count = 1, .as = ID};
	struct story w;

	hold(&w);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN, .waits = true}), "");
	ck_assert_str_eq(ask(&w, 2, VERB_CHECK, "a"), "c2 :977");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN}), "");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		ck_assert_str_eq(ask(&w, 2, verbs[i], "a"), "c2 -DRAINING");
	ck_assert_str_eq(run(&w, 2, many), "c2 -DRAINING");
	ck_assert_str_eq(ask_other(&w, 3, VERB_CHECK, "a"), "c3 -DRAINING");
	story_done(&w);
}
END_TEST

/* ID holds a no more, and nobody is told that a is free. */
static void
is_withheld(const struct story *w)
{
	struct core_counts counts;

	core_view_counts(w->core, &counts);
	ck_assert_uint_eq(counts.grants, 0);
	ck_assert_uint_eq(counts.withheld, 1);
}

START_TEST(an_id_whose_latch_was_not_asked_for_ends_with_the_daemon)
{
	struct story w;

	hold(&w);
	ck_assert_str_eq(ask(&w, 2, VERB_LATCH_DOWN, "b"), "look b#2");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN}), "c2 -DRAINING");
	is_withheld(&w);
	story_done(&w);
}
END_TEST

/* The daemon is told to end while a DOWN of the id is under way at the master. Returns the latch there. */
static struct vote
end_while_counting_down(struct story *w)
{
	const struct vote latch = {.op = CALL_LATCH,
		.name = SLICE("b"),
		.attempt = 2,
		.latch = {.id = 7, .set = 3, .left = 3, .ttl_ms = 1000000}};

	hold(w);
	ck_assert_str_eq(ask(w, 2, VERB_LATCH_DOWN, "b"), "look b#2");
	ck_assert_str_eq(vote(w, latch), "down b#3");
	ck_assert_str_eq(step(w, &(struct event){.type = EVENT_DRAIN}), "c2 close");
	return latch;
}

START_TEST(an_id_that_counts_down_as_the_daemon_ends_is_answered_and_ends)
{
	struct story w;
	struct vote latch = end_while_counting_down(&w);

	ck_assert_str_eq(ask(&w, 3, VERB_UNLOCK, "a"), "c3 -DRAINING");
	latch.attempt = 3;
	latch.latch.left = 2;
	ck_assert_str_eq(vote(&w, latch), "c2 :2");
	is_withheld(&w);
	story_done(&w);
}
END_TEST

START_TEST(an_id_that_counts_down_as_the_daemon_ends_may_lose_its_connection)
{
	struct story w;

	(void)end_while_counting_down(&w);
	ck_assert_str_eq(close_as(&w, 2, END_GONE), "");
	is_withheld(&w);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("named_session", NULL, NULL, a_hold_belongs_to_its_id_over_any_connection,
		each_user_has_ids_of_its_own, an_id_of_another_daemon_is_told_where_to_ask,
		an_id_that_waits_for_itself_is_told_where_it_holds_the_name,
		an_id_that_waits_over_another_connection_is_told_there,
		an_mlock_that_waits_for_itself_is_told_where_it_holds_a_name,
		an_id_whose_name_is_held_here_asks_no_daemon, an_id_is_recognized_by_a_digest_of_one_question,
		a_repeated_lock_answers_the_same_token_and_counts_nothing,
		a_repeated_unlock_answers_as_the_first_time,
		a_loss_is_told_each_time_until_its_hold_is_given_up,
		what_was_given_back_takes_the_place_of_no_loss, a_place_is_kept_for_a_moment_for_the_same_id,
		a_place_outlasts_the_answer_to_a_client_that_half_closed,
		a_grant_that_no_request_asks_for_is_given_back,
		a_lock_that_waits_goes_on_over_another_connection,
		a_request_of_a_client_that_half_closed_takes_no_wait_over,
		an_mlock_that_is_repeated_answers_the_same_tokens,
		a_request_that_comes_late_changes_no_later_hold,
		an_extend_ends_no_hold_of_an_id_before_its_client_was_told,
		a_lock_that_comes_late_is_given_back_while_its_id_is_used, a_silent_id_abandons_its_holds,
		what_was_told_outlasts_a_short_ttl, a_request_that_waits_is_a_sign_of_life,
		a_hold_with_a_lease_lasts_as_long_as_that, a_session_is_ended_with_all_that_it_has,
		an_id_that_is_killed_leaves_its_holds_to_the_announced_deadlines,
		an_id_that_comes_to_nothing_leaves_no_session, ids_are_limited_and_the_idle_make_room,
		losses_are_pushed_to_the_connection_that_asked, an_id_is_no_part_of_a_circle,
		a_drain_ends_what_waits_and_withholds_what_is_held, a_daemon_that_ends_speaks_for_no_id,
		an_id_whose_latch_was_not_asked_for_ends_with_the_daemon,
		an_id_that_counts_down_as_the_daemon_ends_is_answered_and_ends,
		an_id_that_counts_down_as_the_daemon_ends_may_lose_its_connection);
}
