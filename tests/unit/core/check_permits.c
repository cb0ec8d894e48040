/*
 * Permits of a name, and RETRIES; stories as in check_core.c.
 */
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

static struct command
permits_of(const char *name, int64_t limit, int64_t permits)
{
	return (struct command){.verb = VERB_LOCK,
		.name = slice_of(name),
		.kind = KIND_PERMITS,
		.limit = limit,
		.permits = permits};
}

static const char *
permits(struct story *w, conn_id conn, int64_t limit, int64_t k)
{
	return run(w, conn, permits_of("a", limit, k));
}

static const char *
permits_once(struct story *w, conn_id conn, int64_t limit, int64_t k)
{
	struct command command = permits_of("a", limit, k);

	return step(w, &(struct event){.type = EVENT_COMMAND, .conn = conn, .command = &command});
}

static const char *
permits_as(struct story *w, conn_id conn, int64_t limit, int64_t k, const char *owner)
{
	struct command command = permits_of("a", limit, k);

	command.owner = slice_of(owner);
	return run(w, conn, command);
}

/* The master gives these slots, with tokens from 100 times the attempt on. */
static const char *
given(struct story *w, uint64_t attempt, const char *slots)
{
	return vote(w, (struct vote){.op = CALL_ACQUIRE,
			       .name = SLICE("a"),
			       .attempt = attempt,
			       .token_first = (int64_t)attempt * 100,
			       .token_last = (int64_t)attempt * 100 + 99,
			       .slots = slice_of(slots)});
}

/* Too few are free; or, with slots, others than those that were named. */
static const char *
lacking(struct story *w, uint64_t attempt, const char *slots)
{
	return vote(w, (struct vote){.op = CALL_ACQUIRE,
			       .outcome = OUTCOME_BUSY,
			       .name = SLICE("a"),
			       .attempt = attempt,
			       .holder = SLICE("0123456789abcdef0123456789abcdef:9"),
			       .position = 1,
			       .change_ms = 500,
			       .slots = slice_of(slots)});
}

static const char *
limited(struct story *w, uint64_t attempt, int64_t limit)
{
	return vote(w, (struct vote){.op = CALL_ACQUIRE,
			       .outcome = OUTCOME_LIMIT,
			       .name = SLICE("a"),
			       .attempt = attempt,
			       .limit = limit});
}

/* What follows within ms. */
static const char *
next_call(struct story *w, int64_t ms)
{
	for (; ms > 0 && after(w, 1)[0] == '\0'; ms--)
		continue;
	return w->trace;
}

/* The first one of two permits is held by connection 1. */
static void
story_of_two(struct story *w)
{
	story_ready(w);
	ck_assert_str_eq(permits(w, 1, 2, 1), "acquire a#1 1 of 2");
	ck_assert_str_eq(given(w, 1, "0"), "c1 :100");
}

START_TEST(each_hold_stands_on_a_stake_of_its_own)
{
	struct resource_view view;
	struct story w;

	story_of_two(&w);
	ck_assert_str_eq(permits(&w, 2, 2, 1), "acquire a#2 1 of 2");
	ck_assert_str_eq(given(&w, 2, "1"), "c2 :200");
	ck_assert(core_view_resource(w.core, w.now.ms, SLICE("a"), &view));
	ck_assert_int_eq(view.kind, KIND_PERMITS);
	ck_assert_int_eq(view.limit, 2);
	ck_assert_int_eq(view.taken, 2);
	ck_assert_uint_eq(view.holds, 2);
	ck_assert_int_eq(view.hold.token, 100);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1 1 of 2: 0");
	ck_assert_str_eq(check(&w, 2, "a"), "c2 :977");
	ck_assert_str_eq(after(&w, 333), "renew a#2 1 of 2: 1");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 2), "");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#2 1 of 2: 1");
	story_done(&w);
}
END_TEST

START_TEST(permits_pass_on_here_to_who_wants_as_many)
{
	struct story w;

	story_of_two(&w);
	permits(&w, 2, 2, 1);
	lacking(&w, 2, "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :101 | leave a#2");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1 1 of 2: 0");
	story_done(&w);
}
END_TEST

