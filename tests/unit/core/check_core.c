/*
 * The core by itself. Each test is a short story (tests/support/story.h).
 */
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

START_TEST(a_free_name_is_granted_with_the_first_token)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock(&w, 1, "a"), "acquire a#1");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 :500");
	/* Validity counts from when the acquire left: L - 1 % - 2 ms; what is told of it is again as much
	 * less. */
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1");
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(local_waiters_are_served_in_order_without_the_master)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	ck_assert_str_eq(lock(&w, 3, "a"), "");
	ck_assert_str_eq(lock_once(&w, 4, "a"), "c4 null");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 :502");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | release a#1");
	story_done(&w);
}
END_TEST

START_TEST(a_name_held_elsewhere_is_waited_for_until_the_wake_up)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	ck_assert_str_eq(busy(&w, "a", 1), "");
	ck_assert_str_eq(lock_once(&w, 2, "a"), "c2 null");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")}), "acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 900), "c1 :900");
	story_done(&w);
}
END_TEST

START_TEST(a_lost_wake_up_is_made_good_by_the_timer)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	busy(&w, "a", 1);
	ck_assert_str_eq(after(&w, LEASE_MS / 3 + 2), "acquire a#2");
	story_done(&w);
}
END_TEST

START_TEST(a_wake_up_that_overtakes_the_refusal_is_not_lost)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")});
	ck_assert_str_eq(busy(&w, "a", 1), "");
	ck_assert_str_eq(after(&w, 2), "acquire a#2");
	story_done(&w);
}
END_TEST

START_TEST(trying_once_is_answered_by_the_first_refusal)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock_once(&w, 1, "a"), "acquire a#1 once");
	ck_assert_str_eq(busy(&w, "a", 1), "c1 null | leave a#1");
	story_done(&w);
}
END_TEST

START_TEST(an_unanswered_acquire_is_released_until_it_is_surely_dead)
{
	struct core_counts counts;
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock_once(&w, 1, "a"), "acquire a#1 once");
	ck_assert_str_eq(after(&w, 333), "release a#1 | c1 -NOMASTER");
	/* A confirmation before the acquire's own deadline does not count: it may still be executed. */
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_NO, "a", 1), "");
	core_view_counts(w.core, &counts);
	ck_assert_uint_eq(counts.releasing, 1);
	ck_assert_str_eq(after(&w, 1), "release a#1");
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_NO, "a", 1), "");
	core_view_counts(w.core, &counts);
	ck_assert_uint_eq(counts.releasing, 0);
	story_done(&w);
}
END_TEST

START_TEST(a_release_that_is_due_while_the_link_is_down_goes_out_when_it_is_back)
{
	struct core_counts counts;
	struct story w;

	story_ready(&w);
	(void)lock_once(&w, 1, "a");
	ck_assert_str_eq(after(&w, 333), "release a#1 | c1 -NOMASTER");
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_NO, "a", 1), "");
	/* The acquire can run until the deadline of its own, and at that instant nothing can be sent. */
	(void)link_down(&w, "reset");
	ck_assert_str_eq(after(&w, 1), "");
	(void)link_up(&w);
	ck_assert_str_eq(hello(&w, true, MEMORY), "release a#1");
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "");
	core_view_counts(w.core, &counts);
	ck_assert_uint_eq(counts.releasing, 0);
	story_done(&w);
}
END_TEST

START_TEST(a_late_grant_to_nobody_changes_nothing)
{
	struct story w;

	story_ready(&w);
	lock_once(&w, 1, "a");
	after(&w, 333);
	ck_assert_str_eq(granted(&w, "a", 1, 500), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 null");
	story_done(&w);
}
END_TEST

START_TEST(a_client_that_left_gets_nothing_and_the_lease_goes_back)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "release a#1");
	story_done(&w);
}
END_TEST

START_TEST(a_second_lock_needs_an_owner_tag)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(lock(&w, 1, "a"), "c1 -HELD");
	ck_assert_str_eq(lock_as(&w, 1, "a", "t2"), "c1 -DEADLOCK");
	lock_as(&w, 2, "b", "t1");
	granted(&w, "b", 2, 700);
	ck_assert_str_eq(lock_as(&w, 2, "b", "t1"), "c2 :700");
	ck_assert_str_eq(
		run(&w, 2, (struct command){.verb = VERB_UNLOCK, .name = SLICE("b"), .owner = SLICE("t1")}),
		"c2 :1");
	ck_assert_str_eq(
		run(&w, 2, (struct command){.verb = VERB_UNLOCK, .name = SLICE("b"), .owner = SLICE("t1")}),
		"c2 :0 | release b#2");
	story_done(&w);
}
END_TEST

START_TEST(a_clean_end_passes_the_name_on_and_an_abandoned_one_withholds_it)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	lock(&w, 3, "a");
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "c2 :501");
	ck_assert_str_eq(close_as(&w, 2, END_ABANDONED), "");
	ck_assert_str_eq(after(&w, 400), "renew a#1");
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	ck_assert_str_eq(after(&w, 587), "renew a#1");
	ck_assert_str_eq(after(&w, 1), "");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1), "c3 :502");
	story_done(&w);
}
END_TEST

START_TEST(a_lease_that_cannot_be_renewed_is_lost_in_time)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	after(&w, 330);
	step(&w, &(struct event){.type = EVENT_VOTE,
			 .vote = &(struct vote){.op = CALL_RENEW,
				 .outcome = OUTCOME_UNKNOWN,
				 .attempt = 1,
				 .name = SLICE("a")}});
	step(&w, &(struct event){.type = EVENT_LINK_DOWN, .text = SLICE("refused")});
	ck_assert_str_eq(after(&w, 657), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(after(&w, 1), "c1 close");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(another_daemon_that_wants_the_name_gets_it_after_the_streak)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	lock(&w, 3, "a");
	lock(&w, 4, "a");
	step(&w, &(struct event){.type = EVENT_WANT, .name = SLICE("a")});
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 :502");
	/* Two in a row, the cap: c4 has to queue at the master again, behind the other daemon. */
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | release a#1 | acquire a#2");
	story_done(&w);
}
END_TEST

