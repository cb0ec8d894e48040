/*
 * A lease that was recovered from a ledger: how its masters adopt it, and what becomes of it if they do not;
 * stories as in check_core.c. The lease is put into a core whose masters are away, as core_recover() does it.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/core.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/previous_owners.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/leasing/adopt.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/scheduler.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/persist/ledger.h"
#include "daemon/core/persist/ledger_set.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#define P1       "11111111111111111111111111111111"
#define P2       "22222222222222222222222222222222"
#define P3       "33333333333333333333333333333333"
#define P4       "44444444444444444444444444444444"
#define P5       "55555555555555555555555555555555"
#define PREVIOUS P1 ":5"

static struct lease_past
past_of(const struct story *w)
{
	return (struct lease_past){.kind = KIND_EXCLUSIVE,
		.valid_until_ms = w->now.ms + LEASE_MS / 10 * 9,
		.term_ms = LEASE_MS,
		.token = 500,
		.daemon_id = P1,
		.attempt = 5,
		.asked = true};
}

/* Connection 1 waits for the name; the lease is recovered, and the process before had one token left, which
 * the connection gets: so it holds the name on a lease that no master has adopted. */
static struct lease *
recovered_as(struct story *w, const char *name, const struct lease_past *past)
{
	struct resource *r = names_find(&w->core->leases->names, slice_of(name));
	struct lease *l;

	ck_assert_ptr_nonnull(r);
	l = lease_recover(w->core, r, past);
	ck_assert_ptr_nonnull(l);
	ck_assert(lease_vote_is_unadopted(l, 0));
	lease_held(l)->token_last++;
	dirty_add(&w->core->dirty, &r->item);
	w->core->masterset->agreed = w->core->masterset->usable = true;
	core_changed(w->core, CHANGE_SET);
	ledger_drain(w->core);
	ck_assert_str_eq(after(w, 0), "c1 :501");
	w->core->masterset->agreed = w->core->masterset->usable = false;
	core_changed(w->core, CHANGE_SET);
	ledger_drain(w->core);
	return l;
}

static struct lease *
story_recovered(struct story *w, unsigned masters)
{
	struct lease_past past;

	story_apart(w, masters);
	past = past_of(w);
	ck_assert_str_eq(lock(w, 1, "a"), "");
	return recovered_as(w, "a", &past);
}

/* The master, counted from 0, is up, and takes new leases. */
static const char *
back(struct story *w, unsigned at)
{
	w->at = at;
	link_up(w);
	return hello(w, true, MEMORY + at);
}

/* The call of the last event, with its deadline in ms from now by that master's clock. */
static int64_t
deadline_in(const struct story *w)
{
	return (last_call(w)->deadline_us - 5000000) / 1000 - w->now.ms;
}

static const struct call *
call_of(const struct story *w, enum call_op op)
{
	for (size_t i = 0; i < w->actions.n; i++) {
		if (w->actions.list[i].type == ACTION_CALL && w->actions.list[i].u.call.op == op)
			return &w->actions.list[i].u.call;
	}
	ck_abort_msg("no such call");
	return NULL;
}

static const char *
adopted(struct story *w, enum outcome outcome)
{
	return vote(w, (struct vote){.op = CALL_ADOPT,
			       .outcome = outcome,
			       .name = SLICE("a"),
			       .attempt = 1,
			       .token_first = outcome == OUTCOME_YES ? 600 : 0,
			       .token_last = outcome == OUTCOME_YES ? 699 : 0});
}

/* ---- the text of previous owners ---- */

START_TEST(only_owners_are_previous_owners)
{
	static const char *const good[] = {
		"", P1 ":1", P1 ":0123456789abc", P1 ":v " P2 ":1", P1 ":1 " P2 ":1 " P3 ":1 " P4 ":1"};
	static const char *const bad[] = {" ", "x", P1, P1 ":", ":1", P1 ":w", P1 ":A", P1 ":0123456789abcd",
		P1 ":1 ", " " P1 ":1", P1 ":1  " P2 ":1", P1 ":1\t" P2 ":1", P1 "1:1", P1 ":1:1", P1 ":1\n",
		"A1111111111111111111111111111111:1", "*", P1 ":*",
		P1 ":1 " P2 ":1 " P3 ":1 " P4 ":1 " P5 ":1", P1 ":1 " P2};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(previous_owners_fit(slice_of(good[i])), "'%s'", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!previous_owners_fit(slice_of(bad[i])), "'%s'", bad[i]);
	ck_assert(!previous_owners_fit((struct slice){P1 ":1\0", 35}));
}
END_TEST

