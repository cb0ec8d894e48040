/*
 * Latches in the core by itself. Each test is a short story (tests/support/story.h).
 */
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS 86400000

static const char *
latch(struct story *w, conn_id conn, enum verb verb, int64_t n)
{
	return run(w, conn,
		(struct command){.verb = verb, .name = SLICE("a"), .steps = n, .wait_ms = COMMAND_WAIT_RULE});
}

static const char *
set(struct story *w, conn_id conn, int64_t n)
{
	return latch(w, conn, VERB_LATCH_SET, n);
}

static const char *
down(struct story *w, conn_id conn)
{
	return latch(w, conn, VERB_LATCH_DOWN, 0);
}

static const char *
await(struct story *w, conn_id conn)
{
	return latch(w, conn, VERB_LATCH_AWAIT, 0);
}

static const char *
await_for(struct story *w, conn_id conn, int64_t wait_ms)
{
	return run(
		w, conn, (struct command){.verb = VERB_LATCH_AWAIT, .name = SLICE("a"), .wait_ms = wait_ms});
}

static const char *
count(struct story *w, conn_id conn)
{
	return latch(w, conn, VERB_LATCH_COUNT, 0);
}

/* What the master says: the latch of this id is there, or there is none. */
static const char *
is(struct story *w, uint64_t attempt, uint64_t id, int64_t n, int64_t left)
{
	return vote(w, (struct vote){.op = CALL_LATCH,
			       .name = SLICE("a"),
			       .attempt = attempt,
			       .latch = {.id = id, .set = n, .left = left, .ttl_ms = DAY_MS}});
}

static const char *
is_none(struct story *w, uint64_t attempt)
{
	return answer(w, CALL_LATCH, OUTCOME_NO, "a", attempt);
}

static const char *
remembered(struct story *w, uint64_t attempt, uint64_t id)
{
	return vote(w, (struct vote){.op = CALL_LATCH,
			       .outcome = OUTCOME_NO,
			       .name = SLICE("a"),
			       .attempt = attempt,
			       .latch = {.id = id, .ttl_ms = DAY_MS}});
}

static const char *
fails(struct story *w, uint64_t attempt, enum outcome outcome)
{
	return answer(w, CALL_LATCH, outcome, "a", attempt);
}

static const char *
told(struct story *w)
{
	return step(w, &(struct event){.type = EVENT_LATCH, .name = SLICE("a")});
}

/* Set by connection 4 to 3, with call 1; what id it got. */
static uint64_t
story_set(struct story *w)
{
	uint64_t id;

	story_ready(w);
	ck_assert_str_eq(set(w, 4, 3), "set a#1");
	id = last_call(w)->latch;
	ck_assert_uint_ne(id, 0);
	ck_assert_str_eq(is(w, 1, id, 3, 3), "c4 :1");
	return id;
}

/* The master comes back without its memory, and is admitted. */
static void
master_forgets(struct story *w)
{
	link_down(w, "reset");
	link_up(w);
	hello(w, true, MEMORY + 1);
}

static bool
see(const struct story *w, struct latch_view *view)
{
	return core_view_latch(w->core, w->now.ms, SLICE("a"), view);
}

START_TEST(a_latch_whose_key_lives_for_ages_is_looked_at_again_in_time)
{
	struct story w;
	struct latch_view view;

	story_ready(&w);
	ck_assert_str_eq(count(&w, 1), "look a#1");
	ck_assert_str_eq(
		vote(&w, (struct vote){.op = CALL_LATCH,
				 .name = SLICE("a"),
				 .attempt = 1,
				 .latch = {.id = 9, .set = 2, .left = 1, .ttl_ms = INT64_C(1) << 53}}),
		"c1 :1");
	ck_assert(core_view_latch(w.core, w.now.ms, SLICE("a"), &view));
	ck_assert_int_le(view.live_ms, 2 * COMMAND_MS_MAX);
	story_done(&w);
}
END_TEST

START_TEST(a_latch_is_set_by_one)
{
	struct latch_view view;
	struct story w;
	uint64_t id;

	story_ready(&w);
	ck_assert_str_eq(set(&w, 1, 3), "set a#1");
	id = last_call(&w)->latch;
	ck_assert_int_eq(last_call(&w)->steps, 3);
	ck_assert_int_eq(last_call(&w)->ttl_ms, 0);
	ck_assert_str_eq(set(&w, 2, 3), "set a#2");
	ck_assert_uint_ne(last_call(&w)->latch, id);
	ck_assert_str_eq(is(&w, 1, id, 3, 3), "c1 :1");
	ck_assert_str_eq(is(&w, 2, id, 3, 3), "c2 :0");
	ck_assert(see(&w, &view));
	ck_assert_str_eq(view.state, "closed");
	ck_assert_int_eq(view.set, 3);
	ck_assert_int_eq(view.left, 3);
	story_done(&w);
}
END_TEST