START_TEST(tokens_are_fetched_ahead_of_need)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	vote(&w, (struct vote){.op = CALL_ACQUIRE,
			 .name = SLICE("a"),
			 .attempt = 1,
			 .token_first = 500,
			 .token_last = 501});
	lock(&w, 2, "a");
	lock(&w, 3, "a");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	ck_assert_str_eq(vote(&w, (struct vote){.op = CALL_RENEW,
					  .name = SLICE("a"),
					  .attempt = 1,
					  .token_first = 800,
					  .token_last = 1799}),
		"c3 :800");
	story_done(&w);
}
END_TEST

START_TEST(a_new_master_is_guarded_and_says_so)
{
	struct story w;

	story_init(&w);
	step(&w, &(struct event){.type = EVENT_LINK_UP});
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	hello(&w, false, MEMORY);
	ck_assert_str_eq(lock_once(&w, 1, "b"), "c1 -GUARD");
	for (int64_t waited = 0; waited < GUARD_MS - 100; waited += 100)
		ck_assert_ptr_null(strstr(after(&w, 100), "admit"));
	ck_assert_ptr_nonnull(strstr(after(&w, 100), "admit"));
	story_done(&w);
}
END_TEST

START_TEST(who_relies_on_a_hold_does_so_until_its_announced_deadline)
{
	struct story w;

	story_ready(&w);
	ck_assert_int_eq(core_relied_until(w.core), 0);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "b");
	granted(&w, "b", 2, 501);
	/* The client counts 977 ms, and its clock may be the slower one. */
	ck_assert_int_eq(core_relied_until(w.core), w.now.ms + 988);
	unlock(&w, 2, "b");
	close_as(&w, 1, END_ABANDONED);
	ck_assert_int_eq(core_relied_until(w.core), w.now.ms + 988);
	after(&w, LEASE_MS);
	ck_assert_int_eq(core_relied_until(w.core), 0);
	story_done(&w);
}
END_TEST

START_TEST(a_holder_reclaims_from_a_master_that_forgot)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(after(&w, 330), "renew a#1");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_FORGOTTEN, "a", 1), "hello");
	ck_assert_str_eq(hello(&w, false, MEMORY + 1), "reclaim a#1");
	ck_assert_str_eq(answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(lock_once(&w, 2, "b"), "c2 -GUARD");
	story_done(&w);
}
END_TEST

static unsigned
notes(const struct story *w, enum note_type type)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->actions.n; i++)
		n += w->actions.list[i].type == ACTION_NOTE && w->actions.list[i].u.note.type == type;
	return n;
}

START_TEST(a_reclaim_is_told_once_in_a_guard_and_again_in_the_next)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	after(&w, 330);
	answer(&w, CALL_RENEW, OUTCOME_FORGOTTEN, "a", 1);
	hello(&w, false, MEMORY + 1);
	answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1);
	ck_assert_uint_eq(notes(&w, NOTE_RECLAIMED), 1);
	ck_assert_str_eq(after(&w, 333), "reclaim a#1");
	answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1);
	ck_assert_uint_eq(notes(&w, NOTE_RECLAIMED), 0);
	ck_assert_str_eq(after(&w, 333), "reclaim a#1");
	answer(&w, CALL_RECLAIM, OUTCOME_FORGOTTEN, "a", 1);
	ck_assert_str_eq(hello(&w, false, MEMORY + 2), "reclaim a#1");
	answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1);
	ck_assert_uint_eq(notes(&w, NOTE_RECLAIMED), 1);
	story_done(&w);
}
END_TEST

START_TEST(a_reclaim_that_is_refused_is_a_loss)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	after(&w, 330);
	answer(&w, CALL_RENEW, OUTCOME_FORGOTTEN, "a", 1);
	hello(&w, false, MEMORY + 1);
	ck_assert_str_eq(answer(&w, CALL_RECLAIM, OUTCOME_NO, "a", 1), "c1 close");
	story_done(&w);
}
END_TEST

/* c1 has held a and b for as long as MAXHOLD allows, and wants to hear of it when it uses them next. */
static void
story_lost(struct story *w)
{
	story_ready(w);
	run(w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_NEXT});
	for (unsigned i = 0; i < 2; i++) {
		run(w, 1,
			(struct command){.verb = VERB_LOCK,
				.name = i == 0 ? SLICE("a") : SLICE("b"),
				.max_hold_ms = 50});
		granted(w, i == 0 ? "a" : "b", i + 1, 500);
	}
	after(w, 50);
}

START_TEST(a_connection_leaves_no_session_that_has_not_been_told_of_a_loss)
{
	struct story w;
	char secret[REPLY_TEXT_MAX];
	const struct command join = {.verb = VERB_SESSION_JOIN, .secret = {secret, 48}};

	story_lost(&w);
	(void)snprintf(secret, sizeof(secret), "%s",
		run(&w, 2, (struct command){.verb = VERB_SESSION_SECRET}) + strlen("c2 "));
	ck_assert_str_eq(run(&w, 1, join), "c1 -ERR");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(run(&w, 1, join), "c1 -ERR");
	ck_assert_str_eq(check(&w, 1, "b"), "c1 -LOST");
	ck_assert_str_eq(run(&w, 1, join), "c1 :0");
	story_done(&w);
}
END_TEST

START_TEST(a_lock_of_what_was_lost_unheard_is_answered_by_the_loss_once)
{
	struct story w;

	story_lost(&w);
	ck_assert_str_eq(lock(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(lock(&w, 1, "a"), "acquire a#3");
	granted(&w, "a", 3, 600);
	/* Whatever else shows it tells it, too. */
	ck_assert_str_eq(check(&w, 1, "b"), "c1 -LOST");
	ck_assert_str_eq(lock(&w, 1, "b"), "acquire b#4");
	story_done(&w);
}
END_TEST

START_TEST(an_mlock_of_what_was_lost_unheard_is_answered_by_each_loss_once)
{
	struct story w;
	const struct slice names[] = {SLICE("b"), SLICE("a")};
	const struct command both = {
		.verb = VERB_MLOCK, .wait_ms = COMMAND_WAIT_RULE, .names = names, .name_count = 2};

	story_lost(&w);
	ck_assert_str_eq(run(&w, 1, both), "c1 -LOST");
	ck_assert_str_eq(w.actions.list[0].u.reply.text, "maxhold its MAXHOLD is over, token 500 of b");
	ck_assert_str_eq(run(&w, 1, both), "c1 -LOST");
	ck_assert_str_eq(w.actions.list[0].u.reply.text, "maxhold its MAXHOLD is over, token 500 of a");
	ck_assert_str_eq(run(&w, 1, both), "acquire a#3 once | acquire b#4 once");
	story_done(&w);
}
END_TEST

START_TEST(who_locks_again_is_not_told_of_the_end_of_its_lease)
{
	struct story w;

	story_ready(&w);
	run(&w, 1,
		(struct command){.verb = VERB_LOCK, .name = SLICE("a"), .lease_ms = 50, .max_hold_ms = 50});
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(after(&w, 50), "release a#1");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_int_eq(strncmp(w.actions.list[0].u.reply.text, "lease ", strlen("lease ")), 0);
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("b"), .lease_ms = 50});
	granted(&w, "b", 2, 600);
	ck_assert_str_eq(after(&w, 50), "release b#2");
	ck_assert_str_eq(lock(&w, 1, "b"), "acquire b#3");
	story_done(&w);
}
END_TEST

