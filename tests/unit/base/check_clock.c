/*
 * Tests of daemon/base/clock and daemon/base/random.
 */
#include "daemon/base/clock.h"
#include "daemon/base/random.h"
#include "tests/support/suite.h"

#include <string.h>
#include <time.h>

START_TEST(the_clock_is_the_one_that_counts_through_suspend)
{
	struct timespec before, after;
	int64_t ms;

	clock_gettime(CLOCK_BOOTTIME, &before);
	ms = clock_ms();
	clock_gettime(CLOCK_BOOTTIME, &after);
	ck_assert_int_ge(ms, (int64_t)before.tv_sec * 1000 + before.tv_nsec / 1000000);
	ck_assert_int_le(ms, (int64_t)after.tv_sec * 1000 + after.tv_nsec / 1000000);
}
END_TEST

START_TEST(the_clock_never_goes_back)
{
	int64_t last = clock_us();
	int i;

	for (i = 0; i < 100000; i++) {
		int64_t now = clock_us();

		ck_assert_int_ge(now, last);
		last = now;
	}
}
END_TEST

START_TEST(the_wall_clock_is_in_microseconds_of_this_age)
{
	int64_t us = clock_wall_us();

	ck_assert_int_le(us / 1000000, (int64_t)time(NULL) + 1);
	ck_assert_int_ge(us / 1000000, (int64_t)time(NULL) - 1);
}
END_TEST

START_TEST(random_numbers_do_not_repeat_across_refills)
{
	uint64_t seen[1000];
	struct random random;
	int i, j;

	random_init(&random);
	for (i = 0; i < 1000; i++) {
		seen[i] = random_next(&random);
		for (j = 0; j < i; j++)
			ck_assert_uint_ne(seen[i], seen[j]);
	}
}
END_TEST

START_TEST(what_was_handed_out_is_not_kept)
{
	struct random random;
	uint64_t number;
	size_t i;

	random_init(&random);
	number = random_next(&random);
	for (i = 0; i < sizeof random.buffer / sizeof *random.buffer; i++)
		ck_assert_uint_ne(random.buffer[i], number);
}
END_TEST

START_TEST(a_limited_number_stays_below_its_limit_and_reaches_every_value)
{
	struct random random;
	unsigned counts[7] = {0};
	int i;

	random_init(&random);
	ck_assert_uint_eq(random_below(&random, 1), 0);
	for (i = 0; i < 7000; i++) {
		uint64_t number = random_below(&random, 7);

		ck_assert_uint_lt(number, 7);
		counts[number]++;
	}
	/* 1000 are expected; 700 is ten standard deviations away. */
	for (i = 0; i < 7; i++)
		ck_assert_uint_gt(counts[i], 700);
}
END_TEST

START_TEST(a_daemon_id_is_32_hexadecimal_digits)
{
	struct random random;
	char one[33], other[33];

	random_init(&random);
	random_hex32(&random, one);
	random_hex32(&random, other);
	ck_assert_uint_eq(strlen(one), 32);
	ck_assert_uint_eq(strspn(one, "0123456789abcdef"), 32);
	ck_assert_str_ne(one, other);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("clock", NULL, NULL, the_clock_is_the_one_that_counts_through_suspend,
		the_clock_never_goes_back, the_wall_clock_is_in_microseconds_of_this_age,
		random_numbers_do_not_repeat_across_refills, what_was_handed_out_is_not_kept,
		a_limited_number_stays_below_its_limit_and_reaches_every_value,
		a_daemon_id_is_32_hexadecimal_digits);
}
