/*
 * A master's state changes while many names are held; stories as in check_core.c.
 */
#include "daemon/core/core.h"
#include "daemon/core/lock/scheduler.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 12000 };

static void
name_of(int i, char name[16])
{
	(void)snprintf(name, 16, "n%d", i);
}

/* The first client has all names; one that waits for another name hears that the master has gone. */
static void
story_held(struct story *w)
{
	char name[16];

	story_init(w);
	w->settings.grants_per_session = NAMES + 1;
	story_anew(w);
	for (int i = 0; i < NAMES; i++) {
		struct command lock = {.verb = VERB_LOCK, .wait_ms = -1, .retries = COMMAND_RETRIES_ANY};
		struct vote yes = {.op = CALL_ACQUIRE,
			.attempt = (uint64_t)i + 1,
			.token_first = 1000 * ((int64_t)i + 1),
			.token_last = 1000 * ((int64_t)i + 1) + 999,
			.time_us = w->now.ms * 1000 + 5000000};

		name_of(i, name);
		lock.name = slice_of(name);
		yes.name = slice_of(name);
		story_step_quickly(w, &(struct event){.type = EVENT_COMMAND, .conn = 1, .command = &lock});
		story_step_quickly(w, &(struct event){.type = EVENT_VOTE, .vote = &yes});
	}
	ck_assert_str_eq(link_down(w, "reset"), "");
	ck_assert_str_eq(lock(w, 2, "w"), "");
	ck_assert_str_eq(link_up(w), "hello");
}

/* Of the last step. */
static size_t
calls_of(const struct story *w, enum call_op op)
{
	size_t n = 0;

	for (size_t i = 0; i < w->actions.n; i++)
		n += w->actions.list[i].type == ACTION_CALL && w->actions.list[i].u.call.op == op;
	return n;
}

static void
say_hello(struct story *w, bool admitted, uint64_t incarnation)
{
	struct vote hello = {.op = CALL_HELLO,
		.admitted = admitted,
		.incarnation = incarnation,
		.time_us = w->now.ms * 1000 + 5000000};

	agree(w, &hello);
	story_step_quickly(w, &(struct event){.type = EVENT_VOTE, .vote = &hello});
}

static void
go_on(struct story *w)
{
	ck_assert_int_le(core_wake_at(w->core), w->now.ms + 1);
	w->now.ms++;
	story_step_quickly(w, &(struct event){.type = EVENT_TIMER});
}

/* Some names were asked for: how many are when all have had their turn, each once. */
static size_t
rescan_rest(struct story *w, enum call_op op, size_t some)
{
	for (int turns = 0; turns < NAMES && some < NAMES; turns++) {
		go_on(w);
		ck_assert_uint_le(calls_of(w, op), RESCAN_NAMES);
		some += calls_of(w, op);
	}
	return some;
}

START_TEST(many_leases_are_reclaimed_in_as_many_turns_as_it_takes)
{
	struct story w;
	size_t some;

	story_held(&w);
	say_hello(&w, false, MEMORY + 1);
	some = calls_of(&w, CALL_RECLAIM);
	ck_assert(some > 0 && some <= RESCAN_NAMES);
	/* Others are served between. */
	ck_assert_str_eq(lock_once(&w, 3, "n0"), "c3 null");
	ck_assert_uint_eq(rescan_rest(&w, CALL_RECLAIM, some), NAMES);
	core_check(w.core, w.now.ms);
	story_done(&w);
}
END_TEST

START_TEST(what_was_not_reclaimed_before_the_master_went_again_is_when_it_is_back)
{
	struct story w;
	size_t some;

	story_held(&w);
	say_hello(&w, false, MEMORY + 1);
	some = calls_of(&w, CALL_RECLAIM);
	link_down(&w, "reset");
	w.now.ms++;
	story_step_quickly(&w, &(struct event){.type = EVENT_TIMER});
	ck_assert_uint_eq(calls_of(&w, CALL_RECLAIM), 0);
	link_up(&w);
	/* It has been admitted meanwhile, by another daemon: nothing else would soon look there for them. */
	say_hello(&w, true, MEMORY + 1);
	some += calls_of(&w, CALL_RENEW);
	ck_assert_uint_lt(some, NAMES);
	ck_assert_uint_eq(rescan_rest(&w, CALL_RENEW, some), NAMES);
	core_check(w.core, w.now.ms);
	story_done(&w);
}
END_TEST

START_TEST(who_waits_is_asked_for_at_once_however_much_is_held)
{
	struct story w;

	story_held(&w);
	say_hello(&w, true, MEMORY);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 1);
	ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 0);
	story_done(&w);
}
END_TEST

/* A third of their leases is over when the master is back. */
START_TEST(what_is_held_catches_up_by_and_by)
{
	struct story w;
	size_t some;

	story_held(&w);
	w.now.ms += 340;
	say_hello(&w, true, MEMORY);
	some = calls_of(&w, CALL_RENEW);
	ck_assert(some > 0 && some <= RESCAN_NAMES);
	ck_assert_uint_eq(rescan_rest(&w, CALL_RENEW, some), NAMES);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("rescan", NULL, NULL, many_leases_are_reclaimed_in_as_many_turns_as_it_takes,
		what_was_not_reclaimed_before_the_master_went_again_is_when_it_is_back,
		who_waits_is_asked_for_at_once_however_much_is_held, what_is_held_catches_up_by_and_by);
}