START_TEST(lease_and_maxhold_end_the_hold)
{
	struct story w;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .lease_ms = 50});
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :48");
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_EXTEND, .name = SLICE("a"), .extend_ms = 80}),
		"c1 :78");
	ck_assert_str_eq(after(&w, 79), "");
	/* Its own LEASE: told on the next use. */
	ck_assert_str_eq(after(&w, 1), "release a#1");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	lock(&w, 2, "capped");
	granted(&w, "capped", 2, 600);
	ck_assert_str_eq(check(&w, 2, "capped"), "c2 :295");
	ck_assert_str_eq(after(&w, 300), "c2 close | release capped#2");
	story_done(&w);
}
END_TEST

START_TEST(a_hold_that_its_lease_has_ended_has_ended_by_it_however_late_the_daemon_looks)
{
	struct story w;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .lease_ms = 900});
	granted(&w, "a", 1, 500);
	lock(&w, 2, "b");
	granted(&w, "b", 2, 600);
	ck_assert_str_eq(after(&w, 10000), "release a#1 | c2 close | release b#2");
	check(&w, 1, "a");
	ck_assert_int_eq(strncmp(w.actions.list[0].u.reply.text, "lease ", strlen("lease ")), 0);
	story_done(&w);
}
END_TEST

START_TEST(a_wait_ends_in_time)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	run(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = 40});
	ck_assert_str_eq(after(&w, 39), "");
	ck_assert_str_eq(after(&w, 1), "c2 null");
	story_done(&w);
}
END_TEST

START_TEST(an_async_wait_is_answered_by_a_push_and_can_be_cancelled)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(
		run(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("x")}),
		"c2 +QUEUED");
	ck_assert_str_eq(
		run(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("y")}),
		"c2 +QUEUED");
	ck_assert_str_eq(run(&w, 2, (struct command){.verb = VERB_CANCEL, .id = SLICE("x")}), "c2 :1");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 push grant y");
	story_done(&w);
}
END_TEST

START_TEST(a_break_that_another_daemon_asks_for_is_carried_out_without_an_answer)
{
	struct command wrong = {.verb = VERB_BREAK, .name = SLICE("a"), .token = 499};
	struct command right = {.verb = VERB_BREAK, .name = SLICE("a"), .token = 500};
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_BREAK, .command = &wrong}), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_BREAK, .command = &right}), "c1 close");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_BREAK, .command = &right}), "");
	story_done(&w);
}
END_TEST

START_TEST(a_bound_session_outlives_its_connections_and_ends_with_its_process)
{
	struct story w;
	struct process process = {.pid = 4711, .started = 99};

	story_ready(&w);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_BIND, .conn = 1, .process = process}),
		"watch 4711 | c1 :0");
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "");
	ck_assert_str_eq(
		step(&w, &(struct event){.type = EVENT_BIND, .conn = 2, .process = process}), "c2 :1");
	ck_assert_str_eq(check(&w, 2, "a"), "c2 :977");
	ck_assert_str_eq(close_as(&w, 2, END_CLEAN), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_EXIT, .process = process}), "release a#1");
	story_done(&w);
}
END_TEST

START_TEST(a_session_is_joined_by_its_secret_only)
{
	struct story w;
	char secret[REPLY_TEXT_MAX];

	story_ready(&w);
	(void)snprintf(secret, sizeof(secret), "%s",
		run(&w, 1, (struct command){.verb = VERB_SESSION_SECRET}) + strlen("c1 "));
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(
		run(&w, 2, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret)}), "c2 :1");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1");
	secret[20] = secret[20] == 'a' ? 'b' : 'a';
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret)}),
		"c3 -ERR");
	story_done(&w);
}
END_TEST

START_TEST(limits_are_kept)
{
	struct story w;

	story_ready(&w);
	for (int i = 0; i < 3; i++) {
		char name[] = {(char)('a' + i), '\0'};

		lock(&w, 1, name);
		granted(&w, name, (uint64_t)i + 1, 500);
	}
	ck_assert_str_eq(lock(&w, 1, "d"), "c1 -LIMIT");
	story_done(&w);
}
END_TEST

START_TEST(draining_tells_holders_and_leaves_their_leases_to_run_out)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN}), "c2 -DRAINING | c1 close");
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	ck_assert_str_eq(lock(&w, 3, "b"), "c3 -DRAINING");
	story_done(&w);
}
END_TEST

/* An administrator's DRAIN WAIT, and what ends the wait. */
static const char *
drain(struct story *w, conn_id conn, bool waits)
{
	return step(w, &(struct event){.type = EVENT_DRAIN, .conn = conn, .waits = waits});
}

START_TEST(a_drain_that_waits_lets_holders_finish_and_ends_when_nothing_is_held)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	ck_assert_str_eq(drain(&w, 4, true), "c2 -DRAINING");
	ck_assert(!core_drained(w.core));
	ck_assert_str_eq(lock(&w, 3, "b"), "c3 -DRAINING");
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 -DRAINING");
	/* It is kept, renewed, and entered again. */
	ck_assert_str_eq(after(&w, 340), "renew a#1");
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	ck_assert_str_eq(lock_as(&w, 1, "a", ""), "c1 -HELD");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1 | c4 :0");
	ck_assert(core_drained(w.core));
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "hello");
	ck_assert(w.actions.list[0].u.call.leaves);
	story_done(&w);
}
END_TEST

START_TEST(a_drain_of_an_idle_daemon_waits_for_nobody)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(drain(&w, 4, true), "c4 :0 | hello");
	ck_assert(core_drained(w.core));
	ck_assert_str_eq(drain(&w, 3, true), "c3 -DRAINING");
	story_done(&w);
}
END_TEST

