/*
 * Sessions that outlive a connection, sessions that have to be heard of, and what is withheld for longer.
 * Each test is a short story (tests/support/story.h).
 */
#include "daemon/core/base/base.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define GRACE_MS 4000
#define SLACK_MS (GRACE_MS / 8 + 1)

/* What SESSION GRACE or SECRET answered. */
static struct slice
secret_of(const struct story *w)
{
	return slice_of(story_text(w));
}

/* A session's secret, which outlives the step. */
struct secret {
	char text[64];
};

static struct secret
ask_grace(struct story *w, conn_id conn, int64_t ms)
{
	struct secret secret;

	run(w, conn, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = ms});
	(void)snprintf(secret.text, sizeof(secret.text), "%s", secret_of(w).p);
	return secret;
}

static const char *
resume(struct story *w, conn_id conn, const char *secret)
{
	return run(w, conn, (struct command){.verb = VERB_SESSION_RESUME, .secret = slice_of(secret)});
}

static const char *
heartbeat(struct story *w, conn_id conn, int64_t ms)
{
	return run(w, conn, (struct command){.verb = VERB_SESSION_HEARTBEAT, .heartbeat_ms = ms});
}

static const char *
heard(struct story *w, conn_id conn)
{
	ck_assert(core_wants_heartbeat(w->core, conn));
	return step(w, &(struct event){.type = EVENT_ALIVE, .conn = conn});
}

static void
open_as(struct story *w, conn_id conn, uint64_t user)
{
	struct peer peer = {.pid = 100 + (int64_t)conn, .uid = 0, .user = user};

	step(w, &(struct event){.type = EVENT_OPEN, .conn = conn, .peer = &peer});
}

/* Lets time pass, while the master renews whatever it is asked to; what else happened. */
static const char *
keep(struct story *w, int64_t ms)
{
	static char all[4096];
	struct call calls[8];

	all[0] = '\0';
	for (int64_t passed = 0; passed < ms; passed++) {
		size_t n;

		after(w, 1);
		n = story_renewals(w, calls, 8);
		if (strncmp(w->trace, "renew", 5) != 0)
			strcat(all, w->trace);
		for (size_t i = 0; i < n; i++) {
			char name[64];

			(void)snprintf(name, sizeof(name), "%.*s", (int)calls[i].name.n, calls[i].name.p);
			strcat(all, answer(w, CALL_RENEW, OUTCOME_YES, name, calls[i].attempt));
		}
	}
	return all;
}

/* c1 holds a, with a grace; its connection is lost. */
static struct secret
cut_holder(struct story *w)
{
	struct secret secret;

	story_ready(w);
	secret = ask_grace(w, 1, GRACE_MS);
	lock(w, 1, "a");
	granted(w, "a", 1, 500);
	ck_assert_str_eq(close_as(w, 1, END_ABANDONED), "");
	return secret;
}

/* c2 holds a; c1, with a grace, waits for it, then c3; c1's connection is lost. */
static struct secret
cut_waiter(struct story *w)
{
	struct secret secret;

	story_ready(w);
	secret = ask_grace(w, 1, GRACE_MS);
	lock(w, 2, "a");
	granted(w, "a", 1, 500);
	lock(w, 1, "a");
	lock(w, 3, "a");
	ck_assert_str_eq(close_as(w, 1, END_ABANDONED), "");
	return secret;
}

START_TEST(a_session_that_is_resumed_holds_what_it_held)
{
	struct story w;
	struct secret secret = cut_holder(&w);

	ck_assert_str_eq(lock(&w, 2, "a"), "");
	ck_assert_str_eq(keep(&w, GRACE_MS), "");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 :1");
	ck_assert_str_eq(lock(&w, 3, "a"), "c3 -HELD");
	ck_assert_str_eq(keep(&w, GRACE_MS), "");
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_UNLOCK, .name = SLICE("a"), .token = 500}),
		"c3 :0 | c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(without_anybody_who_comes_back_it_ends_with_its_grace)
{
	struct story w;
	struct secret secret = cut_holder(&w);

	ck_assert_str_eq(lock(&w, 2, "a"), "");
	ck_assert_str_eq(keep(&w, GRACE_MS + SLACK_MS - 1), "");
	/* Nobody has been told anything since the cut, so what was told then is over. */
	ck_assert_str_eq(keep(&w, 1), "c2 :501");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 -ERR");
	story_done(&w);
}
END_TEST

START_TEST(what_was_told_before_the_cut_outlasts_a_short_grace)
{
	struct story w;

	story_ready(&w);
	ask_grace(&w, 1, 100);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	close_as(&w, 1, END_ABANDONED);
	ck_assert_str_eq(keep(&w, 987), "");
	ck_assert_str_eq(keep(&w, 1), "c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_goodbye_ends_it_and_an_end_of_file_does_not)
{
	struct story w;

	story_ready(&w);
	ask_grace(&w, 1, GRACE_MS);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "c2 :501");
	ask_grace(&w, 2, GRACE_MS);
	lock(&w, 3, "a");
	ck_assert_str_eq(close_as(&w, 2, END_GONE), "");
	/* Without a grace it is an end. */
	lock(&w, 4, "b");
	granted(&w, "b", 2, 700);
	ck_assert_str_eq(close_as(&w, 4, END_GONE), "release b#2");
	story_done(&w);
}
END_TEST

START_TEST(a_place_in_the_queue_is_taken_over)
{
	struct story w;
	struct secret secret = cut_waiter(&w);

	ck_assert_str_eq(resume(&w, 4, secret.text), "c4 :0");
	ck_assert_str_eq(lock(&w, 4, "a"), "");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c4 :501");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | c3 :502");
	story_done(&w);
}
END_TEST

/* The LOCK that comes back has its place, and the LEASE that it names now: longer, shorter or none. */
START_TEST(a_lock_that_comes_back_has_the_lease_that_it_names_now)
{
	static const int64_t leases_ms[][2] = {{50, 200}, {200, 50}, {50, 0}, {0, 50}};

	for (size_t i = 0; i < sizeof(leases_ms) / sizeof(*leases_ms); i++) {
		int64_t first_ms = leases_ms[i][0], now_ms = leases_ms[i][1];
		struct command wanted = {.verb = VERB_LOCK, .name = SLICE("a"), .lease_ms = first_ms};
		struct secret secret;
		struct story w;

		story_ready(&w);
		secret = ask_grace(&w, 1, GRACE_MS);
		lock(&w, 2, "a");
		granted(&w, "a", 1, 500);
		run(&w, 1, wanted);
		close_as(&w, 1, END_ABANDONED);
		resume(&w, 4, secret.text);
		wanted.lease_ms = now_ms;
		ck_assert_str_eq(run(&w, 4, wanted), "");
		ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c4 :501");
		after(&w, now_ms > 0 ? now_ms - 1 : 300);
		ck_assert_str_ne(check(&w, 4, "a"), "c4 -LOST");
		if (now_ms > 0) {
			ck_assert_str_eq(after(&w, 1), "release a#1");
			ck_assert_str_eq(check(&w, 4, "a"), "c4 -LOST");
		}
		story_done(&w);
	}
}
END_TEST

