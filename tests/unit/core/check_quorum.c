/*
 * Leases among several masters; stories as in check_core.c. Three masters, of which "home" has the queue of
 * the name: which one that is follows from the name and the masters' memories, so the stories ask for it.
 */
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define HEARD(w, at_, call) ((w)->at = (at_), (call))
#define HOME_MS             (LEASE_MS / 6) /* so long the word of home is waited for */

/* The masters in the order of this story: home, and the two others. */
struct trio {
	unsigned home;
	unsigned one;
	unsigned two;
};

/* Of the acquires just made. */
static struct trio
trio_of(const struct story *w)
{
	struct trio s = {.home = 9};

	for (size_t i = 0; i < w->actions.n; i++) {
		const struct action *a = &w->actions.list[i];

		if (a->type == ACTION_CALL && a->u.call.op == CALL_ACQUIRE &&
			a->u.call.queue_ms != CALL_QUEUELESS)
			s.home = a->u.call.master;
	}
	ck_assert_uint_lt(s.home, 3);
	s.one = (s.home + 1) % 3;
	s.two = (s.home + 2) % 3;
	return s;
}

static size_t
calls_of(const struct story *w, enum call_op op)
{
	size_t n = 0;

	for (size_t i = 0; i < w->actions.n; i++)
		n += w->actions.list[i].type == ACTION_CALL && w->actions.list[i].u.call.op == op;
	return n;
}

/* Three masters, and connection 1 asks for a. */
static struct trio
story_asked(struct story *w)
{
	story_among(w, 3);
	ck_assert_str_eq(lock(w, 1, "a"), "acquire a#1@1 | acquire a#1@2 | acquire a#1@3");
	return trio_of(w);
}

/* ... and all three give it. */
static struct trio
story_held(struct story *w)
{
	struct trio s = story_asked(w);

	ck_assert_str_eq(HEARD(w, s.home, granted(w, "a", 1, 500)), "");
	ck_assert_str_eq(HEARD(w, s.one, granted(w, "a", 1, 500)), "c1 :500");
	ck_assert_str_eq(HEARD(w, s.two, granted(w, "a", 1, 500)), "");
	return s;
}

START_TEST(one_of_three_is_not_enough_and_two_are)
{
	struct story w;
	struct trio s = story_asked(&w);

	ck_assert_str_eq(HEARD(&w, s.home, granted(&w, "a", 1, 500)), "");
	ck_assert_str_eq(HEARD(&w, s.one, granted(&w, "a", 1, 500)), "c1 :500");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	story_done(&w);
}
END_TEST

START_TEST(two_votes_wait_for_the_word_of_home)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.one, granted(&w, "a", 1, 500));
	ck_assert_str_eq(HEARD(&w, s.two, granted(&w, "a", 1, 500)), "");
	ck_assert_ptr_nonnull(
		strstr(HEARD(&w, s.home, answer(&w, CALL_ACQUIRE, OUTCOME_ERROR, "a", 1)), "c1 :500"));
	story_done(&w);
}
END_TEST

/* The two others grant it, and home names this attempt of another daemon. */
static void
home_names(struct story *w, struct trio s, uint64_t attempt, const char *holder)
{
	HEARD(w, s.one, granted(w, "a", attempt, 500));
	HEARD(w, s.two, granted(w, "a", attempt, 500));
	HEARD(w, s.home,
		vote(w, (struct vote){.op = CALL_ACQUIRE,
				.outcome = OUTCOME_BUSY,
				.name = slice_of("a"),
				.attempt = attempt,
				.holder = slice_of(holder),
				.position = 1,
				.change_ms = 500}));
}

START_TEST(two_votes_are_left_to_whom_home_gave_it_twice_while_he_tries)
{
	static const char *const holders[] = {
		"0123456789abcdef0123456789abcdef:9", "0123456789abcdef0123456789abcdef:a"};
	struct story w;
	struct trio s = story_asked(&w);

	for (uint64_t attempt = 1; attempt < 3; attempt++) {
		home_names(&w, s, attempt, holders[attempt - 1]);
		ck_assert_uint_eq(calls_of(&w, CALL_RELEASE), 2);
		after(&w, 10);
		ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 3);
	}
	home_names(&w, s, 3, "0123456789abcdef0123456789abcdef:b");
	ck_assert_ptr_nonnull(strstr(w.trace, "c1 :500"));
	/* There our place is still kept, before those who wait. */
	ck_assert_uint_eq(calls_of(&w, CALL_LEAVE), 1);
	ck_assert_uint_eq(last_call(&w)->master, s.home);
	story_done(&w);
}
END_TEST

START_TEST(two_votes_are_left_once_to_whom_home_gave_it_and_who_is_gone)
{
	const char *gone = "0123456789abcdef0123456789abcdef:9";
	struct story w;
	struct trio s = story_asked(&w);

	home_names(&w, s, 1, gone);
	ck_assert_uint_eq(calls_of(&w, CALL_RELEASE), 2);
	after(&w, 10);
	home_names(&w, s, 2, gone);
	ck_assert_ptr_nonnull(strstr(w.trace, "c1 :500"));
	story_done(&w);
}
END_TEST

START_TEST(not_our_turn_at_home_counts_whatever_the_others_say)
{
	struct story w;
	struct trio s = story_asked(&w);
	struct vote not_yet = {.op = CALL_ACQUIRE,
		.outcome = OUTCOME_BUSY,
		.name = slice_of("a"),
		.attempt = 1,
		.position = 2,
		.change_ms = 300};

	HEARD(&w, s.one, granted(&w, "a", 1, 500));
	HEARD(&w, s.two, granted(&w, "a", 1, 500));
	HEARD(&w, s.home, vote(&w, not_yet));
	ck_assert_uint_eq(calls_of(&w, CALL_RELEASE), 2);
	ck_assert_ptr_null(strstr(w.trace, "c1"));
	story_done(&w);
}
END_TEST

START_TEST(a_round_that_nobody_won_is_given_back_and_tried_again_soon)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	HEARD(&w, s.one, busy(&w, "a", 1));
	HEARD(&w, s.two,
		vote(&w, (struct vote){.op = CALL_ACQUIRE,
				 .outcome = OUTCOME_BUSY,
				 .name = slice_of("a"),
				 .attempt = 1,
				 .holder = slice_of("fedcba9876543210fedcba9876543210:7")}));
	ck_assert_uint_eq(calls_of(&w, CALL_RELEASE), 1);
	ck_assert_uint_eq(last_call(&w)->master, s.home);
	/* Home said that it is our turn: that it stays. */
	ck_assert_int_gt(last_call(&w)->queue_ms, 0);
	after(&w, 10);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 3);
	ck_assert_uint_eq(last_call(&w)->attempt >> ATTEMPT_RANDOM_BITS, 2);
	story_done(&w);
}
END_TEST

START_TEST(who_has_the_word_of_home_and_no_majority_comes_back_soon_and_leaves_when_it_has_enough)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	HEARD(&w, s.one, busy(&w, "a", 1));
	HEARD(&w, s.two, busy(&w, "a", 1));
	ck_assert_int_gt(last_call(&w)->queue_ms, 0);
	/* Only the first release says so. */
	HEARD(&w, s.home, answer(&w, CALL_RELEASE, OUTCOME_UNKNOWN, "a", 1));
	after(&w, 10);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 3);
	HEARD(&w, s.home, answer(&w, CALL_ACQUIRE, OUTCOME_ERROR, "a", 2));
	HEARD(&w, s.one, busy(&w, "a", 2));
	HEARD(&w, s.two, busy(&w, "a", 2));
	close_as(&w, 1, END_CLEAN);
	ck_assert_uint_eq(calls_of(&w, CALL_LEAVE), 1);
	ck_assert_uint_eq(last_call(&w)->master, s.home);
	story_done(&w);
}
END_TEST