START_TEST(a_drain_whose_wait_is_over_says_how_many_holds_are_left)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(drain(&w, 4, true), "");
	ck_assert_str_eq(drain(&w, 3, true), "");
	ck_assert_str_eq(drain(&w, 0, false), "c1 close | c3 :1 | c4 :1");
	ck_assert(core_drained(w.core));
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	story_done(&w);
}
END_TEST

START_TEST(a_drain_waits_for_what_is_withheld_too)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(drain(&w, 4, true), "");
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	ck_assert(!core_drained(w.core));
	ck_assert_ptr_nonnull(strstr(after(&w, 1000), "c4 :0"));
	ck_assert(core_drained(w.core));
	story_done(&w);
}
END_TEST

START_TEST(a_break_during_a_drain_takes_the_last_hold)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	drain(&w, 4, true);
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500}),
		"c1 close | c3 :988");
	close_as(&w, 1, END_ABANDONED);
	ck_assert(!core_drained(w.core));
	ck_assert_ptr_nonnull(strstr(after(&w, 1000), "c4 :0"));
	story_done(&w);
}
END_TEST

/* A registration that has ended keeps nobody with other limits away. */
START_TEST(a_master_that_refuses_all_hellos_is_asked_for_nothing)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	after(&w, 60);
	w.refused = true;
	/* Until two thirds of a lease after the last good one, a hundredth of it less. */
	ck_assert_str_eq(after(&w, 300), "renew a#1");
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	ck_assert_str_eq(after(&w, 340), "renew a#1");
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	ck_assert_str_eq(after(&w, 340), "");
	lock(&w, 2, "b");
	ck_assert_str_eq(w.trace, "");
	vote(&w, (struct vote){.op = CALL_HELLO, .outcome = OUTCOME_ERROR, .text = SLICE("MISCONF")});
	/* What is held is given back all the same, and the next good HELLO goes on. */
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1");
	after(&w, 100);
	hello(&w, true, MEMORY);
	ck_assert_str_eq(w.trace, "acquire b#2");
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_that_ends_leaves_no_master_while_a_client_that_is_gone_relies_on_a_lost_lease)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN}), "c1 close");
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	ck_assert_str_eq(after(&w, 340), "renew a#1");
	/* Another program has put a key of another kind there. */
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_WRONGKIND, "a", 1), "");
	ck_assert_str_eq(after(&w, 1000), "");
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_that_ends_leaves_its_masters_when_nobody_relies_on_it)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN}), "c1 close");
	/* What its holder was told is over, and the master has to say that the key is gone. */
	ck_assert_ptr_nonnull(strstr(close_as(&w, 1, END_CLEAN), "release a#1"));
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "hello");
	ck_assert(w.actions.list[0].u.call.leaves);
	/* Once: nothing registers it anew. */
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_LINK_DOWN, .text = SLICE("gone")}), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_LINK_UP}), "");
	story_done(&w);
}
END_TEST

/* The HELLO that just left. */
static uint64_t
hello_serial(const struct story *w)
{
	for (size_t i = 0; i < w->actions.n; i++) {
		if (w->actions.list[i].type == ACTION_CALL && w->actions.list[i].u.call.op == CALL_HELLO)
			return w->actions.list[i].u.call.attempt;
	}
	ck_abort_msg("no HELLO");
	return 0;
}

START_TEST(a_daemon_with_a_copy_tells_its_holders_and_asks_nothing_of_the_master)
{
	struct story w;
	struct vote told = {.op = CALL_HELLO, .hello = HELLO_CLONED};
	uint64_t serial;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	lock(&w, 3, "b");
	(void)after(&w, LEASE_MS / 3);
	serial = hello_serial(&w);
	/* Of one that was sent before: what came between may be ours. */
	told.attempt = serial - 1;
	ck_assert_ptr_nonnull(strstr(vote(&w, told), "hello"));
	ck_assert(!core_ended(w.core));
	told.attempt = hello_serial(&w);
	w.now.ms += LEASE_MS / 3; /* there is more to be asked of the master by now */
	ck_assert_str_eq(vote(&w, told), "c1 close");
	ck_assert(core_ended(w.core));
	ck_assert_str_eq(unlock(&w, 1, "a"), "");
	ck_assert_str_eq(close_as(&w, 1, END_GONE), "");
	ck_assert_str_eq(after(&w, 10 * LEASE_MS), "");
	ck_assert_int_eq(core_wake_at(w.core), INT64_MAX);
	story_done(&w);
}
END_TEST

/* Otherwise its links send HELLO by turns, none ever with the latest one, and it never ends. */
START_TEST(a_copy_whose_two_links_are_told_so_ends)
{
	struct story w;
	struct vote told = {.op = CALL_HELLO, .hello = HELLO_CLONED};
	uint64_t serials[2] = {0};
	size_t n = 0;

	story_linked(&w, 2);
	for (unsigned i = 0; i < 2; i++) {
		step(&w, &(struct event){.type = EVENT_LINK_UP, .link = i});
		vote(&w, (struct vote){.op = CALL_HELLO, .link = i, .admitted = true, .incarnation = MEMORY});
	}
	(void)after(&w, LEASE_MS / 3);
	for (size_t i = 0; i < w.actions.n; i++) {
		const struct call *call = &w.actions.list[i].u.call;

		if (w.actions.list[i].type == ACTION_CALL && call->op == CALL_HELLO && n < 2)
			serials[n++] = call->attempt;
	}
	ck_assert_uint_eq(n, 2);
	told.attempt = serials[0];
	ck_assert_ptr_null(strstr(vote(&w, told), "hello"));
	ck_assert(!core_ended(w.core));
	told.link = 1;
	told.attempt = serials[1];
	(void)vote(&w, told);
	ck_assert(core_ended(w.core));
	story_done(&w);
}
END_TEST

/* Two links come up together, and the master runs the HELLO of the second one first. */
START_TEST(a_link_whose_hello_was_overtaken_is_asked_again_soon)
{
	struct story w;
	struct vote told = {.op = CALL_HELLO, .hello = HELLO_CLONED};
	struct vote good = {.op = CALL_HELLO, .link = 1, .admitted = true, .incarnation = MEMORY};

	story_linked(&w, 2);
	step(&w, &(struct event){.type = EVENT_LINK_UP, .link = 0});
	told.attempt = hello_serial(&w);
	step(&w, &(struct event){.type = EVENT_LINK_UP, .link = 1});
	good.attempt = hello_serial(&w);
	ck_assert_str_eq(vote(&w, told), "");
	vote(&w, good);
	(void)after(&w, LEASE_MS / 10);
	ck_assert_uint_gt(hello_serial(&w), good.attempt);
	ck_assert(!core_ended(w.core));
	story_done(&w);
}
END_TEST