START_TEST(a_lock_granted_meanwhile_is_answered_when_it_is_repeated)
{
	struct story w;
	struct secret secret = cut_waiter(&w);

	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	ck_assert_str_eq(resume(&w, 4, secret.text), "c4 :1");
	ck_assert_str_eq(
		run(&w, 4, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .validity = true}),
		"c4 :501 for 977");
	/* Only once: another thread may ask next. */
	ck_assert_str_eq(lock(&w, 4, "a"), "c4 -HELD");
	ck_assert_str_eq(keep(&w, GRACE_MS + SLACK_MS), "");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | c3 :502");
	story_done(&w);
}
END_TEST

START_TEST(a_repeated_lock_with_a_tag_counts_once)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	lock(&w, 2, "a");
	granted(&w, "a", 1, 500);
	lock_as(&w, 1, "a", "t1");
	close_as(&w, 1, END_ABANDONED);
	unlock(&w, 2, "a");
	resume(&w, 4, secret.text);
	ck_assert_str_eq(lock_as(&w, 4, "a", "t2"), "c4 -DEADLOCK");
	ck_assert_str_eq(lock_as(&w, 4, "a", "t1"), "c4 :501");
	ck_assert_str_eq(lock_as(&w, 4, "a", "t1"), "c4 :501");
	ck_assert_str_eq(
		run(&w, 4, (struct command){.verb = VERB_UNLOCK, .name = SLICE("a"), .owner = SLICE("t1")}),
		"c4 :1");
	story_done(&w);
}
END_TEST

/* Its only connection waits behind a wait from before the cut. */
START_TEST(a_wait_that_was_kept_closes_a_circle_when_it_is_granted)
{
	struct story w;
	struct secret secret = cut_waiter(&w);

	resume(&w, 4, secret.text);
	ck_assert_str_eq(lock_as(&w, 4, "a", "t2"), "");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c4 -DEADLOCK");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | c3 :502");
	story_done(&w);
}
END_TEST

START_TEST(any_use_of_an_unannounced_hold_shows_that_it_is_known)
{
	struct story w;
	struct secret secret = cut_waiter(&w);

	unlock(&w, 2, "a");
	resume(&w, 4, secret.text);
	ck_assert_str_eq(check(&w, 4, "a"), "c4 :977");
	ck_assert_str_eq(keep(&w, GRACE_MS + SLACK_MS), "");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | c3 :502");
	story_done(&w);
}
END_TEST

/* Its client knows nothing of the hold, and is told nothing of its end. */
START_TEST(the_break_of_an_unannounced_hold_is_one_event_and_passes_the_name_on)
{
	struct story w;
	struct secret secret = cut_waiter(&w);
	unsigned ends = 0;

	unlock(&w, 2, "a");
	ck_assert_str_eq(run(&w, 2, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 501}),
		"c2 :0 | c3 :502");
	for (size_t i = 0; i < w.actions.n; i++) {
		const struct action *a = &w.actions.list[i];

		if (a->type == ACTION_NOTE &&
			(a->u.note.type == NOTE_LOST || a->u.note.type == NOTE_RELEASED)) {
			ck_assert_int_eq(a->u.note.type, NOTE_LOST);
			ends++;
		}
	}
	ck_assert_uint_eq(ends, 1);
	resume(&w, 4, secret.text);
	ck_assert_str_eq(check(&w, 4, "a"), "c4 null");
	story_done(&w);
}
END_TEST

START_TEST(what_nobody_comes_back_for_is_given_up_with_the_grace)
{
	struct story w;
	struct secret secret = cut_waiter(&w);

	/* Untold, so nobody relies on it: it passes on at once. */
	unlock(&w, 2, "a");
	resume(&w, 4, secret.text);
	ck_assert_str_eq(keep(&w, GRACE_MS + SLACK_MS - 1), "");
	ck_assert_str_eq(keep(&w, 1), "c3 :502");
	ck_assert_str_eq(check(&w, 4, "a"), "c4 null");
	story_done(&w);

	/* A place that is not taken over is left. */
	secret = cut_waiter(&w);
	resume(&w, 4, secret.text);
	ck_assert_str_eq(keep(&w, GRACE_MS + SLACK_MS), "");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_wait_runs_on_without_its_connection)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	lock(&w, 2, "a");
	granted(&w, "a", 1, 500);
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = 300});
	lock(&w, 3, "a");
	close_as(&w, 1, END_ABANDONED);
	ck_assert_str_eq(keep(&w, 300), "");
	resume(&w, 4, secret.text);
	/* Its WAIT is over, and its place with it. */
	ck_assert_str_eq(lock(&w, 4, "a"), "");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_repeated_lock_waits_as_long_as_it_says_now)
{
	struct story w;
	struct secret secret = cut_waiter(&w);

	resume(&w, 4, secret.text);
	ck_assert_str_eq(lock_once(&w, 4, "a"), "c4 null");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 :501");
	story_done(&w);
	secret = cut_waiter(&w);
	resume(&w, 4, secret.text);
	ck_assert_str_eq(
		run(&w, 4, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = 200}), "");
	ck_assert_str_eq(keep(&w, 199), "");
	ck_assert_str_eq(keep(&w, 1), "c4 null");
	story_done(&w);
}
END_TEST

START_TEST(an_async_wait_is_taken_over_by_its_id_and_can_be_cancelled)
{
	const struct command again = {.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("j1")};
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	lock(&w, 2, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(run(&w, 1, again), "c1 +QUEUED");
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("j2")}),
		"c1 +QUEUED");
	close_as(&w, 1, END_ABANDONED);
	resume(&w, 4, secret.text);
	ck_assert_str_eq(
		run(&w, 4, (struct command){.verb = VERB_LOCK, .name = SLICE("b"), .id = SLICE("j1")}),
		"c4 -ERR");
	ck_assert_str_eq(run(&w, 4, again), "c4 +QUEUED");
	ck_assert_str_eq(run(&w, 4, (struct command){.verb = VERB_CANCEL, .id = SLICE("j2")}), "c4 :1");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c4 push grant j1");
	story_done(&w);
}
END_TEST

