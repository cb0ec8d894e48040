/*
 * A master's slot becomes another server, and one master becomes three; stories as in check_core.c. Whose
 * word decides on that is check_masterset.c's matter: here it is done by hand.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/leasing/renew.h"
#include "daemon/core/lock/mode.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/nonces.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/move.h"
#include "daemon/core/persist/ledger.h"
#include "daemon/core/reconfigure.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define AT(w, at_, call) ((w)->at = (at_), (call))

/* What follows in the step in which the core decides on it. */
static void
by_hand(struct story *w)
{
	w->actions.n = 0;
	w->core->actions = &w->actions;
}

static void
move(struct story *w, unsigned slot, const char *place)
{
	by_hand(w);
	master_move(
		w->core, &w->core->masters[slot], slice_of(place), slice_of(place[0] != '\0' ? "url" : ""));
	reconfigure(w->core);
	w->core->actions = NULL;
}

/* The set of the story, with so many masters. */
static void
set_is(struct story *w, unsigned masters)
{
	struct vote none = {.op = CALL_HELLO};

	w->settings.masters = masters;
	agree(w, &none);
	(void)snprintf(w->core->masterset->text, sizeof(w->core->masterset->text), "%s", w->set);
	(void)snprintf(w->core->masterset->places, sizeof(w->core->masterset->places), "%s", w->places);
	core_changed(w->core, CHANGE_SET);
	ledger_drain(w->core);
}

static void
grow(struct story *w, unsigned masters)
{
	static const char *const places[] = {"", "master-2", "master-3", "master-4", "master-5"};

	for (unsigned i = w->core->settings.masters; i < masters; i++)
		move(w, i, places[i]);
	by_hand(w);
	masters_resize(w->core, masters);
	reconfigure(w->core);
	w->core->actions = NULL;
	set_is(w, masters);
}

static size_t
calls_to(const struct story *w, enum call_op op, unsigned master)
{
	size_t n = 0;

	for (size_t i = 0; i < w->actions.n; i++) {
		const struct action *a = &w->actions.list[i];

		n += a->type == ACTION_CALL && a->u.call.op == op && a->u.call.master == master;
	}
	return n;
}

static struct lease *
lease_named(const struct story *w, const char *name)
{
	struct resource *r = names_find(&w->core->leases->names, slice_of(name));

	ck_assert_ptr_nonnull(r);
	return &r->lease;
}

/* Three masters gave it to connection 1. */
static void
held(struct story *w)
{
	story_among(w, 3);
	lock(w, 1, "a");
	for (unsigned i = 0; i < 3; i++)
		(void)AT(w, i, granted(w, "a", 1, 500));
	ck_assert_str_eq(check(w, 1, "a"), "c1 :977");
	w->at = 2;
}

static int64_t
left_ms(const struct story *w, const char *name)
{
	return lease_held(lease_named(w, name))->valid_until_ms - w->now.ms;
}

START_TEST(a_slot_that_moves_is_away_and_says_where_it_is_reached)
{
	struct story w;
	const struct action *a;

	held(&w);
	move(&w, 2, "master-9");
	ck_assert_uint_eq(w.actions.n, 1);
	a = &w.actions.list[0];
	ck_assert_int_eq(a->type, ACTION_MASTER);
	ck_assert_uint_eq(a->u.move.master, 2);
	ck_assert(
		slice_equal(a->u.move.place, SLICE("master-9")) && slice_equal(a->u.move.way, SLICE("url")));
	ck_assert_int_eq(w.core->masters[2].state, MASTER_AWAY);
	ck_assert(!w.core->masters[2].known && w.core->masters[2].id == 0);
	story_done(&w);
}
END_TEST

