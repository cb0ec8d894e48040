/*
 * check_glob: patterns, compared with a slow matcher that is plainly right, and against the clock.
 */
#include "proto/glob.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static bool
match(const char *pattern, const char *name)
{
	return glob_match(slice_of(pattern), slice_of(name));
}

START_TEST(plain_characters_stand_for_themselves)
{
	ck_assert(match("deploy", "deploy"));
	ck_assert(!match("deploy", "deplo"));
	ck_assert(!match("deploy", "deployy"));
	ck_assert(!match("deploy", "Deploy"));
	ck_assert(match("", ""));
	ck_assert(!match("", "a"));
}
END_TEST

START_TEST(a_star_takes_everything)
{
	ck_assert(match("*", ""));
	ck_assert(match("*", "a/b:c"));
	ck_assert(match("cron/*", "cron/a/b"));
	ck_assert(!match("cron/*", "cron"));
	ck_assert(match("*.log", "a.log.log"));
	ck_assert(match("a*b*c", "aXbXbXc"));
	ck_assert(!match("a*b*c", "aXbX"));
	ck_assert(match("**a**", "xay"));
}
END_TEST

START_TEST(a_question_mark_takes_one_character)
{
	ck_assert(match("?", "a"));
	ck_assert(match("?", "锁"));
	ck_assert(match("?", "\xff"));
	ck_assert(!match("?", ""));
	ck_assert(!match("?", "ab"));
	ck_assert(match("??", "\xff\xff"));
}
END_TEST

START_TEST(a_set_takes_one_of_its_characters)
{
	ck_assert(match("[abc]", "b"));
	ck_assert(!match("[abc]", "d"));
	ck_assert(match("[a-c]x", "bx"));
	ck_assert(match("[!a-c]", "d"));
	ck_assert(match("[^a-c]", "d"));
	ck_assert(!match("[!a-c]", "b"));
	ck_assert(match("[]]", "]"));
	ck_assert(match("[]a]", "a"));
	ck_assert(match("[!]]", "a"));
	ck_assert(!match("[!]]", "]"));
	ck_assert(match("[a-]", "-"));
	ck_assert(match("[-a]", "-"));
	ck_assert(match("[\\]]", "]"));
	ck_assert(match("[\\a-\\c]", "b"));
	ck_assert(match("[а-я]", "ж"));
	ck_assert(!match("[!a]", ""));
	ck_assert(!match("[c-a]", "b"));
}
END_TEST

START_TEST(a_backslash_takes_the_next_character_itself)
{
	ck_assert(match("\\*", "*"));
	ck_assert(!match("\\*", "a"));
	ck_assert(match("a\\?", "a?"));
	ck_assert(match("\\[a]", "[a]"));
	ck_assert(match("\\\\", "\\"));
}
END_TEST

START_TEST(a_malformed_pattern_matches_nothing_and_says_why)
{
	ck_assert_ptr_null(glob_check(SLICE("a*[b-d]?\\*")));
	ck_assert_str_eq(glob_check(SLICE("[a")), "a '[' without its ']'");
	ck_assert_str_eq(glob_check(SLICE("[")), "a '[' without its ']'");
	ck_assert_str_eq(glob_check(SLICE("[]")), "a '[' without its ']'");
	ck_assert_str_eq(glob_check(SLICE("[a-")), "a '[' without its ']'");
	ck_assert_str_eq(glob_check(SLICE("x\\")), "a '\\' with nothing behind it");
	ck_assert(!match("[a", "a"));
	ck_assert(!match("[a", "[a"));
	ck_assert(!match("*\\", "\\"));
}
END_TEST

/* Exponential, and obviously right: for ASCII without sets. */
static bool
slow(const char *p, const char *s)
{
	if (*p == '\0')
		return *s == '\0';
	if (*p == '*')
		return slow(p + 1, s) || (*s != '\0' && slow(p, s + 1));
	return *s != '\0' && (*p == '?' || *p == *s) && slow(p + 1, s + 1);
}

START_TEST(it_agrees_with_a_matcher_that_tries_everything)
{
	static const char alphabet[] = "ab*?";
	char pattern[7] = "";
	char name[8] = "";

	for (int i = 0; i < 4096; i++) {
		for (int j = 0; j < 6; j++)
			pattern[j] = alphabet[i >> (2 * j) & 3];
		for (int k = 0; k < 128; k++) {
			for (int j = 0; j < 7; j++)
				name[j] = k >> j & 1 ? 'a' : 'b';
			for (int cut = 0; cut <= 7; cut++) {
				char kept = name[cut];

				name[cut] = '\0';
				if (match(pattern, name) != slow(pattern, name))
					ck_abort_msg("%s %s", pattern, name);
				name[cut] = kept;
			}
		}
	}
}
END_TEST

/* With the usual recursion this takes longer than the universe has. */
START_TEST(many_stars_cost_no_more_than_pattern_times_name)
{
	char pattern[513];
	char name[512];

	for (size_t i = 0; i < 510; i += 2)
		memcpy(pattern + i, "a*", 2);
	memcpy(pattern + 510, "b", 2);
	memset(name, 'a', sizeof(name));
	for (int i = 0; i < 1000; i++)
		ck_assert(!glob_match(slice_of(pattern), (struct slice){name, sizeof(name)}));
}
END_TEST

int
main(void)
{
	return SUITE_RUN("glob", NULL, NULL, plain_characters_stand_for_themselves, a_star_takes_everything,
		a_question_mark_takes_one_character, a_set_takes_one_of_its_characters,
		a_backslash_takes_the_next_character_itself, a_malformed_pattern_matches_nothing_and_says_why,
		it_agrees_with_a_matcher_that_tries_everything,
		many_stars_cost_no_more_than_pattern_times_name);
}
