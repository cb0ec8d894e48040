/*
 * check_name: what may be a name, a tag, a text and a label (PROTOCOL.md 2), and what UTF-8 is.
 */
#include "proto/escape.h"
#include "proto/name.h"

#include "tests/support/suite.h"

#include <string.h>

static void
fine(const char *name)
{
	const char *fault = name_check(slice_of(name), 512);

	ck_assert_msg(fault == NULL, "%s: %s", name, fault);
}

START_TEST(ordinary_names_are_fine)
{
	fine("a");
	fine("cron/backup:2024-01-01{x}");
	fine("{tag}:a");
	fine("\"quoted\\");
	fine("Schlüssel-锁-\xf0\x9f\x94\x92");
	fine("*?[");
}
END_TEST

START_TEST(bad_names_are_told_why)
{
	static const struct {
		struct slice name;
		const char *fault;
	} bad[] = {
		{{"", 0}, "it is empty"},
		{{"a b", 3}, "it contains a space"},
		{{"a\0b", 3}, "it contains a control character"},
		{{"a\r", 2}, "it contains a control character"},
		{{"a\x7f", 2}, "it contains a control character"},
		{{"a\xc2\x85", 3}, "it contains a control character"},
		{{"a\xff", 2}, "it is not UTF-8"},
		{{"\xe2\x82", 2}, "it is not UTF-8"},
		{{"}", 1}, "it begins with '}'"},
		{{"}a", 2}, "it begins with '}'"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_str_eq(name_check(bad[i].name, 512), bad[i].fault);
}
END_TEST

START_TEST(lengths_are_counted_in_bytes)
{
	char name[600];

	memset(name, 'a', sizeof(name));
	ck_assert_ptr_null(name_check((struct slice){name, 512}, 512));
	ck_assert_str_eq(name_check((struct slice){name, 513}, 512), "it is too long");
	ck_assert_str_eq(name_check(SLICE("ü"), 1), "it is too long");
}
END_TEST

START_TEST(tags_may_begin_with_a_brace)
{
	ck_assert_ptr_null(name_check_tag(SLICE("}a"), 128));
	ck_assert_str_eq(name_check_tag(SLICE(""), 128), "it is empty");
	ck_assert_str_eq(name_check_tag(SLICE("a b"), 128), "it contains a space");
}
END_TEST

START_TEST(texts_may_be_empty_and_have_spaces)
{
	ck_assert_ptr_null(name_check_text(SLICE(""), 8));
	ck_assert_ptr_null(name_check_text(SLICE("a b c d"), 8));
	ck_assert_str_eq(name_check_text(SLICE("a\tb"), 8), "it contains a control character");
	ck_assert_str_eq(name_check_text(SLICE("123456789"), 8), "it is too long");
}
END_TEST

START_TEST(labels_are_printable_ascii)
{
	ck_assert_ptr_null(name_check_label(SLICE(""), 8));
	ck_assert_ptr_null(name_check_label(SLICE("web-1~!"), 8));
	ck_assert_ptr_nonnull(name_check_label(SLICE("a b"), 8));
	ck_assert_ptr_nonnull(name_check_label(SLICE("ü"), 8));
	ck_assert_str_eq(name_check_label(SLICE("123456789"), 8), "it is too long");
}
END_TEST

/* Names are looked at in eights: whatever the length, each place, and each byte alone. */
START_TEST(a_byte_is_judged_alike_wherever_it_stands)
{
	char name[26];

	for (size_t n = 1; n < sizeof(name); n++) {
		for (size_t at = 0; at < n; at++) {
			for (int byte = 0; byte < 256; byte++) {
				bool plain = byte > ' ' && byte < 0x7f;

				memset(name, 'a', n);
				name[at] = (char)byte;
				if ((name_check_tag((struct slice){name, n}, n) == NULL) != plain)
					ck_abort_msg("byte %d at %zu of %zu", byte, at, n);
			}
		}
	}
}
END_TEST

/* Every code point, encoded by the rule, comes back; everything next to it does not. */
START_TEST(utf8_is_exactly_rfc_3629)
{
	uint32_t c;

	for (uint32_t point = 0; point < 0x110000; point++) {
		char bytes[4];
		size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
		bool surrogate = point >= 0xd800 && point < 0xe000;

		for (size_t i = n; i-- > 1;)
			bytes[i] = (char)(0x80 | (point >> (6 * (n - 1 - i)) & 0x3f));
		bytes[0] = (char)(n == 1 ? point : (0xf00 >> n & 0xff) | point >> (6 * (n - 1)));
		if (utf8_next(bytes, n, &c) != (surrogate ? 0 : n) || (!surrogate && c != point))
			ck_abort_msg("U+%04X", (unsigned)point);
		if (n > 1 && utf8_next(bytes, n - 1, &c) != 0)
			ck_abort_msg("U+%04X, cut off", (unsigned)point);
	}
	ck_assert_uint_eq(utf8_next("\xc0\x80", 2, &c), 0);
	ck_assert_uint_eq(utf8_next("\xe0\x80\x80", 3, &c), 0);
	ck_assert_uint_eq(utf8_next("\xf0\x80\x80\x80", 4, &c), 0);
	ck_assert_uint_eq(utf8_next("\xf4\x90\x80\x80", 4, &c), 0);
	ck_assert_uint_eq(utf8_next("\x80", 1, &c), 0);
	ck_assert_uint_eq(utf8_next("\xc2\x41", 2, &c), 0);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("name", NULL, NULL, ordinary_names_are_fine, bad_names_are_told_why,
		lengths_are_counted_in_bytes, tags_may_begin_with_a_brace, texts_may_be_empty_and_have_spaces,
		labels_are_printable_ascii, a_byte_is_judged_alike_wherever_it_stands,
		utf8_is_exactly_rfc_3629);
}