START_TEST(who_resumes_takes_over_from_a_connection_that_is_half_open)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	lock(&w, 1, "b");
	granted(&w, "b", 1, 700);
	lock(&w, 2, "a");
	granted(&w, "a", 2, 500);
	lock(&w, 1, "a");
	lock(&w, 3, "a");
	ck_assert_str_eq(resume(&w, 4, secret.text), "c1 close | c4 :1");
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	ck_assert_str_eq(lock(&w, 4, "a"), "");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c4 :501");
	ck_assert_str_eq(unlock(&w, 4, "b"), "c4 :0 | release b#1");
	story_done(&w);
}
END_TEST

START_TEST(without_a_grace_a_take_over_keeps_holds_but_no_waits)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_SESSION_SECRET});
	(void)snprintf(secret.text, sizeof(secret.text), "%s", secret_of(&w).p);
	lock(&w, 1, "b");
	granted(&w, "b", 1, 700);
	lock(&w, 2, "a");
	granted(&w, "a", 2, 500);
	lock(&w, 1, "a");
	ck_assert_str_eq(resume(&w, 4, secret.text), "c1 close | c4 :1");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#2");
	ck_assert_str_eq(close_as(&w, 4, END_CLEAN), "release b#1");
	story_done(&w);
}
END_TEST

START_TEST(join_comes_back_too_and_closes_nobody)
{
	struct story w;
	struct secret secret = cut_holder(&w);

	ck_assert_str_eq(
		run(&w, 2, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)}),
		"c2 :1");
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)}),
		"c3 :1");
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | release a#1");
	story_done(&w);
}
END_TEST

START_TEST(only_the_secret_of_a_session_that_lives_resumes_and_only_an_idle_connection)
{
	struct story w;
	struct secret secret = cut_holder(&w);
	struct secret wrong = secret;

	wrong.text[47] = wrong.text[47] == '0' ? '1' : '0';
	ck_assert_str_eq(resume(&w, 2, wrong.text), "c2 -ERR");
	ck_assert_str_eq(resume(&w, 2, "nonsense"), "c2 -ERR");
	lock(&w, 2, "b");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 :1");
	/* Again, by the one that has it. */
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 :1");
	granted(&w, "b", 2, 700);
	ck_assert_str_eq(resume(&w, 2, secret.text), "c2 -ERR");
	close_as(&w, 3, END_CLEAN);
	ck_assert_str_eq(resume(&w, 4, secret.text), "c4 -ERR");
	story_done(&w);
}
END_TEST

START_TEST(a_grace_can_be_given_back)
{
	struct story w;

	story_ready(&w);
	ask_grace(&w, 1, GRACE_MS);
	ask_grace(&w, 1, 0);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(close_as(&w, 1, END_GONE), "release a#1");
	story_done(&w);
}
END_TEST

START_TEST(graces_are_limited_in_number_by_user_and_in_time)
{
	const struct command ask = {.verb = VERB_SESSION_GRACE, .grace_ms = 1000};
	const struct command give_back = {.verb = VERB_SESSION_GRACE};
	struct story w;

	story_ready(&w);
	open_as(&w, 11, 7);
	open_as(&w, 12, 7);
	open_as(&w, 13, 7);
	open_as(&w, 14, 8);
	open_as(&w, 15, 9);
	ck_assert_str_eq(
		run(&w, 11, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 60001}), "c11 -LIMIT");
	ask_grace(&w, 11, 1000);
	ask_grace(&w, 11, 2000);
	ask_grace(&w, 12, 1000);
	ck_assert_str_eq(run(&w, 13, ask), "c13 -LIMIT");
	ask_grace(&w, 14, 1000);
	ck_assert_str_eq(run(&w, 15, ask), "c15 -LIMIT");
	/* One that is detached counts on, one that ends does not. */
	close_as(&w, 14, END_ABANDONED);
	ck_assert_str_eq(run(&w, 15, ask), "c15 -LIMIT");
	run(&w, 12, give_back);
	ask_grace(&w, 13, 1000);
	close_as(&w, 11, END_CLEAN);
	ask_grace(&w, 15, 1000);
	ck_assert_str_eq(run(&w, 12, ask), "c12 -LIMIT");
	keep(&w, 1000 + 126);
	ask_grace(&w, 12, 1000);
	core_set_limits(w.core,
		&(struct core_grace){.sessions = 1, .per_user = 1, .most_ms = 10, .ttl_ms = 10},
		&w.settings.per_user);
	ck_assert_str_eq(
		run(&w, 12, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 11}), "c12 -LIMIT");
	ask_grace(&w, 12, 10);
	story_done(&w);
}
END_TEST

START_TEST(a_loss_while_nobody_is_there_is_told_on_the_next_use)
{
	struct story w;
	struct secret secret = cut_holder(&w);

	ck_assert_str_eq(run(&w, 2, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500}),
		"c2 :988");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 :0");
	ck_assert_str_eq(check(&w, 3, "a"), "c3 -LOST");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 -LOST");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(pushes_of_losses_have_to_be_asked_for_again)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	run(&w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_PUSH});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	close_as(&w, 1, END_ABANDONED);
	resume(&w, 3, secret.text);
	ck_assert_str_eq(run(&w, 2, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500}),
		"c3 close | c2 :988");
	story_done(&w);
}
END_TEST

START_TEST(a_process_keeps_its_session_beyond_the_grace_and_ends_it_within)
{
	const struct process process = {4711, 1, 9};
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	close_as(&w, 1, END_GONE);
	ck_assert_str_eq(keep(&w, 2 * GRACE_MS), "");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 :1");
	close_as(&w, 3, END_ABANDONED);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_EXIT, .process = process}), "c2 :501");
	story_done(&w);
}
END_TEST

/* It may be working: the name does not pass on before the announced deadline, at which nothing has to be
 * given back. */
START_TEST(what_a_process_holds_that_cannot_be_seen_any_more_is_left_to_its_announced_deadline)
{
	const struct process process = {4711, 1, 9};
	struct story w;

	story_ready(&w);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	close_as(&w, 1, END_GONE);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_UNSEEN, .process = {4711, 1, 8}}), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_UNSEEN, .process = process}), "");
	ck_assert_str_eq(keep(&w, 987), "");
	ck_assert_str_eq(keep(&w, 1), "c2 :501");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_EXIT, .process = process}), "");
	story_done(&w);
}
END_TEST

START_TEST(a_session_goes_on_without_the_process_that_cannot_be_seen)
{
	const struct process process = {4711, 1, 9};
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	/* Its connection speaks for it, then its grace keeps it, and nothing else. */
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_UNSEEN, .process = process}), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(close_as(&w, 1, END_GONE), "");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 :1");
	/* A grace that was over while the process kept the session begins anew. */
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 3, .process = process});
	close_as(&w, 3, END_GONE);
	ck_assert_str_eq(keep(&w, 2 * GRACE_MS), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_UNSEEN, .process = process}), "");
	ck_assert_str_eq(keep(&w, GRACE_MS / 2), "");
	ck_assert_str_eq(resume(&w, 4, secret.text), "c4 :1");
	story_done(&w);
}
END_TEST