START_TEST(a_hold_goes_on_with_the_votes_that_it_has_left)
{
	struct story w;

	held(&w);
	move(&w, 2, "master-9");
	ck_assert_uint_eq(lease_votes_ours(w.core, lease_named(&w, "a")), 2);
	ck_assert(strstr(after(&w, LEASE_MS / 3), "renew a#1@1 | renew a#1@2") != NULL);
	ck_assert_uint_eq(calls_to(&w, CALL_RENEW, 2), 0);
	(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	(void)AT(&w, 1, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_int_gt(left_ms(&w, "a"), LEASE_MS * 9 / 10);
	story_done(&w);
}
END_TEST

/* Two of three have it: the third forgot, and one of the two is replaced. What was told holds; but what the
 * previous server said does not count together with what others say from now on. */
START_TEST(what_the_previous_server_said_prolongs_nothing)
{
	struct story w;
	int64_t valid_until_ms;

	held(&w);
	w.core->masters[1].state = MASTER_AWAY;
	valid_until_ms = lease_held(lease_named(&w, "a"))->valid_until_ms;
	lease_vote_of(lease_named(&w, "a"), 1)->valid_until_ms = 0;
	/* It alone has confirmed the lease for longer: that was no majority. */
	lease_vote_of(lease_named(&w, "a"), 2)->valid_until_ms = valid_until_ms + 500;
	move(&w, 2, "master-9");
	ck_assert(strstr(after(&w, LEASE_MS / 3), "renew a#1@1") != NULL);
	(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_int_eq(lease_held(lease_named(&w, "a"))->valid_until_ms, valid_until_ms);
	story_done(&w);
}
END_TEST

START_TEST(an_answer_of_the_previous_server_counts_no_more)
{
	struct story w;

	held(&w);
	ck_assert(strstr(after(&w, LEASE_MS / 3), "renew a#1@3") != NULL);
	move(&w, 2, "master-9");
	(void)AT(&w, 2, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert(!lease_vote_is_ours(lease_named(&w, "a"), 2));
	(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_int_lt(left_ms(&w, "a"), LEASE_MS * 9 / 10);
	(void)AT(&w, 1, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_int_gt(left_ms(&w, "a"), LEASE_MS * 9 / 10);
	story_done(&w);
}
END_TEST

/* All who are still asked are gone with the move: the round is over, and another one begins in time. */
START_TEST(a_round_that_nobody_is_left_to_answer_is_begun_anew)
{
	struct story w;

	held(&w);
	(void)AT(&w, 1, link_down(&w, "refused"));
	/* Early, as for tokens: it is not looked at merely because a master's state changes. */
	(void)after(&w, 10);
	by_hand(&w);
	renew_begin(w.core, lease_named(&w, "a"));
	w.core->actions = NULL;
	ck_assert_uint_eq(calls_to(&w, CALL_RENEW, 2), 1);
	(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	move(&w, 2, "master-9");
	ck_assert_str_eq(after(&w, 60), "renew a#1@1");
	story_done(&w);
}
END_TEST

START_TEST(an_acquire_whose_master_has_moved_is_decided_by_the_others)
{
	struct story w;

	story_among(&w, 3);
	lock(&w, 1, "a");
	(void)AT(&w, 1, granted(&w, "a", 1, 500));
	move(&w, 0, "master-9");
	(void)AT(&w, 2, granted(&w, "a", 1, 500));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	story_done(&w);
}
END_TEST

START_TEST(nothing_is_released_at_a_server_that_was_never_asked)
{
	struct story w;

	held(&w);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1@1 | release a#1@2 | release a#1@3");
	move(&w, 2, "master-9");
	ck_assert_ptr_nonnull(w.core->leases->releases);
	for (unsigned i = 0; i < 2; i++)
		(void)AT(&w, i, answer(&w, CALL_RELEASE, OUTCOME_YES, "a", 1));
	ck_assert_ptr_null(w.core->leases->releases);
	(void)AT(&w, 2, answer(&w, CALL_RELEASE, OUTCOME_UNKNOWN, "a", 1));
	ck_assert_ptr_null(w.core->leases->releases);
	story_done(&w);
}
END_TEST

/* The server that the slot becomes has stored a nonce of this daemon, sent through the newcomer's slot. */
START_TEST(the_nonces_that_a_server_has_heard_go_along)
{
	struct story w;
	char nonces[sizeof(w.core->masters[0].nonces)];

	story_among(&w, 3);
	move(&w, 3, "master-9");
	ck_assert_str_eq(AT(&w, 3, link_up(&w)), "hello@4");
	memcpy(nonces, w.core->masters[3].nonces, sizeof(nonces));
	ck_assert_uint_eq(w.core->masters[3].nonces_drawn, 1);
	move(&w, 2, "master-9");
	move(&w, 3, "");
	ck_assert_str_eq(w.core->masters[3].place, "");
	ck_assert_str_eq(AT(&w, 2, link_up(&w)), "hello@3");
	ck_assert_uint_eq(w.core->masters[2].nonces_drawn, 2);
	ck_assert(memcmp(w.core->masters[2].nonces + MASTER_NONCE_SIZE, nonces, MASTER_NONCE_SIZE) == 0);
	story_done(&w);
}
END_TEST

START_TEST(the_nonces_of_a_server_that_comes_back_are_remembered)
{
	struct story w;
	char nonce[MASTER_NONCE_SIZE];

	story_among(&w, 3);
	w.core->masters[2].mark = 4711;
	memcpy(nonce, w.core->masters[2].nonces, sizeof(nonce));
	move(&w, 2, "master-9");
	ck_assert_uint_eq(w.core->masters[2].nonces_drawn, 0);
	ck_assert_int_eq(w.core->masters[2].mark, 0);
	/* Others come and leave meanwhile, again and again. */
	for (unsigned i = 0; i < 2 * RETIRED_MAX + 1; i++) {
		move(&w, 3, i % 2 == 0 ? "master-8" : "master-7");
		(void)AT(&w, 3, link_up(&w));
	}
	move(&w, 3, "master-3");
	ck_assert_uint_eq(w.core->masters[3].nonces_drawn, 1);
	ck_assert(memcmp(w.core->masters[3].nonces, nonce, sizeof(nonce)) == 0);
	ck_assert_int_eq(w.core->masters[3].mark, 4711);
	story_done(&w);
}
END_TEST

START_TEST(slots_that_are_closed_are_not_shown)
{
	struct story w;
	struct master_view view;

	story_among(&w, 3);
	move(&w, 4, "master-9");
	ck_assert_uint_eq(core_members(w.core), 3);
	ck_assert_uint_eq(core_masters(w.core), 4);
	core_view_master(w.core, w.now.ms, 3, &view);
	ck_assert_str_eq(view.place, "master-9");
	move(&w, 3, "master-8");
	ck_assert_uint_eq(core_masters(w.core), 5);
	core_view_master(w.core, w.now.ms, 3, &view);
	ck_assert_str_eq(view.place, "master-8");
	story_done(&w);
}
END_TEST

START_TEST(a_newcomer_before_it_is_a_member_has_no_vote_and_no_guard_of_ours)
{
	struct story w;

	story_among(&w, 1);
	move(&w, 1, "master-2");
	(void)AT(&w, 1, link_up(&w));
	w.core->masters[1].state = MASTER_GUARDED;
	w.core->masters[1].admit_at_ms = w.now.ms;
	w.core->masters[1].links[0].identified = true;
	timer_arm(&w.core->timers, &w.core->masters[1].timer, w.now.ms + 5);
	ck_assert_ptr_null(strstr(after(&w, 10), "admit"));
	ck_assert_str_eq(AT(&w, 0, lock(&w, 1, "a")), "acquire a#1");
	(void)granted(&w, "a", 1, 500);
	/* What it publishes is nobody's concern. */
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WANT, .master = 1, .name = SLICE("a")}), "");
	ck_assert(!lease_wanted(lease_named(&w, "a")));
	story_done(&w);
}
END_TEST

/* One master gave it; now there are three. */
static void
grown(struct story *w)
{
	story_among(w, 1);
	lock(w, 1, "a");
	ck_assert_str_eq(granted(w, "a", 1, 500), "c1 :500");
	ck_assert_ptr_null(lease_named(w, "a")->round);
	grow(w, 3);
}

START_TEST(a_hold_of_one_master_goes_on_among_three)
{
	struct story w;
	int64_t valid_until_ms;

	grown(&w);
	valid_until_ms = lease_held(lease_named(&w, "a"))->valid_until_ms;
	ck_assert_uint_eq(quorum_majority(w.core), 2);
	ck_assert_uint_eq(lease_votes_ours(w.core, lease_named(&w, "a")), 1);
	ck_assert_int_eq(lease_votes_valid_until_ms(w.core, lease_named(&w, "a")), valid_until_ms - 1);
	/* Its own token counter is at the name from here on. */
	ck_assert(strstr(after(&w, LEASE_MS / 3), "renew a#1@1") != NULL);
	ck_assert(last_call(&w)->fenced);
	(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	/* One of three prolongs nothing. */
	ck_assert_int_eq(lease_held(lease_named(&w, "a"))->valid_until_ms, valid_until_ms);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :647");
	story_done(&w);
}
END_TEST

START_TEST(newcomers_are_asked_to_reclaim_and_then_to_renew)
{
	struct story w;

	grown(&w);
	for (unsigned i = 1; i < 3; i++) {
		(void)AT(&w, i, link_up(&w));
		ck_assert(strstr(hello(&w, false, 100 + i), "reclaim a#1") != NULL);
		(void)answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1);
	}
	ck_assert_uint_eq(lease_votes_ours(w.core, lease_named(&w, "a")), 3);
	for (unsigned i = 1; i < 3; i++)
		(void)AT(&w, i, hello(&w, true, 100 + i));
	(void)after(&w, LEASE_MS / 3);
	ck_assert_uint_eq(calls_to(&w, CALL_RENEW, 1), 1);
	ck_assert_uint_eq(calls_to(&w, CALL_RENEW, 2), 1);
	for (unsigned i = 1; i < 3; i++)
		(void)AT(&w, i, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_int_gt(left_ms(&w, "a"), LEASE_MS * 9 / 10);
	story_done(&w);
}
END_TEST

/* The newcomers of a single master, guarded, and asked to reclaim. */
static void
reclaimed(struct story *w)
{
	grown(w);
	for (unsigned i = 1; i < 3; i++) {
		(void)AT(w, i, link_up(w));
		(void)hello(w, false, 100 + i);
	}
	(void)after(w, LEASE_MS / 3);
	for (unsigned i = 1; i < 3; i++)
		(void)AT(w, i, answer(w, CALL_RECLAIM, OUTCOME_YES, "a", 1));
}

START_TEST(the_first_newcomers_beside_a_single_master_prolong_what_it_gave)
{
	struct story w;

	reclaimed(&w);
	/* That was before this round. */
	ck_assert_int_lt(left_ms(&w, "a"), LEASE_MS * 7 / 10);
	(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	for (unsigned i = 1; i < 3; i++)
		(void)AT(&w, i, answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1));
	ck_assert_int_gt(left_ms(&w, "a"), LEASE_MS * 9 / 10);
	story_done(&w);
}
END_TEST

/* Since the single master answered under the set of before, a guard may have passed: a newcomer may have been
 * admitted, have given its vote, and have forgotten that. */
START_TEST(newcomers_prolong_nothing_once_they_can_have_been_admitted)
{
	struct story w;
	int64_t valid_until_ms;

	reclaimed(&w);
	valid_until_ms = lease_held(lease_named(&w, "a"))->valid_until_ms;
	w.core->quorum->newcomers_until_ms = w.now.ms;
	core_changed(w.core, CHANGE_SET);
	ledger_drain(w.core);
	(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	for (unsigned i = 1; i < 3; i++)
		(void)AT(&w, i, answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1));
	ck_assert_int_eq(lease_held(lease_named(&w, "a"))->valid_until_ms, valid_until_ms);
	story_done(&w);
}
END_TEST

/* Until a newcomer stores the set, the single master may not either, and grants the name to other daemons. */
START_TEST(newcomers_prolong_nothing_before_they_store_the_set)
{
	for (unsigned stores = 0; stores < 2; stores++) {
		struct story w;
		int64_t valid_until_ms;

		reclaimed(&w);
		valid_until_ms = lease_held(lease_named(&w, "a"))->valid_until_ms;
		for (unsigned i = 1; i < 3; i++) {
			struct master *m = &w.core->masters[i];

			/* It has taken a new memory with the set since it was asked. */
			m->incarnation += stores;
			m->enrolled = stores > 0;
		}
		(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
		for (unsigned i = 1; i < 3; i++)
			(void)AT(&w, i, answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1));
		ck_assert_int_eq(lease_held(lease_named(&w, "a"))->valid_until_ms, valid_until_ms);
		story_done(&w);
	}
}
END_TEST

START_TEST(how_long_newcomers_cannot_have_been_admitted_counts_from_a_hello_before)
{
	struct story w;
	int64_t hello_ms;

	story_among(&w, 1);
	hello_ms = w.now.ms;
	(void)after(&w, 100);
	grow(&w, 3);
	ck_assert_int_eq(w.core->quorum->newcomers_until_ms,
		hello_ms + LEASE_MS + MARGIN_MS - drift_ms(LEASE_MS + MARGIN_MS));
	/* Any other change of the set ends it: it was not the single master alone any more. */
	move(&w, 1, "master-9");
	ck_assert_int_eq(w.core->quorum->newcomers_until_ms, 0);
	story_done(&w);
	story_among(&w, 3);
	grow(&w, 5);
	ck_assert_int_eq(w.core->quorum->newcomers_until_ms, 0);
	story_done(&w);
	/* It has never answered HELLO well. */
	story_init(&w);
	grow(&w, 3);
	ck_assert_int_eq(w.core->quorum->newcomers_until_ms, 0);
	story_done(&w);
}
END_TEST

START_TEST(the_single_master_itself_is_no_newcomer)
{
	struct story w;
	int64_t valid_until_ms;

	reclaimed(&w);
	(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_FORGOTTEN, "a", 1));
	valid_until_ms = lease_held(lease_named(&w, "a"))->valid_until_ms;
	(void)hello(&w, false, 777);
	ck_assert_uint_eq(calls_to(&w, CALL_RECLAIM, 0), 1);
	(void)answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1);
	ck_assert_int_le(lease_vote_of(lease_named(&w, "a"), 0)->valid_until_ms, valid_until_ms);
	story_done(&w);
}
END_TEST

START_TEST(a_new_lease_takes_two_of_the_three)
{
	struct story w;

	story_among(&w, 1);
	lock(&w, 1, "a");
	grow(&w, 3);
	/* Granted by the one master there was: that is no majority any more. */
	ck_assert_str_eq(AT(&w, 0, granted(&w, "a", 1, 500)), "release a#1@1 | leave a#1@1");
	ck_assert_str_eq(lock_once(&w, 2, "b"), "c2 -NOMASTER");
	ck_assert_str_eq(w.actions.list[0].u.reply.text,
		"only 1 of 3 masters can be used: master-2 is not reachable; master-3 is not reachable");
	for (unsigned i = 1; i < 3; i++) {
		(void)AT(&w, i, link_up(&w));
		(void)hello(&w, true, 100 + i);
	}
	ck_assert_ptr_nonnull(strstr(lock(&w, 3, "c"), "acquire c"));
	story_done(&w);
}
END_TEST

START_TEST(three_become_five)
{
	struct story w;
	int64_t valid_until_ms;

	held(&w);
	valid_until_ms = lease_held(lease_named(&w, "a"))->valid_until_ms;
	grow(&w, 5);
	ck_assert_int_eq(lease_votes_valid_until_ms(w.core, lease_named(&w, "a")), valid_until_ms);
	(void)after(&w, LEASE_MS / 3);
	for (unsigned i = 0; i < 3; i++)
		(void)AT(&w, i, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_int_gt(left_ms(&w, "a"), LEASE_MS * 9 / 10);
	story_done(&w);
}
END_TEST

START_TEST(permits_go_on_too)
{
	struct story w;
	struct command permits = {
		.verb = VERB_LOCK, .name = SLICE("p"), .kind = KIND_PERMITS, .limit = 3, .permits = 1};

	story_among(&w, 1);
	run(&w, 1, permits);
	ck_assert_str_eq(vote(&w, (struct vote){.op = CALL_ACQUIRE,
					  .name = SLICE("p"),
					  .attempt = 1,
					  .token_first = 5,
					  .token_last = 9,
					  .slots = SLICE("2")}),
		"c1 :5 | renew p#1 1 of 3: 2");
	(void)answer(&w, CALL_RENEW, OUTCOME_YES, "p", 1);
	grow(&w, 3);
	ck_assert(strstr(after(&w, LEASE_MS / 3), "renew p#1@1 1 of 3: 2") != NULL);
	(void)AT(&w, 0, answer(&w, CALL_RENEW, OUTCOME_YES, "p", 1));
	ck_assert_ptr_nonnull(strstr(unlock(&w, 1, "p"), "c1 :0"));
	(void)AT(&w, 0, answer(&w, CALL_RELEASE, OUTCOME_YES, "p", 1));
	story_done(&w);
}
END_TEST

/* The memory of a name is made for the votes of its day, and used for other kinds of locks in between. */
START_TEST(a_name_that_was_one_of_permits_has_room_for_its_votes)
{
	struct story w;
	struct command permits = {.kind = KIND_PERMITS, .limit = 3, .permits = 1},
		       plain = {.kind = KIND_EXCLUSIVE};
	struct resource *r;

	story_among(&w, 1);
	r = resource_get(w.core, SLICE("q"));
	ck_assert_ptr_nonnull(r);
	mode_join(w.core, r, &permits);
	grow(&w, 3);
	mode_join(w.core, r, &plain);
	lease_vote_of(&r->lease, 2)->valid_until_ms = 7;
	ck_assert(slice_equal(resource_name(r), SLICE("q")));
	mode_join(w.core, r, &permits);
	mode_join(w.core, r, &plain);
	ck_assert_int_eq(lease_vote_of(&r->lease, 2)->valid_until_ms, 0);
	story_done(&w);
}
END_TEST

START_TEST(latches_end_with_the_single_master)
{
	struct story w;
	static const char refusal[] =
		"LATCH needs a single master, and this daemon has 3: use one that has one";

	story_among(&w, 1);
	ck_assert(!latch_known(w.core));
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_LATCH_AWAIT, .name = SLICE("l"), .wait_ms = -1}),
		"look l#1");
	(void)vote(&w,
		(struct vote){.op = CALL_LATCH, .name = SLICE("l"), .attempt = 1, .latch = {9, 2, 1, 5000}});
	ck_assert(latch_known(w.core));
	ck_assert_str_eq(
		run(&w, 2, (struct command){.verb = VERB_LATCH_DOWN, .name = SLICE("l"), .steps = 1}),
		"down l#2");
	for (unsigned i = 1; i < 3; i++)
		move(&w, i, i == 1 ? "master-2" : "master-3");
	by_hand(&w);
	masters_resize(w.core, 3);
	reconfigure(w.core);
	ck_assert(w.core->retry);
	latch_retry_all(w.core);
	w.core->actions = NULL;
	ck_assert_uint_eq(w.actions.n, 1);
	ck_assert_int_eq(w.actions.list[0].type, ACTION_REPLY);
	ck_assert_str_eq(w.actions.list[0].u.reply.text, refusal);
	/* What is under way is answered as it was. */
	set_is(&w, 3);
	ck_assert_str_eq(AT(&w, 0,
				 vote(&w, (struct vote){.op = CALL_LATCH,
						  .name = SLICE("l"),
						  .attempt = 2,
						  .latch = {9, 2, 0, 5000}})),
		"c2 :0");
	ck_assert(!latch_known(w.core));
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_LATCH_COUNT, .name = SLICE("l")}), "c1 -ERR");
	ck_assert_str_eq(w.actions.list[0].u.reply.text, refusal);
	story_done(&w);
}
END_TEST

