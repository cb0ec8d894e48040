/*
 * check_glob: patterns, compared with a slow matcher that is plainly right, and against the clock.
 */
#include "proto/name.h"

#include "proto/glob.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/* Both matchers, which have to agree. */
static bool
match_slices(struct slice pattern, struct slice name)
{
	struct glob *glob = glob_new(pattern);
	bool plain = glob_match(pattern, name);

	ck_assert(glob != NULL || glob_check(pattern) != NULL);
	if (glob != NULL && glob_takes(glob, name) != plain)
		ck_abort_msg("%.*s %.*s", (int)pattern.n, pattern.p, (int)name.n, name.p);
	glob_free(glob);
	return plain;
}

static bool
match(const char *pattern, const char *name)
{
	return match_slices(slice_of(pattern), slice_of(name));
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
	ck_assert(match("[!c-a]", "b"));
	ck_assert(match("[a-dc-fe-e]", "f"));
	ck_assert(match("[a-dc-fe-e]", "d"));
	ck_assert(!match("[a-dc-fe-e]", "g"));
	ck_assert(match("[a-cd-f]", "d"));
	ck_assert(!match("[!a-db-c]", "d"));
	ck_assert(match("[!\x01-\x7f]", "\xff"));
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
		struct glob *glob;

		for (int j = 0; j < 6; j++)
			pattern[j] = alphabet[i >> (2 * j) & 3];
		glob = glob_new(slice_of(pattern));
		ck_assert_ptr_nonnull(glob);
		for (int k = 0; k < 128; k++) {
			for (int j = 0; j < 7; j++)
				name[j] = k >> j & 1 ? 'a' : 'b';
			for (int cut = 0; cut <= 7; cut++) {
				char kept = name[cut];
				bool right;

				name[cut] = '\0';
				right = slow(pattern, name);
				if (glob_match(slice_of(pattern), slice_of(name)) != right ||
					glob_takes(glob, slice_of(name)) != right)
					ck_abort_msg("%s %s", pattern, name);
				name[cut] = kept;
			}
		}
		glob_free(glob);
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

/* Long enough for many words of bits, and of more characters than ASCII has. */
START_TEST(both_matchers_agree_on_whatever_can_be_written)
{
	static const char *const parts[] = {"a", "b", "*", "?", "[a-c]", "[!b]", "[^\xc3\xa4-\xc3\xbc]",
		"\xc3\xa4", "\xe9\x94\x81", "\xff", "[b\xff]", "\\*", "[]-a]", "[c-a]"};
	static const char *const letters[] = {
		"a", "a", "b", "c", "*", "]", "\xc3\xa4", "\xe9\x94\x81", "\xff", "\xc3"};
	uint32_t chance = 1;
	int hits = 0;

	for (int i = 0; i < 20000; i++) {
		char pattern[GLOB_BYTES_MAX + 1] = "";
		char name[GLOB_BYTES_MAX + 1] = "";
		size_t most = i % 10 == 0 ? 60 : 4;

		for (size_t n = 0; n < most; n++) {
			chance = chance * 1664525 + 1013904223;
			strcat(pattern, parts[(chance >> 16) % (sizeof(parts) / sizeof(parts[0]))]);
			chance = chance * 1664525 + 1013904223;
			strcat(name, letters[(chance >> 16) % (sizeof(letters) / sizeof(letters[0]))]);
		}
		hits += match(pattern, name);
	}
	ck_assert_int_gt(hits, 100);
}
END_TEST

START_TEST(a_pattern_has_so_many_bytes_at_most)
{
	char pattern[GLOB_BYTES_MAX + 1];
	struct glob *glob;

	memset(pattern, 'a', sizeof(pattern));
	ck_assert(match_slices(
		(struct slice){pattern, GLOB_BYTES_MAX}, (struct slice){pattern, GLOB_BYTES_MAX}));
	ck_assert(!match_slices(
		(struct slice){pattern, GLOB_BYTES_MAX}, (struct slice){pattern, GLOB_BYTES_MAX - 1}));
	glob = glob_new((struct slice){pattern, sizeof(pattern)});
	ck_assert_ptr_null(glob);
}
END_TEST

/* Of a pattern that glob_match needs a millisecond for. */
START_TEST(a_pattern_that_was_read_costs_no_more_than_the_name)
{
	char pattern[253];
	char name[512];
	struct glob *glob;

	memset(pattern, 'a', sizeof(pattern));
	pattern[0] = '*';
	pattern[251] = 'b';
	pattern[252] = '*';
	memset(name, 'a', sizeof(name));
	glob = glob_new((struct slice){pattern, sizeof(pattern)});
	ck_assert_ptr_nonnull(glob);
	for (int i = 0; i < 200000; i++)
		ck_assert(!glob_takes(glob, (struct slice){name, sizeof(name)}));
	glob_free(glob);
}
END_TEST

/* A pattern of 256 characters that no two places share, for one of which each row has another bit. */
START_TEST(a_pattern_of_many_characters_is_read_once)
{
	char pattern[GLOB_BYTES_MAX];
	struct glob *glob;

	for (size_t i = 0; i < GLOB_BYTES_MAX / 2; i++) {
		pattern[2 * i] = (char)(0xc4 + i / 64);
		pattern[2 * i + 1] = (char)(0x80 + i % 64);
	}
	for (int i = 0; i < 50000; i++) {
		glob = glob_new((struct slice){pattern, sizeof(pattern)});
		ck_assert_ptr_nonnull(glob);
		glob_free(glob);
	}
	ck_assert(match_slices(
		(struct slice){pattern, sizeof(pattern)}, (struct slice){pattern, sizeof(pattern)}));
	ck_assert(!match_slices(
		(struct slice){pattern, sizeof(pattern)}, (struct slice){pattern, sizeof(pattern) - 2}));
}
END_TEST

int
main(void)
{
	return SUITE_RUN("glob", NULL, NULL, plain_characters_stand_for_themselves, a_star_takes_everything,
		a_question_mark_takes_one_character, a_set_takes_one_of_its_characters,
		a_backslash_takes_the_next_character_itself, a_malformed_pattern_matches_nothing_and_says_why,
		it_agrees_with_a_matcher_that_tries_everything,
		many_stars_cost_no_more_than_pattern_times_name,
		both_matchers_agree_on_whatever_can_be_written, a_pattern_has_so_many_bytes_at_most,
		a_pattern_that_was_read_costs_no_more_than_the_name,
		a_pattern_of_many_characters_is_read_once);
}