START_TEST(permits_are_given_back_for_who_wants_more)
{
	struct story w;

	story_of_two(&w);
	ck_assert_str_eq(permits(&w, 2, 2, 2), "acquire a#2 2 of 2");
	lacking(&w, 2, "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1 1 of 2: 0");
	ck_assert_str_eq(
		step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")}), "acquire a#3 2 of 2");
	ck_assert_str_eq(given(&w, 3, "0,1"), "c2 :300");
	story_done(&w);
}
END_TEST

START_TEST(permits_that_another_daemon_waits_for_do_not_pass_on_here)
{
	struct story w;

	story_of_two(&w);
	permits(&w, 2, 2, 1);
	lacking(&w, 2, "");
	ck_assert_str_eq(wanted(&w, "a"), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1 1 of 2: 0");
	story_done(&w);
}
END_TEST

START_TEST(who_wants_many_is_not_passed_by_who_wants_few)
{
	struct story w;

	story_ready(&w);
	permits(&w, 1, 3, 2);
	given(&w, 1, "0,1");
	ck_assert_str_eq(permits(&w, 2, 3, 3), "acquire a#2 3 of 3");
	ck_assert_str_eq(permits(&w, 3, 3, 1), "");
	lacking(&w, 2, "");
	ck_assert_str_eq(permits_once(&w, 4, 3, 1), "c4 null");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1 2 of 3: 0,1");
	step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")});
	ck_assert_str_eq(given(&w, 3, "0,1,2"), "c2 :300 | acquire a#4 1 of 3");
	story_done(&w);
}
END_TEST

START_TEST(who_tries_once_for_few_is_not_refused_for_who_tries_for_many)
{
	struct story w;

	story_of_two(&w);
	ck_assert_str_eq(permits_once(&w, 2, 2, 2), "acquire a#2 2 of 2 once");
	ck_assert_str_eq(permits_once(&w, 3, 2, 1), "");
	ck_assert_str_eq(lacking(&w, 2, ""), "c2 null | acquire a#3 1 of 2 once");
	ck_assert_str_eq(given(&w, 3, "1"), "c3 :300");
	story_done(&w);
}
END_TEST

START_TEST(one_bid_is_under_way_at_a_time_and_the_next_one_follows)
{
	struct story w;

	story_of_two(&w);
	ck_assert_str_eq(permits(&w, 2, 2, 1), "acquire a#2 1 of 2");
	ck_assert_str_eq(permits(&w, 3, 2, 1), "");
	ck_assert_str_eq(given(&w, 2, "1"), "c2 :200 | acquire a#3 1 of 2");
	story_done(&w);
}
END_TEST

START_TEST(another_limit_is_refused_while_permits_are_held)
{
	struct story w;

	story_of_two(&w);
	ck_assert_str_eq(permits(&w, 2, 3, 1), "c2 -LIMIT");
	ck_assert_str_eq(permits_as(&w, 1, 3, 1, "t"), "c1 -LIMIT");
	unlock(&w, 1, "a");
	ck_assert_str_eq(permits(&w, 2, 3, 1), "acquire a#2 1 of 3");
	/* Perhaps permits that a daemon only keeps for a while, and gives back now. */
	ck_assert_str_eq(limited(&w, 2, 5), "leave a#2");
	ck_assert_str_eq(next_call(&w, 50), "acquire a#3 1 of 3");
	ck_assert_str_eq(limited(&w, 3, 5), "leave a#3");
	ck_assert_str_eq(next_call(&w, 100), "");
	ck_assert_str_eq(next_call(&w, 100), "acquire a#4 1 of 3");
	ck_assert_str_eq(limited(&w, 4, 5), "leave a#4 | c2 -LIMIT");
	ck_assert_str_eq(permits(&w, 2, 5, 1), "acquire a#5 1 of 5");
	story_done(&w);
}
END_TEST

START_TEST(a_name_is_one_kind_of_lock_at_a_time)
{
	struct story w;

	story_of_two(&w);
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 -WRONGKIND");
	ck_assert_str_eq(lock(&w, 1, "a"), "c1 -WRONGKIND");
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 -WRONGKIND");
	unlock(&w, 1, "a");
	ck_assert_str_eq(lock(&w, 2, "a"), "acquire a#2");
	ck_assert_str_eq(permits(&w, 1, 2, 1), "c1 -WRONGKIND");
	granted(&w, "a", 2, 500);
	ck_assert_str_eq(permits(&w, 1, 2, 1), "c1 -WRONGKIND");
	ck_assert_str_eq(permits(&w, 2, 2, 1), "c2 -WRONGKIND");
	story_done(&w);
}
END_TEST

START_TEST(a_name_that_nobody_waits_for_any_more_may_become_another_kind)
{
	struct command brief = permits_of("a", 2, 1);
	struct story w;

	story_ready(&w);
	brief.wait_ms = 5;
	ck_assert_str_eq(run(&w, 1, brief), "acquire a#1 1 of 2");
	ck_assert_str_eq(after(&w, 5), "c1 -NOMASTER");
	ck_assert_str_eq(lock(&w, 1, "a"), "release a#1 1 of 2 | leave a#1 | acquire a#2");
	ck_assert_str_eq(given(&w, 1, "0"), "");
	ck_assert_str_eq(granted(&w, "a", 2, 500), "c1 :500");
	story_done(&w);
}
END_TEST

START_TEST(and_back_again)
{
	const struct command brief = {.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = 5};
	struct story w;

	story_ready(&w);
	run(&w, 1, brief);
	busy(&w, "a", 1);
	ck_assert_str_eq(after(&w, 5), "c1 null | leave a#1");
	run(&w, 1, brief);
	after(&w, 5);
	ck_assert_str_eq(permits(&w, 1, 2, 2), "release a#2 | leave a#2 | acquire a#3 2 of 2");
	ck_assert_str_eq(given(&w, 3, "0,1"), "c1 :300");
	story_done(&w);
}
END_TEST

START_TEST(a_master_that_has_another_kind_of_lock_says_so_to_all)
{
	struct story w;

	story_ready(&w);
	permits(&w, 1, 2, 1);
	permits_once(&w, 2, 2, 1);
	/* Perhaps a lease that a daemon only keeps for a while, and gives back now. */
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "a", 1), "leave a#1");
	ck_assert_str_eq(next_call(&w, 50), "acquire a#2 1 of 2");
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "a", 2), "leave a#2");
	ck_assert_str_eq(next_call(&w, 200), "acquire a#3 1 of 2");
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "a", 3),
		"leave a#3 | c1 -WRONGKIND | c2 -WRONGKIND");
	story_done(&w);
}
END_TEST

