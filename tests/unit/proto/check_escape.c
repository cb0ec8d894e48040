/*
 * check_escape: untrusted bytes in one safe line, and back.
 */
#include "proto/escape.h"

#include "tests/support/suite.h"

#include <string.h>

static void
plain(struct slice text, const char *expected)
{
	char out[100];

	ck_assert_uint_eq(escape_text(out, sizeof(out), text, ESCAPE_PLAIN), strlen(expected));
	ck_assert_str_eq(out, expected);
	ck_assert_uint_eq(escape_length(text, ESCAPE_PLAIN), strlen(expected));
}

START_TEST(what_can_be_printed_stays)
{
	plain(SLICE("a b=\"c\"\\ü锁"), "a b=\"c\"\\ü锁");
	plain(SLICE(""), "");
}
END_TEST

START_TEST(what_would_move_a_cursor_is_escaped)
{
	plain(SLICE("a\r\n\tb\0c\x1b[1m\x7f"), "a\\r\\n\\tb\\x00c\\x1b[1m\\x7f");
	plain(SLICE("\xff\xc2\x85z"), "\\xff\\xc2\\x85z");
	plain(SLICE("\xe2\x80\xae"), "\\xe2\\x80\\xae");
	plain(SLICE("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");
	plain(SLICE("\xe2\x80\x8f\xd8\x9c"), "\\xe2\\x80\\x8f\\xd8\\x9c");
}
END_TEST

START_TEST(what_does_not_fit_is_cut_between_characters)
{
	char out[8];

	ck_assert_uint_eq(escape_text(out, 4, SLICE("abcdef"), ESCAPE_PLAIN), 3);
	ck_assert_str_eq(out, "abc");
	ck_assert_uint_eq(escape_text(out, 4, SLICE("abü"), ESCAPE_PLAIN), 2);
	ck_assert_uint_eq(escape_text(out, 5, SLICE("ab\x01"), ESCAPE_PLAIN), 2);
	ck_assert_uint_eq(escape_text(out, 1, SLICE("a"), ESCAPE_PLAIN), 0);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(quoted_text_comes_back_exactly)
{
	for (int a = 0; a < 256; a++) {
		for (int b = 0; b < 256; b++) {
			char text[3] = {(char)a, (char)b, 'z'};
			struct slice whole = {text, 3};
			char escaped[16];
			char back[16];
			size_t n = escape_text(escaped, sizeof(escaped), whole, ESCAPE_QUOTED);
			ptrdiff_t got = escape_undo(back, (struct slice){escaped, n});

			ck_assert_int_eq(got, 3);
			ck_assert_int_eq(memcmp(back, text, 3), 0);
			for (size_t i = 0; i < n; i++)
				ck_assert_msg((unsigned char)escaped[i] >= 0x20, "%d %d", a, b);
		}
	}
}
END_TEST

START_TEST(what_is_no_escape_is_refused)
{
	char out[16];

	ck_assert_int_eq(escape_undo(out, SLICE("a\\")), -1);
	ck_assert_int_eq(escape_undo(out, SLICE("\\q")), -1);
	ck_assert_int_eq(escape_undo(out, SLICE("\\x4")), -1);
	ck_assert_int_eq(escape_undo(out, SLICE("\\xzz")), -1);
	ck_assert_int_eq(escape_undo(out, SLICE("a\"b")), -1);
}
END_TEST

START_TEST(fields_are_quoted_only_where_they_must_be)
{
	char text[200];
	struct fields f;

	fields_init(&f, text, sizeof(text));
	fields_word(&f, "lock.granted");
	fields_text(&f, "name", SLICE("a/b:ü"));
	fields_int(&f, "token", 1760000000000001);
	fields_text(&f, "why", SLICE("release \"42\"\n"));
	fields_text(&f, "owner", SLICE(""));
	fields_text(&f, "x", SLICE("a=b"));
	ck_assert(slice_equal(fields_line(&f), SLICE("lock.granted name=a/b:ü token=1760000000000001 "
						     "why=\"release \\\"42\\\"\\n\" owner=\"\" "
						     "x=\"a=b\"")));
}
END_TEST

START_TEST(fields_read_back)
{
	struct slice line = SLICE("lock.lost name=a why=\"b \\\"c\\\" \\x01\" owner=\"\" n=4");
	char scratch[200];
	struct slice key;
	struct slice value;

	ck_assert(fields_next(&line, scratch, &key, &value));
	ck_assert(slice_equal(key, SLICE("lock.lost")));
	ck_assert_ptr_null(value.p);
	ck_assert(fields_next(&line, scratch, &key, &value));
	ck_assert(slice_equal(key, SLICE("name")));
	ck_assert(slice_equal(value, SLICE("a")));
	ck_assert(fields_next(&line, scratch, &key, &value));
	ck_assert(slice_equal(value, SLICE("b \"c\" \x01")));
	ck_assert(fields_next(&line, scratch, &key, &value));
	ck_assert(slice_equal(key, SLICE("owner")));
	ck_assert_ptr_nonnull(value.p);
	ck_assert_uint_eq(value.n, 0);
	ck_assert(fields_next(&line, scratch, &key, &value));
	ck_assert(slice_equal(value, SLICE("4")));
	ck_assert(!fields_next(&line, scratch, &key, &value));
	ck_assert_uint_eq(line.n, 0);
}
END_TEST

START_TEST(what_are_no_fields_is_refused)
{
	static const char *const bad[] = {
		"=a", "a=\"b", "a=\"b\\\"", "a=\"\\q\"", "a=\"b\"c", " a", "a=b=c", "\"a\""};
	char scratch[100];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct slice line = slice_of(bad[i]);
		struct slice key;
		struct slice value;

		ck_assert_msg(!fields_next(&line, scratch, &key, &value), "%s was taken", bad[i]);
		ck_assert_uint_gt(line.n, 0);
	}
}
END_TEST

START_TEST(a_field_without_room_is_left_out_whole)
{
	char text[20];
	struct fields f;

	fields_init(&f, text, sizeof(text));
	fields_word(&f, "event");
	fields_text(&f, "name", SLICE("much too long for it"));
	fields_text(&f, "n", SLICE("\x01\x01\x01"));
	fields_int(&f, "token", 123456789);
	fields_int(&f, "n", 12345);
	ck_assert(slice_equal(fields_line(&f), SLICE("event n=12345")));
	fields_text(&f, "o", SLICE("a b"));
	ck_assert(slice_equal(fields_line(&f), SLICE("event n=12345")));
	fields_text(&f, "o", SLICE(" "));
	ck_assert(slice_equal(fields_line(&f), SLICE("event n=12345 o=\" \"")));
}
END_TEST

int
main(void)
{
	return SUITE_RUN("escape", NULL, NULL, what_can_be_printed_stays, what_would_move_a_cursor_is_escaped,
		what_does_not_fit_is_cut_between_characters, quoted_text_comes_back_exactly,
		what_is_no_escape_is_refused, fields_are_quoted_only_where_they_must_be, fields_read_back,
		what_are_no_fields_is_refused, a_field_without_room_is_left_out_whole);
}