START_TEST(the_same_server_in_another_way_keeps_its_votes)
{
	struct story w;

	story_among(&w, 1);
	lock(&w, 1, "a");
	(void)granted(&w, "a", 1, 500);
	by_hand(&w);
	master_reroute(w.core, &w.core->masters[0], SLICE("mymaster"), SLICE("sentinel"));
	w.core->actions = NULL;
	ck_assert_uint_eq(w.actions.n, 1);
	ck_assert_int_eq(w.actions.list[0].type, ACTION_MASTER);
	ck_assert(lease_vote_is_ours(lease_named(&w, "a"), 0));
	ck_assert_str_eq(link_down(&w, "the way to it is another"), "");
	ck_assert_str_eq(link_up(&w), "hello");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	story_done(&w);
}
END_TEST

/* Whether the HELLOs of the slot name each nonce of the other list as their own. */
static void
knows(const struct master *m, const char *nonces, size_t n)
{
	struct slice all = nonces_of(m);

	for (size_t i = 0; i < n; i++) {
		bool known = false;

		for (size_t at = 0; at < all.n; at += MASTER_NONCE_SIZE)
			known |= memcmp(all.p + at, nonces + i * MASTER_NONCE_SIZE, MASTER_NONCE_SIZE) == 0;
		ck_assert(known);
	}
}