/* A process of another namespace has its session through the connections of others, which may go. */
START_TEST(who_takes_leave_of_a_session_does_not_end_what_a_process_holds_that_cannot_be_seen)
{
	static const enum end ends[] = {END_CLEAN, END_GONE, END_ABANDONED};
	const struct process process = {4711, 1, 9};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct story w;

		story_ready(&w);
		step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process});
		lock(&w, 1, "a");
		granted(&w, "a", 1, 500);
		lock(&w, 2, "a");
		step(&w, &(struct event){.type = EVENT_UNSEEN, .process = process});
		ck_assert_str_eq(close_as(&w, 1, ends[i]), "");
		ck_assert_str_eq(keep(&w, 987), "");
		ck_assert_str_eq(keep(&w, 1), "c2 :501");
		story_done(&w);
	}
}
END_TEST

static const struct process bound_to = {4711, 1, 0};

/* Connection 1 holds a, for a process; connection 2 is an anchor of its session, and connection 4 waits. */
static struct secret
anchored(struct story *w)
{
	struct secret secret;

	story_ready(w);
	secret = ask_grace(w, 1, GRACE_MS);
	step(w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = bound_to});
	lock(w, 1, "a");
	granted(w, "a", 1, 500);
	ck_assert_str_eq(
		run(w, 2, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)}),
		"c2 :1");
	ck_assert_str_eq(run(w, 2, (struct command){.verb = VERB_SESSION_ANCHOR}), "c2 +OK");
	lock(w, 4, "a");
	return secret;
}

START_TEST(an_anchor_keeps_the_session_of_a_process_that_has_ended_until_it_is_closed)
{
	struct story w;

	anchored(&w);
	/* Twice is once. */
	ck_assert_str_eq(run(&w, 2, (struct command){.verb = VERB_SESSION_ANCHOR}), "c2 +OK");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_EXIT, .process = bound_to}), "");
	ck_assert_str_eq(close_as(&w, 1, END_GONE), "");
	ck_assert_str_eq(keep(&w, 2 * GRACE_MS), "");
	/* No client can come back: there is nothing to wait for. */
	ck_assert_str_eq(close_as(&w, 2, END_GONE), "c4 :501");
	story_done(&w);
}
END_TEST

START_TEST(the_last_of_several_anchors_ends_the_session_also_for_who_still_speaks_for_it)
{
	struct story w;
	struct secret secret = anchored(&w);

	run(&w, 3, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)});
	run(&w, 3, (struct command){.verb = VERB_SESSION_ANCHOR});
	step(&w, &(struct event){.type = EVENT_EXIT, .process = bound_to});
	ck_assert_str_eq(close_as(&w, 2, END_GONE), "");
	ck_assert_str_eq(close_as(&w, 3, END_GONE), "c1 close | c4 :501");
	ck_assert_str_eq(close_as(&w, 1, END_GONE), "");
	story_done(&w);
}
END_TEST

START_TEST(an_anchor_that_is_cut_leaves_the_hold_abandoned)
{
	struct story w;

	anchored(&w);
	step(&w, &(struct event){.type = EVENT_EXIT, .process = bound_to});
	close_as(&w, 1, END_GONE);
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	ck_assert_str_eq(keep(&w, LEASE_MS), "c4 :501");
	story_done(&w);
}
END_TEST

START_TEST(an_anchor_that_closes_before_the_process_ends_changes_nothing)
{
	struct story w;

	anchored(&w);
	ck_assert_str_eq(close_as(&w, 2, END_GONE), "");
	ck_assert_str_eq(
		step(&w, &(struct event){.type = EVENT_EXIT, .process = bound_to}), "c1 close | c4 :501");
	story_done(&w);
}
END_TEST

START_TEST(who_takes_the_session_over_closes_its_anchors)
{
	struct story w;
	struct secret secret = anchored(&w);

	ck_assert_str_eq(resume(&w, 3, secret.text), "c1 close | c2 close | c3 :1");
	ck_assert_str_eq(
		step(&w, &(struct event){.type = EVENT_EXIT, .process = bound_to}), "c3 close | c4 :501");
	story_done(&w);
}
END_TEST

START_TEST(what_a_session_was_told_after_its_grace_counts_when_its_hold_is_broken)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = {4711, 1, 9}});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	close_as(&w, 1, END_ABANDONED);
	ck_assert_str_eq(keep(&w, 2 * GRACE_MS), "");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 :1");
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_CHECK, .name = SLICE("a")}), "c3 :977");
	ck_assert_str_eq(run(&w, 2, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500}),
		"c3 close | c2 :988");
	story_done(&w);
}
END_TEST

/* c1 holds a to f; of a session that ends, two holds are given up in a millisecond. */
static void
hold_six(struct story *w)
{
	char name[2] = "a";

	story_ready(w);
	w->core->settings.grants_per_session = 6;
	w->core->settings.end_holds = 2;
	for (unsigned i = 0; i < 6; i++, name[0]++) {
		lock(w, 1, name);
		granted(w, name, 1 + i, 500);
	}
}

START_TEST(a_session_with_many_holds_gives_them_up_in_parts)
{
	struct story w;

	hold_six(&w);
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "release f#6 | release e#5");
	ck_assert_str_eq(after(&w, 1), "release d#4 | release c#3");
	ck_assert_str_eq(after(&w, 1), "release b#2 | c2 :501");
	ck_assert_str_eq(after(&w, 1), "");
	story_done(&w);
}
END_TEST

START_TEST(what_a_session_still_holds_at_its_end_is_had_like_any_free_lock)
{
	struct story w;

	hold_six(&w);
	close_as(&w, 1, END_CLEAN);
	ck_assert_str_eq(lock_once(&w, 2, "b"), "release b#2 | release d#4 | acquire b#7 once");
	ck_assert_str_eq(granted(&w, "b", 7, 900), "c2 :900");
	ck_assert_str_eq(after(&w, 1), "release c#3 | release a#1");
	story_done(&w);
}
END_TEST

START_TEST(what_a_cut_client_holds_is_withheld_in_parts)
{
	struct story w;

	hold_six(&w);
	lock(&w, 2, "a");
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	ck_assert_uint_eq(w.core->counts.withheld, 2);
	ck_assert_str_eq(lock_once(&w, 3, "b"), "c3 null");
	after(&w, 1);
	after(&w, 1);
	ck_assert_uint_eq(w.core->counts.withheld, 6);
	ck_assert_uint_eq(w.core->counts.grants, 0);
	story_done(&w);
}
END_TEST