START_TEST(who_counts_down_is_the_session_and_its_tag)
{
	struct story w;
	uint64_t id = story_set(&w);
	struct command command = {
		.verb = VERB_LATCH_DOWN, .name = SLICE("a"), .steps = 2, .owner = SLICE("t1")};

	ck_assert_str_eq(run(&w, 2, command), "down a#2");
	ck_assert_uint_eq(last_call(&w)->latch, id);
	ck_assert_uint_eq(last_call(&w)->session, core_session_of(w.core, 2));
	ck_assert(slice_equal(last_call(&w)->tag, SLICE("t1")));
	ck_assert_int_eq(last_call(&w)->steps, 2);
	ck_assert_str_eq(is(&w, 2, id, 3, 1), "c2 :1");
	ck_assert_str_eq(down(&w, 2), "down a#3");
	ck_assert_uint_eq(last_call(&w)->tag.n, 0);
	ck_assert_int_eq(last_call(&w)->steps, 1);
	ck_assert_str_eq(is(&w, 3, id, 3, 0), "c2 :0");
	story_done(&w);
}
END_TEST

START_TEST(a_latch_set_elsewhere_is_looked_at_before_it_is_counted_down)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(down(&w, 1), "look a#1");
	ck_assert_int_eq(last_call(&w)->queue_ms, 0);
	ck_assert_str_eq(down(&w, 2), "");
	ck_assert_str_eq(is(&w, 1, 7, 3, 3), "down a#2 | down a#3");
	ck_assert_str_eq(is(&w, 2, 7, 3, 2), "c1 :2");
	ck_assert_str_eq(is(&w, 3, 7, 3, 1), "c2 :1");
	/* And only once. */
	ck_assert_str_eq(down(&w, 1), "down a#4");
	story_done(&w);
}
END_TEST

START_TEST(no_such_latch_is_an_error_to_down_null_to_count_and_a_wait_to_await)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(down(&w, 1), "look a#1");
	ck_assert_str_eq(is_none(&w, 1), "c1 -ERR");
	ck_assert_str_eq(count(&w, 1), "look a#2");
	ck_assert_str_eq(is_none(&w, 2), "c1 null");
	ck_assert_str_eq(await_for(&w, 1, 0), "look a#3");
	ck_assert_str_eq(is_none(&w, 3), "c1 null");
	ck_assert_str_eq(await(&w, 1), "look a#4");
	ck_assert_str_eq(is_none(&w, 4), "");
	/* It is set, and opens. */
	ck_assert_str_eq(told(&w), "look a#5");
	ck_assert_str_eq(is(&w, 5, 7, 3, 3), "");
	ck_assert_str_eq(told(&w), "look a#6");
	ck_assert_str_eq(is(&w, 6, 7, 3, 0), "c1 :0");
	story_done(&w);
}
END_TEST

START_TEST(who_waits_is_registered_and_looks_again_should_no_message_come)
{
	struct story w;
	uint64_t id = story_set(&w);

	ck_assert_str_eq(await(&w, 1), "look a#2");
	ck_assert_int_gt(last_call(&w)->queue_ms, 1000);
	ck_assert_str_eq(is(&w, 2, id, 3, 1), "");
	ck_assert_str_eq(after(&w, LEASE_MS / 3 + 1), "look a#3");
	ck_assert_str_eq(is(&w, 3, id, 3, 0), "c1 :0");
	ck_assert_str_eq(after(&w, LEASE_MS / 3 + 1), "");
	story_done(&w);
}
END_TEST

START_TEST(the_wait_ends_with_null_while_it_is_closed)
{
	struct story w;
	uint64_t id = story_set(&w);

	ck_assert_str_eq(await_for(&w, 1, 50), "look a#2");
	is(&w, 2, id, 3, 1);
	ck_assert_str_eq(after(&w, 49), "");
	ck_assert_str_eq(after(&w, 1), "c1 null");
	ck_assert_str_eq(await_for(&w, 1, 50), "look a#3");
	/* Nobody has said that it is closed. */
	ck_assert_str_eq(after(&w, 50), "c1 -NOMASTER");
	ck_assert_str_eq(is(&w, 3, id, 3, 0), "");
	story_done(&w);
}
END_TEST

START_TEST(an_own_count_down_opens_it_for_those_who_wait_here)
{
	struct story w;
	uint64_t id = story_set(&w);

	await(&w, 1);
	is(&w, 2, id, 3, 1);
	await(&w, 2);
	is(&w, 3, id, 3, 1);
	ck_assert_str_eq(down(&w, 4), "down a#4");
	ck_assert_str_eq(is(&w, 4, id, 3, 0), "c4 :0 | c1 :0 | c2 :0");
	story_done(&w);
}
END_TEST