/* The name leads to a server that has sent the newcomer's slot HELLO: after a failover it stores that nonce.
 */
START_TEST(a_master_that_is_reached_in_another_way_knows_what_the_newcomer_sent)
{
	struct story w;
	char nonces[2][MASTER_NONCE_SIZE];

	story_among(&w, 1);
	move(&w, 1, "mymaster");
	(void)AT(&w, 1, link_up(&w));
	memcpy(nonces[0], w.core->masters[0].nonces, MASTER_NONCE_SIZE);
	memcpy(nonces[1], w.core->masters[1].nonces, MASTER_NONCE_SIZE);
	by_hand(&w);
	master_reroute(w.core, &w.core->masters[0], SLICE("mymaster"), SLICE("url"));
	w.core->actions = NULL;
	move(&w, 1, "");
	(void)AT(&w, 0, link_down(&w, "the way to it is another"));
	w.core->masters[0].nonce_until_ms = w.now.ms;
	(void)link_up(&w);
	ck_assert_uint_eq(w.core->masters[0].nonces_drawn, 3);
	knows(&w.core->masters[0], nonces[0], 2);
	story_done(&w);
}
END_TEST

static bool
told_cloned(struct story *w)
{
	struct vote told = {.op = CALL_HELLO, .hello = HELLO_CLONED, .text = SLICE("run-1")};

	told.attempt = w->core->masters[0].hello_serial;
	w->core->masters[0].links[0].hello_under_way = true;
	(void)vote(w, told);
	return core_ended(w->core);
}

