/*
 * check_record: what goes into a stream of records comes out of it, also one version apart, and a stream that
 * was cut or changed fails and says why.
 */
#include "proto/record.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct buffer out;
static struct record r;

struct thing {
	int64_t size;
	uint64_t mask;
	bool full;
	enum { SMALL = 1, LARGE } kind;
	struct slice name;
	char label[8];
};

static const struct thing first = {-7, UINT64_MAX, true, LARGE, {"a\0b", 3}, "label"};

static void
thing_fields(struct thing *t)
{
	record_number(&r, &t->size);
	record_unsigned(&r, &t->mask);
	record_flag(&r, &t->full);
	t->kind = record_range(&r, t->kind, SMALL, LARGE) == SMALL ? SMALL : LARGE;
	record_bytes(&r, &t->name, 10);
	record_text(&r, t->label, sizeof(t->label));
}

static void
thing_save(struct thing t)
{
	record_begin(&r, RECORD_SESSION);
	thing_fields(&t);
	record_end(&r);
}

static void
begin(void)
{
	buffer_init(&out, SIZE_MAX / 2);
	record_save(&r, &out);
}

static void
end(void)
{
	buffer_done(&out);
}

static void
finish(void)
{
	record_begin(&r, RECORD_END);
	record_end(&r);
	ck_assert(!r.failed && !out.failed);
}

static struct slice
saved(void)
{
	ck_assert_ptr_nonnull(buffer_bytes(&out));
	return (struct slice){buffer_bytes(&out), buffer_length(&out)};
}

static void
load(void)
{
	ck_assert(record_load(&r, saved()));
}

static void
ck_thing(const struct thing *t, const struct thing *expected)
{
	ck_assert_int_eq(t->size, expected->size);
	ck_assert_uint_eq(t->mask, expected->mask);
	ck_assert(t->full == expected->full && t->kind == expected->kind);
	ck_assert(slice_equal(t->name, expected->name));
	ck_assert_str_eq(t->label, expected->label);
}

/* The next record, with these bytes as its fields. */
static void
save_raw(unsigned type, const char *fields, size_t n)
{
	char head[6] = {(char)(type & 0xff), (char)(type >> 8), (char)n};

	buffer_put(&out, head, sizeof(head));
	buffer_put(&out, fields, n);
}

START_TEST(what_was_saved_is_loaded)
{
	struct thing t = {.kind = SMALL};

	thing_save(first);
	thing_save((struct thing){.kind = SMALL});
	finish();
	load();
	ck_assert(record_loads(&r));
	ck_assert_uint_eq(record_next(&r), RECORD_SESSION);
	thing_fields(&t);
	ck_thing(&t, &first);
	ck_assert_uint_eq(record_next(&r), RECORD_SESSION);
	thing_fields(&t);
	ck_thing(&t, &(struct thing){.kind = SMALL});
	ck_assert_uint_eq(record_next(&r), RECORD_END);
	ck_assert(!r.failed);
}
END_TEST

/* The format on paper: other versions rely on it. */
START_TEST(the_bytes_are_those_of_the_header)
{
	static const char bytes[] = "holdfast state 1\n\x13\0\x19\0\0\0"
				    "\xf9\xff\xff\xff\xff\xff\xff\xff"
				    "\x02\x01\0\0\0\0\0\0"
				    "\x01"
				    "\x04\0\0\0name";
	int64_t n = -7;
	uint64_t m = 258;
	bool yes = true;
	struct slice name = SLICE("name");

	record_begin(&r, RECORD_SESSION);
	record_number(&r, &n);
	record_unsigned(&r, &m);
	record_flag(&r, &yes);
	record_bytes(&r, &name, 4);
	record_end(&r);
	ck_assert(slice_equal(saved(), (struct slice){bytes, sizeof(bytes) - 1}));
}
END_TEST

START_TEST(fields_that_an_older_record_lacks_keep_their_values)
{
	struct thing t = first;
	char label[4] = "old";
	int64_t size = 5;

	record_begin(&r, RECORD_SESSION);
	record_number(&r, &size);
	record_end(&r);
	finish();
	load();
	ck_assert_uint_eq(record_next(&r), RECORD_SESSION);
	thing_fields(&t);
	record_text(&r, label, sizeof(label));
	ck_assert_int_eq(t.size, 5);
	t.size = first.size;
	ck_thing(&t, &first);
	ck_assert_str_eq(label, "old");
	ck_assert_uint_eq(record_next(&r), RECORD_END);
}
END_TEST

START_TEST(fields_that_a_newer_record_has_are_skipped)
{
	int64_t size = 0;

	thing_save(first);
	thing_save(first);
	finish();
	load();
	ck_assert_uint_eq(record_next(&r), RECORD_SESSION);
	record_number(&r, &size);
	ck_assert_int_eq(size, first.size);
	ck_assert_uint_eq(record_next(&r), RECORD_SESSION);
	ck_assert_uint_eq(record_next(&r), RECORD_END);
}
END_TEST

START_TEST(an_optional_record_may_stay_unread_and_no_other)
{
	save_raw(RECORD_OPTIONAL, "x", 1);
	save_raw(RECORD_OPTIONAL - 1, "x", 1);
	load();
	ck_assert_uint_eq(record_next(&r), RECORD_OPTIONAL);
	record_unknown(&r);
	ck_assert(!r.failed);
	ck_assert_uint_eq(record_next(&r), RECORD_OPTIONAL - 1);
	record_unknown(&r);
	ck_assert_str_eq(r.why, "it has a record of type 1023, which this version does not know");
	ck_assert_uint_eq(record_next(&r), 0);
}
END_TEST