/* Home gives it, each of the others has given it to somebody else. */
static void
nobody_wins(struct story *w, struct trio s, uint64_t attempt)
{
	HEARD(w, s.home, granted(w, "a", attempt, 500));
	HEARD(w, s.one, busy(w, "a", attempt));
	HEARD(w, s.two,
		vote(w, (struct vote){.op = CALL_ACQUIRE,
				.outcome = OUTCOME_BUSY,
				.name = slice_of("a"),
				.attempt = attempt,
				.holder = slice_of("fedcba9876543210fedcba9876543210:7")}));
}

static void
until_it_asks(struct story *w)
{
	do {
		after(w, 1);
	} while (calls_of(w, CALL_ACQUIRE) == 0);
}

START_TEST(a_turn_that_cannot_be_used_is_given_up_and_the_next_one_is_kept_again)
{
	struct story w;
	struct trio s = story_asked(&w);
	uint64_t attempt = 1;

	nobody_wins(&w, s, attempt);
	while (last_call(&w)->queue_ms > 0) {
		ck_assert_uint_lt(attempt, 10);
		until_it_asks(&w);
		nobody_wins(&w, s, ++attempt);
	}
	ck_assert_uint_gt(attempt, 4);
	until_it_asks(&w);
	HEARD(&w, s.one, busy(&w, "a", ++attempt));
	HEARD(&w, s.two, busy(&w, "a", attempt));
	HEARD(&w, s.home, busy(&w, "a", attempt));
	until_it_asks(&w);
	nobody_wins(&w, s, ++attempt);
	ck_assert_int_gt(last_call(&w)->queue_ms, 0);
	story_done(&w);
}
END_TEST

/* The masters' leases are those of daemons that are gone, and so nobody can win until they run out. */
START_TEST(a_turn_after_rounds_that_nobody_won_is_no_reason_to_ask_more_often)
{
	struct vote not_yet = {.op = CALL_ACQUIRE,
		.outcome = OUTCOME_BUSY,
		.name = slice_of("a"),
		.position = 2,
		.change_ms = 1};
	struct story w;
	struct trio s = story_asked(&w);
	uint64_t attempt = 1;
	int64_t lost_ms;

	for (; attempt < 10; attempt++) {
		nobody_wins(&w, s, attempt);
		until_it_asks(&w);
	}
	not_yet.attempt = attempt;
	HEARD(&w, s.home, vote(&w, not_yet));
	until_it_asks(&w);
	nobody_wins(&w, s, ++attempt);
	lost_ms = w.now.ms;
	until_it_asks(&w);
	ck_assert_int_ge(w.now.ms - lost_ms, 100);
	story_done(&w);
}
END_TEST

START_TEST(where_others_contend_a_silent_master_is_not_waited_for_with_a_minority_in_hand)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	HEARD(&w, s.one, busy(&w, "a", 1));
	after(&w, HOME_MS);
	ck_assert_uint_eq(calls_of(&w, CALL_RELEASE), 2);
	after(&w, 10);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 3);
	story_done(&w);
}
END_TEST

START_TEST(a_majority_that_names_one_holder_is_a_verdict_whatever_home_says)
{
	struct story w;
	struct trio s;

	story_among(&w, 3);
	lock_once(&w, 1, "a");
	s = trio_of(&w);
	HEARD(&w, s.home, answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "a", 1));
	HEARD(&w, s.one, busy(&w, "a", 1));
	HEARD(&w, s.two, busy(&w, "a", 1));
	ck_assert_str_eq(w.trace, "c1 null");
	story_done(&w);
}
END_TEST

START_TEST(tokens_count_only_where_a_majority_was_raised_alike)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	/* The lease is ours, but no token is: it is raised again above all that was answered. */
	HEARD(&w, s.one, granted(&w, "a", 1, 7000000000000000));
	ck_assert_ptr_null(strstr(w.trace, "c1"));
	ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 2);
	ck_assert_int_eq(last_call(&w)->token, 7000000000001000);
	HEARD(&w, s.two, granted(&w, "a", 1, 500));
	story_done(&w);
}
END_TEST

static const char *
renewed(struct story *w, int64_t token)
{
	return vote(w, (struct vote){.op = CALL_RENEW,
			       .outcome = OUTCOME_YES,
			       .name = SLICE("a"),
			       .attempt = 1,
			       .token_first = token,
			       .token_last = token + 31});
}

START_TEST(tokens_that_were_asked_for_in_vain_are_asked_for_further_ahead)
{
	struct story w;
	struct trio s = story_asked(&w);
	int64_t token = INT64_C(4000000000000000), highest = token + 999, ahead = 0;

	HEARD(&w, s.two, answer(&w, CALL_ACQUIRE, OUTCOME_ERROR, "a", 1));
	HEARD(&w, s.home, granted(&w, "a", 1, token - 5));
	HEARD(&w, s.one, granted(&w, "a", 1, token));
	for (int round = 0; round < 4; round++) {
		ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 2);
		token = last_call(&w)->token;
		ck_assert_int_gt(token - highest, ahead);
		ahead = token - highest;
		/* Others have taken more meanwhile, so that each goes on with its own. */
		token += 100;
		HEARD(&w, s.home, renewed(&w, token - 5));
		HEARD(&w, s.one, renewed(&w, token));
		highest = token + 31;
		ck_assert_ptr_null(strstr(w.trace, "c1"));
		do
			after(&w, 1);
		while (calls_of(&w, CALL_RENEW) == 0);
	}
	token = last_call(&w)->token;
	HEARD(&w, s.home, renewed(&w, token));
	ck_assert_ptr_nonnull(strstr(HEARD(&w, s.one, renewed(&w, token)), "c1 :"));
	story_done(&w);
}
END_TEST

/* The lease was given back, since another daemon waits, and is wanted again by connection 2: home is asked.
 */
static struct trio
story_yielded(struct story *w)
{
	struct trio s = story_held(w);

	lock(w, 2, "a");
	step(w, &(struct event){.type = EVENT_WANT, .name = SLICE("a")});
	after(w, w->settings.streak_ms);
	unlock(w, 1, "a");
	ck_assert_uint_eq(calls_of(w, CALL_RELEASE), 3);
	ck_assert_uint_eq(calls_of(w, CALL_ACQUIRE), 1);
	ck_assert_uint_eq(last_call(w)->master, s.home);
	return s;
}

START_TEST(who_yields_takes_no_master_from_the_other_daemon)
{
	struct story w;
	struct trio s = story_yielded(&w);

	HEARD(&w, s.home, busy(&w, "a", 2));
	ck_assert_ptr_null(last_call(&w));
	step(&w, &(struct event){.type = EVENT_WAKE, .master = s.home, .name = SLICE("a")});
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 3);
	story_done(&w);
}
END_TEST