/* The newcomer is the member by another name, and its HELLO registered first in a new memory. It may have
 * been closed before it was answered. A copy's nonce is in no slot: then the second answer ends the daemon.
 */
START_TEST(a_hello_through_a_newcomers_slot_is_no_copy)
{
	for (unsigned closed = 0; closed < 2; closed++) {
		struct story w;
		char nonce[MASTER_NONCE_SIZE];

		story_among(&w, 1);
		move(&w, 1, "mymaster");
		(void)AT(&w, 1, link_up(&w));
		memcpy(nonce, w.core->masters[1].nonces, sizeof(nonce));
		if (closed)
			move(&w, 1, "");
		w.at = 0;
		ck_assert(!told_cloned(&w));
		knows(&w.core->masters[0], nonce, 1);
		ck_assert(told_cloned(&w));
		story_done(&w);
	}
}
END_TEST

/* The next HELLO to this master has a nonce of its own. */
static void
draw_nonce(struct story *w, struct master *m)
{
	uint64_t drawn = m->nonces_drawn;

	w->now.ms += MASTER_NONCE_MS;
	w->core->now.ms = w->now.ms;
	nonces_draw(w->core, m);
	ck_assert_uint_le(m->nonces_drawn, drawn + 1);
}

/* Long lists: the newest of both stay, all that may be stored among them, and the next HELLO can be told
 * apart. */