START_TEST(a_copy_waits_for_a_silent_master_without_hello_the_others_at_once)
{
	struct story w;
	struct vote told = {.op = CALL_HELLO, .hello = HELLO_CLONED};

	story_init(&w);
	core_free(w.core);
	w.settings.masters = 3;
	w.core = core_new(&w.settings, w.now);
	step(&w, &(struct event){.type = EVENT_LINK_DOWN, .master = 2, .text = SLICE("reset")});
	/* The first may be the second by another name. */
	(void)link_up(&w);
	w.at = 1;
	step(&w, &(struct event){.type = EVENT_LINK_UP, .master = 1});
	told.attempt = hello_serial(&w);
	ck_assert_ptr_null(strstr(vote(&w, told), "hello"));
	ck_assert(!core_ended(w.core));
	(void)after(&w, LEASE_MS / 10);
	told.attempt = hello_serial(&w);
	step(&w, &(struct event){.type = EVENT_LINK_DOWN, .text = SLICE("reset")});
	(void)vote(&w, told);
	ck_assert(core_ended(w.core));
	story_done(&w);
}
END_TEST

/* The silent one may stay so, and this daemon would serve nobody as long. */
START_TEST(a_copy_that_is_registered_no_longer_waits_for_no_silent_master)
{
	struct story w;
	struct vote told = {.op = CALL_HELLO, .hello = HELLO_CLONED};
	int64_t ran_ms = 0;

	story_init(&w);
	core_free(w.core);
	w.settings.masters = 3;
	w.core = core_new(&w.settings, w.now);
	step(&w, &(struct event){.type = EVENT_LINK_DOWN, .master = 2, .text = SLICE("reset")});
	(void)link_up(&w);
	w.at = 1;
	step(&w, &(struct event){.type = EVENT_LINK_UP, .master = 1});
	vote(&w, (struct vote){.op = CALL_HELLO, .admitted = true, .incarnation = MEMORY});
	w.refused = true;
	for (; !core_ended(w.core) && ran_ms < 2 * LEASE_MS; ran_ms += 10) {
		(void)after(&w, 10);
		for (size_t i = 0; i < w.actions.n; i++) {
			const struct call *call = &w.actions.list[i].u.call;

			if (w.actions.list[i].type == ACTION_CALL && call->op == CALL_HELLO &&
				call->master == 1)
				told.attempt = call->attempt;
		}
		if (told.attempt != 0)
			(void)vote(&w, told);
		told.attempt = 0;
	}
	ck_assert(core_ended(w.core));
	ck_assert_int_ge(ran_ms, LEASE_MS * 2 / 3 - 50);
	story_done(&w);
}
END_TEST

START_TEST(two_copies_of_a_daemon_have_other_attempts_and_nonces)
{
	struct story w[2];
	struct call sent[2], acquire[2];
	char nonces[2][160];

	for (int i = 0; i < 2; i++) {
		story_ready(&w[i]);
		w[i].now.random[0] += (uint64_t)i; /* all in which they differ */
		/* For a second they may still send the same nonce. */
		for (int hellos = 0; hellos < 3; hellos++) {
			(void)after(&w[i], LEASE_MS / 3);
			(void)hello(&w[i], true, MEMORY);
		}
		(void)after(&w[i], LEASE_MS / 3);
		sent[i] = w[i].actions.list[0].u.call;
		ck_assert_int_eq((int)sent[i].op, CALL_HELLO);
		ck_assert_uint_ge(sent[i].nonces.n, 34);
		(void)snprintf(nonces[i], sizeof(nonces[i]), "%.*s", (int)sent[i].nonces.n, sent[i].nonces.p);
		lock(&w[i], 1, "a");
		acquire[i] = w[i].actions.list[0].u.call;
		ck_assert_int_eq((int)acquire[i].op, CALL_ACQUIRE);
	}
	ck_assert_uint_ne(acquire[0].attempt, acquire[1].attempt);
	ck_assert_uint_eq(
		acquire[0].attempt >> ATTEMPT_RANDOM_BITS, acquire[1].attempt >> ATTEMPT_RANDOM_BITS);
	/* The newest comes first, and behind it those they have in common. */
	ck_assert_int_ne(strncmp(nonces[0], nonces[1], 16), 0);
	ck_assert_str_eq(nonces[0] + 17, nonces[1] + 17);
	story_done(&w[0]);
	story_done(&w[1]);
}
END_TEST

START_TEST(no_nonce_is_dropped_that_the_master_may_have_seen_last)
{
	struct story w;
	struct slice nonces;
	char first[17] = "", text[2048];

	story_ready(&w);
	for (int i = 0; i < 100; i++) {
		(void)step(&w, &(struct event){.type = EVENT_LINK_DOWN, .text = SLICE("gone")});
		(void)link_up(&w);
		(void)hello_serial(&w);
		nonces = w.actions.list[0].u.call.nonces;
		(void)snprintf(text, sizeof(text), "%.*s", (int)nonces.n, nonces.p);
		if (i == 0)
			(void)snprintf(first, sizeof(first), "%.16s", text + 17); /* it was answered */
		ck_assert_ptr_nonnull(strstr(text, first));
	}
	story_done(&w);
}
END_TEST

START_TEST(a_broken_hold_stays_withheld)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 499}),
		"c3 -NOTHELD");
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500}),
		"c1 close | c3 :988");
	/* Its client may use the lock until it says that it does not. */
	ck_assert_str_eq(after(&w, 100), "");
	ck_assert_str_eq(run(&w, 1, (struct command){.verb = VERB_UNLOCK, .name = SLICE("a"), .token = 500}),
		"c1 -LOST | c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_broken_hold_stays_withheld_after_an_unlock_that_names_no_token)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500});
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(a_broken_hold_is_withheld_no_more_when_its_client_has_ended)
{
	struct story w;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_NEXT});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500});
	ck_assert_str_eq(close_as(&w, 1, END_GONE), "c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_broken_hold_stays_withheld_if_its_client_has_entered_it_more_often)
{
	struct story w;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_NEXT});
	ck_assert_str_eq(lock_as(&w, 1, "a", "tag"), "acquire a#1");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(lock_as(&w, 1, "a", "tag"), "c1 :500");
	lock(&w, 2, "a");
	run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500});
	/* That ends one of its two uses. */
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_UNLOCK, .name = SLICE("a"), .owner = SLICE("tag")}),
		"c1 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(a_broken_hold_stays_withheld_if_its_connection_is_lost)
{
	struct story w;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_NEXT});
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	lock(&w, 2, "a");
	run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500});
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	story_done(&w);
}
END_TEST