START_TEST(who_yields_to_nobody_goes_on_to_the_others)
{
	struct story w;
	struct trio s = story_yielded(&w);

	HEARD(&w, s.home, granted(&w, "a", 2, 1500));
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 2);
	HEARD(&w, s.one, granted(&w, "a", 2, 1500));
	ck_assert_ptr_nonnull(strstr(w.trace, "c2 :1500"));
	story_done(&w);
}
END_TEST

START_TEST(who_yields_does_not_wait_for_a_silent_home)
{
	struct story w;
	struct trio s = story_yielded(&w);

	after(&w, HOME_MS);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 2);
	HEARD(&w, s.one, granted(&w, "a", 2, 1500));
	HEARD(&w, s.two, granted(&w, "a", 2, 1500));
	after(&w, HOME_MS);
	ck_assert_ptr_nonnull(strstr(w.trace, "c2 :1500"));
	story_done(&w);
}
END_TEST

#define SOMEBODY "0123456789abcdef0123456789abcdef:9"
#define ANOTHER  "fedcba9876543210fedcba9876543210:7"

/* Not free at home, where others stand before us. */
static const char *
busy_behind(struct story *w, uint64_t attempt, const char *holder, int64_t position)
{
	return vote(w, (struct vote){.op = CALL_ACQUIRE,
			       .outcome = OUTCOME_BUSY,
			       .name = slice_of("a"),
			       .attempt = attempt,
			       .holder = slice_of(holder),
			       .position = position,
			       .change_ms = 500});
}

START_TEST(who_stands_behind_others_asks_home_until_it_is_called)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.one, busy(&w, "a", 1));
	HEARD(&w, s.two, busy(&w, "a", 1));
	HEARD(&w, s.home, busy_behind(&w, 1, SOMEBODY, 2));
	after(&w, LEASE_MS / 3 + 1);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 1);
	ck_assert_uint_eq(last_call(&w)->master, s.home);
	HEARD(&w, s.home, busy_behind(&w, 2, ANOTHER, 2));
	step(&w, &(struct event){.type = EVENT_WAKE, .master = s.home, .name = SLICE("a")});
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 3);
	story_done(&w);
}
END_TEST

START_TEST(a_master_that_comes_and_goes_does_not_call_who_stands_behind_others)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.one, busy(&w, "a", 1));
	HEARD(&w, s.two, busy(&w, "a", 1));
	HEARD(&w, s.home, busy_behind(&w, 1, SOMEBODY, 2));
	HEARD(&w, s.one, link_down(&w, "reset"));
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 1);
	ck_assert_uint_eq(last_call(&w)->master, s.home);
	/* While that is asked it comes back; home is asked again at once, and still alone. */
	HEARD(&w, s.one, link_up(&w));
	HEARD(&w, s.one, hello(&w, true, MEMORY));
	HEARD(&w, s.home, busy_behind(&w, 2, ANOTHER, 2));
	after(&w, 3);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 1);
	ck_assert_uint_eq(last_call(&w)->master, s.home);
	story_done(&w);
}
END_TEST

/* What is in the way may be at home alone. */
static void
story_asks_on(const char *holder, int64_t position)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.one, busy(&w, "a", 1));
	HEARD(&w, s.two, busy(&w, "a", 1));
	HEARD(&w, s.home, busy_behind(&w, 1, SOMEBODY, 3));
	after(&w, LEASE_MS / 3 + 1);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 1);
	HEARD(&w, s.home, busy_behind(&w, 2, holder, position));
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 2);
	story_done(&w);
}

START_TEST(who_finds_itself_the_head_asks_the_others_too)
{
	story_asks_on(ANOTHER, 1);
}
END_TEST

START_TEST(who_finds_nothing_changed_asks_the_others_too)
{
	story_asks_on(SOMEBODY, 2);
}
END_TEST

START_TEST(a_master_that_is_not_home_any_more_calls_nobody)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.one, busy(&w, "a", 1));
	HEARD(&w, s.two, busy(&w, "a", 1));
	HEARD(&w, s.home, busy_behind(&w, 1, SOMEBODY, 2));
	step(&w, &(struct event){.type = EVENT_WAKE, .master = s.one, .name = SLICE("a")});
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 0);
	ck_assert_uint_eq(calls_of(&w, CALL_LEAVE), 1);
	ck_assert_uint_eq(last_call(&w)->master, s.one);
	story_done(&w);
}
END_TEST

START_TEST(the_head_of_the_queue_asks_all)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.one, busy(&w, "a", 1));
	HEARD(&w, s.two, busy(&w, "a", 1));
	HEARD(&w, s.home, busy_behind(&w, 1, SOMEBODY, 1));
	after(&w, LEASE_MS / 3 + 1);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 3);
	story_done(&w);
}
END_TEST

/* A yes to what was asked last, with these tokens. */
static const char *
given(struct story *w, enum call_op op, int64_t first, int64_t last)
{
	return vote(w, (struct vote){.op = op,
			       .name = slice_of("a"),
			       .attempt = 1,
			       .token_first = first,
			       .token_last = last});
}

/* Connections 1 and 2 hand the lock to each other until that makes the core ask for tokens. Who holds it
 * then. */
static conn_id
hand_over(struct story *w, conn_id holder)
{
	do {
		lock(w, 3 - holder, "a");
		unlock(w, holder, "a");
		holder = 3 - holder;
		ck_assert_ptr_nonnull(strstr(w->trace, holder == 1 ? "c1 :" : "c2 :"));
	} while (calls_of(w, CALL_RENEW) == 0);
	ck_assert_uint_eq(calls_of(w, CALL_RENEW), 3);
	return holder;
}

/* Tokens run short, and two masters disagree about the next ones. Who holds the lock. */
static conn_id
story_short_of_tokens(struct story *w, struct trio *s)
{
	conn_id holder;

	*s = story_asked(w);
	HEARD(w, s->home, given(w, CALL_ACQUIRE, 500, 509));
	HEARD(w, s->one, given(w, CALL_ACQUIRE, 500, 509));
	HEARD(w, s->two, given(w, CALL_ACQUIRE, 500, 509));
	holder = hand_over(w, 1);
	HEARD(w, s->home, given(w, CALL_RENEW, 600, 631));
	HEARD(w, s->one, given(w, CALL_RENEW, 900, 931));
	return holder;
}

START_TEST(tokens_that_the_last_answer_settles_are_followed_by_more_in_time)
{
	struct story w;
	struct trio s;
	conn_id holder = story_short_of_tokens(&w, &s);

	HEARD(&w, s.two, given(&w, CALL_RENEW, 600, 631));
	hand_over(&w, holder);
	story_done(&w);
}
END_TEST

/* PROTOCOL: what a master was raised to counts for as long as it remembers. */
START_TEST(tokens_of_a_memory_that_is_gone_do_not_count)
{
	struct story w;
	struct trio s;
	conn_id holder = story_short_of_tokens(&w, &s);
	unsigned grants = 0;

	HEARD(&w, s.home, hello(&w, false, MEMORY + 100));
	HEARD(&w, s.two, given(&w, CALL_RENEW, 600, 631));
	/* With them it could be handed on 32 times more often. */
	do {
		lock(&w, 3 - holder, "a");
		unlock(&w, holder, "a");
		holder = 3 - holder;
		grants++;
	} while (strstr(w.trace, " | ") != NULL && grants < 32);
	ck_assert_uint_lt(grants, 10);
	story_done(&w);
}
END_TEST