/* Its connection is still there while it is being closed. */
START_TEST(what_a_silent_client_holds_is_withheld_in_parts)
{
	struct story w;

	hold_six(&w);
	heartbeat(&w, 1, 200);
	after(&w, 200);
	ck_assert_str_eq(after(&w, 26), "c1 close");
	ck_assert_uint_eq(w.core->counts.withheld, 2);
	after(&w, 1);
	after(&w, 1);
	ck_assert_uint_eq(w.core->counts.withheld, 6);
	close_as(&w, 1, END_ABANDONED);
	ck_assert_uint_eq(w.core->counts.grants, 0);
	story_done(&w);
}
END_TEST

/* The lease of a is renewed before its turn comes. */
START_TEST(what_is_renewed_meanwhile_is_withheld_for_no_longer)
{
	struct story w;

	story_ready(&w);
	w.core->settings.end_holds = 1;
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 1, "b");
	granted(&w, "b", 2, 600);
	after(&w, LEASE_MS / 3);
	close_as(&w, 1, END_ABANDONED);
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	answer(&w, CALL_RENEW, OUTCOME_YES, "b", 2);
	after(&w, 1);
	ck_assert_uint_eq(w.core->counts.withheld, 2);
	after(&w, LEASE_MS - LEASE_MS / 3 - 1);
	ck_assert_uint_eq(w.core->counts.withheld, 0);
	story_done(&w);
}
END_TEST

START_TEST(a_session_that_gives_up_its_holds_is_found_by_nobody)
{
	struct story w;
	struct secret secret;

	hold_six(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	close_as(&w, 1, END_CLEAN);
	ck_assert_uint_gt(w.core->counts.grants, 0);
	ck_assert_str_eq(resume(&w, 2, secret.text), "c2 -ERR");
	ck_assert_uint_eq(w.core->counts.graces, 0);
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_that_ends_gives_up_all_at_once)
{
	struct story w;

	hold_six(&w);
	close_as(&w, 1, END_CLEAN);
	step(&w, &(struct event){.type = EVENT_DRAIN});
	ck_assert_uint_eq(w.core->counts.grants, 0);
	story_done(&w);
}
END_TEST

START_TEST(draining_keeps_nothing_for_anybody_to_come_back_for)
{
	struct story w;
	struct secret secret = cut_holder(&w);

	lock(&w, 2, "b");
	granted(&w, "b", 2, 700);
	ask_grace(&w, 2, GRACE_MS);
	keep(&w, LEASE_MS);
	/* What was told of a is over, so its lease goes back; b's holder is told. */
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN}), "c2 close | release a#1");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 -DRAINING");
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 1000}), "c3 -DRAINING");
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	story_done(&w);
}
END_TEST

START_TEST(a_drain_that_waits_keeps_the_grace_of_holders_and_gives_them_nothing_new)
{
	struct story w;
	struct secret secret = cut_holder(&w);

	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN, .conn = 2, .waits = true}), "");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 :1");
	ck_assert_str_eq(lock(&w, 3, "b"), "c3 -DRAINING");
	close_as(&w, 3, END_ABANDONED);
	ck_assert_str_eq(resume(&w, 4, secret.text), "c4 :1");
	ck_assert_str_eq(lock(&w, 4, "b"), "c4 -DRAINING");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | release a#1 | c2 :0");
	ck_assert(core_drained(w.core));
	story_done(&w);
}
END_TEST

START_TEST(a_drain_that_waits_waits_for_a_bound_process)
{
	struct story w;

	story_ready(&w);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = {4711, 1, 9}});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	step(&w, &(struct event){.type = EVENT_DRAIN, .conn = 2, .waits = true});
	close_as(&w, 1, END_GONE);
	keep(&w, 2 * LEASE_MS);
	ck_assert(!core_drained(w.core));
	ck_assert_ptr_nonnull(strstr(
		step(&w, &(struct event){.type = EVENT_EXIT, .process = {4711, 1, 9}}), "release a#1"));
	ck_assert(core_drained(w.core));
	story_done(&w);
}
END_TEST

/* Holds that the last step withheld. */
static unsigned
withheld(const struct story *w)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->actions.n; i++)
		n += w->actions.list[i].type == ACTION_NOTE &&
		     w->actions.list[i].u.note.type == NOTE_WITHHELD;
	return n;
}

START_TEST(draining_abandons_what_a_process_keeps)
{
	struct story w;

	story_ready(&w);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = {4711, 1, 9}});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 2, .process = {4712, 1, 9}});
	lock(&w, 2, "b");
	granted(&w, "b", 2, 700);
	close_as(&w, 1, END_GONE);
	ck_assert_uint_eq(withheld(&w), 0);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN}), "c2 close");
	ck_assert_uint_eq(withheld(&w), 1);
	close_as(&w, 2, END_GONE);
	ck_assert_uint_eq(withheld(&w), 1);
	story_done(&w);
}
END_TEST