START_TEST(a_wait_that_ends_before_the_master_says_who_has_it_is_not_null)
{
	struct story w;
	struct command brief = permits_of("a", 2, 1);

	story_ready(&w);
	brief.wait_ms = 1;
	run(&w, 1, brief);
	/* It asks once more, as the lease of another kind may have been kept for a while only. */
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "a", 1), "leave a#1");
	ck_assert_ptr_nonnull(strstr(after(&w, 1), "c1 -NOMASTER"));
	story_done(&w);
}
END_TEST

/* The LOCK comes in a guard, in which the master is not asked. The daemon stands still until the guard and
 * the WAIT are over. */
START_TEST(a_wait_in_a_guard_that_ends_before_the_master_is_asked_is_not_null)
{
	struct story w;
	struct command brief = permits_of("a", 2, 1);

	brief.wait_ms = LEASE_MS;
	story_ready(&w);
	w.jump_ms = LEASE_MS;
	hello(&w, true, MEMORY);
	ck_assert_str_eq(run(&w, 1, brief), "");
	ck_assert_str_eq(after(&w, 2 * LEASE_MS), "c1 -NOMASTER");
	story_done(&w);
}
END_TEST

/* This daemon hears of another LIMIT when the master can be used no longer, and stands still until it can be
 * used again. */
START_TEST(another_limit_from_before_a_guard_is_no_reason_after_it)
{
	struct story w;
	struct command command = permits_of("a", 2, 1);

	command.wait_ms = LEASE_MS;
	story_ready(&w);
	ck_assert_str_eq(run(&w, 1, command), "acquire a#1 1 of 2");
	ck_assert_str_eq(permits(&w, 2, 2, 1), "");
	w.jump_ms = LEASE_MS;
	hello(&w, true, MEMORY);
	ck_assert_str_eq(limited(&w, 1, 5), "leave a#1");
	after(&w, 2 * LEASE_MS);
	ck_assert_ptr_null(strstr(w.trace, "-LIMIT"));
	ck_assert_ptr_nonnull(strstr(w.trace, "acquire a#2 1 of 2"));
	story_done(&w);
}
END_TEST

START_TEST(locking_again_takes_no_more_permits)
{
	struct story w;

	story_ready(&w);
	permits_as(&w, 1, 3, 2, "t");
	given(&w, 1, "0,1");
	ck_assert_str_eq(permits_as(&w, 1, 3, 2, "t"), "c1 :100");
	ck_assert_str_eq(permits_as(&w, 1, 3, 1, "t"), "c1 :100");
	ck_assert_str_eq(permits_as(&w, 1, 3, 3, "t"), "c1 -UPGRADE");
	/* Another tag is another locker. */
	ck_assert_str_eq(permits_as(&w, 1, 3, 1, "u"), "acquire a#2 1 of 3");
	ck_assert_str_eq(given(&w, 2, "2"), "c1 :200");
	ck_assert_str_eq(permits(&w, 2, 3, 1), "acquire a#3 1 of 3");
	given(&w, 3, "1");
	ck_assert_str_eq(permits(&w, 2, 3, 1), "c2 -HELD");
	ck_assert_str_eq(
		run(&w, 2, (struct command){.verb = VERB_DOWNGRADE, .name = SLICE("a")}), "c2 -WRONGKIND");
	story_done(&w);
}
END_TEST

