/*
 * check_number: decimal numbers, to the last one, and nothing that only looks like one; and the other readers
 * of proto/slice.h.
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
		ck_assert_str_eq(number_text(text, numbers[i]), expected);
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

START_TEST(host_and_port_are_divided)
{
	static const struct {
		const char *text, *host, *port;
	} good[] = {{"a", "a", NULL}, {"a:1", "a", "1"}, {"a:", "a", ""}, {"", "", NULL}, {":7", "", "7"},
		{"::1", "", ":1"}, {"[::1]", "::1", NULL}, {"[::1]:9", "::1", "9"}, {"[]", "", NULL}};
	static const char *const bad[] = {"[", "[::1", "[::1]9", "[::1] :9"};
	struct slice host, port;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		ck_assert_ptr_null(slice_endpoint(slice_of(good[i].text), &host, &port));
		ck_assert_msg(slice_equal(host, slice_of(good[i].host)), "host of %s", good[i].text);
		ck_assert_msg((port.p == NULL) == (good[i].port == NULL), "port of %s", good[i].text);
		ck_assert(port.p == NULL || slice_equal(port, slice_of(good[i].port)));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(slice_endpoint(slice_of(bad[i]), &host, &port) != NULL, "%s was taken", bad[i]);
	/* Only its own bytes are read. */
	ck_assert_ptr_null(slice_endpoint((struct slice){"a:1", 1}, &host, &port));
	ck_assert_ptr_null(port.p);
}
END_TEST

START_TEST(percent_escapes_are_decoded)
{
	static const char *const bad[] = {"%", "%4", "%4g", "%g4", "a%", "%00", "123456789"};
	char out[9];

	ck_assert_int_eq(slice_decode(out, sizeof(out), SLICE("a%40%3aB%2F")), 5);
	ck_assert_str_eq(out, "a@:B/");
	ck_assert_int_eq(slice_decode(out, sizeof(out), SLICE("12345678")), 8);
	ck_assert_int_eq(slice_decode(out, sizeof(out), SLICE("")), 0);
	ck_assert_str_eq(out, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(slice_decode(out, sizeof(out), slice_of(bad[i])) == -1, "%s was taken", bad[i]);
	ck_assert_int_eq(slice_decode(out, sizeof(out), (struct slice){"%4142", 3}), 1);
	ck_assert_int_eq(slice_decode(out, sizeof(out), (struct slice){"%41", 2}), -1);
}
END_TEST

START_TEST(words_are_cut_off_with_their_blank)
{
	static const char *const words[] = {"broken", "", "an", "administrator"};
	struct slice text = SLICE("broken  an administrator"), none = {NULL, 0};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		ck_assert(slice_equal(slice_word(&text), slice_of(words[i])));
	ck_assert_uint_eq(text.n, 0);
	ck_assert_uint_eq(slice_word(&text).n, 0);
	ck_assert_uint_eq(slice_word(&none).n, 0);
	ck_assert(none.p == NULL);
}
END_TEST

START_TEST(words_nearly_right_are_near)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} pairs[] = {{"", "", 0}, {"lease", "lease", 0}, {"laese", "lease", 1}, {"leas", "lease", 1},
		{"leasee", "lease", 1}, {"lesse", "lease", 1}, {"", "abc", 3}, {"abc", "", 3},
		{"ab", "xy", 2}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		ck_assert_uint_eq(
			slice_distance(slice_of(pairs[i].a), slice_of(pairs[i].b)), pairs[i].distance);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("number", NULL, NULL, numbers_print_and_read_back, everything_else_is_no_number,
		a_range_includes_its_ends, only_its_own_bytes_are_read, hexadecimal_digits_are_twenty_two,
		host_and_port_are_divided, percent_escapes_are_decoded, words_are_cut_off_with_their_blank,
		words_nearly_right_are_near);
}