START_TEST(a_session_that_is_silent_for_too_long_is_closed_and_abandoned)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(heartbeat(&w, 1, 400), "c1 +OK");
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	ck_assert_str_eq(keep(&w, 399), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :898");
	ck_assert_str_eq(keep(&w, 399), "");
	ck_assert_str_eq(heard(&w, 1), "");
	/* What came in time may be read a little later. */
	ck_assert_str_eq(keep(&w, 400 + 50), "");
	ck_assert_str_eq(heard(&w, 1), "");
	ck_assert_str_eq(keep(&w, 400 + 50), "");
	ck_assert_str_eq(keep(&w, 1), "c1 close");
	close_as(&w, 1, END_ABANDONED);
	ck_assert_str_eq(keep(&w, LEASE_MS), "c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_session_whose_lock_waits_cannot_be_heard_of)
{
	struct story w;

	story_ready(&w);
	heartbeat(&w, 1, 400);
	lock(&w, 2, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 1, "a");
	ck_assert_str_eq(keep(&w, 3000), "");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c1 :501");
	/* From the answer on it counts. */
	ck_assert_str_eq(keep(&w, 450), "");
	ck_assert_str_eq(keep(&w, 1), "c1 close");
	story_done(&w);
}
END_TEST

static const char *
session_kill_by(struct story *w, conn_id conn, int64_t number)
{
	return run(w, conn, (struct command){.verb = VERB_SESSION_KILL, .session = number});
}

START_TEST(who_is_killed_loses_its_connections_its_places_and_what_it_holds_to_the_announced_deadlines)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	ck_assert_str_eq(session_kill_by(&w, 4, 99), "c4 -ERR");
	run(&w, 1, (struct command){.verb = VERB_SESSION_SECRET});
	(void)snprintf(secret.text, sizeof(secret.text), "%s", secret_of(&w).p);
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)}),
		"c3 :0");
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	lock(&w, 4, "b");
	granted(&w, "b", 2, 700);
	lock(&w, 3, "b");
	ck_assert_str_eq(session_kill_by(&w, 4, 1), "c4 :1 | c1 close | c3 close");
	ck_assert_ptr_nonnull(noted(&w, NOTE_KILLED));
	ck_assert_uint_eq(noted(&w, NOTE_KILLED)->session, 1);
	close_as(&w, 1, END_GONE);
	close_as(&w, 3, END_GONE);
	ck_assert_str_eq(session_kill_by(&w, 4, 1), "c4 -ERR");
	/* Nobody waits for it any more; who held may be working up to what it was told. */
	ck_assert_str_eq(unlock(&w, 4, "b"), "c4 :0 | release b#2");
	ck_assert_str_eq(keep(&w, LEASE_MS / 2), "");
	ck_assert_str_eq(keep(&w, LEASE_MS), "c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(neither_a_grace_nor_a_process_keeps_a_session_that_is_killed)
{
	const struct process process = {4711, 1, 9};
	struct story w;
	struct secret secret;

	/* While a connection speaks for it. */
	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(session_kill_by(&w, 4, 1), "c4 :1 | c1 close");
	close_as(&w, 1, END_ABANDONED);
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 -ERR");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_EXIT, .process = process}), "");
	story_done(&w);

	/* In its grace, with a wait that nobody has come back for yet. */
	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	lock(&w, 2, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 1, "a");
	close_as(&w, 1, END_GONE);
	ck_assert_str_eq(session_kill_by(&w, 4, 1), "c4 :0");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 -ERR");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1");
	story_done(&w);

	/* Only its process keeps it. */
	story_ready(&w);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	close_as(&w, 1, END_GONE);
	ck_assert_str_eq(session_kill_by(&w, 4, 1), "c4 :1");
	ck_assert_str_eq(keep(&w, LEASE_MS / 2), "");
	ck_assert_str_eq(keep(&w, LEASE_MS), "c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(whatever_a_killed_session_waits_for_ends_with_it)
{
	struct slice names[] = {SLICE("b"), SLICE("a")};
	struct secret secret;
	struct story w;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_SESSION_SECRET});
	(void)snprintf(secret.text, sizeof(secret.text), "%s", secret_of(&w).p);
	run(&w, 3, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)});
	lock(&w, 2, "a");
	granted(&w, "a", 1, 500);
	/* One connection waits for an MLOCK, the other one for a latch, with an ASYNC wait beside. */
	run(&w, 1,
		(struct command){
			.verb = VERB_MLOCK, .names = names, .name_count = 2, .wait_ms = COMMAND_WAIT_RULE});
	run(&w, 3, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("x")});
	run(&w, 3, (struct command){.verb = VERB_LATCH_AWAIT, .name = SLICE("gate")});
	ck_assert_ptr_nonnull(strstr(session_kill_by(&w, 4, 1), "c4 :"));
	ck_assert_ptr_nonnull(strstr(w.trace, "c1 close"));
	ck_assert_ptr_nonnull(strstr(w.trace, "c3 close"));
	close_as(&w, 1, END_GONE);
	close_as(&w, 3, END_GONE);
	ck_assert_str_eq(session_kill_by(&w, 4, 1), "c4 -ERR");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1");
	story_done(&w);
}
END_TEST

START_TEST(an_administrator_may_kill_its_own_session)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(session_kill_by(&w, 1, 1), "c1 :1 | c1 close");
	close_as(&w, 1, END_ABANDONED);
	lock(&w, 2, "a");
	ck_assert_str_eq(keep(&w, LEASE_MS + LEASE_MS / 2), "c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_heartbeat_can_be_changed_and_given_back)
{
	struct story w;

	story_ready(&w);
	heartbeat(&w, 1, 400);
	heartbeat(&w, 1, 4000);
	ck_assert_str_eq(keep(&w, 3999), "");
	ck_assert_str_eq(heartbeat(&w, 1, 0), "c1 +OK");
	ck_assert(!core_wants_heartbeat(w.core, 1));
	ck_assert_str_eq(keep(&w, 9000), "");
	story_done(&w);
}
END_TEST

START_TEST(a_silent_session_with_a_grace_can_be_resumed_and_is_listened_to_again)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	heartbeat(&w, 1, 400);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(keep(&w, 451), "c1 close");
	close_as(&w, 1, END_ABANDONED);
	ck_assert_str_eq(keep(&w, GRACE_MS), "");
	ck_assert_str_eq(resume(&w, 3, secret.text), "c3 :1");
	ck_assert_str_eq(keep(&w, 450), "");
	ck_assert_str_eq(keep(&w, 1), "c3 close");
	story_done(&w);
}
END_TEST

START_TEST(a_process_does_not_keep_a_session_that_is_silent)
{
	struct story w;

	story_ready(&w);
	heartbeat(&w, 1, 400);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = {4711, 1, 9}});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	close_as(&w, 1, END_GONE);
	ck_assert_str_eq(keep(&w, 451 + LEASE_MS), "c2 :501");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_EXIT, .process = {4711, 1, 9}}), "");
	story_done(&w);
}
END_TEST

