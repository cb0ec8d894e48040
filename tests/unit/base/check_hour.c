/*
 * Tests of daemon/base/hour.
 */
#include "daemon/base/hour.h"
#include "tests/support/suite.h"

#define S 1000

START_TEST(a_minute_ends_with_that_of_the_wall_clock)
{
	struct stats stats;
	struct hour hour;

	stats_init(&stats);
	stats.locks_granted = 100; /* before */
	hour_begin(&hour, &stats, 500 * S, 600000 + 59 * S);
	stats.locks_granted += 3;
	hour_sample(&hour, &stats, 500 * S + 999);
	ck_assert_uint_eq(hour.known, 1);
	ck_assert_int_eq(hour_minute(&hour, 0)->granted, 3);
	/* What was counted until then belongs to the minute before. */
	stats.locks_granted += 4;
	hour_sample(&hour, &stats, 501 * S);
	stats.locks_granted += 5;
	hour_sample(&hour, &stats, 502 * S);
	ck_assert_uint_eq(hour.known, 2);
	ck_assert_int_eq(hour_minute(&hour, 0)->granted, 5);
	ck_assert_int_eq(hour_minute(&hour, 1)->granted, 7);
}
END_TEST

START_TEST(it_has_the_latest_sixty_and_forgets_all_after_a_sleep)
{
	struct stats stats;
	struct hour hour;

	stats_init(&stats);
	hour_begin(&hour, &stats, 0, 0);
	for (int i = 0; i < 100; i++) {
		stats.locks_lost += i;
		hour_sample(&hour, &stats, (i + 1) * 60 * S - 1);
		hour_sample(&hour, &stats, (i + 1) * 60 * S);
	}
	ck_assert_uint_eq(hour.known, HOUR_MINUTES);
	for (size_t ago = 1; ago < HOUR_MINUTES; ago++)
		ck_assert_int_eq(hour_minute(&hour, ago)->lost, 100 - (int64_t)ago);
	int64_t days_ms = 3 * INT64_C(86400) * S + 1;
	hour_sample(&hour, &stats, days_ms);
	ck_assert(hour.ends_ms > days_ms && hour.ends_ms <= days_ms + HOUR_MINUTE_MS);
	for (size_t ago = 0; ago < HOUR_MINUTES; ago++)
		ck_assert_int_eq(hour_minute(&hour, ago)->lost, 0);
}
END_TEST

START_TEST(percentiles_are_bounds_of_the_buckets)
{
	struct hour_minute minute = {0}, other = {0};

	ck_assert_int_eq(hour_minute_wait_us(&minute, 99), 0);
	minute.waits[0] = 99;
	other.waits[5] = 1;
	hour_minute_add(&minute, &other);
	ck_assert_int_eq(hour_minute_wait_us(&minute, 50), 100);
	ck_assert_int_eq(hour_minute_wait_us(&minute, 99), 100);
	ck_assert_int_eq(hour_minute_wait_us(&minute, 100), buckets_bound_us(5));
	minute.waits[5]++;
	ck_assert_int_eq(hour_minute_wait_us(&minute, 99), buckets_bound_us(5));
	other = (struct hour_minute){.waits = {[BUCKETS_BOUNDS] = 1}};
	ck_assert_int_eq(hour_minute_wait_us(&other, 50), buckets_bound_us(BUCKETS_BOUNDS - 1));
}
END_TEST

int
main(void)
{
	return SUITE_RUN("hour", NULL, NULL, a_minute_ends_with_that_of_the_wall_clock,
		it_has_the_latest_sixty_and_forgets_all_after_a_sleep, percentiles_are_bounds_of_the_buckets);
}
