/*
 * MLOCK: all of several names or none; stories as in check_core.c.
 */
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 4

/* MLOCK or MUNLOCK of names with blanks between them. */
static const char *
ask(struct story *w, conn_id conn, struct command command, const char *names)
{
	struct slice list[NAMES_MAX];

	for (; *names != '\0'; names += strspn(names, " ")) {
		list[command.name_count++] = (struct slice){names, strcspn(names, " ")};
		names += strcspn(names, " ");
	}
	command.names = list;
	if (command.retries == 0)
		command.retries = COMMAND_RETRIES_ANY;
	return step(w, &(struct event){.type = EVENT_COMMAND, .conn = conn, .command = &command});
}

static const char *
mlock(struct story *w, conn_id conn, const char *names)
{
	return ask(w, conn, (struct command){.verb = VERB_MLOCK, .wait_ms = COMMAND_WAIT_RULE}, names);
}

static const char *
mlock_within(struct story *w, conn_id conn, int64_t wait_ms, const char *names)
{
	return ask(w, conn, (struct command){.verb = VERB_MLOCK, .wait_ms = wait_ms}, names);
}

static const char *
munlock(struct story *w, conn_id conn, const char *names)
{
	return ask(w, conn, (struct command){.verb = VERB_MUNLOCK}, names);
}

/* Somebody elsewhere has it, and we did not ask for a place in the queue. */
static const char *
taken(struct story *w, const char *name, uint64_t attempt)
{
	return vote(w, (struct vote){.op = CALL_ACQUIRE,
			       .outcome = OUTCOME_BUSY,
			       .name = slice_of(name),
			       .attempt = attempt,
			       .holder = slice_of("0123456789abcdef0123456789abcdef:9"),
			       .change_ms = 500});
}

static const char *
renewed(struct story *w, const char *name, uint64_t attempt)
{
	return answer(w, CALL_RENEW, OUTCOME_YES, name, attempt);
}

static const char *
words(const struct story *w)
{
	for (size_t i = 0; i < w->actions.n; i++) {
		const struct action *a = &w->actions.list[i];

		if (a->type == ACTION_REPLY && a->u.reply.type == REPLY_ERROR)
			return a->u.reply.text;
	}
	return "";
}

START_TEST(free_names_are_asked_for_together_and_answered_in_the_order_of_the_request)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(mlock(&w, 1, "b a"), "acquire a#1 once | acquire b#2 once");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "");
	ck_assert_str_eq(granted(&w, "b", 2, 700), "c1 [:700 :500]");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(unlock(&w, 1, "b"), "c1 :0 | release b#2");
	ck_assert_str_eq(munlock(&w, 1, "a b"), "c1 :1 | release a#1");
	ck_assert_str_eq(munlock(&w, 1, "a b"), "c1 :0");
	story_done(&w);
}
END_TEST

START_TEST(tried_once_and_refused_everything_is_given_back)
{
	struct story w;

	story_ready(&w);
	mlock_within(&w, 1, 0, "a b");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "");
	ck_assert_str_eq(taken(&w, "b", 2), "c1 null | release a#1");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 null");
	ck_assert_str_eq(munlock(&w, 1, "a b"), "c1 :0");
	story_done(&w);
}
END_TEST

START_TEST(what_is_asked_for_and_no_longer_needed_is_given_back_when_it_comes)
{
	struct story w;

	story_ready(&w);
	mlock_within(&w, 1, 0, "a b");
	ck_assert_str_eq(taken(&w, "b", 2), "c1 null");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "release a#1");
	story_done(&w);
}
END_TEST

START_TEST(with_a_name_held_here_no_master_is_asked)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	ck_assert_str_eq(mlock_within(&w, 1, 0, "a b"), "c1 null");
	story_done(&w);
}
END_TEST

START_TEST(who_is_refused_waits_for_one_name_after_the_other_and_holds_only_smaller_ones)
{
	struct story w;

	story_ready(&w);
	mlock(&w, 1, "c b a");
	granted(&w, "a", 1, 500);
	granted(&w, "c", 3, 900);
	/* b is elsewhere: c goes back, a stays, and a place in the queue of b is taken. */
	ck_assert_str_eq(taken(&w, "b", 2), "acquire b#4 | release c#3");
	ck_assert_str_eq(busy(&w, "b", 4), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("b")}), "acquire b#5");
	ck_assert_str_eq(granted(&w, "b", 5, 700), "acquire c#6 once");
	ck_assert_str_eq(granted(&w, "c", 6, 950), "c1 [:950 :700 :500]");
	story_done(&w);
}
END_TEST

