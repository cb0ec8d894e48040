/*
 * Tests of daemon/base/stats.
 */
#include "daemon/admin/events.h"
#include "daemon/base/stats.h"
#include "daemon/core/lock/grant.h"
#include "tests/support/suite.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sources of the daemon, one behind the other; the caller frees them. */
static char *
sources(void)
{
	size_t room = 16 << 20, n = 0;
	char *text = calloc(1, room);
	glob_t found;

	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(glob("daemon/*.c", 0, NULL, &found), 0);
	ck_assert_int_eq(glob("daemon/*/*.c", GLOB_APPEND, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *file = fopen(found.gl_pathv[i], "r");

		ck_assert_ptr_nonnull(file);
		n += fread(text + n, 1, room - n - 1, file);
		fclose(file);
		ck_assert_uint_lt(n, room - 1);
	}
	globfree(&found);
	return text;
}

/* Whether the text has the word, not as a part of another one. */
static bool
has_word(const char *text, const char *word)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t n = strlen(word);

	for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
		if ((at == text || strchr(letters, at[-1]) == NULL) &&
			(at[n] == '\0' || strchr(letters, at[n]) == NULL))
			return true;
	}
	return false;
}

START_TEST(every_field_is_set_somewhere)
{
	char *text = sources();

	for (size_t i = 0; i < stats_count(); i++)
		ck_assert_msg(has_word(text, stats_info(i)->name),
			"%s is shown, and nothing in daemon/ counts it: for a note of the core, note_count() "
			"does",
			stats_info(i)->name);
	ck_assert(!has_word(text, "locks_grante"));
	free(text);
}
END_TEST

START_TEST(every_field_is_in_the_table_once)
{
	struct stats stats;
	size_t i;

	stats_init(&stats);
	ck_assert_uint_eq(
		stats_count() * sizeof(int64_t) + stats_histograms() * sizeof(struct buckets), sizeof stats);
	for (i = 0; i < stats_count(); i++) {
		size_t j;

		for (j = 0; j < i; j++)
			ck_assert_str_ne(stats_info(i)->name, stats_info(j)->name);
	}
}
END_TEST

START_TEST(a_field_is_read_under_its_own_name)
{
	struct stats stats;
	size_t i, found = 0;

	stats_init(&stats);
	stats.master_calls = 42;
	for (i = 0; i < stats_count(); i++) {
		if (strcmp(stats_info(i)->name, "master_calls") == 0) {
			ck_assert_int_eq(stats_value(&stats, i), 42);
			ck_assert_int_eq(stats_info(i)->kind, STAT_COUNTER);
			found++;
		} else {
			ck_assert_int_eq(stats_value(&stats, i), 0);
		}
	}
	ck_assert_uint_eq(found, 1);
}
END_TEST

START_TEST(every_field_is_explained_in_one_line)
{
	size_t i;

	for (i = 0; i < stats_count(); i++) {
		ck_assert_uint_gt(strlen(stats_info(i)->help), 10);
		ck_assert_ptr_null(strchr(stats_info(i)->help, '\n'));
		ck_assert_uint_eq(
			strspn(stats_info(i)->name, "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
			strlen(stats_info(i)->name));
	}
}
END_TEST

START_TEST(a_duration_counts_at_the_first_bound_that_is_not_less)
{
	struct buckets histogram = {0};
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < BUCKETS_BOUNDS; i++) {
		int64_t us = buckets_bound_us(i);

		ck_assert(i == 0 || us > buckets_bound_us(i - 1));
		buckets_add(&histogram, us);
		buckets_add(&histogram, us + 1);
		sum += 2 * us + 1;
	}
	buckets_add(&histogram, 0);
	ck_assert_uint_eq(histogram.counts[0], 2);
	for (i = 1; i < BUCKETS_BOUNDS; i++)
		ck_assert_uint_eq(histogram.counts[i], 2);
	ck_assert_uint_eq(histogram.counts[BUCKETS_BOUNDS], 1);
	ck_assert_int_eq(histogram.sum_us, sum);
}
END_TEST

/* The rows of a family stand together: OpenMetrics wants them so. */
START_TEST(the_rows_of_a_family_follow_each_other)
{
	for (size_t i = 0; i < stats_count(); i++) {
		const char *family = stats_info(i)->family;

		for (size_t j = i + 2; family && j < stats_count(); j++) {
			const char *other = stats_info(j)->family, *before = stats_info(j - 1)->family;

			if (other && strcmp(other, family) == 0)
				ck_assert(before && strcmp(before, family) == 0);
		}
	}
}
END_TEST

/* Every reason for a loss has its counter. */
START_TEST(every_loss_is_counted_by_its_reason)
{
	static const char *const words[] = {
#define LOSS(id, word, text) word,
		LOSSES(LOSS)
#undef LOSS
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct note note = {.type = NOTE_LOST, .text = words[i], .span_ms = 5};
		struct stats stats;
		int64_t counted = 0;

		if (strcmp(words[i], "returned") == 0)
			continue; /* it is none, and no note tells of it */
		stats_init(&stats);
		note_count(&note, &stats);
		for (size_t k = 0; k < stats_count(); k++) {
			const struct stat_info *info = stats_info(k);

			if (info->family && strcmp(info->family, "losses") == 0 &&
				strcmp(info->value, words[i]) == 0)
				counted = stats_value(&stats, k);
		}
		ck_assert_msg(counted == 1, "%s", words[i]);
		ck_assert_int_eq(stats.locks_lost, 1);
		ck_assert_int_eq(stats.held.sum_us, 5000);
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN("stats", NULL, NULL, every_field_is_in_the_table_once, every_field_is_set_somewhere,
		a_field_is_read_under_its_own_name, every_field_is_explained_in_one_line,
		a_duration_counts_at_the_first_bound_that_is_not_less, the_rows_of_a_family_follow_each_other,
		every_loss_is_counted_by_its_reason);
}