START_TEST(a_session_that_waits_twice_has_permits_once)
{
	struct story w;

	story_of_two(&w);
	run(&w, 3, (struct command){.verb = VERB_SESSION_SECRET});
	char secret[64];
	memcpy(secret, w.trace + strlen("c3 "), 49);
	run(&w, 4, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret)});
	permits_as(&w, 3, 2, 2, "t");
	permits_as(&w, 4, 2, 1, "t");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1 1 of 2: 0");
	ck_assert_str_eq(given(&w, 2, "0,1"), "c3 :200 | c4 :200");
	story_done(&w);
}
END_TEST

START_TEST(a_stake_is_lost_alone)
{
	struct story w;

	story_of_two(&w);
	permits(&w, 2, 2, 1);
	given(&w, 2, "1");
	ck_assert_str_eq(after(&w, 333), "renew a#1 1 of 2: 0 | renew a#2 1 of 2: 1");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_NO, "a", 1), "c1 close");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 2), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(check(&w, 2, "a"), "c2 :977");
	story_done(&w);
}
END_TEST

START_TEST(permits_of_a_session_that_ended_come_back_at_once)
{
	struct story w;

	story_of_two(&w);
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "release a#1 1 of 2: 0");
	story_done(&w);
}
END_TEST

START_TEST(permits_of_a_session_that_vanished_are_withheld)
{
	struct story w;

	story_of_two(&w);
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	ck_assert_str_eq(permits(&w, 2, 2, 1), "acquire a#2 1 of 2");
	lacking(&w, 2, "");
	after(&w, 333);
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	after(&w, 333);
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	while (strstr(w.trace, "c2 :") == NULL) {
		ck_assert_int_lt(w.now.ms, 1000000 + 1000);
		after(&w, 1);
	}
	ck_assert_int_eq(w.now.ms, 1000000 + 988);
	story_done(&w);
}
END_TEST

START_TEST(a_stake_that_is_too_short_is_refreshed_before_it_passes_on)
{
	struct story w;

	story_of_two(&w);
	permits(&w, 2, 2, 1);
	lacking(&w, 2, "");
	ck_assert_str_eq(after(&w, 333), "renew a#1 1 of 2: 0 | acquire a#3 1 of 2");
	lacking(&w, 3, "");
	for (int i = 0; i < 200; i++)
		ck_assert_str_eq(after(&w, 1), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1), "c2 :101 | leave a#3");
	story_done(&w);
}
END_TEST

/* ---- permits ahead ---- */

#define RETAIN_MS 100

static int64_t
permits_taken(struct story *w)
{
	struct resource_view view;

	ck_assert(core_view_resource(w->core, w->now.ms, SLICE("a"), &view));
	return view.taken;
}

/* Connections 1 to n, of four at most, had a permit each of so many. */
static void
story_ahead(struct story *w, conn_id n, int64_t limit)
{
	static const char *const slots[] = {"0", "1", "2", "3"};

	story_retaining(w, 1, RETAIN_MS);
	for (conn_id c = 1; c <= n; c++) {
		permits(w, c, limit, 1);
		given(w, c, slots[c - 1]);
	}
	for (conn_id c = 1; c <= n; c++)
		ck_assert_str_eq(unlock(w, c, "a"), c == 1   ? "c1 :0"
						    : c == 2 ? "c2 :0"
						    : c == 3 ? "c3 :0"
							     : "c4 :0");
}

START_TEST(permits_that_were_used_are_there_for_who_comes_next)
{
	struct resource_view view;
	struct story w;

	story_ahead(&w, 2, 2);
	ck_assert(core_view_resource(w.core, w.now.ms, SLICE("a"), &view));
	ck_assert_str_eq(view.lease, "held");
	ck_assert(!view.held && view.taken == 0);
	/* The one that was used last, so that the others may end. */
	for (int i = 1; i <= 3; i++) {
		after(&w, RETAIN_MS / 2 - 1);
		ck_assert_str_eq(permits(&w, 3, 2, 1), i == 1 ? "c3 :201" : i == 2 ? "c3 :202" : "c3 :203");
		ck_assert_int_eq(permits_taken(&w), 1);
		ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0");
		if (i == 2)
			ck_assert_str_eq(after(&w, 2), "release a#1 1 of 2: 0");
	}
	ck_assert_str_eq(permits(&w, 3, 2, 1), "c3 :204");
	ck_assert_str_eq(permits(&w, 4, 2, 1), "acquire a#3 1 of 2");
	story_done(&w);
}
END_TEST

START_TEST(permits_that_nobody_wants_again_are_given_back_when_their_time_is_over)
{
	struct story w;

	story_ahead(&w, 3, 3);
	ck_assert_str_eq(after(&w, RETAIN_MS - 1), "");
	ck_assert_str_eq(
		after(&w, 1), "release a#3 1 of 3: 2 | release a#2 1 of 3: 1 | release a#1 1 of 3: 0");
	ck_assert_str_eq(permits(&w, 1, 3, 1), "acquire a#4 1 of 3");
	story_done(&w);
}
END_TEST