START_TEST(the_oldest_of_too_many_previous_owners_is_dropped)
{
	struct story w;
	struct lease_past past;
	struct lease *l;

	story_init(&w);
	past = past_of(&w);
	past.previous = SLICE(P2 ":2 " P3 ":3 " P4 ":4 " P5 ":v");
	lock(&w, 1, "a");
	l = recovered_as(&w, "a", &past);
	ck_assert(slice_equal(lease_previous_owners(l), SLICE(PREVIOUS " " P2 ":2 " P3 ":3 " P4 ":4")));
	ck_assert_str_eq(back(&w, 0), "adopt a#1");
	ck_assert(slice_equal(last_call(&w)->previous, lease_previous_owners(l)));
	story_done(&w);
}
END_TEST

/* ---- one master ---- */

START_TEST(a_recovered_lease_is_held_at_once_and_adopted_when_its_master_is_back)
{
	struct story w;
	struct lease *l = story_recovered(&w, 1);
	const struct call *call;

	ck_assert_str_eq(check(&w, 1, "a"), "c1 :889");
	after(&w, 10);
	ck_assert_str_eq(back(&w, 0), "adopt a#1");
	call = last_call(&w);
	ck_assert(slice_equal(call->previous, SLICE(PREVIOUS)));
	ck_assert_int_eq(call->ttl_ms, LEASE_MS + MARGIN_MS);
	ck_assert_int_gt(call->block, 0);
	/* A late one must not prolong what nobody counts on any more. */
	ck_assert_int_eq(deadline_in(&w), LEASE_MS / 10 * 9 - 10);
	ck_assert_str_eq(adopted(&w, OUTCOME_YES), "");
	ck_assert_uint_eq(lease_previous_owners(l).n, 0);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	/* From now on it is as any other. */
	ck_assert_str_eq(after(&w, LEASE_MS / 3), "renew a#1");
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1");
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "");
	story_done(&w);
}
END_TEST

START_TEST(the_next_holder_gets_tokens_above_those_of_before)
{
	struct story w;

	story_recovered(&w, 1);
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	ck_assert_str_eq(back(&w, 0), "adopt a#1");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(adopted(&w, OUTCOME_YES), "c2 :600");
	story_done(&w);
}
END_TEST

START_TEST(what_a_master_does_not_adopt_is_lost)
{
	static const enum outcome outcomes[] = {OUTCOME_NO, OUTCOME_WRONGKIND};

	for (size_t i = 0; i < 2; i++) {
		struct story w;

		story_recovered(&w, 1);
		back(&w, 0);
		ck_assert_str_eq(adopted(&w, outcomes[i]), "c1 close");
		story_done(&w);
	}
}
END_TEST

START_TEST(what_is_never_adopted_is_lost_when_its_time_is_over)
{
	struct story w;

	story_recovered(&w, 1);
	ck_assert_str_eq(after(&w, LEASE_MS / 10 * 9 - 1), "");
	ck_assert_str_eq(after(&w, 1), "c1 close");
	/* Its key need not be waited for. */
	ck_assert_str_eq(back(&w, 0), "adopt a#1 | release a#1");
	story_done(&w);
}
END_TEST

/* The answer says nothing of the key. */
START_TEST(it_is_adopted_again_until_the_master_has_said_so)
{
	static const enum outcome outcomes[] = {OUTCOME_UNKNOWN, OUTCOME_LATE, OUTCOME_ERROR, OUTCOME_UNSENT};

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		struct story w;
		struct lease *l = story_recovered(&w, 1);

		back(&w, 0);
		adopted(&w, outcomes[i]);
		ck_assert(slice_equal(lease_previous_owners(l), SLICE(PREVIOUS)));
		ck_assert_str_eq(after(&w, 60), "adopt a#1");
		adopted(&w, OUTCOME_YES);
		ck_assert_str_eq(after(&w, LEASE_MS / 3), "renew a#1");
		story_done(&w);
	}
}
END_TEST

START_TEST(a_daemon_that_waits_is_heard_by_the_adoption)
{
	struct story w;
	struct lease *l = story_recovered(&w, 1);

	back(&w, 0);
	vote(&w, (struct vote){.op = CALL_ADOPT,
			 .name = SLICE("a"),
			 .attempt = 1,
			 .token_first = 600,
			 .token_last = 699,
			 .position = 1});
	ck_assert(lease_wanted(l));
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1");
	story_done(&w);
}
END_TEST

/* ---- given up before it is adopted ---- */

START_TEST(what_is_given_up_while_the_master_is_away_is_released_under_its_previous_name)
{
	const struct call *call;
	struct story w;

	story_recovered(&w, 1);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(back(&w, 0), "adopt a#1 | release a#1");
	call = call_of(&w, CALL_ADOPT);
	ck_assert(slice_equal(call->previous, SLICE(PREVIOUS)));
	ck_assert_int_eq(call->ttl_ms, 1);
	/* It is nobody's. */
	ck_assert_str_eq(adopted(&w, OUTCOME_YES), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "acquire a#2");
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "");
	ck_assert_str_eq(after(&w, LEASE_MS / 8), "");
	story_done(&w);
}
END_TEST