/* Its LEAVE was lost with a link. Without it each free name would wait for this daemon first, until the place
 * ends. */
START_TEST(a_daemon_that_is_called_and_wants_nothing_leaves_the_queue)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")}), "leave a#0");
	/* A name that is known, and not wanted. */
	lock(&w, 1, "a");
	ck_assert_str_eq(busy(&w, "a", 1), "");
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "leave a#1");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")}), "leave a#1");
	/* Wanted again: it is our turn. */
	lock(&w, 2, "a");
	busy(&w, "a", 2);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")}), "acquire a#3");
	story_done(&w);
}
END_TEST

/* Answers that came while it stood still are read only after its timers. */
START_TEST(a_daemon_that_stood_still_blames_no_master_for_that_time)
{
	struct story w;
	unsigned ran_ms = 0;

	story_ready(&w);
	lock(&w, 1, "a");
	ck_assert_str_eq(after(&w, LEASE_MS), "release a#1");
	ck_assert_uint_eq(notes(&w, NOTE_STALLED), 1);
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_SILENT), 0);
	/* But for the time from then on. */
	do {
		ck_assert_uint_le(++ran_ms, LEASE_MS / 3);
		after(&w, 1);
	} while (notes(&w, NOTE_MASTER_SILENT) == 0);
	ck_assert_uint_eq(ran_ms, LEASE_MS / 3);
	story_done(&w);
}
END_TEST

static bool
available(const struct story *w, const char *why)
{
	struct service_view view;

	core_view_service(w->core, &view);
	ck_assert_msg(strstr(view.text, why) != NULL, "%s", view.text);
	return view.available;
}

START_TEST(a_master_that_answers_with_errors_is_failing_and_not_silent)
{
	struct story w;
	struct master_view view;

	story_ready(&w);
	ck_assert(available(&w, ""));
	/* An error for one name is no proof: the master is sent HELLO soon, and that decides. */
	lock(&w, 1, "a");
	vote(&w, (struct vote){.op = CALL_ACQUIRE,
			 .outcome = OUTCOME_UNKNOWN,
			 .spoken = true,
			 .name = SLICE("a"),
			 .attempt = 1,
			 .text = SLICE("ERR half of it")});
	ck_assert(available(&w, ""));
	vote(&w, (struct vote){
			 .op = CALL_HELLO, .outcome = OUTCOME_ERROR, .text = SLICE("BUSY a script runs")});
	ck_assert(!available(&w, "the master answers with an error: BUSY a script runs"));
	/* Also when no HELLO has been answered well for so long that nothing is asked any more. */
	w.refused = true;
	after(&w, 1000);
	vote(&w, (struct vote){
			 .op = CALL_HELLO, .outcome = OUTCOME_ERROR, .text = SLICE("BUSY a script runs")});
	ck_assert(!available(&w, "BUSY a script runs"));
	core_view_master(w.core, w.now.ms, 0, &view);
	ck_assert(view.failing && !view.silent);
	ck_assert_str_eq(view.condition, "failing");
	ck_assert_str_eq(view.reason, "BUSY a script runs");
	w.refused = false;
	hello(&w, true, MEMORY);
	ck_assert(available(&w, ""));
	story_done(&w);
}
END_TEST

/* A request that it answers well, and one that it does not, ms later. */
static unsigned
complains(struct story *w, int64_t ms, struct slice text)
{
	unsigned noted = 0;

	answer(w, CALL_RENEW, OUTCOME_YES, "a", 1);
	after(w, ms);
	vote(w, (struct vote){.op = CALL_HELLO, .outcome = OUTCOME_ERROR, .text = text});
	noted = notes(w, NOTE_MASTER_ERROR);
	hello(w, true, MEMORY);
	return noted;
}

START_TEST(errors_of_a_master_are_noted_once_for_a_stretch)
{
	struct story w;

	story_ready(&w);
	ck_assert_uint_eq(complains(&w, 1, SLICE("OOM")), 1);
	for (int i = 0; i < 1000; i++)
		ck_assert_uint_eq(complains(&w, 1, SLICE("OOM")), 0);
	/* Other words are news, but not each of a thousand. */
	ck_assert_uint_eq(complains(&w, 1, SLICE("MISCONF")), 1);
	ck_assert_uint_eq(complains(&w, 1, SLICE("OOM")), 0);
	ck_assert_uint_eq(complains(&w, 1, SLICE("MISCONF")), 0);
	ck_assert_uint_eq(complains(&w, 997, SLICE("MISCONF")), 0);
	ck_assert_uint_eq(complains(&w, 1, SLICE("MISCONF")), 1);
	ck_assert_uint_eq(complains(&w, 9999, SLICE("MISCONF")), 0);
	ck_assert_uint_eq(complains(&w, 10000, SLICE("MISCONF")), 1);
	story_done(&w);
}
END_TEST

/* Its links fall silent one after the other, and it answers in between. */
START_TEST(silences_of_a_master_are_noted_once_for_a_stretch)
{
	struct story w;
	unsigned n = 0;

	story_ready(&w);
	lock(&w, 1, "a");
	for (int i = 0; i < 20; i++) {
		for (int ms = 0; ms < LEASE_MS / 2; ms++) {
			after(&w, 1);
			n += notes(&w, NOTE_MASTER_SILENT);
		}
		hello(&w, true, MEMORY);
		ck_assert_uint_eq(n, 1);
	}
	story_done(&w);
}
END_TEST

static const char *
say_hello(struct story *w, unsigned link, int64_t jump_ms)
{
	w->jump_ms = jump_ms;
	return vote(
		w, (struct vote){.op = CALL_HELLO, .link = link, .admitted = true, .incarnation = MEMORY});
}

static void
story_two_links(struct story *w)
{
	story_linked(w, 2);
	for (unsigned link = 0; link < 2; link++) {
		step(w, &(struct event){.type = EVENT_LINK_UP, .link = link});
		say_hello(w, link, 0);
	}
}

