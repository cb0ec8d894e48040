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

/* A beginning with these rules, the last of which is for all other names. */
static void
with_rules(struct story *w, const struct rule *rules, size_t count)
{
	story_ready(w);
	w->settings.rules = rules;
	w->settings.rule_count = count;
	story_anew(w);
}

#define RULE(...)                                                                                            \
	{                                                                                                    \
		__VA_ARGS__, .lease_ms = LEASE_MS, .wait_ms = -1                                             \
	}

/* PROTOCOL 2.1: what is locked is the key. */
START_TEST(of_names_with_one_key_that_of_the_first_rule_is_locked)
{
	static const struct rule rules[] = {RULE(.match = "bill*", .key = "lock:%"),
		RULE(.match = "lock:*", .key = "%", .interop = INTEROP_STRING),
		RULE(.match = "*", .interop = INTEROP_REDISSON)};
	struct story w;

	with_rules(&w, rules, 3);
	ck_assert_str_eq(lock(&w, 1, "lock:billing"), "c1 -ERR");
	ck_assert_str_eq(lock(&w, 1, "billing"), "acquire billing#1");
	granted(&w, "billing", 1, 500);
	ck_assert_str_eq(lock(&w, 2, "lock:billing"), "c2 -ERR");
	ck_assert_str_eq(check(&w, 2, "lock:billing"), "c2 null");
	ck_assert_str_eq(unlock(&w, 2, "lock:billing"), "c2 -NOTHELD");
	/* By the first rule its key would be lock:x, but that rule is not for x. */
	ck_assert_str_eq(lock(&w, 3, "lock:x"), "acquire lock:x#2");
	story_done(&w);
}
END_TEST

START_TEST(an_mlock_takes_no_second_name_of_a_key)
{
	static const struct rule rules[] = {
		RULE(.match = "bill*", .key = "lock:%"), RULE(.match = "*", .key = "%")};
	struct slice names[] = {SLICE("other"), SLICE("lock:billing")};
	struct story w;

	with_rules(&w, rules, 2);
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_MLOCK, .names = names, .name_count = 2}), "c1 -ERR");
	story_done(&w);
}
END_TEST

/* A name of a rule that is for other names, and one that cannot be a name, have no key. */
START_TEST(only_what_can_be_locked_has_a_key)
{
	static const struct rule rules[] = {
		RULE(.match = "*!", .key = "a%b"), RULE(.match = "*", .key = "%")};
	struct story w;

	with_rules(&w, rules, 2);
	ck_assert_str_eq(lock(&w, 1, "ab"), "acquire ab#1");
	ck_assert_str_eq(lock(&w, 2, "a}!b"), "acquire a}!b#2");
	ck_assert_str_eq(lock(&w, 3, "axb"), "acquire axb#3");
	ck_assert_str_eq(lock(&w, 4, "ax!b"), "c4 -ERR");
	story_done(&w);
}
END_TEST

START_TEST(a_key_of_holdfast_itself_is_no_lock)
{
	static const struct rule rules[] = {
		RULE(.match = "own"), RULE(.match = "?", .key = "hf:nod%"), RULE(.match = "*", .key = "%")};
	static const char *const own[] = {"hf:node", "hf:reclaimed", "hf:{own}", "hf:{own}:q", "hf:{x}:f",
		"redisson_lock_token:{x}", "redisson_lock_token:a{x}", "lock-signal:x", "e"};
	static const char *const not_own[] = {"hf:nodes", "hf", "hf:own", "f:{own}"};
	struct story w;

	with_rules(&w, rules, 3);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		ck_assert_str_eq(lock(&w, 1, own[i]), "c1 -ERR");
	for (size_t i = 0; i < sizeof(not_own) / sizeof(not_own[0]); i++)
		ck_assert_ptr_nonnull(strstr(lock(&w, i + 1, not_own[i]), "acquire"));
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("interop", NULL, NULL, a_lock_of_somebody_who_tells_nobody_is_looked_at_often,
		a_lock_whose_end_is_told_is_not, who_does_not_stand_in_our_queue_gets_a_turn_all_the_same,
		an_end_that_is_told_is_listened_for_while_the_name_is_of_interest, nobody_rests_for_nobody,
		of_names_with_one_key_that_of_the_first_rule_is_locked,
		an_mlock_takes_no_second_name_of_a_key, only_what_can_be_locked_has_a_key,
		a_key_of_holdfast_itself_is_no_lock);
}