START_TEST(two_sessions_that_take_the_same_names_in_another_order_both_get_them)
{
	struct story w;

	story_ready(&w);
	mlock(&w, 1, "a b");
	ck_assert_str_eq(mlock(&w, 2, "b a"), "");
	ck_assert_str_eq(granted(&w, "b", 2, 700), "");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 [:500 :700]");
	ck_assert_str_eq(munlock(&w, 1, "a b"), "c1 :2 | c2 [:701 :501]");
	ck_assert_str_eq(munlock(&w, 2, "a b"), "c2 :2 | release a#1 | release b#2");
	story_done(&w);
}
END_TEST

START_TEST(what_is_not_told_yet_is_held_against_others_and_not_by_the_session)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	ck_assert_str_eq(mlock(&w, 1, "a b"), "acquire a#2 once");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(lock_once(&w, 3, "a"), "c3 null");
	story_done(&w);
}
END_TEST

START_TEST(the_end_of_the_wait_gives_everything_back)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	ck_assert_str_eq(mlock_within(&w, 1, 100, "a b"), "acquire a#2 once");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(after(&w, 99), "");
	ck_assert_str_eq(after(&w, 1), "c1 null | release a#2");
	story_done(&w);
}
END_TEST

START_TEST(the_end_of_the_wait_names_a_master_that_is_away)
{
	struct story w;

	story_ready(&w);
	mlock_within(&w, 1, 100, "a b");
	granted(&w, "a", 1, 700);
	taken(&w, "b", 2);
	link_down(&w, "reset");
	ck_assert_str_eq(after(&w, 99), "");
	ck_assert_str_eq(after(&w, 1), "c1 -NOMASTER");
	story_done(&w);
}
END_TEST

START_TEST(a_client_that_leaves_gives_back_at_once_what_it_was_not_told_of)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	mlock(&w, 1, "a b");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "release a#2");
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | release b#1");
	story_done(&w);
}
END_TEST

START_TEST(no_more_requests_make_it_a_single_try)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	mlock(&w, 1, "a b");
	ck_assert_str_eq(granted(&w, "a", 2, 700), "");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_FINISH, .conn = 1}), "c1 null | release a#2");
	story_done(&w);
}
END_TEST

START_TEST(a_drain_answers_and_gives_back)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	mlock(&w, 1, "a b");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(
		step(&w, &(struct event){.type = EVENT_DRAIN}), "c1 -DRAINING | c2 close | release a#2");
	story_done(&w);
}
END_TEST

START_TEST(a_drain_that_waits_for_holders_takes_no_several_names)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	mlock(&w, 1, "a b");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(
		step(&w, &(struct event){.type = EVENT_DRAIN, .waits = true}), "c1 -DRAINING | release a#2");
	ck_assert_str_eq(mlock(&w, 1, "a c"), "c1 -DRAINING");
	story_done(&w);
}
END_TEST

START_TEST(a_loss_is_told_before_a_drain)
{
	struct story w;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_NEXT});
	ask(&w, 1, (struct command){.verb = VERB_MLOCK, .wait_ms = COMMAND_WAIT_RULE, .max_hold_ms = 100},
		"a");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 [:500]");
	after(&w, 100);
	step(&w, &(struct event){.type = EVENT_DRAIN});
	ck_assert_str_eq(mlock(&w, 1, "a b"), "c1 -LOST");
	ck_assert_str_eq(mlock(&w, 1, "a b"), "c1 -DRAINING");
	story_done(&w);
}
END_TEST