START_TEST(a_release_of_what_was_not_adopted_is_repeated_with_its_adoption)
{
	struct story w;

	story_recovered(&w, 1);
	unlock(&w, 1, "a");
	back(&w, 0);
	answer(&w, CALL_ADOPT, OUTCOME_UNSENT, "a", 1);
	answer(&w, CALL_RELEASE, OUTCOME_UNSENT, "a", 1);
	ck_assert_str_eq(after(&w, 40), "adopt a#1 | release a#1");
	ck_assert_str_eq(link_down(&w, "gone"), "");
	answer(&w, CALL_ADOPT, OUTCOME_UNKNOWN, "a", 1);
	answer(&w, CALL_RELEASE, OUTCOME_UNKNOWN, "a", 1);
	ck_assert_str_eq(back(&w, 0), "adopt a#1 | release a#1");
	answer(&w, CALL_ADOPT, OUTCOME_NO, "a", 1);
	answer(&w, CALL_RELEASE, OUTCOME_NO, "a", 1);
	ck_assert_str_eq(after(&w, LEASE_MS), "");
	story_done(&w);
}
END_TEST

/* The key is still the previous owner's, whom the release does not name: that it is not ours says nothing. */
START_TEST(a_release_after_an_adoption_that_was_not_carried_out_is_repeated)
{
	static const enum outcome outcomes[] = {OUTCOME_LATE, OUTCOME_ERROR, OUTCOME_UNSENT, OUTCOME_UNKNOWN};

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		struct story w;

		story_recovered(&w, 1);
		unlock(&w, 1, "a");
		ck_assert_str_eq(back(&w, 0), "adopt a#1 | release a#1");
		adopted(&w, outcomes[i]);
		ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_NO, "a", 1), "");
		ck_assert_str_eq(after(&w, LEASE_MS / 2), "adopt a#1 | release a#1");
		ck_assert(slice_equal(call_of(&w, CALL_ADOPT)->previous, SLICE(PREVIOUS)));
		ck_assert_int_gt(call_of(&w, CALL_ADOPT)->deadline_us, 0);
		adopted(&w, OUTCOME_YES);
		ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "");
		ck_assert_str_eq(after(&w, LEASE_MS), "");
		story_done(&w);
	}
}
END_TEST

/* The key is gone, or another daemon has it, which keeps it. */
START_TEST(a_release_after_an_adoption_that_was_refused_is_over)
{
	static const enum outcome outcomes[] = {OUTCOME_NO, OUTCOME_WRONGKIND};

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		struct story w;

		story_recovered(&w, 1);
		unlock(&w, 1, "a");
		back(&w, 0);
		adopted(&w, OUTCOME_LATE);
		answer(&w, CALL_RELEASE, OUTCOME_NO, "a", 1);
		ck_assert_str_eq(after(&w, LEASE_MS / 2), "adopt a#1 | release a#1");
		adopted(&w, outcomes[i]);
		ck_assert_str_eq(answer(&w, CALL_RELEASE, outcomes[i], "a", 1), "");
		ck_assert_str_eq(after(&w, LEASE_MS), "");
		story_done(&w);
	}
}
END_TEST

/* A guarded master would refuse the adoption; and no daemon gets the name there. */
START_TEST(what_was_given_up_is_released_when_the_guard_is_over)
{
	struct story w;

	story_recovered(&w, 1);
	unlock(&w, 1, "a");
	link_up(&w);
	ck_assert_str_eq(hello(&w, false, MEMORY), "");
	after(&w, 100);
	ck_assert_str_eq(hello(&w, true, MEMORY), "adopt a#1 | release a#1");
	story_done(&w);
}
END_TEST

/* The call is on its way, and may run later than the first release. */
START_TEST(a_late_adoption_is_released_as_a_late_acquire_is)
{
	struct story w;

	story_recovered(&w, 1);
	back(&w, 0);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | adopt a#1 | release a#1");
	ck_assert_int_gt(last_call(&w)->deadline_us, 0);
	adopted(&w, OUTCOME_UNKNOWN);
	adopted(&w, OUTCOME_NO); /* the one before the release */
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_NO, "a", 1), "");
	ck_assert_str_eq(after(&w, LEASE_MS / 10 * 9 - 1), "");
	ck_assert_str_eq(after(&w, 5), "release a#1");
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "");
	story_done(&w);
}
END_TEST

START_TEST(an_adoption_without_an_answer_is_released_though_it_is_lost)
{
	struct story w;

	story_recovered(&w, 1);
	back(&w, 0);
	adopted(&w, OUTCOME_UNKNOWN);
	ck_assert_str_eq(after(&w, 60), "adopt a#1");
	ck_assert_str_eq(adopted(&w, OUTCOME_NO), "c1 close | release a#1");
	ck_assert_int_gt(last_call(&w)->deadline_us, 0);
	story_done(&w);
}
END_TEST