START_TEST(two_full_lists_of_nonces_keep_the_newest_of_both)
{
	struct story w;
	struct master *m, *o;

	story_among(&w, 1);
	move(&w, 1, "mymaster");
	m = &w.core->masters[0];
	o = &w.core->masters[1];
	for (unsigned i = 0; i < 3 * MASTER_NONCES; i++) {
		draw_nonce(&w, m);
		m->nonce_answered = m->nonces_drawn;
		draw_nonce(&w, o);
		o->nonce_answered = o->nonces_drawn - 1;
	}
	by_hand(&w);
	master_reroute(w.core, m, SLICE("mymaster"), SLICE("url"));
	w.core->actions = NULL;
	ck_assert_uint_le(m->nonce_answered, m->nonces_drawn);
	for (unsigned i = 0; i < 2 * MASTER_NONCES; i++)
		draw_nonce(&w, m);
	knows(m, o->nonces, 2);
	story_done(&w);
}
END_TEST

/* The other slot has had no GOOD for 40 HELLOs: the server may store the nonce of any of them. */
START_TEST(open_nonces_of_a_full_list_push_out_those_that_are_not)
{
	struct story w;
	struct master *m, *o;

	story_among(&w, 1);
	move(&w, 1, "mymaster");
	m = &w.core->masters[0];
	o = &w.core->masters[1];
	for (unsigned i = 0; i < 2 * MASTER_NONCES; i++) {
		draw_nonce(&w, m);
		m->nonce_answered = m->nonces_drawn;
		draw_nonce(&w, o);
		if (i < 2 * MASTER_NONCES - 40)
			o->nonce_answered = o->nonces_drawn;
	}
	by_hand(&w);
	master_reroute(w.core, m, SLICE("mymaster"), SLICE("url"));
	w.core->actions = NULL;
	knows(m, o->nonces, 41);
	story_done(&w);
}
END_TEST