START_TEST(tokens_that_run_out_are_asked_for_again_before_the_lease_is_renewed)
{
	struct story w;
	struct trio s;
	conn_id holder = story_short_of_tokens(&w, &s);

	HEARD(&w, s.two, given(&w, CALL_RENEW, 700, 731));
	/* The answer to UNLOCK, and the other's to LOCK as long as there are tokens. */
	do {
		lock(&w, 3 - holder, "a");
		unlock(&w, holder, "a");
		holder = 3 - holder;
		ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 0);
	} while (strstr(w.trace, " | ") != NULL);
	after(&w, LEASE_MS / 20 + 1);
	ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 3);
	story_done(&w);
}
END_TEST

/* It was away when the round began, and the third master does not answer. */
START_TEST(a_round_asks_a_master_that_is_back_also_while_another_is_silent)
{
	struct story w;
	struct trio s = story_asked(&w);
	conn_id holder = 1;

	HEARD(&w, s.home, given(&w, CALL_ACQUIRE, 500, 509));
	HEARD(&w, s.one, given(&w, CALL_ACQUIRE, 500, 509));
	HEARD(&w, s.two, given(&w, CALL_ACQUIRE, 500, 509));
	HEARD(&w, s.one, link_down(&w, "reset"));
	after(&w, 10);
	do {
		lock(&w, 3 - holder, "a");
		unlock(&w, holder, "a");
		holder = 3 - holder;
	} while (calls_of(&w, CALL_RENEW) == 0);
	ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 2);
	HEARD(&w, s.one, link_up(&w));
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	HEARD(&w, s.home, given(&w, CALL_RENEW, 600, 631));
	after(&w, LEASE_MS / 8);
	ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 1);
	ck_assert_uint_eq(last_call(&w)->master, s.one);
	story_done(&w);
}
END_TEST

START_TEST(a_lease_lasts_as_long_as_the_older_half_of_its_majority)
{
	struct story w;
	struct trio s = story_held(&w);
	struct resource_view view;

	after(&w, 333);
	ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 3);
	HEARD(&w, s.home, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	/* One has kept it for longer; the majority is good for no longer than before. */
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :647");
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert(core_view_resource(w.core, w.now.ms, slice_of("a"), &view));
	ck_assert_uint_eq(view.votes, 3);
	story_done(&w);
}
END_TEST

START_TEST(a_vote_that_was_missed_is_acquired_and_not_renewed)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	HEARD(&w, s.one, granted(&w, "a", 1, 500));
	HEARD(&w, s.two, busy(&w, "a", 1));
	after(&w, 333);
	ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 2);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 1);
	HEARD(&w, s.two, granted(&w, "a", 1, 9000));
	HEARD(&w, s.home, answer(&w, CALL_RENEW, OUTCOME_NO, "a", 1));
	/* One of the first two says it is gone; with the repaired one there is a majority still. */
	ck_assert_ptr_null(strstr(w.trace, "c1"));
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_NO, "a", 1));
	/* A minority keeps others out for as long as was told; it asks for the rest again. */
	ck_assert_ptr_null(strstr(w.trace, "c1"));
	after(&w, 60);
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 2);
	HEARD(&w, s.home, busy(&w, "a", 1));
	ck_assert_ptr_null(strstr(w.trace, "c1"));
	/* Now somebody else has a majority. */
	HEARD(&w, s.one, busy(&w, "a", 1));
	ck_assert_ptr_nonnull(strstr(w.trace, "c1 close"));
	story_done(&w);
}
END_TEST

START_TEST(a_shorter_rule_shortens_no_key_below_what_was_told_when_most_votes_are_lost)
{
	static const struct rule shorter = {.match = "*", .lease_ms = LEASE_MS / 4, .wait_ms = -1};
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	HEARD(&w, s.one, granted(&w, "a", 1, 500));
	HEARD(&w, s.two, granted(&w, "a", 1, 500));
	after(&w, 333);
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	HEARD(&w, s.two, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	HEARD(&w, s.home, answer(&w, CALL_RENEW, OUTCOME_UNKNOWN, "a", 1));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	after(&w, 333);
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_NO, "a", 1));
	HEARD(&w, s.two, answer(&w, CALL_RENEW, OUTCOME_NO, "a", 1));
	core_set_rules(w.core, &shorter, 1);
	HEARD(&w, s.one, answer(&w, CALL_ACQUIRE, OUTCOME_UNKNOWN, "a", 1));
	HEARD(&w, s.two, answer(&w, CALL_ACQUIRE, OUTCOME_UNKNOWN, "a", 1));
	HEARD(&w, s.home, answer(&w, CALL_RENEW, OUTCOME_UNKNOWN, "a", 1));
	after(&w, 60);
	/* 988 ms were promised 333 + 60 ms ago. */
	ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 1);
	ck_assert_int_eq(last_call(&w)->ttl_ms, 595 + 5 + 2 + MARGIN_MS);
	story_done(&w);
}
END_TEST

START_TEST(a_minority_may_be_gone)
{
	struct story w;
	struct trio s;

	story_among(&w, 3);
	HEARD(&w, 2, link_down(&w, "Connection refused"));
	ck_assert_str_eq(lock(&w, 1, "a"), "acquire a#1@1 | acquire a#1@2");
	s = trio_of(&w);
	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	HEARD(&w, 1 - s.home, granted(&w, "a", 1, 500));
	ck_assert_str_eq(w.trace, "c1 :500");
	story_done(&w);
}
END_TEST

START_TEST(without_a_majority_the_answer_names_who_is_missing_and_why)
{
	struct story w;

	story_among(&w, 3);
	HEARD(&w, 0, link_down(&w, "Connection refused"));
	HEARD(&w, 2, link_down(&w, "timed out"));
	ck_assert_str_eq(lock_once(&w, 1, "a"), "c1 -NOMASTER");
	ck_assert_str_eq(w.actions.list[w.actions.n - 1].u.reply.text,
		"only 1 of 3 masters can be used: master-1 is not reachable: Connection refused; "
		"master-3 is not reachable: timed out");
	story_done(&w);
}
END_TEST