START_TEST(only_the_first_line_of_this_version_is_read)
{
	struct record other;

	ck_assert(!record_load(&other, SLICE("holdfast state 2\n")));
	ck_assert(!record_load(&other, SLICE("")));
	ck_assert_str_eq(other.why, "it does not begin with \"holdfast state 1\"");
	ck_assert_uint_eq(record_next(&other), 0);
}
END_TEST

/* Each is copied to memory of its own size, so that a sanitizer sees any look behind its end. */
START_TEST(a_stream_that_was_cut_fails_wherever_it_was_cut)
{
	thing_save(first);
	thing_save(first);
	finish();
	for (size_t n = 0; n < buffer_length(&out); n++) {
		char *bytes = malloc(n + 1);
		struct thing t = {.kind = SMALL};
		unsigned type = RECORD_SESSION;

		ck_assert_ptr_nonnull(bytes);
		memcpy(bytes, buffer_bytes(&out), n);
		if (record_load(&r, (struct slice){bytes, n})) {
			while ((type = record_next(&r)) != 0 && type != RECORD_END)
				thing_fields(&t);
			ck_assert_uint_eq(type, 0);
		}
		ck_assert(r.failed && strlen(r.why) > 0);
		free(bytes);
	}
}
END_TEST

START_TEST(a_record_longer_than_the_stream_fails)
{
	save_raw(RECORD_SESSION, "", 0);
	memset(buffer_end(&out) - 4, 0xff, 4);
	load();
	ck_assert_uint_eq(record_next(&r), 0);
	ck_assert_str_eq(r.why, "its record of type 19 ends in the middle");
}
END_TEST

START_TEST(a_record_without_a_number_fails)
{
	save_raw(0, "", 0);
	finish();
	load();
	ck_assert_uint_eq(record_next(&r), 0);
	ck_assert(r.failed);
}
END_TEST

/* After a failure all is zero or what it was, and the first reason stays. */
static void
ck_field_fails(const char *fields, size_t n, void (*read)(void), const char *why)
{
	int64_t more = 11;

	end();
	begin();
	save_raw(RECORD_SESSION, fields, n);
	finish();
	load();
	ck_assert_uint_eq(record_next(&r), RECORD_SESSION);
	read();
	ck_assert(r.failed);
	ck_assert_str_eq(r.why, why);
	record_fail(&r, "another reason");
	record_number(&r, &more);
	ck_assert_int_eq(more, 11);
	ck_assert_uint_eq(record_next(&r), 0);
	ck_assert_str_eq(r.why, why);
}

static void
read_number(void)
{
	int64_t n = 0;

	record_number(&r, &n);
}

static void
read_flag(void)
{
	bool flag = false;

	record_flag(&r, &flag);
}

static void
read_range(void)
{
	ck_assert_int_eq(record_range(&r, 4, 3, 5), 3);
}

static void
read_bytes(void)
{
	struct slice bytes = {NULL, 0};

	record_bytes(&r, &bytes, 4);
	ck_assert_uint_eq(bytes.n, 0);
}

static void
read_text(void)
{
	char text[4] = "";

	record_text(&r, text, sizeof(text));
	ck_assert_uint_lt(strlen(text), sizeof(text));
}

#define FIELD(fields) (fields), sizeof(fields) - 1

START_TEST(a_field_that_cannot_be_fails)
{
	ck_field_fails(
		FIELD("\1\2\3\4\5\6\7"), read_number, "a field of its record of type 19 ends behind it");
	ck_field_fails(FIELD("\2"), read_flag, "a yes or no of its record of type 19 is neither");
	ck_field_fails(FIELD("\2\0\0\0\0\0\0\0"), read_range,
		"a number of its record of type 19 is out of its range");
	ck_field_fails(FIELD("\6\0\0\0\0\0\0\0"), read_range,
		"a number of its record of type 19 is out of its range");
	ck_field_fails(FIELD("\0\0\0"), read_bytes, "a field of its record of type 19 ends behind it");
	ck_field_fails(FIELD("\xff\xff\xff\xff"
			     "abcd"),
		read_bytes, "bytes of its record of type 19 are too many");
	ck_field_fails(FIELD("\5\0\0\0abcde"), read_bytes, "bytes of its record of type 19 are too many");
	ck_field_fails(FIELD("\4\0\0\0abc"), read_bytes, "bytes of its record of type 19 are too many");
	ck_field_fails(FIELD("\4\0\0\0abcd"), read_text, "bytes of its record of type 19 are too many");
	ck_field_fails(FIELD("\2\0\0\0a\0"), read_text, "a text of its record of type 19 has a NUL");
}
END_TEST

START_TEST(a_state_that_finds_no_room_fails)
{
	end();
	buffer_init(&out, 40);
	record_save(&r, &out);
	thing_save(first);
	ck_assert(r.failed);
	ck_assert_str_eq(r.why, "there is no memory to save it");
	thing_save(first);
	ck_assert(r.failed);
}
END_TEST

START_TEST(a_long_reason_is_cut)
{
	char name[2 * RECORD_WHY_MAX];

	memset(name, 'x', sizeof(name));
	load();
	record_fail(&r, "%.*s", (int)sizeof(name), name);
	ck_assert_uint_eq(strlen(r.why), RECORD_WHY_MAX - 1);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("record", begin, end, what_was_saved_is_loaded, the_bytes_are_those_of_the_header,
		fields_that_an_older_record_lacks_keep_their_values,
		fields_that_a_newer_record_has_are_skipped, an_optional_record_may_stay_unread_and_no_other,
		only_the_first_line_of_this_version_is_read, a_stream_that_was_cut_fails_wherever_it_was_cut,
		a_record_longer_than_the_stream_fails, a_record_without_a_number_fails,
		a_field_that_cannot_be_fails, a_state_that_finds_no_room_fails, a_long_reason_is_cut);
}
