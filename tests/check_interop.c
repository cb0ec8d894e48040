/*
 * Names that somebody else locks, too, in his own way: he neither hears us nor stands in our queue.
 */
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <string.h>

/* What the core does in the next so many ms, when something. */
static const char *
within(struct story *w, int64_t ms)
{
	const char *text = "";

	for (int64_t waited = 0; waited < ms && text[0] == '\0'; waited++)
		text = after(w, 1);
	return text;
}

static const char *
taken(struct story *w, const char *name, uint64_t attempt)
{
	return vote(w, (struct vote){.op = CALL_ACQUIRE,
			       .outcome = OUTCOME_BUSY,
			       .name = slice_of(name),
			       .attempt = attempt,
			       .holder = SLICE("a program"),
			       .change_ms = 900});
}

START_TEST(a_lock_of_somebody_who_tells_nobody_is_looked_at_often)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock(&w, 1, "string"), "acquire string#1");
	taken(&w, "string", 1);
	ck_assert_str_eq(within(&w, 42), "acquire string#2");
	story_done(&w);
}
END_TEST

START_TEST(a_lock_whose_end_is_told_is_not)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock(&w, 1, "b"), "acquire b#1");
	taken(&w, "b", 1);
	ck_assert_str_eq(within(&w, 200), "");
	story_done(&w);
}
END_TEST

START_TEST(who_does_not_stand_in_our_queue_gets_a_turn_all_the_same)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "string");
	granted(&w, "string", 1, 500);
	lock(&w, 2, "string");
	lock(&w, 3, "string");
	ck_assert_str_eq(unlock(&w, 1, "string"), "c1 :0 | c2 :501");
	/* Nobody has said that he waits; but the streak is over, and it is left alone for a moment. */
	ck_assert_str_eq(unlock(&w, 2, "string"), "c2 :0 | release string#1");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("string")}), "");
	answer(&w, CALL_RELEASE, OUTCOME_YES, "string", 1);
	ck_assert_str_eq(after(&w, 10), "");
	ck_assert_str_eq(within(&w, 32), "acquire string#2");
	ck_assert_str_eq(granted(&w, "string", 2, 600), "c3 :600");
	story_done(&w);
}
END_TEST

START_TEST(an_end_that_is_told_is_listened_for_while_the_name_is_of_interest)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock(&w, 1, "redisson"), "acquire redisson#1");
	ck_assert_str_eq(taken(&w, "redisson", 1), "listen redisson");
	ck_assert_str_eq(step(&w, &(struct event){.type = EVENT_WAKE, .name = SLICE("redisson")}),
		"acquire redisson#2");
	ck_assert_str_eq(taken(&w, "redisson", 2), "");
	/* Who gives up does not stand in a queue there. */
	ck_assert_str_eq(close_as(&w, 1, END_CLEAN), "ignore redisson");
	story_done(&w);
}
END_TEST

START_TEST(nobody_rests_for_nobody)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "string");
	granted(&w, "string", 1, 500);
	ck_assert_str_eq(unlock(&w, 1, "string"), "c1 :0 | release string#1");
	ck_assert_str_eq(lock(&w, 2, "string"), "acquire string#2");
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("interop", NULL, NULL, a_lock_of_somebody_who_tells_nobody_is_looked_at_often,
		a_lock_whose_end_is_told_is_not, who_does_not_stand_in_our_queue_gets_a_turn_all_the_same,
		an_end_that_is_told_is_listened_for_while_the_name_is_of_interest, nobody_rests_for_nobody);
}