START_TEST(what_stands_in_the_way_is_what_most_masters_say)
{
	const enum outcome kind = OUTCOME_WRONGKIND, error = OUTCOME_ERROR;
	const struct {
		enum outcome home, one, two;
		const char *answer;
	} cases[] = {{kind, kind, error, "c1 -WRONGKIND"}, {error, kind, kind, "c1 -WRONGKIND"},
		{error, error, kind, "c1 -MASTERERR"}, {kind, error, error, "c1 -MASTERERR"},
		{OUTCOME_UNKNOWN, error, OUTCOME_UNKNOWN, "c1 -NOMASTER"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct story w;
		struct trio s;

		story_among(&w, 3);
		lock_once(&w, 1, "a");
		s = trio_of(&w);
		/* What is of another kind may be kept for nobody, and is asked for again. */
		for (uint64_t attempt = 1; attempt == 1 || strstr(w.trace, "acquire a#") != NULL; attempt++) {
			HEARD(&w, s.home, answer(&w, CALL_ACQUIRE, cases[i].home, "a", attempt));
			HEARD(&w, s.one, answer(&w, CALL_ACQUIRE, cases[i].one, "a", attempt));
			HEARD(&w, s.two, answer(&w, CALL_ACQUIRE, cases[i].two, "a", attempt));
			for (int ms = 0; ms < 200 && strstr(w.trace, "c1 ") == NULL &&
					 strstr(w.trace, "acquire") == NULL;
				ms++)
				after(&w, 1);
		}
		ck_assert_ptr_nonnull(strstr(w.trace, cases[i].answer));
		story_done(&w);
	}
}
END_TEST

START_TEST(a_silent_master_is_waited_for_once)
{
	struct story w;
	struct trio s = story_asked(&w);
	struct master_view view;

	HEARD(&w, s.one, granted(&w, "a", 1, 500));
	HEARD(&w, s.two, granted(&w, "a", 1, 500));
	/* Home says nothing: after a while the others are enough ... */
	ck_assert_ptr_nonnull(strstr(after(&w, HOME_MS), "c1 :500"));
	after(&w, 250);
	core_view_master(w.core, w.now.ms, s.home, &view);
	ck_assert(view.down);
	/* ... and nobody asks it again. */
	lock(&w, 2, "b");
	ck_assert_uint_eq(calls_of(&w, CALL_ACQUIRE), 2);
	story_done(&w);
}
END_TEST

START_TEST(a_master_that_forgot_is_told_and_its_word_is_no_vote)
{
	struct story w;
	struct trio s = story_held(&w);

	after(&w, 333);
	ck_assert_uint_eq(calls_of(&w, CALL_RENEW), 3);
	HEARD(&w, s.two, answer(&w, CALL_RENEW, OUTCOME_FORGOTTEN, "a", 1));
	HEARD(&w, s.two, hello(&w, false, MEMORY + 100));
	ck_assert_ptr_nonnull(strstr(w.trace, "reclaim a#1"));
	HEARD(&w, s.two, answer(&w, CALL_RECLAIM, OUTCOME_YES, "a", 1));
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	/* Asserted there, kept at one of the two that remember: that is one vote. */
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :647");
	HEARD(&w, s.home, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	story_done(&w);
}
END_TEST

/* The token of the admission that was just asked for; 0: none was. */
static int64_t
admitted_with(const struct story *w)
{
	for (size_t i = 0; i < w->actions.n; i++) {
		const struct action *a = &w->actions.list[i];

		if (a->type == ACTION_CALL && a->u.call.op == CALL_ADMIT)
			return a->u.call.token;
	}
	return 0;
}

START_TEST(a_guarded_master_is_admitted_above_what_the_others_remember)
{
	struct story w;
	const int64_t far = 1999000000000000;

	story_among(&w, 3);
	HEARD(&w, 2, hello(&w, false, MEMORY + 100));
	after(&w, GUARD_MS);
	/* The guard is over, but nobody has been asked since. */
	ck_assert_int_eq(admitted_with(&w), 0);
	w.at = 0;
	vote(&w, (struct vote){.op = CALL_HELLO, .admitted = true, .incarnation = MEMORY, .highest = 5});
	after(&w, 60);
	ck_assert_int_eq(admitted_with(&w), 0);
	w.at = 1;
	vote(&w,
		(struct vote){.op = CALL_HELLO, .admitted = true, .incarnation = MEMORY + 1, .highest = far});
	after(&w, 60);
	ck_assert_int_gt(admitted_with(&w), far);
	story_done(&w);
}
END_TEST

/* So long takes what a refusal of c1 says; -1: it says nothing of it. */
static long
resumes_in_ms(struct story *w)
{
	long ms = -1;

	ck_assert_str_eq(lock_once(w, 1, "a"), "c1 -GUARD");
	(void)sscanf(w->actions.list[0].u.reply.text, "new leases resume in %ld ms", &ms);
	return ms;
}

/* Whichever of three masters forgets first: two are needed, or one beside one that can be used. */
START_TEST(a_refusal_names_the_end_of_the_guard_that_makes_a_majority)
{
	for (unsigned first = 0; first < 3; first++) {
		struct story w;

		story_among(&w, 3);
		for (unsigned i = 0; i < 3; i++) {
			HEARD(&w, (first + i) % 3, hello(&w, false, MEMORY + 100 + i));
			if (i == 1)
				ck_assert_int_eq(resumes_in_ms(&w), GUARD_MS - 100);
			after(&w, 100);
		}
		ck_assert_int_eq(resumes_in_ms(&w), GUARD_MS - 200);
		story_done(&w);
	}
}
END_TEST

START_TEST(too_few_who_remember_are_not_waited_for_beyond_their_guards)
{
	struct story w;

	story_among(&w, 3);
	HEARD(&w, 2, hello(&w, false, MEMORY + 100));
	HEARD(&w, 0, link_down(&w, "Connection refused"));
	after(&w, GUARD_MS);
	ck_assert_int_eq(admitted_with(&w), 0);
	HEARD(&w, 1, hello(&w, true, MEMORY + 1));
	after(&w, 60);
	ck_assert_int_gt(admitted_with(&w), 0);
	story_done(&w);
}
END_TEST

START_TEST(a_daemon_with_other_limits_admits_nobody)
{
	struct story w;

	story_among(&w, 3);
	HEARD(&w, 2, hello(&w, false, MEMORY + 100));
	/* Two masters remember, and tell daemons with their limits. */
	for (w.at = 0; w.at < 2; w.at++)
		vote(&w, (struct vote){.op = CALL_HELLO, .hello = HELLO_MISMATCH, .text = SLICE("theirs")});
	for (int64_t ms = 0; ms < 3 * GUARD_MS; ms += 60) {
		after(&w, 60);
		ck_assert_int_eq(admitted_with(&w), 0);
	}
	story_done(&w);
}
END_TEST

START_TEST(the_same_server_twice_is_one)
{
	struct story w;
	struct master_view view;
	struct vote twin = {.op = CALL_HELLO, .admitted = true, .run = slice_of("abc")};

	story_among(&w, 3);
	twin.incarnation = MEMORY;
	HEARD(&w, 0, vote(&w, twin));
	twin.incarnation = MEMORY + 1;
	HEARD(&w, 1, vote(&w, twin));
	core_view_master(w.core, w.now.ms, 1, &view);
	ck_assert_int_eq(view.state, MASTER_REFUSED);
	ck_assert_ptr_nonnull(strstr(view.reason, "same server"));
	core_view_master(w.core, w.now.ms, 0, &view);
	ck_assert_int_eq(view.state, MASTER_ADMITTED);
	story_done(&w);
}
END_TEST

/* The HELLOs under way on the two links of a master. */
struct hellos {
	uint64_t attempt[2];
};

static void
hellos_see(const struct story *w, struct hellos *g)
{
	for (size_t i = 0; i < w->actions.n; i++) {
		const struct call *call = &w->actions.list[i].u.call;

		if (w->actions.list[i].type == ACTION_CALL && call->op == CALL_HELLO)
			g->attempt[call->link] = call->attempt;
	}
}

static void
hellos_begin(struct story *w, struct hellos *g)
{
	*g = (struct hellos){{0}};
	story_linked(w, 2);
	for (unsigned link = 0; link < 2; link++) {
		step(w, &(struct event){.type = EVENT_LINK_UP, .link = link});
		hellos_see(w, g);
	}
}

/* Until a HELLO is under way on this link again. */
static void
hellos_wait(struct story *w, struct hellos *g, unsigned link)
{
	for (int i = 0; i < 1000 && g->attempt[link] == 0; i++) {
		after(w, 10);
		hellos_see(w, g);
	}
	ck_assert_uint_ne(g->attempt[link], 0);
}

/* A server answers it: "a" and "b" have memories of their own. False: the master is refused. */
static bool
hellos_hear(struct story *w, struct hellos *g, unsigned link, const char *run)
{
	struct vote heard = {.op = CALL_HELLO, .link = link, .attempt = g->attempt[link]};
	struct master_view view;

	ck_assert_uint_ne(g->attempt[link], 0);
	g->attempt[link] = 0;
	heard.run = slice_of(run);
	heard.incarnation = MEMORY + (run[0] == 'b');
	vote(w, heard);
	hellos_see(w, g);
	core_view_master(w->core, w->now.ms, 0, &view);
	if (view.state == MASTER_REFUSED)
		ck_assert_ptr_nonnull(strstr(view.reason, "several servers in turn"));
	return view.state != MASTER_REFUSED;
}

START_TEST(a_name_of_several_servers_is_refused)
{
	struct story w;
	struct hellos g;

	hellos_begin(&w, &g);
	ck_assert(hellos_hear(&w, &g, 0, "a"));
	ck_assert(hellos_hear(&w, &g, 1, "b"));
	for (int i = 0; i < 3; i++) {
		hellos_wait(&w, &g, 0);
		(void)hellos_hear(&w, &g, 0, "a");
		hellos_wait(&w, &g, 1);
		(void)hellos_hear(&w, &g, 1, "b");
	}
	hellos_wait(&w, &g, 0);
	ck_assert(!hellos_hear(&w, &g, 0, "a"));
	/* They reach the same one. */
	step(&w, &(struct event){.type = EVENT_LINK_DOWN, .link = 1, .text = SLICE("reset")});
	g.attempt[1] = 0;
	hellos_wait(&w, &g, 0);
	ck_assert(hellos_hear(&w, &g, 0, "a"));
	story_done(&w);
}
END_TEST

/* One link after the other reaches the new server; what the old one had answered before may come late. */
START_TEST(a_failover_is_no_name_of_several_servers)
{
	struct story w;
	struct hellos g;

	hellos_begin(&w, &g);
	ck_assert(hellos_hear(&w, &g, 0, "a"));
	ck_assert(hellos_hear(&w, &g, 1, "a"));
	hellos_wait(&w, &g, 0);
	hellos_wait(&w, &g, 1);
	step(&w, &(struct event){.type = EVENT_LINK_DOWN, .link = 1, .text = SLICE("reset")});
	step(&w, &(struct event){.type = EVENT_LINK_UP, .link = 1});
	hellos_see(&w, &g);
	ck_assert(hellos_hear(&w, &g, 1, "b"));
	ck_assert(hellos_hear(&w, &g, 0, "a"));
	step(&w, &(struct event){.type = EVENT_LINK_DOWN, .text = SLICE("reset")});
	step(&w, &(struct event){.type = EVENT_LINK_UP});
	hellos_see(&w, &g);
	for (int i = 0; i < 3; i++) {
		hellos_wait(&w, &g, 0);
		ck_assert(hellos_hear(&w, &g, 0, "b"));
		hellos_wait(&w, &g, 1);
		ck_assert(hellos_hear(&w, &g, 1, "b"));
	}
	story_done(&w);
}
END_TEST

START_TEST(a_master_whose_clock_jumped_is_not_believed)
{
	struct story w;
	struct trio s = story_asked(&w);
	struct vote yes = {.op = CALL_ACQUIRE,
		.name = slice_of("a"),
		.attempt = 1,
		.token_first = 500,
		.token_last = 1499};

	w.jump_ms = 3600000;
	HEARD(&w, s.one, vote(&w, yes));
	/* The others are looked at, too, and this one is told. */
	ck_assert_uint_eq(calls_of(&w, CALL_HELLO), 3);
	ck_assert(w.actions.list[w.actions.n - 1].u.call.doubted == MEMORY + s.one);
	w.jump_ms = 0;
	/* Its yes is none: the others decide, and it is given back. */
	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	ck_assert_str_eq(w.trace, "");
	HEARD(&w, s.two, granted(&w, "a", 1, 500));
	ck_assert_str_eq(w.trace, "c1 :500");
	w.jump_ms = 3600000;
	HEARD(&w, s.one, hello(&w, false, MEMORY + 100));
	ck_assert_ptr_nonnull(strstr(w.trace, "reclaim a#1"));
	story_done(&w);
}
END_TEST

/* Others had doubted that memory, too, so it is given up with this HELLO. */
START_TEST(a_jump_counts_also_if_the_memory_was_given_up_for_it)
{
	struct story w;
	struct trio s = story_held(&w);

	w.jump_ms = LEASE_MS;
	ck_assert_ptr_nonnull(strstr(HEARD(&w, s.one, hello(&w, false, MEMORY + 100)), "reclaim a#1"));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	/* Our own clock stood still. */
	HEARD(&w, s.two, hello(&w, false, MEMORY + 200));
	ck_assert_ptr_nonnull(strstr(w.trace, "c1 close"));
	story_done(&w);
}
END_TEST

/* The first time only one of the others answers, the second time both. */
START_TEST(a_host_that_stood_still_twice_lost_both_times)
{
	struct story w;
	struct trio s = story_held(&w);

	w.jump_ms = LEASE_MS * 6 / 10;
	HEARD(&w, s.one, hello(&w, false, MEMORY + 100));
	w.jump_ms += LEASE_MS * 6 / 10;
	HEARD(&w, s.one, hello(&w, false, MEMORY + 100));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	HEARD(&w, s.two, hello(&w, true, MEMORY + s.two));
	ck_assert_ptr_nonnull(strstr(w.trace, "c1 close"));
	story_done(&w);
}
END_TEST

/* The HELLOs that tell of the first time are under way when the host stands still again: the masters read
 * them after that. */
START_TEST(a_host_that_stands_still_again_before_it_answers_a_hello_lost_both_times)
{
	struct story w;
	struct trio s = story_held(&w);

	w.jump_ms = LEASE_MS * 3 / 10;
	HEARD(&w, s.one, answer(&w, CALL_LEAVE, OUTCOME_NO, "b", 9));
	HEARD(&w, s.two, answer(&w, CALL_LEAVE, OUTCOME_NO, "b", 9));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :680");
	w.jump_ms += LEASE_MS * 3 / 10;
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	HEARD(&w, s.two, hello(&w, true, MEMORY + s.two));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :383");
	story_done(&w);
}
END_TEST

/* The clocks of both others have jumped: theirs, or our own stood still. */
static void
others_jump(struct story *w, struct trio s, int64_t jump_ms)
{
	w->jump_ms = jump_ms;
	HEARD(w, s.one, hello(w, false, MEMORY + 100));
	HEARD(w, s.two, hello(w, false, MEMORY + 200));
	w->jump_ms = 0;
}

/* A holder that is cut off cannot be told of the loss. */
START_TEST(what_jumps_of_most_clocks_end_is_given_back_when_what_was_told_is_over)
{
	struct story w;
	struct trio s = story_held(&w);

	close_as(&w, 1, END_ABANDONED);
	others_jump(&w, s, 3600000);
	ck_assert_ptr_null(strstr(w.trace, "release"));
	/* A master that is back is told of nothing earlier. */
	HEARD(&w, s.home, link_down(&w, "reset"));
	HEARD(&w, s.home, link_up(&w));
	HEARD(&w, s.home, hello(&w, true, MEMORY + s.home));
	ck_assert_ptr_null(strstr(w.trace, "release"));
	ck_assert_ptr_null(strstr(after(&w, 987), "release"));
	after(&w, 1);
	ck_assert_ptr_nonnull(strstr(w.trace, "release a#1"));
	story_done(&w);
}
END_TEST

/* In how many ms the lease of a is given back; the masters answer nothing meanwhile. */
static int
released_in(struct story *w)
{
	for (int ms = 1; ms < 2 * LEASE_MS; ms++)
		if (strstr(after(w, 1), "release a#1") != NULL)
			return ms;
	return -1;
}

/* It has not been told yet when its connection is lost. */
START_TEST(a_hold_that_jumps_shortened_is_withheld_for_as_long_as_was_told)
{
	struct story w;
	struct trio s = story_held(&w);

	others_jump(&w, s, LEASE_MS / 2);
	close_as(&w, 1, END_ABANDONED);
	ck_assert_int_eq(released_in(&w), 988);
	story_done(&w);
}
END_TEST

/* While its connection is lost a holder is told nothing, and the lease is renewed. */
START_TEST(what_jumps_end_is_given_back_when_what_was_told_before_a_cut_is_over)
{
	struct story w;
	struct trio s = story_held(&w);

	run(&w, 1, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 4 * LEASE_MS});
	close_as(&w, 1, END_ABANDONED);
	after(&w, LEASE_MS / 3);
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	HEARD(&w, s.two, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	others_jump(&w, s, 3600000);
	ck_assert_ptr_null(strstr(w.trace, "release"));
	ck_assert_int_eq(released_in(&w), 988 - LEASE_MS / 3);
	story_done(&w);
}
END_TEST

/* The masters still have the lease, and renew it. */
START_TEST(a_hold_that_jumps_shortened_is_withheld_also_on_a_lease_that_goes_on)
{
	struct story w;
	struct trio s = story_held(&w);

	w.jump_ms = LEASE_MS / 2;
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	HEARD(&w, s.two, hello(&w, true, MEMORY + s.two));
	close_as(&w, 1, END_ABANDONED);
	after(&w, LEASE_MS / 3);
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	HEARD(&w, s.two, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_int_eq(released_in(&w), 988 - LEASE_MS / 3);
	story_done(&w);
}
END_TEST

/* Nobody has been told of this part of an MLOCK: b is missing. */
START_TEST(what_jumps_end_of_an_mlock_before_its_answer_is_given_back_at_once)
{
	const struct slice names[] = {SLICE("a"), SLICE("b")};
	const struct trio s = {.home = 0, .one = 1, .two = 2};
	struct story w;

	story_among(&w, 3);
	run(&w, 1,
		(struct command){
			.verb = VERB_MLOCK, .wait_ms = COMMAND_WAIT_RULE, .names = names, .name_count = 2});
	for (unsigned i = 0; i < 3; i++)
		HEARD(&w, i, granted(&w, "a", 1, 500));
	others_jump(&w, s, 3600000);
	ck_assert_ptr_nonnull(strstr(w.trace, "release a#1"));
	story_done(&w);
}
END_TEST

/* Its session had no connection when it was granted. */
START_TEST(what_jumps_end_that_nobody_was_told_of_is_given_back_at_once)
{
	struct story w;
	struct trio s;

	story_among(&w, 3);
	run(&w, 1, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 4 * LEASE_MS});
	lock(&w, 1, "a");
	s = trio_of(&w);
	close_as(&w, 1, END_ABANDONED);
	for (unsigned i = 0; i < 3; i++)
		HEARD(&w, i, granted(&w, "a", 1, 500));
	others_jump(&w, s, 3600000);
	ck_assert_ptr_nonnull(strstr(w.trace, "release a#1"));
	story_done(&w);
}
END_TEST

/* Home was asked before the others, and answers nothing: its vote ends first, and earlier than we counted. */
START_TEST(time_that_a_host_stood_still_is_taken_off_also_where_a_master_is_silent)
{
	struct story w;
	struct trio s = story_held(&w);
	int64_t stood_ms = LEASE_MS * 3 / 10;

	after(&w, LEASE_MS / 3);
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :647");
	w.jump_ms = stood_ms;
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	HEARD(&w, s.two, hello(&w, true, MEMORY + s.two));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :350");
	/* That was all of it. */
	HEARD(&w, s.home, hello(&w, true, MEMORY + s.home));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :350");
	story_done(&w);
}
END_TEST

/* One of the two that show it has stepped back since, or the other one has gone ahead besides. */
START_TEST(where_a_master_is_silent_the_longest_standstill_that_shows_is_taken_off)
{
	struct story w;
	struct trio s = story_held(&w);
	int64_t stood_ms = LEASE_MS * 3 / 10;

	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	w.jump_ms = stood_ms;
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	w.jump_ms = stood_ms * 2 / 3;
	HEARD(&w, s.two, hello(&w, true, MEMORY + s.two));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :680");
	story_done(&w);
}
END_TEST

/* They renewed it before our host stood still, and we read that after the HELLOs that show it. */
START_TEST(a_standstill_is_taken_off_also_what_was_asked_for_before_it)
{
	struct story w;
	struct trio s = story_held(&w);

	after(&w, LEASE_MS / 3);
	w.jump_ms = LEASE_MS * 3 / 10;
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	HEARD(&w, s.two, hello(&w, true, MEMORY + s.two));
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	HEARD(&w, s.two, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :680");
	story_done(&w);
}
END_TEST

/* Any answer of this master, whose clock is ahead by so much. */
static const char *
shows(struct story *w, unsigned at, int64_t jump_ms)
{
	w->jump_ms = jump_ms;
	return HEARD(w, at, answer(w, CALL_LEAVE, OUTCOME_NO, "b", 9));
}

/* The answers to the HELLO that was under way, and to the one that leaves after all jumps. */
static void
catches_up(struct story *w, unsigned at, int64_t jump_ms)
{
	w->jump_ms = jump_ms;
	HEARD(w, at, hello(w, true, MEMORY + at));
	ck_assert_uint_eq(calls_of(w, CALL_HELLO), 1);
	HEARD(w, at, hello(w, true, MEMORY + at));
	ck_assert_uint_eq(calls_of(w, CALL_HELLO), 0);
}

/* The clock of the second was set back meanwhile, and does not show the first standstill. So the sum of what
 * it shows is less than that of the first. Of the second standstill home shows nothing. */
START_TEST(a_standstill_is_taken_off_in_full_where_an_earlier_one_did_not_show)
{
	struct story w;
	struct trio s = story_held(&w);
	int64_t first_ms = LEASE_MS * 2 / 10, second_ms = LEASE_MS * 3 / 10;

	shows(&w, s.one, first_ms);
	shows(&w, s.home, first_ms);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :779");
	catches_up(&w, s.one, first_ms);
	catches_up(&w, s.home, first_ms);
	catches_up(&w, s.two, 0);
	w.jump_ms = first_ms;
	after(&w, LEASE_MS / 3);
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	HEARD(&w, s.home, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	after(&w, LEASE_MS / 3);
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	/* Home has less than the first, and more than the second. */
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :647");
	shows(&w, s.one, first_ms + second_ms);
	/* So far it may be that clock alone. */
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :647");
	shows(&w, s.two, second_ms);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :350");
	story_done(&w);
}
END_TEST

/* Home reads a HELLO when the first of the others shows it, and has read that before the end of it. The
 * answer of the first was given in the midst of it. */
START_TEST(a_standstill_is_taken_off_once_whatever_earlier_answers_come_meanwhile)
{
	struct story w;
	struct trio s = story_held(&w);
	int64_t stood_ms = LEASE_MS * 3 / 10;

	after(&w, LEASE_MS / 3);
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	HEARD(&w, s.home, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	w.jump_ms = stood_ms / 2;
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	w.jump_ms = stood_ms;
	HEARD(&w, s.two, hello(&w, true, MEMORY + s.two));
	w.jump_ms = 0;
	HEARD(&w, s.home, hello(&w, true, MEMORY + s.home));
	w.jump_ms = stood_ms;
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	HEARD(&w, s.home, hello(&w, true, MEMORY + s.home));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :680");
	story_done(&w);
}
END_TEST

/* The first one is told of the jump before another one shows it. */
START_TEST(a_standstill_that_one_master_has_shown_counts_until_most_have)
{
	struct story w;
	struct trio s = story_held(&w);
	int64_t stood_ms = LEASE_MS * 3 / 10;

	after(&w, LEASE_MS / 3);
	HEARD(&w, s.one, answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1));
	w.jump_ms = stood_ms;
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	HEARD(&w, s.one, hello(&w, true, MEMORY + s.one));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :647");
	HEARD(&w, s.two, hello(&w, true, MEMORY + s.two));
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :350");
	story_done(&w);
}
END_TEST

START_TEST(a_step_within_the_margin_is_nothing)
{
	struct story w;
	struct trio s = story_asked(&w);

	w.jump_ms = MARGIN_MS / 2;
	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	HEARD(&w, s.one, granted(&w, "a", 1, 500));
	ck_assert_str_eq(w.trace, "c1 :500");
	story_done(&w);
}
END_TEST

START_TEST(what_is_given_back_is_released_at_every_master_that_may_have_it)
{
	struct story w;
	struct trio s = story_asked(&w);

	HEARD(&w, s.home, granted(&w, "a", 1, 500));
	HEARD(&w, s.one, granted(&w, "a", 1, 500));
	/* The third has not answered: it may still say yes. */
	unlock(&w, 1, "a");
	ck_assert_uint_eq(calls_of(&w, CALL_RELEASE), 3);
	story_done(&w);
}
END_TEST

START_TEST(a_guard_waits_for_the_masters_whose_links_a_hand_over_took_down)
{
	struct story w;

	story_among(&w, 3);
	w.at = 0;
	link_down(&w, "gone");
	link_up(&w);
	hello(&w, false, MEMORY + 50);
	after(&w, GUARD_MS - 50);
	core_unread(w.core, w.now.ms + 30000);
	for (w.at = 0; w.at < 3; w.at++)
		link_down(&w, "handed over");
	after(&w, 60);
	core_unread(w.core, w.now.ms);
	w.at = 0;
	link_up(&w);
	ck_assert_ptr_null(strstr(hello(&w, false, MEMORY + 50), "admit"));
	ck_assert_ptr_null(strstr(after(&w, 10), "admit"));
	for (w.at = 1; w.at < 3; w.at++) {
		link_up(&w);
		hello(&w, true, MEMORY + w.at);
	}
	ck_assert_ptr_nonnull(strstr(after(&w, 50), "admit"));
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("quorum", NULL, NULL, one_of_three_is_not_enough_and_two_are,
		two_votes_wait_for_the_word_of_home,
		two_votes_are_left_to_whom_home_gave_it_twice_while_he_tries,
		two_votes_are_left_once_to_whom_home_gave_it_and_who_is_gone,
		not_our_turn_at_home_counts_whatever_the_others_say,
		a_round_that_nobody_won_is_given_back_and_tried_again_soon,
		who_has_the_word_of_home_and_no_majority_comes_back_soon_and_leaves_when_it_has_enough,
		a_turn_that_cannot_be_used_is_given_up_and_the_next_one_is_kept_again,
		a_turn_after_rounds_that_nobody_won_is_no_reason_to_ask_more_often,
		where_others_contend_a_silent_master_is_not_waited_for_with_a_minority_in_hand,
		a_majority_that_names_one_holder_is_a_verdict_whatever_home_says,
		who_stands_behind_others_asks_home_until_it_is_called,
		a_master_that_comes_and_goes_does_not_call_who_stands_behind_others,
		who_finds_itself_the_head_asks_the_others_too, who_finds_nothing_changed_asks_the_others_too,
		a_master_that_is_not_home_any_more_calls_nobody, the_head_of_the_queue_asks_all,
		who_yields_takes_no_master_from_the_other_daemon, who_yields_to_nobody_goes_on_to_the_others,
		who_yields_does_not_wait_for_a_silent_home,
		tokens_count_only_where_a_majority_was_raised_alike,
		tokens_that_were_asked_for_in_vain_are_asked_for_further_ahead,
		tokens_that_the_last_answer_settles_are_followed_by_more_in_time,
		tokens_of_a_memory_that_is_gone_do_not_count,
		tokens_that_run_out_are_asked_for_again_before_the_lease_is_renewed,
		a_round_asks_a_master_that_is_back_also_while_another_is_silent,
		a_lease_lasts_as_long_as_the_older_half_of_its_majority,
		a_vote_that_was_missed_is_acquired_and_not_renewed,
		a_shorter_rule_shortens_no_key_below_what_was_told_when_most_votes_are_lost,
		a_minority_may_be_gone, without_a_majority_the_answer_names_who_is_missing_and_why,
		what_stands_in_the_way_is_what_most_masters_say, a_silent_master_is_waited_for_once,
		a_master_that_forgot_is_told_and_its_word_is_no_vote,
		a_guarded_master_is_admitted_above_what_the_others_remember,
		a_refusal_names_the_end_of_the_guard_that_makes_a_majority,
		too_few_who_remember_are_not_waited_for_beyond_their_guards,
		a_guard_waits_for_the_masters_whose_links_a_hand_over_took_down,
		a_daemon_with_other_limits_admits_nobody, the_same_server_twice_is_one,
		a_name_of_several_servers_is_refused, a_failover_is_no_name_of_several_servers,
		a_master_whose_clock_jumped_is_not_believed,
		a_jump_counts_also_if_the_memory_was_given_up_for_it,
		a_host_that_stood_still_twice_lost_both_times,
		a_host_that_stands_still_again_before_it_answers_a_hello_lost_both_times,
		time_that_a_host_stood_still_is_taken_off_also_where_a_master_is_silent,
		where_a_master_is_silent_the_longest_standstill_that_shows_is_taken_off,
		a_standstill_is_taken_off_also_what_was_asked_for_before_it,
		a_standstill_is_taken_off_in_full_where_an_earlier_one_did_not_show,
		a_standstill_is_taken_off_once_whatever_earlier_answers_come_meanwhile,
		a_standstill_that_one_master_has_shown_counts_until_most_have,
		what_jumps_of_most_clocks_end_is_given_back_when_what_was_told_is_over,
		a_hold_that_jumps_shortened_is_withheld_for_as_long_as_was_told,
		what_jumps_end_is_given_back_when_what_was_told_before_a_cut_is_over,
		a_hold_that_jumps_shortened_is_withheld_also_on_a_lease_that_goes_on,
		what_jumps_end_of_an_mlock_before_its_answer_is_given_back_at_once,
		what_jumps_end_that_nobody_was_told_of_is_given_back_at_once,
		a_step_within_the_margin_is_nothing,
		what_is_given_back_is_released_at_every_master_that_may_have_it);
}
