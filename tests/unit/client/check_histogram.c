/*
 * Tests of client/histogram: percentiles out of few cells.
 */
#include "client/bench/bench.h"
#include "tests/support/suite.h"

START_TEST(an_empty_gauge_says_nothing)
{
	static const struct histogram g;

	ck_assert_int_eq(histogram_percentile_us(&g, 50), 0);
	ck_assert_int_eq(g.longest_us, 0);
}
END_TEST

START_TEST(short_times_are_exact)
{
	struct histogram g = {0};

	for (int64_t us = 1; us <= 50; us++) {
		histogram_add(&g, us);
	}
	ck_assert_int_eq(histogram_percentile_us(&g, 50), 25);
	ck_assert_int_eq(histogram_percentile_us(&g, 99), 50);
	ck_assert_int_eq(histogram_percentile_us(&g, 2), 1);
}
END_TEST

START_TEST(every_percentile_is_at_most_3_percent_too_long_and_never_too_short)
{
	for (int64_t us = 1; us < INT64_MAX / 3; us = us * 3 / 2 + 1) {
		struct histogram g = {0};

		histogram_add(&g, us);
		histogram_add(&g, INT64_MAX / 2);
		ck_assert_int_ge(histogram_percentile_us(&g, 50), us);
		ck_assert_int_le(histogram_percentile_us(&g, 50) - us, us / 32);
	}
}
END_TEST

START_TEST(the_longest_bounds_every_percentile)
{
	struct histogram g = {0};

	histogram_add(&g, 1000001);
	ck_assert_int_eq(histogram_percentile_us(&g, 99), 1000001);
	ck_assert_int_eq(g.longest_us, 1000001);
}
END_TEST

START_TEST(a_clock_that_seems_to_go_back_counts_as_no_time)
{
	struct histogram g = {0};

	histogram_add(&g, -5);
	ck_assert_uint_eq(g.count, 1);
	ck_assert_int_eq(histogram_percentile_us(&g, 99), 0);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("histogram", NULL, NULL, an_empty_gauge_says_nothing, short_times_are_exact,
		every_percentile_is_at_most_3_percent_too_long_and_never_too_short,
		the_longest_bounds_every_percentile, a_clock_that_seems_to_go_back_counts_as_no_time);
}