START_TEST(a_look_serves_all_who_came_before_it_and_nobody_later)
{
	struct story w;
	uint64_t id = story_set(&w);

	ck_assert_str_eq(count(&w, 1), "look a#2");
	ck_assert_str_eq(count(&w, 2), "");
	ck_assert_str_eq(await_for(&w, 3, 0), "");
	/* They may have been told since that it has become less. */
	ck_assert_str_eq(is(&w, 2, id, 3, 2), "c1 :2 | look a#3");
	ck_assert_str_eq(is(&w, 3, id, 3, 1), "c2 :1 | c3 null");
	story_done(&w);
}
END_TEST

START_TEST(a_message_during_a_look_is_not_lost)
{
	struct story w;
	uint64_t id = story_set(&w);

	ck_assert_str_eq(await(&w, 1), "look a#2");
	ck_assert_str_eq(told(&w), "");
	ck_assert_str_eq(is(&w, 2, id, 3, 1), "look a#3");
	ck_assert_str_eq(is(&w, 3, id, 3, 0), "c1 :0");
	ck_assert_str_eq(told(&w), "");
	story_done(&w);
}
END_TEST

START_TEST(a_lost_answer_is_asked_for_again_for_the_same_latch)
{
	struct story w;
	uint64_t id = story_set(&w);

	ck_assert_str_eq(down(&w, 1), "down a#2");
	ck_assert_str_eq(fails(&w, 2, OUTCOME_UNKNOWN), "");
	ck_assert_str_eq(after(&w, 41), "down a#3");
	ck_assert_uint_eq(last_call(&w)->latch, id);
	ck_assert_str_eq(is(&w, 3, id, 3, 2), "c1 :2");
	story_done(&w);
}
END_TEST