/* ---- a master that forgot ---- */

START_TEST(a_guarded_master_takes_it_by_a_reclaim_that_names_its_previous_owners)
{
	struct story w;
	struct lease *l = story_recovered(&w, 1);

	link_up(&w);
	ck_assert_str_eq(hello(&w, false, MEMORY), "reclaim a#1");
	ck_assert(slice_equal(last_call(&w)->previous, SLICE(PREVIOUS)));
	ck_assert_int_eq(last_call(&w)->newest, 501);
	answer(&w, CALL_RECLAIM, OUTCOME_UNKNOWN, "a", 1);
	ck_assert(slice_equal(lease_previous_owners(l), SLICE(PREVIOUS)));
	ck_assert_str_eq(after(&w, 60), "reclaim a#1");
	answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1);
	ck_assert_uint_eq(lease_previous_owners(l).n, 0);
	ck_assert_str_eq(after(&w, LEASE_MS / 3), "reclaim a#1");
	ck_assert_uint_eq(last_call(&w)->previous.n, 0);
	answer(&w, CALL_RECLAIM, OUTCOME_FORGOTTEN, "a", 1);
	ck_assert_str_eq(hello(&w, true, MEMORY), "renew a#1");
	story_done(&w);
}
END_TEST

START_TEST(a_reclaim_that_is_refused_loses_it)
{
	struct story w;

	story_recovered(&w, 1);
	link_up(&w);
	hello(&w, false, MEMORY);
	ck_assert_str_eq(answer(&w, CALL_RECLAIM, OUTCOME_NO, "a", 1), "c1 close");
	story_done(&w);
}
END_TEST

/* It was guarded when it was asked. */
START_TEST(a_master_that_forgets_meanwhile_is_asked_to_reclaim)
{
	struct story w;

	story_recovered(&w, 1);
	back(&w, 0);
	ck_assert_str_eq(adopted(&w, OUTCOME_FORGOTTEN), "hello");
	ck_assert_str_eq(hello(&w, false, MEMORY + 9), "reclaim a#1");
	ck_assert(slice_equal(last_call(&w)->previous, SLICE(PREVIOUS)));
	/* The reclaim was not answered, and the master is admitted: the key may be either owner's. */
	answer(&w, CALL_RECLAIM, OUTCOME_UNKNOWN, "a", 1);
	ck_assert_str_eq(hello(&w, true, MEMORY + 9), "adopt a#1");
	story_done(&w);
}
END_TEST

/* Its key may be a previous owner's again, by a snapshot. */
START_TEST(a_memory_that_adopted_it_and_is_another_by_now_has_not)
{
	struct story w;
	struct lease *l = story_recovered(&w, 1);

	back(&w, 0);
	hello(&w, false, MEMORY + 9);
	adopted(&w, OUTCOME_YES);
	ck_assert(slice_equal(lease_previous_owners(l), SLICE(PREVIOUS)));
	ck_assert_str_eq(after(&w, 1), "reclaim a#1");
	ck_assert(slice_equal(last_call(&w)->previous, SLICE(PREVIOUS)));
	story_done(&w);
}
END_TEST

/* Its clock may have ended the key too early: then its memory is given up, and takes a reclaim. */
START_TEST(a_master_whose_clock_jumped_is_not_believed_that_it_has_none)
{
	struct story w;

	story_recovered(&w, 1);
	back(&w, 0);
	w.jump_ms = 2 * MARGIN_MS;
	ck_assert_str_eq(adopted(&w, OUTCOME_NO), "hello");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :691");
	hello(&w, false, MEMORY + 9);
	ck_assert_ptr_nonnull(strstr(w.trace, "reclaim a#1"));
	story_done(&w);
}
END_TEST

/* ---- kinds ---- */

START_TEST(readers_are_adopted_as_readers)
{
	struct story w;
	struct lease_past past;

	story_init(&w);
	past = past_of(&w);
	past.kind = KIND_SHARED;
	lock_shared(&w, 1, "a");
	recovered_as(&w, "a", &past);
	ck_assert_str_eq(back(&w, 0), "adopt a#1 shared");
	ck_assert_str_eq(adopted(&w, OUTCOME_YES), "");
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 :600");
	ck_assert_str_eq(after(&w, LEASE_MS / 3), "renew a#1 shared");
	story_done(&w);
}
END_TEST

