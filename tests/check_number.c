/*
 * check_number: decimal numbers, to the last one, and nothing that only looks like one.
 */
#include "proto/slice.h"

#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>

START_TEST(numbers_print_and_read_back)
{
	static const int64_t numbers[] = {0, 1, -1, 9, 10, -10, 1760000000000001, INT64_MAX, INT64_MIN,
		INT64_MAX - 1, INT64_MIN + 1, 1000000000000000000};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		char text[NUMBER_TEXT_MAX];
		char expected[32];
		size_t n = number_print(text, numbers[i]);
		int64_t back;

		snprintf(expected, sizeof(expected), "%" PRId64, numbers[i]);
		ck_assert(slice_equal((struct slice){text, n}, slice_of(expected)));
		ck_assert(number_parse((struct slice){text, n}, INT64_MIN, INT64_MAX, &back));
		ck_assert(back == numbers[i]);
	}
}
END_TEST

START_TEST(everything_else_is_no_number)
{
	static const char *const bad[] = {"", "-", "+1", " 1", "1 ", "01", "-0", "-01", "00", "1.5", "0x10",
		"1e3", "a", "9223372036854775808", "-9223372036854775809", "99999999999999999999",
		"100000000000000000000000000000000", "1-", "--1", "\xd9\xa1"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int64_t n = 77;

		ck_assert_msg(
			!number_parse(slice_of(bad[i]), INT64_MIN, INT64_MAX, &n), "%s was taken", bad[i]);
		ck_assert(n == 77);
	}
}
END_TEST

START_TEST(a_range_includes_its_ends)
{
	int64_t n;

	ck_assert(number_parse(SLICE("5"), 5, 7, &n));
	ck_assert(number_parse(SLICE("7"), 5, 7, &n));
	ck_assert(!number_parse(SLICE("4"), 5, 7, &n));
	ck_assert(!number_parse(SLICE("8"), 5, 7, &n));
	ck_assert(n == 7);
}
END_TEST

START_TEST(only_its_own_bytes_are_read)
{
	int64_t n;

	ck_assert(number_parse((struct slice){"123456", 3}, 0, 1000, &n));
	ck_assert(n == 123);
}
END_TEST

START_TEST(hexadecimal_digits_are_twenty_two)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	int known = 0;

	for (int c = -128; c < 128; c++)
		known += number_hex((char)c) >= 0;
	ck_assert_int_eq(known, 22);
	for (int i = 0; i < 22; i++)
		ck_assert_int_eq(number_hex(digits[i]), i < 16 ? i : i - 6);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("number", NULL, NULL, numbers_print_and_read_back, everything_else_is_no_number,
		a_range_includes_its_ends, only_its_own_bytes_are_read, hexadecimal_digits_are_twenty_two);
}