START_TEST(another_daemon_that_wants_permits_gets_all_that_are_not_held)
{
	struct story w;

	story_ahead(&w, 3, 3);
	ck_assert_str_eq(permits(&w, 4, 3, 1), "c4 :301");
	ck_assert_str_eq(wanted(&w, "a"), "release a#2 1 of 3: 1 | release a#1 1 of 3: 0");
	ck_assert_str_eq(wanted(&w, "a"), "");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | release a#3 1 of 3: 2");
	story_done(&w);
}
END_TEST

/* Among the retained ones, only the first are looked at in a step that is about none of them. */
START_TEST(a_permit_lease_behind_others_is_given_back_as_well)
{
	struct story w;

	story_ahead(&w, 2, 2);
	after(&w, RETAIN_MS / 2);
	ck_assert_str_eq(permits(&w, 3, 2, 1), "c3 :201");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0");
	ck_assert_str_eq(after(&w, RETAIN_MS / 2), "release a#1 1 of 2: 0");
	ck_assert_str_eq(after(&w, RETAIN_MS / 2), "release a#2 1 of 2: 1");
	story_done(&w);
}
END_TEST

/* Two permits that nobody holds are being renewed, the second of which was used last. */
static void
story_renewing(struct story *w)
{
	story_retaining(w, 1, 3 * LEASE_MS);
	for (conn_id c = 1; c <= 2; c++) {
		permits(w, c, 2, 1);
		given(w, c, c == 1 ? "0" : "1");
	}
	unlock(w, 1, "a");
	unlock(w, 2, "a");
	ck_assert_str_eq(after(w, LEASE_MS / 3 + 1), "renew a#1 1 of 2: 0 | renew a#2 1 of 2: 1");
}

START_TEST(a_renewal_that_tells_of_another_daemon_is_the_end_of_permits_ahead)
{
	struct story w;

	story_renewing(&w);
	ck_assert_str_eq(
		vote(&w, (struct vote){.op = CALL_RENEW, .name = SLICE("a"), .attempt = 1, .position = 1}),
		"release a#1 1 of 2: 0");
	ck_assert_str_eq(permits(&w, 3, 2, 1), "c3 :201");
	story_done(&w);
}
END_TEST

START_TEST(permits_ahead_are_renewed_and_one_that_is_lost_is_lost_alone)
{
	struct story w;

	story_renewing(&w);
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1), "");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_NO, "a", 2), "");
	ck_assert_str_eq(permits(&w, 3, 2, 1), "c3 :101");
	story_done(&w);
}
END_TEST

START_TEST(who_wants_more_gets_back_what_is_kept_for_others)
{
	struct story w;

	story_ahead(&w, 2, 2);
	ck_assert_str_eq(
		permits(&w, 3, 2, 2), "release a#2 1 of 2: 1 | release a#1 1 of 2: 0 | acquire a#3 2 of 2");
	ck_assert_str_eq(given(&w, 3, "0,1"), "c3 :300");
	story_done(&w);
}
END_TEST

START_TEST(who_wants_as_many_as_any_has_gets_that_and_the_others_stay)
{
	struct story w;

	story_retaining(&w, 1, RETAIN_MS);
	permits(&w, 1, 4, 2);
	given(&w, 1, "0,1");
	permits(&w, 2, 4, 1);
	given(&w, 2, "2");
	unlock(&w, 1, "a");
	unlock(&w, 2, "a");
	ck_assert_str_eq(permits(&w, 3, 4, 2), "c3 :101");
	ck_assert_str_eq(permits(&w, 4, 4, 1), "c4 :201");
	story_done(&w);
}
END_TEST

START_TEST(what_was_won_for_who_was_served_meanwhile_is_kept_for_the_next)
{
	struct story w;

	story_ahead(&w, 1, 2);
	ck_assert_str_eq(permits(&w, 1, 2, 1), "c1 :101");
	ck_assert_str_eq(permits(&w, 2, 2, 1), "acquire a#2 1 of 2");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :102");
	ck_assert_str_eq(given(&w, 2, "1"), "");
	ck_assert_str_eq(permits(&w, 1, 2, 1), "c1 :200");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	story_done(&w);
}
END_TEST