/* Readers alone on an exclusive lease, and another daemon wants it before it is adopted. */
START_TEST(a_lease_that_is_shared_before_it_is_adopted_is_adopted_as_shared)
{
	struct story w;
	struct lease_past past;
	struct lease *l;

	story_init(&w);
	past = past_of(&w);
	lock_shared(&w, 1, "a");
	l = recovered_as(&w, "a", &past);
	ck_assert_str_eq(wanted(&w, "a"), "");
	ck_assert_int_eq(l->kind, KIND_SHARED);
	ck_assert_str_eq(back(&w, 0), "adopt a#1 shared");
	adopted(&w, OUTCOME_YES);
	ck_assert_str_eq(after(&w, LEASE_MS / 3), "renew a#1 shared");
	story_done(&w);
}
END_TEST

/* ... and while the adoption is under way: the next round tells the master. */
START_TEST(a_lease_that_is_shared_while_it_is_adopted_is_renewed_as_shared)
{
	struct story w;
	struct lease_past past;

	story_init(&w);
	past = past_of(&w);
	lock_shared(&w, 1, "a");
	recovered_as(&w, "a", &past);
	ck_assert_str_eq(back(&w, 0), "adopt a#1");
	ck_assert_str_eq(wanted(&w, "a"), "");
	adopted(&w, OUTCOME_YES);
	ck_assert_str_eq(after(&w, 1), "renew a#1 shared");
	story_done(&w);
}
END_TEST

START_TEST(permits_are_adopted_by_their_numbers)
{
	struct command command = {
		.verb = VERB_LOCK, .name = SLICE("a"), .kind = KIND_PERMITS, .limit = 3, .permits = 2};
	struct story w;
	struct lease_past past;

	story_init(&w);
	past = past_of(&w);
	past.kind = KIND_PERMITS;
	past.permits = 2;
	past.slots = SLICE("0,2");
	ck_assert_str_eq(run(&w, 1, command), "");
	recovered_as(&w, "a", &past);
	ck_assert_str_eq(back(&w, 0), "adopt a#1 2 of 3: 0,2");
	ck_assert_str_eq(adopted(&w, OUTCOME_YES), "");
	ck_assert_str_eq(after(&w, LEASE_MS / 3), "renew a#1 2 of 3: 0,2");
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1 2 of 3: 0,2");
	story_done(&w);
	/* The release names them, too, before they are adopted. */
	story_init(&w);
	run(&w, 1, command);
	recovered_as(&w, "a", &past);
	unlock(&w, 1, "a");
	ck_assert_str_eq(back(&w, 0), "adopt a#1 2 of 3: 0,2 | release a#1 2 of 3: 0,2");
	story_done(&w);
}
END_TEST

/* ---- three masters ---- */

static const char *
adopted_at(struct story *w, unsigned at, enum outcome outcome)
{
	w->at = at;
	return adopted(w, outcome);
}

START_TEST(a_majority_adopts_and_the_third_master_when_it_is_back)
{
	struct story w;
	struct lease *l = story_recovered(&w, 3);

	/* Until a majority is in use nobody else is asked for anything. */
	back(&w, 0);
	ck_assert_ptr_nonnull(strstr(back(&w, 1), "adopt a#1@"));
	after(&w, 20);
	adopted_at(&w, 0, OUTCOME_YES);
	ck_assert_int_lt(lease_held(l)->valid_until_ms, w.now.ms + LEASE_MS / 10 * 9);
	adopted_at(&w, 1, OUTCOME_YES);
	ck_assert_int_gt(lease_held(l)->valid_until_ms, w.now.ms + LEASE_MS / 10 * 9);
	ck_assert(!lease_vote_is_unadopted(l, 0) && !lease_vote_is_unadopted(l, 1) &&
		  lease_vote_is_unadopted(l, 2));
	ck_assert_ptr_nonnull(strstr(back(&w, 2), "adopt a#1@3"));
	adopted_at(&w, 2, OUTCOME_YES);
	ck_assert_uint_eq(lease_previous_owners(l).n, 0);
	story_done(&w);
}
END_TEST

/* Its rule's lease is shorter than what is left of it. A round that begins while masters have still to answer
 * the one before asks for no less time: with their answers the lease is good for as long as they were asked.
 */
START_TEST(a_lease_is_asked_for_as_long_as_answers_may_make_it)
{
	static const struct rule shorter[] = {{.match = "*", .lease_ms = LEASE_MS / 4, .wait_ms = -1}};
	struct story w;
	struct lease_past past;
	struct lease *l;

	story_apart(&w, 3);
	core_set_rules(w.core, shorter, 1);
	past = past_of(&w);
	lock(&w, 1, "a");
	l = recovered_as(&w, "a", &past);
	after(&w, LEASE_MS / 20);
	back(&w, 0);
	ck_assert_ptr_nonnull(strstr(back(&w, 1), "adopt a#1@"));
	after(&w, LEASE_MS / 10);
	ck_assert_int_gt(l->round->sent_ms, past.valid_until_ms - LEASE_MS / 10 * 9);
	adopted_at(&w, 0, OUTCOME_YES);
	adopted_at(&w, 1, OUTCOME_YES);
	ck_assert_int_gt(lease_held(l)->valid_until_ms, past.valid_until_ms);
	ck_assert_int_le(lease_held(l)->valid_until_ms, w.now.ms + l->term_ms);
	story_done(&w);
}
END_TEST