/* Both have had no GOOD for long: what each was told last, and what it sent since then first and last, stays.
 */
START_TEST(too_many_open_nonces_keep_the_oldest_and_the_latest)
{
	struct story w;
	struct master *m, *o;

	story_among(&w, 1);
	move(&w, 1, "mymaster");
	m = &w.core->masters[0];
	o = &w.core->masters[1];
	for (unsigned i = 0; i < MASTER_NONCES - 1; i++) {
		draw_nonce(&w, m);
		draw_nonce(&w, o);
		if (i == 0)
			m->nonce_answered = o->nonce_answered = 1;
	}
	by_hand(&w);
	master_reroute(w.core, m, SLICE("mymaster"), SLICE("url"));
	w.core->actions = NULL;
	knows(m, o->nonces, 8);
	knows(m, o->nonces + (MASTER_NONCES - 1 - 8) * MASTER_NONCE_SIZE, 8);
	story_done(&w);
}
END_TEST

static int64_t
cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* What it takes is said, for people; that it is done for all at once is checked. */
START_TEST(a_hundred_thousand_holds_grow_in_one_turn)
{
	enum { MANY = 100000 };
	struct story w;
	int64_t began_us, grown_us, moved_us;

	story_among(&w, 1);
	for (unsigned i = 0; i < MANY; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%u", i);
		ck_assert_ptr_nonnull(resource_get(w.core, slice_of(name)));
	}
	for (unsigned i = 1; i < 3; i++)
		move(&w, i, i == 1 ? "master-2" : "master-3");
	by_hand(&w);
	began_us = cpu_us();
	masters_resize(w.core, 3);
	reconfigure(w.core);
	grown_us = cpu_us();
	w.core->actions = NULL;
	move(&w, 2, "master-9");
	moved_us = cpu_us();
	(void)printf("grown in %lld us, moved in %lld us\n", (long long)(grown_us - began_us),
		(long long)(moved_us - grown_us));
	ck_assert_uint_eq(lease_named(&w, "n77777")->votes, 0);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("move", NULL, NULL, a_slot_that_moves_is_away_and_says_where_it_is_reached,
		a_hold_goes_on_with_the_votes_that_it_has_left,
		what_the_previous_server_said_prolongs_nothing,
		an_answer_of_the_previous_server_counts_no_more,
		a_round_that_nobody_is_left_to_answer_is_begun_anew,
		an_acquire_whose_master_has_moved_is_decided_by_the_others,
		nothing_is_released_at_a_server_that_was_never_asked,
		the_nonces_that_a_server_has_heard_go_along,
		the_nonces_of_a_server_that_comes_back_are_remembered,
		a_master_that_is_reached_in_another_way_knows_what_the_newcomer_sent,
		a_hello_through_a_newcomers_slot_is_no_copy, two_full_lists_of_nonces_keep_the_newest_of_both,
		open_nonces_of_a_full_list_push_out_those_that_are_not,
		too_many_open_nonces_keep_the_oldest_and_the_latest,
		the_first_newcomers_beside_a_single_master_prolong_what_it_gave,
		newcomers_prolong_nothing_once_they_can_have_been_admitted,
		newcomers_prolong_nothing_before_they_store_the_set,
		how_long_newcomers_cannot_have_been_admitted_counts_from_a_hello_before,
		the_single_master_itself_is_no_newcomer, slots_that_are_closed_are_not_shown,
		a_newcomer_before_it_is_a_member_has_no_vote_and_no_guard_of_ours,
		a_hold_of_one_master_goes_on_among_three, newcomers_are_asked_to_reclaim_and_then_to_renew,
		a_new_lease_takes_two_of_the_three, three_become_five, permits_go_on_too,
		a_name_that_was_one_of_permits_has_room_for_its_votes, latches_end_with_the_single_master,
		the_same_server_in_another_way_keeps_its_votes, a_hundred_thousand_holds_grow_in_one_turn);
}