START_TEST(one_that_is_lost_while_another_is_waited_for_is_taken_again_and_nobody_hears_of_it)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "c");
	granted(&w, "c", 1, 500);
	ck_assert_str_eq(mlock(&w, 1, "a b c"), "acquire a#2 once | acquire b#3 once");
	ck_assert_str_eq(granted(&w, "a", 2, 700), "");
	ck_assert_str_eq(granted(&w, "b", 3, 800), "");
	ck_assert_str_eq(after(&w, 333), "renew c#1 | renew a#2 | renew b#3");
	renewed(&w, "c", 1);
	renewed(&w, "b", 3);
	/* Somebody took a away: b must not be held while a is waited for, but may be tried again. */
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_NO, "a", 2), "acquire a#4 once");
	ck_assert_str_eq(taken(&w, "a", 4), "acquire a#5 | release b#3");
	ck_assert_str_eq(granted(&w, "a", 5, 701), "acquire b#6 once");
	ck_assert_str_eq(granted(&w, "b", 6, 900), "");
	ck_assert_str_eq(unlock(&w, 2, "c"), "c2 :0 | c1 [:701 :900 :501]");
	story_done(&w);
}
END_TEST

START_TEST(after_a_wait_the_rest_is_tried_together_up_to_a_name_that_somebody_here_has)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	mlock(&w, 1, "a b c");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | acquire c#3 once");
	lock(&w, 2, "c");
	ck_assert_str_eq(taken(&w, "c", 3), "acquire c#4");
	ck_assert_str_eq(granted(&w, "c", 4, 900), "c2 :900");
	ck_assert_str_eq(unlock(&w, 2, "c"), "c2 :0 | c1 [:700 :501 :901]");
	story_done(&w);
}
END_TEST

START_TEST(what_was_taken_first_is_renewed_before_it_is_told)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	mlock(&w, 1, "a b");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(after(&w, 333), "renew b#1 | renew a#2");
	renewed(&w, "b", 1);
	/* The answer about a takes so long that less than half of its lease is left. */
	after(&w, 300);
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0");
	ck_assert_str_eq(renewed(&w, "a", 2), "c1 [:700 :501]");
	story_done(&w);
}
END_TEST

START_TEST(lease_and_maxhold_count_from_the_answer)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	ask(&w, 1, (struct command){.verb = VERB_MLOCK, .wait_ms = COMMAND_WAIT_RULE, .lease_ms = 100},
		"a b");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(after(&w, 200), "");
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | c1 [:700 :501]");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :97");
	ck_assert_str_eq(after(&w, 99), "");
	ck_assert_str_eq(after(&w, 1), "release a#2 | release b#1");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 -LOST");
	/* And forgotten, as far as nobody asked. */
	ck_assert_str_eq(munlock(&w, 1, "a b"), "c1 :0");
	ck_assert_str_eq(unlock(&w, 1, "b"), "c1 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(retries_count_the_refusals_of_all_its_names_together)
{
	struct story w;

	story_ready(&w);
	ask(&w, 1, (struct command){.verb = VERB_MLOCK, .wait_ms = COMMAND_WAIT_RULE, .retries = 2}, "a b");
	ck_assert_str_eq(taken(&w, "a", 1), "acquire a#3");
	granted(&w, "b", 2, 600);
	ck_assert_str_eq(busy(&w, "a", 3), "");
	ck_assert_str_eq(after(&w, 340), "acquire a#4");
	ck_assert_str_eq(granted(&w, "a", 4, 500), "acquire b#5 once");
	ck_assert_str_eq(busy(&w, "b", 5), "leave b#5 | c1 null | release a#4");
	story_done(&w);
}
END_TEST

START_TEST(a_name_that_is_held_already_is_named)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "b");
	granted(&w, "b", 1, 500);
	ck_assert_str_eq(mlock(&w, 1, "a b"), "c1 -HELD");
	ck_assert_str_eq(words(&w), "this session holds b already, token 500: MLOCK never re-enters");
	story_done(&w);
}
END_TEST

START_TEST(more_names_than_a_session_may_hold_are_refused)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(mlock(&w, 1, "a b c d"), "c1 -LIMIT");
	story_done(&w);
}
END_TEST

START_TEST(a_name_that_waits_for_its_own_session_is_a_circle)
{
	struct story w;

	story_ready(&w);
	lock_as(&w, 1, "b", "t1");
	granted(&w, "b", 1, 500);
	mlock(&w, 1, "a b");
	ck_assert_str_eq(granted(&w, "a", 2, 700), "c1 -DEADLOCK | release a#2");
	story_done(&w);
}
END_TEST