/* The time of the first two is over while a waiter waits for the answer about any of them. */
START_TEST(what_was_kept_while_somebody_waited_has_its_time_afterwards)
{
	static const char *const slots[] = {"0", "1", "2"};
	struct story w;

	story_retaining(&w, 1, 600);
	for (conn_id c = 1; c <= 3; c++) {
		permits(&w, c, 3, 1);
		given(&w, c, slots[c - 1]);
	}
	unlock(&w, 1, "a");
	unlock(&w, 2, "a");
	ck_assert_str_eq(
		next_call(&w, 350), "renew a#1 1 of 3: 0 | renew a#2 1 of 3: 1 | renew a#3 1 of 3: 2");
	after(&w, 100);
	unlock(&w, 3, "a");
	/* All are too short by now. */
	after(&w, 100);
	ck_assert_str_eq(permits(&w, 4, 3, 1), "");
	after(&w, 100);
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1), "c4 :101");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 2), "");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 3), "");
	story_done(&w);
}
END_TEST

START_TEST(permits_that_are_only_kept_do_not_keep_the_limit_or_the_kind)
{
	struct story w;

	story_ahead(&w, 2, 2);
	ck_assert_str_eq(
		permits(&w, 1, 3, 1), "release a#2 1 of 2: 1 | release a#1 1 of 2: 0 | acquire a#3 1 of 3");
	given(&w, 3, "0");
	unlock(&w, 1, "a");
	ck_assert_str_eq(lock(&w, 1, "a"), "release a#3 1 of 3: 0 | acquire a#4");
	story_done(&w);
}
END_TEST

/* Permits that another daemon only keeps are in the way of a writer: it has been told. */
START_TEST(who_finds_permits_in_the_way_asks_again)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock(&w, 1, "a"), "acquire a#1");
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "a", 1), "leave a#1");
	ck_assert_str_eq(next_call(&w, 50), "acquire a#2");
	/* That daemon is slow. */
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "a", 2), "leave a#2");
	ck_assert_str_eq(next_call(&w, 200), "acquire a#3");
	ck_assert_str_eq(granted(&w, "a", 3, 500), "c1 :500");
	story_done(&w);
}
END_TEST

START_TEST(permits_ahead_are_not_reclaimed_where_they_were_forgotten)
{
	struct story w;

	story_ahead(&w, 2, 2);
	ck_assert_str_eq(permits(&w, 3, 2, 1), "c3 :201");
	hello(&w, false, MEMORY + 1);
	ck_assert_ptr_nonnull(strstr(w.trace, "release a#1 1 of 2: 0"));
	ck_assert_ptr_nonnull(strstr(w.trace, "reclaim a#2 1 of 2: 1"));
	ck_assert_ptr_null(strstr(w.trace, "reclaim a#1"));
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_that_shuts_down_gives_back_permits_that_nobody_holds)
{
	struct story w;

	story_ahead(&w, 2, 2);
	step(&w, &(struct event){.type = EVENT_DRAIN});
	ck_assert_ptr_nonnull(strstr(w.trace, "release a#2 1 of 2: 1 | release a#1 1 of 2: 0"));
	story_done(&w);
}
END_TEST

/* ---- several masters ---- */

static const char *
given_at(struct story *w, unsigned master, uint64_t attempt, const char *slots)
{
	w->at = master;
	return given(w, attempt, slots);
}

static void
story_among_three(struct story *w)
{
	story_among(w, 3);
	ck_assert_str_eq(
		permits(w, 1, 3, 1), "acquire a#1@1 1 of 3 | acquire a#1@2 1 of 3 | acquire a#1@3 1 of 3");
}

START_TEST(among_masters_a_majority_has_to_give_the_same_permits)
{
	struct story w;

	story_among_three(&w);
	ck_assert_str_eq(given_at(&w, 0, 1, "0"), "");
	ck_assert_str_eq(given_at(&w, 1, 1, "2"), "");
	ck_assert_str_eq(given_at(&w, 2, 1, "2"), "c1 :100");
	/* The first one gave another: it is asked for the same one, and what it gave goes with the permit
	 * lease. */
	ck_assert_str_eq(
		after(&w, 1), "acquire a#1@1 1 of 3: 2 | renew a#1@2 1 of 3: 2 | renew a#1@3 1 of 3: 2");
	ck_assert_str_eq(given_at(&w, 0, 1, "2"), "");
	ck_assert_str_eq(unlock(&w, 1, "a"),
		"c1 :0 | release a#1@1 1 of 3 | release a#1@2 1 of 3 | release a#1@3 1 of 3");
	story_done(&w);
}
END_TEST

START_TEST(what_one_master_gives_besides_after_the_others_is_given_back)
{
	struct story w;

	story_among_three(&w);
	given_at(&w, 0, 1, "2");
	ck_assert_str_eq(given_at(&w, 1, 1, "2"), "c1 :100");
	ck_assert_str_eq(given_at(&w, 2, 1, "0"), "");
	while (after(&w, 1)[0] == '\0')
		ck_assert_int_lt(w.now.ms, 1000000 + 20);
	ck_assert_str_eq(w.trace, "renew a#1@1 1 of 3: 2 | renew a#1@2 1 of 3: 2 | acquire a#1@3 1 of 3: 2");
	ck_assert_str_eq(unlock(&w, 1, "a"),
		"c1 :0 | release a#1@1 1 of 3 | release a#1@2 1 of 3 | release a#1@3 1 of 3");
	story_done(&w);
}
END_TEST

