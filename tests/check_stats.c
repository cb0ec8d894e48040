/*
 * Tests of daemon/base/stats.
 */
#include "daemon/base/stats.h"
#include "tests/support/suite.h"

#include <string.h>

START_TEST(every_field_is_in_the_table_once)
{
	struct stats stats;
	size_t i;

	stats_init(&stats);
	ck_assert_uint_eq(stats_count() * sizeof(int64_t), sizeof stats);
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
		ck_assert_uint_eq(strspn(stats_info(i)->name, "abcdefghijklmnopqrstuvwxyz_"),
			strlen(stats_info(i)->name));
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN("stats", NULL, NULL, every_field_is_in_the_table_once,
		a_field_is_read_under_its_own_name, every_field_is_explained_in_one_line);
}