START_TEST(a_bundle_closes_a_circle_with_a_plain_lock)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "c");
	granted(&w, "c", 1, 500);
	lock(&w, 2, "b");
	granted(&w, "b", 2, 600);
	ck_assert_str_eq(lock(&w, 2, "c"), "");
	mlock(&w, 1, "a b");
	ck_assert_str_eq(granted(&w, "a", 3, 700), "c1 -DEADLOCK | release a#3");
	ck_assert_str_eq(
		words(&w), "session 1 waits for b, held by session 2, which waits for c, held by session 1");
	ck_assert_str_eq(unlock(&w, 1, "c"), "c1 :0 | c2 :501");
	story_done(&w);
}
END_TEST

START_TEST(a_plain_lock_closes_a_circle_with_a_mlock)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	mlock(&w, 1, "a b");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 -DEADLOCK");
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | c1 [:700 :501]");
	story_done(&w);
}
END_TEST

START_TEST(a_key_that_stays_of_another_kind_is_said)
{
	struct story w;

	story_ready(&w);
	mlock(&w, 1, "a b");
	granted(&w, "a", 1, 700);
	/* Its permits may be kept for nobody. */
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "b", 2), "");
	for (int ms = 0; ms < 50 && strstr(w.trace, "acquire b#3") == NULL; ms++)
		after(&w, 1);
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "b", 3), "");
	for (int ms = 0; ms < 200 && strstr(w.trace, "acquire b#4") == NULL; ms++)
		after(&w, 1);
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_WRONGKIND, "b", 4), "c1 -WRONGKIND | release a#1");
	story_done(&w);
}
END_TEST

START_TEST(readers_share_all_names_and_a_name_that_cannot_be_shared_is_said)
{
	struct command readers = {.verb = VERB_MLOCK, .wait_ms = COMMAND_WAIT_RULE, .kind = KIND_SHARED};
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(ask(&w, 1, readers, "a b"), "acquire a#1 shared once | acquire b#2 shared once");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(granted(&w, "b", 2, 700), "c1 [:500 :700]");
	ck_assert_str_eq(ask(&w, 2, readers, "b a"), "c2 [:701 :501]");
	ck_assert_str_eq(mlock_within(&w, 3, 0, "a b"), "c3 null");
	ck_assert_str_eq(ask(&w, 3, readers, "a string"), "c3 -WRONGKIND");
	story_done(&w);
}
END_TEST

START_TEST(a_tried_name_that_is_refused_after_a_while_is_waited_for_without_the_others)
{
	struct story w;

	story_ready(&w);
	mlock(&w, 1, "a b");
	ck_assert_str_eq(granted(&w, "b", 2, 500), "");
	/* a is not granted in time. */
	ck_assert_str_eq(after(&w, 333), "renew b#2 | release a#1 | release b#2");
	ck_assert_str_eq(hello(&w, true, MEMORY), "acquire a#3");
	ck_assert_str_eq(granted(&w, "a", 3, 700), "acquire b#4 once");
	ck_assert_str_eq(granted(&w, "b", 4, 800), "c1 [:700 :800]");
	story_done(&w);
}
END_TEST

START_TEST(while_the_master_is_away_it_is_waited_for)
{
	struct story w;
	bool b_first;

	story_ready(&w);
	link_down(&w, "refused");
	ck_assert_str_eq(mlock_within(&w, 1, 0, "a b"), "c1 -NOMASTER");
	ck_assert_str_eq(mlock_within(&w, 1, 300, "a b"), "");
	ck_assert_str_eq(mlock_within(&w, 2, 300, "b"), "");
	ck_assert_str_eq(link_up(&w), "hello");
	/* All that waits is asked for, in whatever order. */
	b_first = strstr(hello(&w, true, MEMORY), "b#1") != NULL;
	ck_assert_str_eq(w.trace, b_first ? "acquire b#1 | acquire a#2" : "acquire a#1 | acquire b#2");
	ck_assert_str_eq(granted(&w, "b", b_first ? 1 : 2, 500), "c2 [:500]");
	link_down(&w, "refused");
	ck_assert_str_eq(after(&w, 300), "c1 -NOMASTER");
	story_done(&w);
}
END_TEST