START_TEST(permits_of_two_masters_that_differ_are_no_majority)
{
	struct story w;

	story_among_three(&w);
	given_at(&w, 0, 1, "0");
	given_at(&w, 1, 1, "2");
	ck_assert_str_eq(given_at(&w, 2, 1, "1"),
		"release a#1@1 1 of 3 | release a#1@2 1 of 3 | release a#1@3 1 of 3");
	/* Soon again, and for the same ones everywhere. */
	while (w.trace[0] == '\0' || w.trace[0] == 'r') {
		ck_assert_int_lt(w.now.ms, 1000000 + 10);
		after(&w, 1);
	}
	ck_assert_str_eq(
		w.trace, "acquire a#2@1 1 of 3: 0 | acquire a#2@2 1 of 3: 0 | acquire a#2@3 1 of 3: 0");
	given_at(&w, 0, 2, "0");
	w.at = 1;
	lacking(&w, 2, "1");
	/* Home has not granted it, and our place there is left. */
	ck_assert_str_eq(given_at(&w, 2, 2, "0"), "leave a#2@2 | c1 :200");
	story_done(&w);
}
END_TEST

START_TEST(an_offer_of_a_minority_is_no_contention)
{
	struct story w;

	story_among(&w, 3);
	w.at = 2;
	link_down(&w, "Connection refused");
	permits_once(&w, 1, 3, 1);
	ck_assert_str_eq(given_at(&w, 0, 1, "0"), "");
	w.at = 1;
	ck_assert_ptr_nonnull(strstr(answer(&w, CALL_ACQUIRE, OUTCOME_ERROR, "a", 1), "c1 -MASTERERR"));
	story_done(&w);
}
END_TEST

START_TEST(permits_that_somebody_was_faster_to_take_are_not_asked_for_again)
{
	struct story w;

	story_among_three(&w);
	given_at(&w, 0, 1, "0");
	given_at(&w, 1, 1, "1");
	given_at(&w, 2, 1, "2");
	for (int i = 0; i < 10 && w.trace[0] != 'a'; i++)
		after(&w, 1);
	for (w.at = 0; w.at < 3; w.at++)
		lacking(&w, 2, "1");
	for (int i = 0; i < 20 && w.trace[0] != 'a'; i++)
		after(&w, 1);
	ck_assert_str_eq(
		w.trace, "acquire a#3@1 1 of 3: 1 | acquire a#3@2 1 of 3: 1 | acquire a#3@3 1 of 3: 1");
	story_done(&w);
}
END_TEST

START_TEST(too_few_permits_are_a_refusal_wherever_it_is_said)
{
	struct story w;

	story_among(&w, 3);
	permits_once(&w, 1, 3, 1);
	for (w.at = 0; w.at < 3 && strstr(w.trace, "null") == NULL; w.at++)
		lacking(&w, 1, "");
	ck_assert_str_eq(strstr(w.trace, "c1 "), "c1 null | leave a#1@2");
	story_done(&w);
}
END_TEST

/* ---- RETRIES ---- */

static const char *
lock_trying(struct story *w, conn_id conn, int64_t retries)
{
	struct command command = {
		.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = COMMAND_WAIT_RULE, .retries = retries};

	return step(w, &(struct event){.type = EVENT_COMMAND, .conn = conn, .command = &command});
}

START_TEST(a_wait_may_be_bounded_by_attempts)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock_trying(&w, 1, 2), "acquire a#1");
	ck_assert_str_eq(busy(&w, "a", 1), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")}), "acquire a#2");
	ck_assert_str_eq(busy(&w, "a", 2), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")}), "acquire a#3");
	ck_assert_str_eq(busy(&w, "a", 3), "c1 null | leave a#3");
	story_done(&w);
}
END_TEST

START_TEST(without_retries_a_lock_asks_once)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock_trying(&w, 1, 0), "acquire a#1 once");
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_BUSY, "a", 1), "c1 null");
	story_done(&w);
}
END_TEST

START_TEST(while_somebody_here_holds_it_looking_counts_as_an_attempt)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(lock_trying(&w, 2, 0), "c2 null");
	ck_assert_str_eq(lock_trying(&w, 2, 2), "");
	ck_assert_str_eq(after(&w, 333), "renew a#1");
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	ck_assert_ptr_nonnull(strstr(after(&w, 333), "c2 null"));
	story_done(&w);
}
END_TEST