/* All are back at once; each is asked once. */
static struct lease *
story_asked(struct story *w)
{
	struct lease *l = story_recovered(w, 3);

	for (unsigned i = 0; i < 3; i++)
		back(w, i);
	for (unsigned i = 0; i < 3; i++)
		ck_assert(l->round->questions[i].asking);
	return l;
}

/* A minority is no lease: what was told counts, and no more. */
START_TEST(what_a_minority_adopts_ends_when_it_was_to_end)
{
	struct story w;
	struct lease *l = story_asked(&w);
	int64_t valid_until_ms = lease_held(l)->valid_until_ms;

	adopted_at(&w, 0, OUTCOME_YES);
	adopted_at(&w, 1, OUTCOME_UNKNOWN);
	adopted_at(&w, 2, OUTCOME_UNKNOWN);
	w.at = 1;
	link_down(&w, "gone");
	w.at = 2;
	link_down(&w, "gone");
	ck_assert_int_eq(lease_held(l)->valid_until_ms, valid_until_ms);
	w.refused = true;
	ck_assert_ptr_null(strstr(after(&w, valid_until_ms - w.now.ms - 1), "close"));
	ck_assert_ptr_nonnull(strstr(after(&w, 1), "c1 close"));
	story_done(&w);
}
END_TEST

/* Another process with the same ledger was faster at two of three. */
START_TEST(what_another_process_has_adopted_at_a_majority_is_lost)
{
	struct story w;
	struct lease *l = story_asked(&w);
	struct vote busy = {.op = CALL_ACQUIRE,
		.outcome = OUTCOME_BUSY,
		.name = SLICE("a"),
		.attempt = 1,
		.holder = SLICE(P2 ":7")};

	adopted_at(&w, 0, OUTCOME_YES);
	adopted_at(&w, 1, OUTCOME_NO);
	adopted_at(&w, 2, OUTCOME_NO);
	ck_assert(!lease_vote_is_ours(l, 1) && !lease_vote_is_ours(l, 2));
	ck_assert_uint_eq(lease_previous_owners(l).n, 0);
	/* What is missing is acquired with a deadline of its own. */
	ck_assert_str_eq(after(&w, LEASE_MS / 8), "renew a#1@1 | acquire a#1@2 | acquire a#1@3");
	w.at = 1;
	vote(&w, busy);
	w.at = 2;
	ck_assert_ptr_nonnull(strstr(vote(&w, busy), "c1 close"));
	ck_assert_ptr_nonnull(strstr(w.trace, "release a#1@1"));
	story_done(&w);
}
END_TEST

/* What the process before had not at all masters, is acquired at the others. */
START_TEST(a_vote_that_it_never_had_is_acquired)
{
	struct story w;
	struct lease *l = story_asked(&w);

	adopted_at(&w, 0, OUTCOME_YES);
	adopted_at(&w, 1, OUTCOME_YES);
	adopted_at(&w, 2, OUTCOME_NO);
	ck_assert_str_eq(after(&w, LEASE_MS / 3), "renew a#1@1 | renew a#1@2 | acquire a#1@3");
	ck_assert_uint_eq(lease_previous_owners(l).n, 0);
	story_done(&w);
}
END_TEST

START_TEST(a_reclaim_among_several_masters_adopts_and_prolongs_nothing)
{
	struct story w;
	struct lease *l = story_recovered(&w, 3);
	int64_t valid_until_ms = lease_held(l)->valid_until_ms;

	for (unsigned i = 0; i < 3; i++) {
		w.at = i;
		link_up(&w);
		ck_assert_ptr_nonnull(strstr(hello(&w, i == 0, MEMORY + i), i == 0 ? "" : "reclaim a#1@"));
	}
	for (unsigned i = 1; i < 3; i++) {
		w.at = i;
		answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1);
		ck_assert(!lease_vote_is_unadopted(l, i));
	}
	ck_assert_int_eq(lease_held(l)->valid_until_ms, valid_until_ms);
	story_done(&w);
}
END_TEST

START_TEST(another_server_has_nothing_to_adopt)
{
	struct story w;
	struct lease *l = story_recovered(&w, 3);

	w.core->masters[2].moved = true;
	w.core->quorum->reconfigured = true;
	after(&w, 1);
	ck_assert(
		!lease_vote_is_ours(l, 2) && !lease_vote_is_unadopted(l, 2) && lease_vote_is_unadopted(l, 1));
	for (unsigned i = 0; i < 2; i++) {
		w.core->masters[i].moved = true;
		w.core->quorum->reconfigured = true;
	}
	ck_assert_ptr_nonnull(strstr(after(&w, 1), "c1 close"));
	story_done(&w);
}
END_TEST