START_TEST(a_silence_after_the_cut_adds_nothing_to_what_was_told)
{
	struct story w;

	story_ready(&w);
	ask_grace(&w, 1, 400);
	heartbeat(&w, 1, 2000);
	step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = {4711, 1, 9}});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	close_as(&w, 1, END_ABANDONED);
	/* Its process keeps it until the heartbeat is missed, and then its grace does. */
	ck_assert_str_eq(keep(&w, 2251 + 451 - 1), "");
	ck_assert_str_eq(keep(&w, 1), "c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_crash_delay_withholds_an_abandoned_hold_for_longer)
{
	struct story w;
	struct resource_view view;

	story_ready(&w);
	lock(&w, 1, "fragile");
	granted(&w, "fragile", 1, 500);
	lock(&w, 2, "fragile");
	close_as(&w, 1, END_ABANDONED);
	ck_assert_str_eq(keep(&w, 988 + CRASH_DELAY_MS - 1), "");
	ck_assert(core_view_resource(w.core, w.now.ms, SLICE("fragile"), &view));
	ck_assert(view.held && view.hold.withheld && view.hold.valid_ms == 1);
	ck_assert(view.hold.session == 0 && view.hold.peer != NULL && view.hold.peer->pid == 101);
	ck_assert_str_eq(keep(&w, 1), "c2 :501");
	/* What ends in good order passes on at once. */
	lock(&w, 3, "fragile");
	ck_assert_str_eq(close_as(&w, 2, END_CLEAN), "c3 :502");
	story_done(&w);
}
END_TEST

START_TEST(a_crash_delay_counts_from_the_deadline_told_before_the_cut)
{
	struct story w;

	story_ready(&w);
	ask_grace(&w, 1, GRACE_MS);
	lock(&w, 1, "fragile");
	granted(&w, "fragile", 1, 500);
	lock(&w, 2, "fragile");
	close_as(&w, 1, END_ABANDONED);
	/* 988 ms were told; the grace is longer than that and the delay. */
	ck_assert_str_eq(keep(&w, GRACE_MS + SLACK_MS), "c2 :501");
	ask_grace(&w, 2, 100);
	lock(&w, 3, "fragile");
	close_as(&w, 2, END_ABANDONED);
	ck_assert_str_eq(keep(&w, CRASH_DELAY_MS), "");
	ck_assert_str_eq(keep(&w, LEASE_MS), "c3 :502");
	story_done(&w);
}
END_TEST

START_TEST(a_crash_delay_ends_with_a_lease_that_cannot_be_kept)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "fragile");
	granted(&w, "fragile", 1, 500);
	close_as(&w, 1, END_ABANDONED);
	after(&w, 988);
	ck_assert(!core_view_resource(w.core, w.now.ms, SLICE("fragile"), &(struct resource_view){0}));
	story_done(&w);
}
END_TEST

START_TEST(a_broken_hold_is_withheld_with_the_crash_delay)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "fragile");
	granted(&w, "fragile", 1, 500);
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("fragile"), .token = 500}),
		"c1 close | c3 :3988");
	ck_assert_str_eq(keep(&w, 100), "");
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("fragile"), .token = 500}),
		"c3 :3888");
	/* What it has begun takes time to end, also if its client has ended. */
	ck_assert_str_eq(close_as(&w, 1, END_GONE), "");
	story_done(&w);
}
END_TEST

START_TEST(a_broken_hold_stays_withheld_when_its_client_takes_another_session)
{
	struct story w;
	struct secret secret = {0};

	story_ready(&w);
	run(&w, 3, (struct command){.verb = VERB_SESSION_SECRET});
	(void)snprintf(secret.text, sizeof(secret.text), "%s", secret_of(&w).p);
	run(&w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_NEXT});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	run(&w, 4, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500});
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)}),
		"c1 :0");
	story_done(&w);
}
END_TEST

static bool
take_view(void *arg, const struct session_view *view)
{
	struct session_view *out = arg;

	if (view->id == 1)
		*out = *view;
	return true;
}

START_TEST(a_session_shows_its_grace_and_what_is_left_of_it)
{
	struct story w;
	struct session_view view = {0};

	story_ready(&w);
	heartbeat(&w, 1, 7000);
	ask_grace(&w, 1, GRACE_MS);
	(void)core_scan_sessions(w.core, w.now.ms, 0, 100, take_view, &view);
	ck_assert(view.grace_ms == GRACE_MS && view.left_ms == -1 && view.heartbeat_ms == 7000);
	close_as(&w, 1, END_ABANDONED);
	keep(&w, 1000);
	(void)core_scan_sessions(w.core, w.now.ms, 0, 100, take_view, &view);
	ck_assert(view.connections == 0 && view.left_ms == GRACE_MS - 1000);
	story_done(&w);
}
END_TEST

enum { SEEN = 2000 };

struct seen {
	int times[SEEN];
	size_t looks;
};

static bool
see(void *arg, const struct session_view *view)
{
	struct seen *seen = arg;

	ck_assert_uint_lt(view->id, SEEN);
	seen->times[view->id]++;
	seen->looks++;
	return true;
}

static void
open_some(struct story *w, conn_id first, conn_id end)
{
	for (conn_id c = first; c < end; c++)
		step(w, &(struct event){.type = EVENT_OPEN, .conn = c, .peer = &(struct peer){.uid = 0}});
}

START_TEST(a_scan_of_sessions_in_parts_tells_once_of_each_that_stays)
{
	struct seen seen = {.looks = 0};
	scan_cursor cursor = 0;
	struct story w;

	story_ready(&w);
	open_some(&w, 5, 500);
	/* Each tenth of the first ones goes meanwhile, and many come. */
	for (conn_id c = 10; c == 10 || cursor != 0; c += 10) {
		seen.looks = 0;
		cursor = core_scan_sessions(w.core, w.now.ms, cursor, 20, see, &seen);
		ck_assert_uint_le(seen.looks, 50);
		if (c < 500)
			close_as(&w, c, END_CLEAN);
		if (c < 200)
			open_some(&w, 60 * c, 60 * c + 60);
	}
	for (int i = 1; i < 500; i++)
		ck_assert(seen.times[i] == 1 || (i % 10 == 0 && seen.times[i] == 0));
	for (int i = 500; i < SEEN; i++)
		ck_assert_int_le(seen.times[i], 1);
	/* Any number is a cursor. */
	for (scan_cursor any = 1; any != 0; any <<= 1) {
		seen.looks = 0;
		cursor = core_scan_sessions(w.core, w.now.ms, any - 1, 20, see, &seen);
		ck_assert(cursor == 0 || cursor > any - 1);
		ck_assert_uint_le(seen.looks, 50);
	}
	story_done(&w);
}
END_TEST

/* The ms are those of the grant: of a lease that was just acquired, and of one that has been held for a
 * while. */
START_TEST(a_push_of_a_grant_tells_how_long_it_is_good_to_who_asked)
{
	struct command wanted = {.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("j1"), .validity = true};
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(run(&w, 1, wanted), "c1 +QUEUED | acquire a#1");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 push grant j1 977 ms");
	ck_assert_str_eq(run(&w, 2, wanted), "c2 +QUEUED");
	wanted.id = SLICE("j2");
	wanted.validity = false;
	ck_assert_str_eq(run(&w, 3, wanted), "c3 +QUEUED");
	after(&w, 300);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 push grant j1 680 ms");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 push grant j2");
	story_done(&w);
}
END_TEST

START_TEST(a_connection_that_cannot_be_pushed_to_is_closed_instead_of_granted_and_nothing_is_withheld)
{
	const struct command wanted_a = {.verb = VERB_LOCK, .name = SLICE("fragile a"), .id = SLICE("j1")};
	struct story w;

	story_ready(&w);
	lock(&w, 1, "fragile a");
	granted(&w, "fragile a", 1, 500);
	ck_assert_str_eq(run(&w, 2, wanted_a), "c2 +QUEUED");
	lock(&w, 2, "fragile b");
	granted(&w, "fragile b", 2, 600);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_NO_PUSH, .conn = 2, .no_push = true}), "");
	/* The next in line has it at once, with the token behind the one that nobody was told. */
	lock(&w, 3, "fragile a");
	ck_assert_str_eq(unlock(&w, 1, "fragile a"), "c1 :0 | c2 close | c3 :502");
	/* What it was told of is withheld as ever. */
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	ck_assert_str_eq(lock_once(&w, 1, "fragile b"), "c1 null");
	story_done(&w);
}
END_TEST