START_TEST(a_broken_hold_that_nobody_was_told_of_is_free_at_once)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	mlock(&w, 1, "a b");
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 700}), "c3 :0");
	/* And taken again, with another token. */
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | c1 [:701 :501]");
	story_done(&w);
}
END_TEST

START_TEST(a_lease_that_it_takes_as_its_rest_is_over_is_renewed_on)
{
	struct story w;

	story_retaining(&w, 1, 100);
	lock(&w, 1, "b");
	granted(&w, "b", 1, 500);
	run(&w, 2, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .max_hold_ms = 100});
	granted(&w, "a", 2, 600);
	ck_assert_str_eq(unlock(&w, 1, "b"), "c1 :0");
	ck_assert_str_eq(mlock(&w, 3, "b a"), "");
	/* What nobody uses would be given back now; but the hold of a ends first, in the same step. */
	after(&w, 100);
	ck_assert_str_eq(check(&w, 3, "b"), "c3 :878");
	ck_assert_str_eq(after(&w, LEASE_MS / 3), "renew a#2 | renew b#1");
	story_done(&w);
}
END_TEST

/* The rule has long-hold: 300ms, and one name of the MLOCK has been held for longer when it is answered. */
START_TEST(a_name_that_was_taken_long_before_the_answer_is_a_long_hold_after_it)
{
	struct story w;

	story_ready(&w);
	lock(&w, 2, "z");
	granted(&w, "z", 1, 500);
	mlock(&w, 1, "watched z");
	granted(&w, "watched", 2, 700);
	after(&w, 310);
	ck_assert_ptr_null(noted(&w, NOTE_LONG_HOLD));
	ck_assert_str_eq(unlock(&w, 2, "z"), "c2 :0 | c1 [:700 :501]");
	ck_assert_ptr_null(noted(&w, NOTE_LONG_HOLD));
	after(&w, 1);
	ck_assert_ptr_nonnull(noted(&w, NOTE_LONG_HOLD));
	ck_assert_int_eq(noted(&w, NOTE_LONG_HOLD)->ms, 311);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("MLOCK", NULL, NULL,
		free_names_are_asked_for_together_and_answered_in_the_order_of_the_request,
		tried_once_and_refused_everything_is_given_back,
		what_is_asked_for_and_no_longer_needed_is_given_back_when_it_comes,
		with_a_name_held_here_no_master_is_asked,
		who_is_refused_waits_for_one_name_after_the_other_and_holds_only_smaller_ones,
		two_sessions_that_take_the_same_names_in_another_order_both_get_them,
		what_is_not_told_yet_is_held_against_others_and_not_by_the_session,
		the_end_of_the_wait_gives_everything_back, the_end_of_the_wait_names_a_master_that_is_away,
		a_client_that_leaves_gives_back_at_once_what_it_was_not_told_of,
		no_more_requests_make_it_a_single_try, a_drain_answers_and_gives_back,
		a_drain_that_waits_for_holders_takes_no_several_names, a_loss_is_told_before_a_drain,
		one_that_is_lost_while_another_is_waited_for_is_taken_again_and_nobody_hears_of_it,
		after_a_wait_the_rest_is_tried_together_up_to_a_name_that_somebody_here_has,
		what_was_taken_first_is_renewed_before_it_is_told, lease_and_maxhold_count_from_the_answer,
		retries_count_the_refusals_of_all_its_names_together, a_name_that_is_held_already_is_named,
		more_names_than_a_session_may_hold_are_refused,
		a_name_that_waits_for_its_own_session_is_a_circle, a_bundle_closes_a_circle_with_a_plain_lock,
		a_plain_lock_closes_a_circle_with_a_mlock, a_key_that_stays_of_another_kind_is_said,
		readers_share_all_names_and_a_name_that_cannot_be_shared_is_said,
		a_tried_name_that_is_refused_after_a_while_is_waited_for_without_the_others,
		while_the_master_is_away_it_is_waited_for,
		a_broken_hold_that_nobody_was_told_of_is_free_at_once,
		a_lease_that_it_takes_as_its_rest_is_over_is_renewed_on,
		a_name_that_was_taken_long_before_the_answer_is_a_long_hold_after_it);
}