/* The first attempt is refused by a master, the others by a session here that has it then. */
START_TEST(an_attempt_counts_the_same_whoever_refuses_it)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	lock_trying(&w, 2, 2);
	busy(&w, "a", 1);
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("a")}), "acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 500), "c1 :500");
	ck_assert_str_eq(after(&w, 333), "renew a#2");
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 2);
	ck_assert_ptr_nonnull(strstr(after(&w, 333), "c2 null"));
	story_done(&w);
}
END_TEST

/* A semaphore of which nothing is asked for, and then the name as it was before. */
START_TEST(a_semaphore_without_stakes_is_seen_and_left_again)
{
	struct resource_view view;
	struct story w;

	story_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	link_down(&w, "refused");
	unlock(&w, 1, "a");
	ck_assert_str_eq(permits(&w, 2, 3, 2), "");
	ck_assert(core_view_resource(w.core, w.now.ms, SLICE("a"), &view));
	ck_assert_int_eq(view.kind, KIND_PERMITS);
	ck_assert_str_eq(view.lease, "none");
	ck_assert_uint_eq(view.waiters, 1);
	ck_assert_int_eq(view.limit, 3);
	ck_assert_int_eq(view.taken, 0);
	ck_assert_str_eq(run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 500}),
		"c3 -NOTHELD");
	ck_assert_str_eq(close_as(&w, 2, END_GONE), "");
	ck_assert_str_eq(lock(&w, 1, "a"), "");
	link_up(&w);
	ck_assert_ptr_nonnull(strstr(hello(&w, true, MEMORY), "acquire a#2"));
	ck_assert_str_eq(granted(&w, "a", 2, 700), "c1 :700");
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("permits", NULL, NULL, each_hold_stands_on_a_stake_of_its_own,
		permits_pass_on_here_to_who_wants_as_many, permits_are_given_back_for_who_wants_more,
		permits_that_another_daemon_waits_for_do_not_pass_on_here,
		who_wants_many_is_not_passed_by_who_wants_few,
		who_tries_once_for_few_is_not_refused_for_who_tries_for_many,
		one_bid_is_under_way_at_a_time_and_the_next_one_follows,
		another_limit_is_refused_while_permits_are_held, a_name_is_one_kind_of_lock_at_a_time,
		a_name_that_nobody_waits_for_any_more_may_become_another_kind, and_back_again,
		a_master_that_has_another_kind_of_lock_says_so_to_all,
		a_wait_that_ends_before_the_master_says_who_has_it_is_not_null,
		a_wait_in_a_guard_that_ends_before_the_master_is_asked_is_not_null,
		an_offer_of_a_minority_is_no_contention,
		another_limit_from_before_a_guard_is_no_reason_after_it, locking_again_takes_no_more_permits,
		a_session_that_waits_twice_has_permits_once, a_stake_is_lost_alone,
		permits_of_a_session_that_ended_come_back_at_once,
		permits_of_a_session_that_vanished_are_withheld,
		a_stake_that_is_too_short_is_refreshed_before_it_passes_on,
		permits_that_were_used_are_there_for_who_comes_next,
		permits_that_nobody_wants_again_are_given_back_when_their_time_is_over,
		another_daemon_that_wants_permits_gets_all_that_are_not_held,
		a_permit_lease_behind_others_is_given_back_as_well,
		a_renewal_that_tells_of_another_daemon_is_the_end_of_permits_ahead,
		permits_ahead_are_renewed_and_one_that_is_lost_is_lost_alone,
		who_wants_more_gets_back_what_is_kept_for_others,
		who_wants_as_many_as_any_has_gets_that_and_the_others_stay,
		what_was_won_for_who_was_served_meanwhile_is_kept_for_the_next,
		what_was_kept_while_somebody_waited_has_its_time_afterwards,
		permits_that_are_only_kept_do_not_keep_the_limit_or_the_kind,
		who_finds_permits_in_the_way_asks_again,
		permits_ahead_are_not_reclaimed_where_they_were_forgotten,
		a_daemon_that_shuts_down_gives_back_permits_that_nobody_holds,
		among_masters_a_majority_has_to_give_the_same_permits,
		what_one_master_gives_besides_after_the_others_is_given_back,
		permits_of_two_masters_that_differ_are_no_majority,
		permits_that_somebody_was_faster_to_take_are_not_asked_for_again,
		too_few_permits_are_a_refusal_wherever_it_is_said, a_wait_may_be_bounded_by_attempts,
		without_retries_a_lock_asks_once, while_somebody_here_holds_it_looking_counts_as_an_attempt,
		an_attempt_counts_the_same_whoever_refuses_it,
		a_semaphore_without_stakes_is_seen_and_left_again);
}