START_TEST(a_connection_that_cannot_be_pushed_to_is_closed_instead_of_entering_a_hold_again)
{
	const struct command first = {
		.verb = VERB_LOCK, .name = SLICE("a"), .owner = SLICE("t"), .kind = KIND_SHARED};
	struct command again = first;
	const struct command ends = {.verb = VERB_UNLOCK, .name = SLICE("a"), .owner = SLICE("t")};
	struct secret secret;
	struct story w;

	story_ready(&w);
	secret = ask_grace(&w, 1, GRACE_MS);
	run(&w, 2, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret.text)});
	lock(&w, 3, "a");
	granted(&w, "a", 1, 500);
	run(&w, 1, first);
	again.id = SLICE("j1");
	ck_assert_str_eq(run(&w, 2, again), "c2 +QUEUED");
	lock(&w, 4, "a");
	step(&w, &(struct event){.type = EVENT_NO_PUSH, .conn = 2, .no_push = true});
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | c1 :501 | c2 close");
	/* The hold counts one entry: no client was told of another. */
	ck_assert_str_eq(run(&w, 1, ends), "c1 :0 | c4 :502");
	story_done(&w);
}
END_TEST

START_TEST(a_connection_that_can_be_pushed_to_again_has_its_push)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	run(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("j1")});
	step(&w, &(struct event){.type = EVENT_NO_PUSH, .conn = 2, .no_push = true});
	step(&w, &(struct event){.type = EVENT_NO_PUSH, .conn = 2, .no_push = false});
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 push grant j1");
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("session", NULL, NULL, a_push_of_a_grant_tells_how_long_it_is_good_to_who_asked,
		a_connection_that_cannot_be_pushed_to_is_closed_instead_of_granted_and_nothing_is_withheld,
		a_connection_that_cannot_be_pushed_to_is_closed_instead_of_entering_a_hold_again,
		a_connection_that_can_be_pushed_to_again_has_its_push,
		a_session_that_is_resumed_holds_what_it_held,
		an_anchor_keeps_the_session_of_a_process_that_has_ended_until_it_is_closed,
		the_last_of_several_anchors_ends_the_session_also_for_who_still_speaks_for_it,
		an_anchor_that_is_cut_leaves_the_hold_abandoned,
		an_anchor_that_closes_before_the_process_ends_changes_nothing,
		who_takes_the_session_over_closes_its_anchors,
		without_anybody_who_comes_back_it_ends_with_its_grace,
		what_was_told_before_the_cut_outlasts_a_short_grace,
		a_goodbye_ends_it_and_an_end_of_file_does_not, a_place_in_the_queue_is_taken_over,
		a_lock_that_comes_back_has_the_lease_that_it_names_now,
		a_lock_granted_meanwhile_is_answered_when_it_is_repeated,
		a_repeated_lock_with_a_tag_counts_once,
		a_wait_that_was_kept_closes_a_circle_when_it_is_granted,
		any_use_of_an_unannounced_hold_shows_that_it_is_known,
		the_break_of_an_unannounced_hold_is_one_event_and_passes_the_name_on,
		what_nobody_comes_back_for_is_given_up_with_the_grace, a_wait_runs_on_without_its_connection,
		a_repeated_lock_waits_as_long_as_it_says_now,
		an_async_wait_is_taken_over_by_its_id_and_can_be_cancelled,
		who_resumes_takes_over_from_a_connection_that_is_half_open,
		without_a_grace_a_take_over_keeps_holds_but_no_waits, join_comes_back_too_and_closes_nobody,
		only_the_secret_of_a_session_that_lives_resumes_and_only_an_idle_connection,
		a_grace_can_be_given_back, graces_are_limited_in_number_by_user_and_in_time,
		a_loss_while_nobody_is_there_is_told_on_the_next_use,
		pushes_of_losses_have_to_be_asked_for_again,
		a_process_keeps_its_session_beyond_the_grace_and_ends_it_within,
		what_a_process_holds_that_cannot_be_seen_any_more_is_left_to_its_announced_deadline,
		a_session_goes_on_without_the_process_that_cannot_be_seen,
		who_takes_leave_of_a_session_does_not_end_what_a_process_holds_that_cannot_be_seen,
		what_a_session_was_told_after_its_grace_counts_when_its_hold_is_broken,
		a_session_with_many_holds_gives_them_up_in_parts,
		what_a_session_still_holds_at_its_end_is_had_like_any_free_lock,
		what_a_cut_client_holds_is_withheld_in_parts, what_a_silent_client_holds_is_withheld_in_parts,
		what_is_renewed_meanwhile_is_withheld_for_no_longer,
		a_session_that_gives_up_its_holds_is_found_by_nobody, a_daemon_that_ends_gives_up_all_at_once,
		draining_keeps_nothing_for_anybody_to_come_back_for,
		a_drain_that_waits_keeps_the_grace_of_holders_and_gives_them_nothing_new,
		a_drain_that_waits_waits_for_a_bound_process, draining_abandons_what_a_process_keeps,
		a_session_that_is_silent_for_too_long_is_closed_and_abandoned,
		who_is_killed_loses_its_connections_its_places_and_what_it_holds_to_the_announced_deadlines,
		neither_a_grace_nor_a_process_keeps_a_session_that_is_killed,
		whatever_a_killed_session_waits_for_ends_with_it, an_administrator_may_kill_its_own_session,
		a_session_whose_lock_waits_cannot_be_heard_of, a_heartbeat_can_be_changed_and_given_back,
		a_silent_session_with_a_grace_can_be_resumed_and_is_listened_to_again,
		a_process_does_not_keep_a_session_that_is_silent,
		a_silence_after_the_cut_adds_nothing_to_what_was_told,
		a_crash_delay_withholds_an_abandoned_hold_for_longer,
		a_crash_delay_counts_from_the_deadline_told_before_the_cut,
		a_crash_delay_ends_with_a_lease_that_cannot_be_kept,
		a_broken_hold_is_withheld_with_the_crash_delay,
		a_broken_hold_stays_withheld_when_its_client_takes_another_session,
		a_session_shows_its_grace_and_what_is_left_of_it,
		a_scan_of_sessions_in_parts_tells_once_of_each_that_stays);
}