/* The clock steps back between two HELLOs, of which the first is answered last, on either link. */
START_TEST(an_answer_that_another_link_overtook_shows_no_jump)
{
	for (unsigned late = 0; late < 2; late++) {
		struct story w;

		story_two_links(&w);
		after(&w, LEASE_MS / 3);
		say_hello(&w, 1 - late, -4 * MARGIN_MS);
		say_hello(&w, late, 0);
		ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 0);
		after(&w, LEASE_MS / 3);
		say_hello(&w, late, -4 * MARGIN_MS);
		ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 0);
		say_hello(&w, 1 - late, 0);
		ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 1);
		story_done(&w);
	}
}
END_TEST

/* The clock jumps once more between the two HELLOs that tell of the first jump. The one that was read
 * before is answered last. */
START_TEST(a_hello_from_before_a_jump_does_not_show_it_again)
{
	struct story w;

	story_two_links(&w);
	after(&w, LEASE_MS / 3);
	say_hello(&w, 1, 2 * MARGIN_MS);
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 1);
	say_hello(&w, 0, 2 * MARGIN_MS);
	say_hello(&w, 1, 4 * MARGIN_MS);
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 1);
	say_hello(&w, 0, 2 * MARGIN_MS);
	say_hello(&w, 0, 4 * MARGIN_MS);
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 0);
	after(&w, LEASE_MS / 3);
	for (unsigned link = 0; link < 2; link++) {
		say_hello(&w, link, 4 * MARGIN_MS);
		ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 0);
	}
	story_done(&w);
}
END_TEST

START_TEST(a_clock_that_jumps_while_a_link_is_lost_has_jumped)
{
	struct story w;

	story_two_links(&w);
	after(&w, LEASE_MS / 3);
	say_hello(&w, 1, 0);
	step(&w, &(struct event){.type = EVENT_LINK_DOWN, .link = 0, .text = SLICE("reset")});
	step(&w, &(struct event){.type = EVENT_LINK_UP, .link = 0});
	say_hello(&w, 0, 2 * MARGIN_MS);
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 1);
	story_done(&w);
}
END_TEST

START_TEST(a_clock_that_jumps_while_nothing_is_heard_has_jumped)
{
	struct story w;

	story_two_links(&w);
	for (unsigned i = 0; i < 2; i++)
		step(&w, &(struct event){.type = EVENT_LINK_DOWN, .link = i, .text = SLICE("reset")});
	after(&w, 4 * LEASE_MS);
	step(&w, &(struct event){.type = EVENT_LINK_UP, .link = 0});
	say_hello(&w, 0, LEASE_MS);
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 1);
	story_done(&w);
}
END_TEST

/* Other daemons have given its memory up, and its guard is over: they may have been granted leases since,
 * which a later jump ended before their time. */
START_TEST(a_memory_that_is_heard_of_after_its_guard_is_not_believed_if_the_clock_jumped)
{
	struct story w;

	story_two_links(&w);
	for (unsigned i = 0; i < 2; i++)
		step(&w, &(struct event){.type = EVENT_LINK_DOWN, .link = i, .text = SLICE("reset")});
	after(&w, 4 * LEASE_MS);
	step(&w, &(struct event){.type = EVENT_LINK_UP, .link = 0});
	w.jump_ms = LEASE_MS;
	vote(&w, (struct vote){.op = CALL_HELLO, .admitted = true, .incarnation = MEMORY + 1});
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 1);
	ck_assert_ptr_null(strstr(lock(&w, 1, "a"), "acquire"));
	ck_assert_ptr_null(strstr(after(&w, LEASE_MS), "acquire"));
	ck_assert_ptr_nonnull(strstr(after(&w, LEASE_MS / 100 + 2 + MARGIN_MS), "acquire"));
	story_done(&w);
}
END_TEST

/* This daemon hears that a key of another kind is there when the master can be used no longer, and stands
 * still until it can be used again. */
START_TEST(a_key_of_another_kind_from_before_a_guard_is_no_reason_after_it)
{
	struct story w;

	story_two_links(&w);
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = LEASE_MS}),
		"acquire a#1");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	/* Its daemon may keep it for nobody: it is asked for once more. */
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "a", 1), "leave a#1");
	for (int ms = 0; ms < 50 && strstr(w.trace, "acquire a#2") == NULL; ms++)
		after(&w, 1);
	say_hello(&w, 0, LEASE_MS);
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 1);
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "a", 2), "leave a#2");
	after(&w, 2 * LEASE_MS);
	ck_assert_ptr_null(strstr(w.trace, "-WRONGKIND"));
	ck_assert_ptr_nonnull(strstr(w.trace, "acquire a#3"));
	story_done(&w);
}
END_TEST

/* An answer ends the round about a lease of the only master; what its holder was told stays known. */
START_TEST(what_a_jump_shortened_is_not_given_back_before_what_was_told_is_over)
{
	struct story w;

	story_two_links(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	say_hello(&w, 0, LEASE_MS / 2);
	close_as(&w, 1, END_ABANDONED);
	after(&w, LEASE_MS / 3);
	answer(&w, CALL_RENEW, OUTCOME_ERROR, "a", 1);
	ck_assert_ptr_null(strstr(after(&w, 987 - LEASE_MS / 3), "release"));
	after(&w, 1);
	ck_assert_ptr_nonnull(strstr(w.trace, "release a#1"));
	story_done(&w);
}
END_TEST

/* The master reads the first HELLO late: against that one its clock seems to be ahead by as much, and the
 * host stands still for no longer. */
START_TEST(a_first_hello_that_took_long_hides_no_jump)
{
	struct story w;
	const int64_t late_ms = LEASE_MS * 3 / 10;

	story_linked(&w, 2);
	step(&w, &(struct event){.type = EVENT_LINK_UP});
	after(&w, late_ms);
	ck_assert_str_eq(say_hello(&w, 0, 0), "hello");
	ck_assert_str_eq(say_hello(&w, 0, 0), "");
	ck_assert_str_eq(lock(&w, 1, "a"), "acquire a#1");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 :500");
	say_hello(&w, 0, late_ms);
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 1);
	story_done(&w);
}
END_TEST