/* What is given up in the middle is released at each master under the name that it has there. */
START_TEST(what_is_adopted_at_one_of_three_is_released_at_all)
{
	struct story w;

	story_asked(&w);
	adopted_at(&w, 0, OUTCOME_YES);
	adopted_at(&w, 1, OUTCOME_UNKNOWN);
	ck_assert_str_eq(unlock(&w, 1, "a"),
		"c1 :0 | release a#1@1 | adopt a#1@2 | release a#1@2 | adopt a#1@3 | release a#1@3");
	story_done(&w);
}
END_TEST

/* ---- a hand-over in the middle ---- */

static void
save(struct core *core, struct buffer *out)
{
	struct record r;

	buffer_init(out, SIZE_MAX / 2);
	record_save(&r, out);
	core_save(core, &r);
	record_begin(&r, RECORD_END);
	record_end(&r);
	ck_assert_msg(!r.failed, "%s", r.why);
}

static struct core *
load(const struct story *w, const char *bytes, size_t n)
{
	struct record r;

	return record_load(&r, (struct slice){bytes, n}) ? core_load(&w->settings, w->now, &r) : NULL;
}

/* The master has answered HELLO once, and its link is down. */
static void
rest(struct story *w)
{
	back(w, 0);
	adopted(w, OUTCOME_ERROR);
	link_down(w, "handed over");
}

/* It was given up, the master has carried out nothing, and its link is down. */
static void
released(struct story *w)
{
	story_recovered(w, 1);
	unlock(w, 1, "a");
	rest(w);
	answer(w, CALL_RELEASE, OUTCOME_UNKNOWN, "a", 1);
}

START_TEST(previous_owners_outlive_a_hand_over)
{
	struct story w;
	struct lease *l;
	struct buffer state, again;

	(void)story_asked(&w);
	adopted_at(&w, 1, OUTCOME_YES);
	for (unsigned i = 0; i < 3; i++) {
		w.at = i;
		link_down(&w, "handed over");
		if (i != 1)
			adopted(&w, OUTCOME_UNKNOWN);
	}
	save(w.core, &state);
	core_free(w.core);
	w.core = load(&w, buffer_bytes(&state), buffer_length(&state));
	ck_assert_ptr_nonnull(w.core);
	l = &names_find(&w.core->leases->names, SLICE("a"))->lease;
	ck_assert(slice_equal(lease_previous_owners(l), SLICE(PREVIOUS)));
	ck_assert(lease_vote_is_unadopted(l, 0) && !lease_vote_is_unadopted(l, 1) &&
		  lease_vote_is_unadopted(l, 2));
	save(w.core, &again);
	ck_assert_mem_eq(buffer_bytes(&state), buffer_bytes(&again), buffer_length(&state));
	for (unsigned i = 0; i < 3; i++)
		back(&w, i);
	for (unsigned i = 0; i < 3; i++)
		adopted_at(&w, i, OUTCOME_YES);
	ck_assert_uint_eq(lease_previous_owners(l).n, 0);
	buffer_done(&state);
	buffer_done(&again);
	story_done(&w);
}
END_TEST

/* The next process cannot release by its own name what the master has not adopted. */
START_TEST(previous_owners_of_a_release_outlive_a_hand_over)
{
	struct story w;
	struct buffer state, again;

	released(&w);
	save(w.core, &state);
	core_free(w.core);
	w.core = load(&w, buffer_bytes(&state), buffer_length(&state));
	ck_assert_ptr_nonnull(w.core);
	save(w.core, &again);
	ck_assert_uint_eq(buffer_length(&state), buffer_length(&again));
	ck_assert_mem_eq(buffer_bytes(&state), buffer_bytes(&again), buffer_length(&state));
	ck_assert_str_eq(back(&w, 0), "adopt a#1 | release a#1");
	ck_assert(slice_equal(call_of(&w, CALL_ADOPT)->previous, SLICE(PREVIOUS)));
	adopted(&w, OUTCOME_YES);
	ck_assert_str_eq(answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1), "");
	ck_assert_str_eq(after(&w, LEASE_MS), "");
	buffer_done(&state);
	buffer_done(&again);
	story_done(&w);
}
END_TEST