START_TEST(what_may_have_counted_is_said_to_the_same_latch_though_another_is_known)
{
	struct story w;
	uint64_t id = story_set(&w);

	down(&w, 1);
	ck_assert_str_eq(count(&w, 2), "look a#3");
	fails(&w, 2, OUTCOME_UNKNOWN);
	ck_assert_str_eq(is(&w, 3, id + 1, 5, 5), "c2 :5");
	ck_assert_str_eq(after(&w, 41), "down a#4");
	ck_assert_uint_eq(last_call(&w)->latch, id);
	ck_assert_str_eq(is(&w, 4, id + 1, 5, 5), "c1 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(what_may_have_counted_is_never_counted_in_another_latch)
{
	struct story w;
	uint64_t id = story_set(&w);

	down(&w, 1);
	fails(&w, 2, OUTCOME_UNKNOWN);
	ck_assert_str_eq(after(&w, 41), "down a#3");
	ck_assert_str_eq(is(&w, 3, id + 1, 5, 5), "c1 -LOST");
	/* What surely did not count is said to the one that is there now. */
	ck_assert_str_eq(down(&w, 1), "down a#4");
	ck_assert_uint_eq(last_call(&w)->latch, id + 1);
	ck_assert_str_eq(is(&w, 4, id + 2, 9, 9), "down a#5");
	ck_assert_uint_eq(last_call(&w)->latch, id + 2);
	ck_assert_str_eq(is(&w, 5, id + 2, 9, 8), "c1 :8");
	story_done(&w);
}
END_TEST

START_TEST(who_set_a_latch_knows_it_when_the_answer_was_lost)
{
	struct story w;
	uint64_t id;

	story_ready(&w);
	set(&w, 1, 3);
	id = last_call(&w)->latch;
	fails(&w, 1, OUTCOME_UNKNOWN);
	ck_assert_str_eq(after(&w, 41), "set a#2");
	ck_assert_uint_eq(last_call(&w)->latch, id);
	ck_assert_str_eq(is(&w, 2, id, 3, 3), "c1 :1");
	story_done(&w);
}
END_TEST

START_TEST(what_is_not_confirmed_in_time_may_be_said_again)
{
	struct story w;
	uint64_t id = story_set(&w);

	ck_assert_str_eq(down(&w, 1), "down a#2");
	after(&w, LEASE_MS / 3);
	ck_assert_str_eq(after(&w, LEASE_MS / 3), "c1 -NOMASTER");
	/* Its answer is news all the same. */
	await(&w, 2);
	ck_assert_str_eq(is(&w, 2, id, 3, 0), "look a#3");
	ck_assert_str_eq(is(&w, 3, id, 3, 0), "c2 :0");
	story_done(&w);
}
END_TEST

START_TEST(a_lease_counts_from_the_request_and_is_not_set_past_its_end)
{
	struct command command = {.verb = VERB_LATCH_SET, .name = SLICE("a"), .steps = 3, .lease_ms = 200};
	struct story w;
	int64_t deadline_us;

	story_ready(&w);
	ck_assert_str_eq(run(&w, 1, command), "set a#1");
	ck_assert_int_eq(last_call(&w)->ttl_ms, 200);
	deadline_us = last_call(&w)->deadline_us;
	fails(&w, 1, OUTCOME_UNKNOWN);
	ck_assert_str_eq(after(&w, 50), "set a#2");
	ck_assert_int_eq(last_call(&w)->ttl_ms, 150);
	ck_assert_int_eq(last_call(&w)->deadline_us, deadline_us);
	w.now.ms += 149;
	ck_assert_str_eq(fails(&w, 2, OUTCOME_LATE), "");
	ck_assert_str_eq(after(&w, 41), "c1 -NOMASTER");
	story_done(&w);
}
END_TEST

START_TEST(a_lease_that_is_over_by_the_clock_of_the_master_is_not_set_again)
{
	struct command command = {.verb = VERB_LATCH_SET, .name = SLICE("a"), .steps = 3, .lease_ms = 200};
	struct story w;
	int64_t deadline_us;

	story_ready(&w);
	ck_assert_str_eq(count(&w, 2), "look a#1");
	ck_assert_str_eq(run(&w, 1, command), "set a#2");
	deadline_us = last_call(&w)->deadline_us;
	fails(&w, 2, OUTCOME_UNKNOWN);
	/* The clock of the master was set forward, and the answer to another request shows it. */
	w.jump_ms = 10;
	is_none(&w, 1);
	ck_assert_str_eq(after(&w, 50), "set a#3");
	ck_assert_int_eq(last_call(&w)->ttl_ms, 150);
	ck_assert_int_eq(last_call(&w)->deadline_us, deadline_us);
	story_done(&w);
}
END_TEST

START_TEST(a_latch_that_ended_while_it_was_waited_for_is_lost)
{
	struct story w;
	uint64_t id = story_set(&w);

	await(&w, 1);
	is(&w, 2, id, 3, 1);
	ck_assert_str_eq(told(&w), "look a#3");
	ck_assert_str_eq(is_none(&w, 3), "c1 -LOST");
	/* Whoever comes now waits for the next one, */
	await(&w, 1);
	ck_assert_str_eq(is_none(&w, 4), "");
	told(&w);
	ck_assert_str_eq(is(&w, 5, id + 1, 3, 3), "");
	/* and for that alone. */
	told(&w);
	ck_assert_str_eq(is(&w, 6, id + 2, 3, 3), "c1 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(what_the_master_forgot_is_lost_to_those_who_know_it)
{
	struct latch_view view;
	struct story w;
	uint64_t id = story_set(&w);

	await(&w, 1);
	is(&w, 2, id, 3, 1);
	link_down(&w, "reset");
	link_up(&w);
	ck_assert_str_eq(hello(&w, true, MEMORY + 1), "look a#3");
	ck_assert_str_eq(is_none(&w, 3), "c1 -LOST");
	ck_assert(see(&w, &view));
	ck_assert_str_eq(view.state, "lost");
	ck_assert_str_eq(down(&w, 2), "look a#4");
	ck_assert_str_eq(is_none(&w, 4), "c2 -LOST");
	ck_assert_str_eq(count(&w, 2), "look a#5");
	ck_assert_str_eq(is_none(&w, 5), "c2 -LOST");
	await(&w, 2);
	ck_assert_str_eq(is_none(&w, 6), "c2 -LOST");
	/* Until it is set again. */
	ck_assert_str_eq(set(&w, 2, 2), "set a#7");
	id = last_call(&w)->latch;
	ck_assert_str_eq(is(&w, 7, id, 2, 2), "c2 :1");
	ck_assert_str_eq(down(&w, 1), "down a#8");
	story_done(&w);
}
END_TEST

START_TEST(a_count_down_that_meets_a_master_that_forgot_is_lost)
{
	struct story w;

	(void)story_set(&w);
	ck_assert_str_eq(down(&w, 1), "down a#2");
	/* What was meant for the old memory does nothing in the new one. */
	fails(&w, 2, OUTCOME_FORGOTTEN);
	hello(&w, true, MEMORY + 1);
	ck_assert_str_eq(after(&w, 0), "");
	ck_assert_str_eq(is_none(&w, 3), "c1 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(a_master_that_remembers_a_latch_of_before_says_so_to_everybody)
{
	struct story w;

	story_ready(&w);
	await(&w, 1);
	ck_assert_str_eq(remembered(&w, 1, 7), "c1 -LOST");
	down(&w, 1);
	ck_assert_str_eq(remembered(&w, 2, 7), "c1 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(who_never_knew_it_finds_no_such_latch)
{
	struct story w;

	story_ready(&w);
	await(&w, 1);
	is_none(&w, 1);
	master_forgets(&w);
	ck_assert_str_eq(is_none(&w, 2), "");
	ck_assert_str_eq(down(&w, 2), "look a#3");
	ck_assert_str_eq(is_none(&w, 3), "c2 -ERR");
	story_done(&w);
}
END_TEST

START_TEST(a_latch_whose_time_was_over_is_not_lost_when_the_master_forgets)
{
	struct story w;
	uint64_t id;

	story_ready(&w);
	set(&w, 1, 3);
	id = last_call(&w)->latch;
	vote(&w, (struct vote){.op = CALL_LATCH,
			 .name = SLICE("a"),
			 .attempt = 1,
			 .latch = {.id = id, .set = 3, .left = 3, .ttl_ms = 100}});
	after(&w, 100 + 3 + MARGIN_MS);
	master_forgets(&w);
	ck_assert_str_eq(down(&w, 2), "look a#2");
	ck_assert_str_eq(is_none(&w, 2), "c2 -ERR");
	story_done(&w);
}
END_TEST

START_TEST(while_the_master_is_away_one_word_is_had_at_once_and_waits_go_on)
{
	struct story w;
	uint64_t id = story_set(&w);

	await(&w, 1);
	is(&w, 2, id, 3, 1);
	link_down(&w, "reset");
	ck_assert_str_eq(down(&w, 2), "c2 -NOMASTER");
	ck_assert_str_eq(set(&w, 2, 1), "c2 -NOMASTER");
	ck_assert_str_eq(count(&w, 2), "c2 -NOMASTER");
	ck_assert_str_eq(await_for(&w, 2, 0), "c2 -NOMASTER");
	ck_assert_str_eq(await_for(&w, 2, 30), "");
	ck_assert_str_eq(after(&w, 30), "c2 -NOMASTER");
	ck_assert_str_eq(link_up(&w), "hello");
	/* In a moment it is known. */
	ck_assert_str_eq(down(&w, 2), "");
	ck_assert_str_eq(hello(&w, true, MEMORY), "down a#3 | look a#4");
	ck_assert_str_eq(is(&w, 3, id, 3, 0), "c2 :0 | c1 :0");
	story_done(&w);
}
END_TEST

START_TEST(a_guarded_master_is_said_to_be_guarded)
{
	struct story w;

	(void)story_set(&w);
	link_down(&w, "reset");
	link_up(&w);
	hello(&w, false, MEMORY + 1);
	ck_assert_str_eq(down(&w, 1), "c1 -GUARD");
	ck_assert_str_eq(await(&w, 1), "");
	ck_assert_str_eq(after(&w, GUARD_MS), "admit");
	ck_assert_str_eq(hello(&w, true, MEMORY + 1), "look a#2");
	ck_assert_str_eq(is_none(&w, 2), "c1 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(what_is_under_way_when_the_master_goes_is_confirmed_when_it_returns)
{
	struct story w;
	uint64_t id = story_set(&w);

	ck_assert_str_eq(down(&w, 1), "down a#2");
	ck_assert_str_eq(fails(&w, 2, OUTCOME_UNKNOWN), "");
	ck_assert_str_eq(link_down(&w, "reset"), "");
	ck_assert_str_eq(after(&w, 50), "");
	ck_assert_str_eq(link_up(&w), "hello");
	ck_assert_str_eq(hello(&w, true, MEMORY), "down a#3");
	ck_assert_str_eq(is(&w, 3, id, 3, 2), "c1 :2");
	story_done(&w);
}
END_TEST

START_TEST(errors_of_the_master_are_told_and_waits_go_on)
{
	struct story w;
	uint64_t id = story_set(&w);

	ck_assert_str_eq(down(&w, 1), "down a#2");
	ck_assert_str_eq(fails(&w, 2, OUTCOME_ERROR), "c1 -MASTERERR");
	after(&w, 200);
	ck_assert_str_eq(await(&w, 1), "look a#3");
	ck_assert_str_eq(fails(&w, 3, OUTCOME_ERROR), "");
	ck_assert_str_eq(count(&w, 2), "");
	ck_assert_str_eq(after(&w, 200), "look a#4");
	ck_assert_str_eq(fails(&w, 4, OUTCOME_ERROR), "c2 -MASTERERR");
	after(&w, 200);
	ck_assert_str_eq(is(&w, 5, id, 3, 0), "c1 :0");
	story_done(&w);
}
END_TEST

START_TEST(a_key_of_another_kind_is_told_to_everybody)
{
	struct story w;

	story_ready(&w);
	await(&w, 1);
	count(&w, 2);
	down(&w, 3);
	ck_assert_str_eq(fails(&w, 1, OUTCOME_WRONGKIND), "c1 -WRONGKIND | c2 -WRONGKIND | c3 -WRONGKIND");
	set(&w, 1, 3);
	ck_assert_str_eq(fails(&w, 2, OUTCOME_WRONGKIND), "c1 -WRONGKIND");
	story_done(&w);
}
END_TEST

START_TEST(a_client_that_left_is_not_answered_but_what_it_said_counts)
{
	struct latch_view view;
	struct story w;
	uint64_t id = story_set(&w);

	await(&w, 1);
	is(&w, 2, id, 3, 2);
	ck_assert_str_eq(down(&w, 2), "down a#3");
	ck_assert_str_eq(close_as(&w, 2, END_CLEAN), "");
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "");
	ck_assert_str_eq(is(&w, 3, id, 3, 0), "");
	ck_assert(see(&w, &view));
	ck_assert_str_eq(view.state, "open");
	ck_assert_uint_eq(view.waiters, 0);
	ck_assert_str_eq(after(&w, LEASE_MS), "");
	story_done(&w);
}
END_TEST

START_TEST(when_no_more_requests_come_the_next_word_is_the_answer)
{
	struct story w;
	uint64_t id = story_set(&w);

	await(&w, 1);
	is(&w, 2, id, 3, 2);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_FINISH, .conn = 1}), "look a#3");
	ck_assert_str_eq(is(&w, 3, id, 3, 2), "c1 null");
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_that_drains_refuses_who_waits_and_confirms_what_is_under_way)
{
	struct story w;
	uint64_t id = story_set(&w);

	await(&w, 1);
	is(&w, 2, id, 3, 2);
	down(&w, 2);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_DRAIN}), "c1 -DRAINING | hello");
	ck_assert_str_eq(is(&w, 3, id, 3, 1), "c2 :1");
	ck_assert_str_eq(down(&w, 2), "c2 -DRAINING");
	story_done(&w);
}
END_TEST

START_TEST(several_masters_have_no_latches)
{
	struct story w;

	story_among(&w, 3);
	ck_assert_str_eq(set(&w, 1, 3), "c1 -ERR");
	ck_assert_str_eq(await(&w, 1), "c1 -ERR");
	story_done(&w);
}
END_TEST

START_TEST(a_name_may_be_a_lock_and_a_latch)
{
	struct story w;
	uint64_t id = story_set(&w);

	ck_assert_str_eq(lock(&w, 1, "a"), "acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 500), "c1 :500");
	ck_assert_str_eq(down(&w, 1), "down a#3");
	ck_assert_str_eq(is(&w, 3, id, 3, 2), "c1 :2");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#2");
	story_done(&w);
}
END_TEST

START_TEST(what_a_mistaken_master_says_never_counts_up)
{
	struct story w;
	uint64_t id = story_set(&w);

	count(&w, 1);
	ck_assert_str_eq(is(&w, 2, id, 3, 1), "c1 :1");
	count(&w, 1);
	ck_assert_str_eq(is(&w, 3, id, 3, 2), "c1 :1");
	ck_assert_str_eq(is(&w, 77, id, 3, 0), "");
	story_done(&w);
}
END_TEST

START_TEST(latches_that_nobody_asks_about_are_remembered_for_their_time_and_up_to_a_number)
{
	struct core_counts counts;
	struct story w;

	story_ready(&w);
	for (uint64_t i = 1; i <= 1100; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "l%d", (int)i);
		run(&w, 1, (struct command){.verb = VERB_LATCH_COUNT, .name = slice_of(name)});
		vote(&w, (struct vote){.op = CALL_LATCH,
				 .name = slice_of(name),
				 .attempt = i,
				 .latch = {.id = i, .set = 3, .left = 3, .ttl_ms = 100000}});
	}
	core_view_counts(w.core, &counts);
	ck_assert_uint_eq(counts.latches, 1000);
	ck_assert_uint_eq(counts.requests, 0);
	after(&w, 100000 + 1002 + MARGIN_MS);
	core_view_counts(w.core, &counts);
	ck_assert_uint_eq(counts.latches, 0);
	story_done(&w);
}
END_TEST

static bool
see_waiter(void *arg, const struct waiter_view *view)
{
	char *text = arg;

	(void)snprintf(text + strlen(text), 64, "%llu %lld %lld;", (unsigned long long)view->session,
		(long long)view->age_ms, (long long)view->left_ms);
	return true;
}

START_TEST(who_waits_is_seen)
{
	struct latch_view view;
	struct story w;
	char text[256] = "";

	(void)story_set(&w);
	await(&w, 1);
	w.now.ms += 20;
	await_for(&w, 2, 100);
	count(&w, 3);
	ck_assert(see(&w, &view));
	ck_assert_uint_eq(view.waiters, 2);
	core_each_latch_waiter(w.core, w.now.ms, SLICE("a"), see_waiter, text);
	ck_assert_str_eq(text, "1 20 -1;2 0 100;");
	ck_assert(!core_view_latch(w.core, w.now.ms, SLICE("b"), &view));
	story_done(&w);
}
END_TEST

/* With room for two. */
static void
story_of_makers(struct story *w)
{
	story_init(w);
	w->settings.per_user.latches = 2;
	story_anew(w);
}

static const char *
set_named(struct story *w, conn_id conn, const char *name, int64_t n, int64_t lease_ms)
{
	return run(w, conn,
		(struct command){
			.verb = VERB_LATCH_SET, .name = slice_of(name), .steps = n, .lease_ms = lease_ms});
}

static const char *
is_named(struct story *w, const char *name, uint64_t attempt, uint64_t id, int64_t left, int64_t ttl_ms)
{
	return vote(w, (struct vote){.op = CALL_LATCH,
			       .name = slice_of(name),
			       .attempt = attempt,
			       .latch = {.id = id, .set = 3, .left = left, .ttl_ms = ttl_ms}});
}

/* Made for so long; its id. */
static uint64_t
make_by(struct story *w, conn_id conn, const char *name, uint64_t attempt, int64_t ttl_ms)
{
	uint64_t id;

	set_named(w, conn, name, 3, 0);
	id = last_call(w)->latch;
	ck_assert_ptr_nonnull(strstr(is_named(w, name, attempt, id, 3, ttl_ms), " :1"));
	return id;
}

static uint64_t
make(struct story *w, const char *name, uint64_t attempt, int64_t ttl_ms)
{
	return make_by(w, 1, name, attempt, ttl_ms);
}

/* The master has answered HELLO anew meanwhile, and has forgotten nothing. */
static void
later(struct story *w, int64_t ms)
{
	after(w, ms);
	link_down(w, "reset");
	link_up(w);
	hello(w, true, MEMORY);
}

START_TEST(a_user_makes_so_many_and_again_when_one_has_ended)
{
	struct story w;
	uint64_t id;

	story_of_makers(&w);
	id = make(&w, "a", 1, DAY_MS);
	make(&w, "b", 2, 5000);
	ck_assert_str_eq(set_named(&w, 1, "c", 3, 0), "c1 -LIMIT");
	ck_assert_str_eq(set_named(&w, 2, "c", 3, 0), "c2 -LIMIT");
	/* To say that one is there needs no room. */
	ck_assert_str_eq(set_named(&w, 2, "a", 3, 0), "set a#3");
	ck_assert_str_eq(is_named(&w, "a", 3, id, 3, DAY_MS), "c2 :0");
	later(&w, 5100 + MARGIN_MS);
	make(&w, "c", 4, DAY_MS);
	ck_assert_str_eq(set_named(&w, 1, "b", 3, 0), "c1 -LIMIT");
	story_done(&w);
}
END_TEST

START_TEST(one_that_is_used_counts_for_as_long_as_it_is_there)
{
	struct story w;
	uint64_t id;

	story_of_makers(&w);
	make(&w, "a", 1, 5000);
	id = make(&w, "b", 2, 5000);
	later(&w, 2500);
	run(&w, 3, (struct command){.verb = VERB_LATCH_DOWN, .name = SLICE("b")});
	ck_assert_str_eq(is_named(&w, "b", 3, id, 2, 5000), "c3 :2");
	later(&w, 2600 + MARGIN_MS);
	make(&w, "c", 4, DAY_MS);
	ck_assert_str_eq(set_named(&w, 1, "d", 3, 0), "c1 -LIMIT");
	/* Somebody has taken it away. */
	run(&w, 3, (struct command){.verb = VERB_LATCH_COUNT, .name = SLICE("b")});
	ck_assert_str_eq(answer(&w, CALL_LATCH, OUTCOME_NO, "b", 5), "c3 null");
	make(&w, "d", 6, DAY_MS);
	story_done(&w);
}
END_TEST

START_TEST(one_that_was_there_or_was_not_made_counts_for_nobody)
{
	struct story w;

	story_of_makers(&w);
	make(&w, "a", 1, DAY_MS);
	ck_assert_str_eq(set_named(&w, 1, "b", 3, 0), "set b#2");
	ck_assert_str_eq(set_named(&w, 2, "c", 3, 0), "c2 -LIMIT");
	ck_assert_str_eq(is_named(&w, "b", 2, 77, 3, DAY_MS), "c1 :0");
	ck_assert_str_eq(set_named(&w, 1, "c", 3, 0), "set c#3");
	ck_assert_str_eq(answer(&w, CALL_LATCH, OUTCOME_WRONGKIND, "c", 3), "c1 -WRONGKIND");
	ck_assert_str_eq(set_named(&w, 1, "d", 3, 0), "set d#4");
	ck_assert_str_eq(answer(&w, CALL_LATCH, OUTCOME_ERROR, "d", 4), "c1 -MASTERERR");
	link_down(&w, "reset");
	ck_assert_str_eq(set_named(&w, 1, "e", 3, 0), "c1 -NOMASTER");
	link_up(&w);
	hello(&w, true, MEMORY);
	make(&w, "f", 5, DAY_MS);
	ck_assert_str_eq(set_named(&w, 1, "g", 3, 0), "c1 -LIMIT");
	story_done(&w);
}
END_TEST

START_TEST(whoever_leaves_before_the_answer_has_made_it_all_the_same)
{
	struct story w;
	uint64_t id;

	story_of_makers(&w);
	set_named(&w, 1, "a", 3, 0);
	id = last_call(&w)->latch;
	close_as(&w, 1, END_GONE);
	set_named(&w, 2, "b", 3, 0);
	close_as(&w, 2, END_GONE);
	ck_assert_str_eq(set_named(&w, 3, "c", 3, 0), "c3 -LIMIT");
	is_named(&w, "a", 1, id, 3, DAY_MS);
	/* Of this nobody can tell. */
	answer(&w, CALL_LATCH, OUTCOME_UNKNOWN, "b", 2);
	ck_assert_str_eq(set_named(&w, 3, "c", 3, 0), "c3 -LIMIT");
	later(&w, DAY_MS + DAY_MS / 50);
	make_by(&w, 3, "c", 3, DAY_MS);
	story_done(&w);
}
END_TEST

START_TEST(of_many_steps_each_hundred_counts)
{
	struct story w;

	story_of_makers(&w);
	ck_assert_str_eq(set_named(&w, 1, "a", 201, 0), "c1 -LIMIT");
	ck_assert_str_eq(set_named(&w, 1, "a", 200, 0), "set a#1");
	ck_assert_str_eq(set_named(&w, 2, "b", 1, 0), "c2 -LIMIT");
	story_done(&w);
}
END_TEST

START_TEST(a_master_that_forgot_begins_the_count_anew)
{
	struct story w;

	story_of_makers(&w);
	make(&w, "a", 1, DAY_MS);
	make(&w, "b", 2, DAY_MS);
	later(&w, 1);
	ck_assert_str_eq(set_named(&w, 1, "c", 3, 0), "c1 -LIMIT");
	master_forgets(&w);
	make(&w, "c", 3, DAY_MS);
	make(&w, "a", 4, DAY_MS);
	ck_assert_str_eq(set_named(&w, 1, "d", 3, 0), "c1 -LIMIT");
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("latch", NULL, NULL, a_latch_is_set_by_one,
		a_latch_whose_key_lives_for_ages_is_looked_at_again_in_time,
		who_counts_down_is_the_session_and_its_tag,
		a_latch_set_elsewhere_is_looked_at_before_it_is_counted_down,
		no_such_latch_is_an_error_to_down_null_to_count_and_a_wait_to_await,
		who_waits_is_registered_and_looks_again_should_no_message_come,
		the_wait_ends_with_null_while_it_is_closed,
		an_own_count_down_opens_it_for_those_who_wait_here,
		a_look_serves_all_who_came_before_it_and_nobody_later, a_message_during_a_look_is_not_lost,
		a_lost_answer_is_asked_for_again_for_the_same_latch,
		what_may_have_counted_is_said_to_the_same_latch_though_another_is_known,
		what_may_have_counted_is_never_counted_in_another_latch,
		who_set_a_latch_knows_it_when_the_answer_was_lost,
		what_is_not_confirmed_in_time_may_be_said_again,
		a_lease_counts_from_the_request_and_is_not_set_past_its_end,
		a_lease_that_is_over_by_the_clock_of_the_master_is_not_set_again,
		a_latch_that_ended_while_it_was_waited_for_is_lost,
		what_the_master_forgot_is_lost_to_those_who_know_it,
		a_count_down_that_meets_a_master_that_forgot_is_lost,
		a_master_that_remembers_a_latch_of_before_says_so_to_everybody,
		who_never_knew_it_finds_no_such_latch,
		a_latch_whose_time_was_over_is_not_lost_when_the_master_forgets,
		while_the_master_is_away_one_word_is_had_at_once_and_waits_go_on,
		a_guarded_master_is_said_to_be_guarded,
		what_is_under_way_when_the_master_goes_is_confirmed_when_it_returns,
		errors_of_the_master_are_told_and_waits_go_on, a_key_of_another_kind_is_told_to_everybody,
		a_client_that_left_is_not_answered_but_what_it_said_counts,
		when_no_more_requests_come_the_next_word_is_the_answer,
		a_daemon_that_drains_refuses_who_waits_and_confirms_what_is_under_way,
		several_masters_have_no_latches, a_name_may_be_a_lock_and_a_latch,
		what_a_mistaken_master_says_never_counts_up,
		latches_that_nobody_asks_about_are_remembered_for_their_time_and_up_to_a_number,
		who_waits_is_seen, a_user_makes_so_many_and_again_when_one_has_ended,
		one_that_is_used_counts_for_as_long_as_it_is_there,
		one_that_was_there_or_was_not_made_counts_for_nobody,
		whoever_leaves_before_the_answer_has_made_it_all_the_same, of_many_steps_each_hundred_counts,
		a_master_that_forgot_begins_the_count_anew);
}