/* Each is within the margin, and no lease lives through both. */
START_TEST(steps_of_a_clock_that_are_more_than_a_guard_apart_are_no_jump)
{
	const int64_t step_ms = 3 * MARGIN_MS / 4, third = LEASE_MS / 3;
	struct story w;
	int64_t jump_ms = 0;

	story_two_links(&w);
	for (int i = 0; i < 20; i++) {
		jump_ms += i % 6 == 5 ? step_ms : 0;
		after(&w, third);
		say_hello(&w, 0, jump_ms);
		ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 0);
	}
	after(&w, third);
	/* The last one was three thirds of a lease ago. */
	say_hello(&w, 0, jump_ms + step_ms);
	ck_assert_uint_eq(notes(&w, NOTE_MASTER_CLOCK_JUMP), 1);
	story_done(&w);
}
END_TEST

/* It may run at the master when the daemon has long been answered on other connections, each of which broke
 * soon after. */
START_TEST(a_hello_that_was_cut_off_is_known_after_many_that_were_answered)
{
	struct story w;
	struct slice nonces;
	char cut_off[17] = "", text[2048] = "";

	story_ready(&w);
	for (int i = 0; i < 1000; i++) {
		w.now.ms += 30;
		(void)step(&w, &(struct event){.type = EVENT_LINK_DOWN, .text = SLICE("gone")});
		(void)link_up(&w);
		(void)hello_serial(&w);
		nonces = w.actions.list[0].u.call.nonces;
		(void)snprintf(text, sizeof(text), "%.*s", (int)nonces.n, nonces.p);
		if (i == 0)
			(void)snprintf(cut_off, sizeof(cut_off), "%.16s", text);
		else
			(void)hello(&w, true, MEMORY);
	}
	ck_assert_ptr_nonnull(strstr(text, cut_off));
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("core", NULL, NULL, a_free_name_is_granted_with_the_first_token,
		local_waiters_are_served_in_order_without_the_master,
		a_name_held_elsewhere_is_waited_for_until_the_wake_up,
		a_lost_wake_up_is_made_good_by_the_timer, a_wake_up_that_overtakes_the_refusal_is_not_lost,
		trying_once_is_answered_by_the_first_refusal,
		an_unanswered_acquire_is_released_until_it_is_surely_dead,
		a_release_that_is_due_while_the_link_is_down_goes_out_when_it_is_back,
		a_late_grant_to_nobody_changes_nothing,
		a_client_that_left_gets_nothing_and_the_lease_goes_back, a_second_lock_needs_an_owner_tag,
		a_clean_end_passes_the_name_on_and_an_abandoned_one_withholds_it,
		a_lease_that_cannot_be_renewed_is_lost_in_time,
		a_connection_leaves_no_session_that_has_not_been_told_of_a_loss,
		a_lock_of_what_was_lost_unheard_is_answered_by_the_loss_once,
		an_mlock_of_what_was_lost_unheard_is_answered_by_each_loss_once,
		another_daemon_that_wants_the_name_gets_it_after_the_streak, tokens_are_fetched_ahead_of_need,
		a_master_that_answers_with_errors_is_failing_and_not_silent,
		errors_of_a_master_are_noted_once_for_a_stretch,
		silences_of_a_master_are_noted_once_for_a_stretch, a_new_master_is_guarded_and_says_so,
		who_relies_on_a_hold_does_so_until_its_announced_deadline,
		a_holder_reclaims_from_a_master_that_forgot,
		a_reclaim_is_told_once_in_a_guard_and_again_in_the_next, a_reclaim_that_is_refused_is_a_loss,
		who_locks_again_is_not_told_of_the_end_of_its_lease,
		a_hold_that_its_lease_has_ended_has_ended_by_it_however_late_the_daemon_looks,
		lease_and_maxhold_end_the_hold, a_wait_ends_in_time,
		an_async_wait_is_answered_by_a_push_and_can_be_cancelled,
		a_break_that_another_daemon_asks_for_is_carried_out_without_an_answer,
		a_bound_session_outlives_its_connections_and_ends_with_its_process,
		a_session_is_joined_by_its_secret_only, limits_are_kept,
		draining_tells_holders_and_leaves_their_leases_to_run_out,
		a_drain_that_waits_lets_holders_finish_and_ends_when_nothing_is_held,
		a_drain_of_an_idle_daemon_waits_for_nobody,
		a_drain_whose_wait_is_over_says_how_many_holds_are_left,
		a_drain_waits_for_what_is_withheld_too, a_break_during_a_drain_takes_the_last_hold,
		a_broken_hold_stays_withheld,
		a_broken_hold_stays_withheld_after_an_unlock_that_names_no_token,
		a_broken_hold_is_withheld_no_more_when_its_client_has_ended,
		a_broken_hold_stays_withheld_if_its_client_has_entered_it_more_often,
		a_broken_hold_stays_withheld_if_its_connection_is_lost,
		a_master_that_refuses_all_hellos_is_asked_for_nothing,
		a_daemon_that_ends_leaves_no_master_while_a_client_that_is_gone_relies_on_a_lost_lease,
		a_daemon_that_ends_leaves_its_masters_when_nobody_relies_on_it,
		a_daemon_with_a_copy_tells_its_holders_and_asks_nothing_of_the_master,
		a_copy_whose_two_links_are_told_so_ends, a_link_whose_hello_was_overtaken_is_asked_again_soon,
		a_copy_waits_for_a_silent_master_without_hello_the_others_at_once,
		a_copy_that_is_registered_no_longer_waits_for_no_silent_master,
		two_copies_of_a_daemon_have_other_attempts_and_nonces,
		no_nonce_is_dropped_that_the_master_may_have_seen_last,
		a_hello_that_was_cut_off_is_known_after_many_that_were_answered,
		a_daemon_that_is_called_and_wants_nothing_leaves_the_queue,
		a_daemon_that_stood_still_blames_no_master_for_that_time,
		an_answer_that_another_link_overtook_shows_no_jump,
		a_hello_from_before_a_jump_does_not_show_it_again,
		steps_of_a_clock_that_are_more_than_a_guard_apart_are_no_jump,
		a_clock_that_jumps_while_a_link_is_lost_has_jumped,
		a_first_hello_that_took_long_hides_no_jump,
		a_clock_that_jumps_while_nothing_is_heard_has_jumped,
		what_a_jump_shortened_is_not_given_back_before_what_was_told_is_over,
		a_key_of_another_kind_from_before_a_guard_is_no_reason_after_it,
		a_memory_that_is_heard_of_after_its_guard_is_not_believed_if_the_clock_jumped);
}