/* An older record ends before the owners and their length. */
START_TEST(a_release_of_an_older_state_has_no_previous_owners)
{
	const size_t less = 4 + sizeof(PREVIOUS) - 1;
	struct story w;
	struct buffer state;
	struct record r;
	char *begin, *end;
	uint32_t length;

	released(&w);
	save(w.core, &state);
	core_free(w.core);
	ck_assert(record_load(&r, (struct slice){buffer_bytes(&state), buffer_length(&state)}));
	while (record_next(&r) != RECORD_RELEASE)
		ck_assert(!r.failed);
	begin = buffer_bytes(&state) + (r.body.p - buffer_bytes(&state));
	end = begin + r.body.n;
	length = htole32((uint32_t)(r.body.n - less));
	memcpy(begin - sizeof(length), &length, sizeof(length));
	memmove(end - less, end, r.in.n);
	w.core = load(&w, buffer_bytes(&state), buffer_length(&state) - less);
	ck_assert_ptr_nonnull(w.core);
	ck_assert_str_eq(back(&w, 0), "release a#1");
	buffer_done(&state);
	story_done(&w);
}
END_TEST

/* Of the lease, or of its release. */
static struct slice
owners_in(const struct core *core)
{
	const struct resource *r = names_find(&core->leases->names, SLICE("a"));
	const struct release *u = core->leases->releases;

	ck_assert(r != NULL || u != NULL);
	return u != NULL ? u->previous : lease_previous_owners(&r->lease);
}

/* Each byte of the owners, and of what is before them, is damaged. What is taken is a core that goes on. */
static void
ck_damaged(struct story *w)
{
	struct buffer state;
	char *at;
	size_t n;

	save(w->core, &state);
	n = buffer_length(&state);
	at = memmem(buffer_bytes(&state), n, PREVIOUS, sizeof(PREVIOUS) - 1);
	ck_assert_ptr_nonnull(at);
	for (char *p = at - 5; p < at + sizeof(PREVIOUS) - 1 + 8; p++) {
		static const char damages[] = {'\0', ' ', ':', '*', 'z', '\xff', 1};
		char kept = *p;

		for (size_t i = 0; i < sizeof(damages); i++) {
			struct core *core;

			*p = damages[i];
			core = load(w, buffer_bytes(&state), n);
			if (core != NULL) {
				ck_assert(previous_owners_fit(owners_in(core)));
				core_check(core, w->now.ms);
			}
			core_free(core);
		}
		*p = kept;
	}
	buffer_done(&state);
}

START_TEST(a_damaged_state_has_no_strange_previous_owners)
{
	struct story w;

	story_recovered(&w, 1);
	rest(&w);
	ck_damaged(&w);
	story_done(&w);
	released(&w);
	ck_damaged(&w);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("adopt", NULL, NULL, only_owners_are_previous_owners,
		the_oldest_of_too_many_previous_owners_is_dropped,
		a_recovered_lease_is_held_at_once_and_adopted_when_its_master_is_back,
		the_next_holder_gets_tokens_above_those_of_before, what_a_master_does_not_adopt_is_lost,
		what_is_never_adopted_is_lost_when_its_time_is_over,
		it_is_adopted_again_until_the_master_has_said_so,
		a_daemon_that_waits_is_heard_by_the_adoption,
		what_is_given_up_while_the_master_is_away_is_released_under_its_previous_name,
		a_release_of_what_was_not_adopted_is_repeated_with_its_adoption,
		a_release_after_an_adoption_that_was_not_carried_out_is_repeated,
		a_release_after_an_adoption_that_was_refused_is_over,
		what_was_given_up_is_released_when_the_guard_is_over,
		a_late_adoption_is_released_as_a_late_acquire_is,
		an_adoption_without_an_answer_is_released_though_it_is_lost,
		a_guarded_master_takes_it_by_a_reclaim_that_names_its_previous_owners,
		a_reclaim_that_is_refused_loses_it, a_memory_that_adopted_it_and_is_another_by_now_has_not,
		a_master_that_forgets_meanwhile_is_asked_to_reclaim,
		a_master_whose_clock_jumped_is_not_believed_that_it_has_none, readers_are_adopted_as_readers,
		a_lease_that_is_shared_before_it_is_adopted_is_adopted_as_shared,
		a_lease_that_is_shared_while_it_is_adopted_is_renewed_as_shared,
		permits_are_adopted_by_their_numbers, a_majority_adopts_and_the_third_master_when_it_is_back,
		a_lease_is_asked_for_as_long_as_answers_may_make_it,
		what_a_minority_adopts_ends_when_it_was_to_end,
		what_another_process_has_adopted_at_a_majority_is_lost, a_vote_that_it_never_had_is_acquired,
		a_reclaim_among_several_masters_adopts_and_prolongs_nothing,
		another_server_has_nothing_to_adopt, what_is_adopted_at_one_of_three_is_released_at_all,
		previous_owners_outlive_a_hand_over, previous_owners_of_a_release_outlive_a_hand_over,
		a_release_of_an_older_state_has_no_previous_owners,
		a_damaged_state_has_no_strange_previous_owners);
}
