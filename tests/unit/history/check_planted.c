/*
 * check_planted: the judge of histories finds what is planted in tests/history/planted, and nothing else. For
 * each rule some files break it, and some nearly do. Lines that are none are refused with their number.
 */
#include "tests/history/history.h"
#include "tests/support/suite.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLANTED "tests/history/planted/*.history"

static glob_t files;
static unsigned broken[RULE_COUNT];

static void
setup(void)
{
	ck_assert_int_eq(glob(PLANTED, 0, NULL, &files), 0);
}

static void
teardown(void)
{
	globfree(&files);
}

static void
count(void *context, enum history_rule rule, const char *what, const struct event *const *lines, size_t n)
{
	(void)context;
	ck_assert(*what != '\0' && n > 0 && lines[0] != NULL);
	broken[rule]++;
}

static void
judge(const char *path)
{
	struct history *h = history_begin();

	memset(broken, 0, sizeof(broken));
	if (!history_read(h, path))
		ck_abort_msg("%s", history_error(h));
	history_judge(h, count, NULL);
	history_done(h);
}

/* How often the head of the file says that a rule is broken; or that it nearly is, behind `near`. */
static unsigned
expected(const char *path, const char *rule, bool *near)
{
	char line[200] = "";
	const char *head = "# expect: ";
	FILE *file = fopen(path, "re");
	char *found;

	ck_assert_ptr_nonnull(file);
	while (strncmp(line, head, strlen(head)) != 0) {
		if (fgets(line, sizeof(line), file) == NULL)
			ck_abort_msg("%s does not say what to expect", path);
	}
	fclose(file);
	*near = strstr(line, "near ") != NULL && strstr(strstr(line, "near "), rule) != NULL;
	found = *near ? NULL : strstr(line, rule);
	return found != NULL ? (unsigned)strtoul(found + strlen(rule), NULL, 10) : 0;
}

START_TEST(what_is_planted_is_found_and_nothing_else)
{
	for (size_t i = 0; i < files.gl_pathc; i++) {
		judge(files.gl_pathv[i]);
		for (int rule = 0; rule < RULE_COUNT; rule++) {
			bool near;
			unsigned wanted = expected(files.gl_pathv[i], history_rules[rule], &near);
			if (broken[rule] != wanted)
				ck_abort_msg("%s: %s %u instead of %u", files.gl_pathv[i],
					history_rules[rule], broken[rule], wanted);
		}
	}
}
END_TEST

START_TEST(each_rule_is_broken_by_a_file_and_nearly_by_another)
{
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		unsigned breaking = 0, nearly = 0;
		for (size_t i = 0; i < files.gl_pathc; i++) {
			bool near;
			breaking += expected(files.gl_pathv[i], history_rules[rule], &near) > 0;
			nearly += near;
		}
		if (breaking == 0 || nearly == 0)
			ck_abort_msg(
				"%s: %u files break it, %u nearly do", history_rules[rule], breaking, nearly);
	}
}
END_TEST

START_TEST(what_is_no_line_is_refused_with_its_number)
{
	static const char *const none[] = {"x ask a 0", "1", "1 ", "-1 ask a 0", "1s ask a 0", "1 asks a 0",
		"1 ask a", "1 ask  0", "1 ask a x", "1 ask a 0 y", "1 ask a 0 p4/3", "1 ask a 0 p0/3",
		"1 ask a 0 p1", "1 ask a 0 x 1 2 3", "1 grant a 1", "1 grant a 1 2 3", "1 check a b",
		"1 null a as 6f1c", "1 ask a 0 as", "1 mlock 0 x", "1 latch l down 1", "1 latch l up",
		"1 latch l set", "99999999999999999999 end self", "99999999999ms end self",
		"1 ask a 99999999999"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct history *h = history_begin();
		char lines[100];
		snprintf(lines, sizeof(lines), "0 open unix\n%s\n", none[i]);
		if (history_take(h, "one", lines))
			ck_abort_msg("taken: %s", none[i]);
		ck_assert(strncmp(history_error(h), "one:2: ", 7) == 0);
		history_done(h);
	}
}
END_TEST

/* What is still being written. */
START_TEST(a_line_without_an_end_and_a_hold_without_one_are_not_judged_yet)
{
	char one[] = "1 ask a 0\n2 grant a 1 100\n3 unl", two[] = "1 ask a 0\n3 grant a 2 100\n5 unlock a\n";
	struct history *h = history_begin();

	memset(broken, 0, sizeof(broken));
	h->running = 4;
	ck_assert(history_take(h, "one", one) && history_take(h, "two", two));
	history_judge(h, count, NULL);
	ck_assert_uint_eq(broken[RULE_EXCLUSION], 0);
	history_done(h);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("planted", setup, teardown, what_is_planted_is_found_and_nothing_else,
		each_rule_is_broken_by_a_file_and_nearly_by_another,
		what_is_no_line_is_refused_with_its_number,
		a_line_without_an_end_and_a_hold_without_one_are_not_judged_yet);
}
