/*
 * check_buffer: growth, the maximum, and what a failure leaves behind.
 */
#include "proto/buffer.h"

#include "tests/support/suite.h"

#include <string.h>

static struct buffer b;

static void
end(void)
{
	buffer_done(&b);
}

static void
holds(const char *expected)
{
	const char *bytes = buffer_bytes(&b);

	ck_assert_uint_eq(buffer_length(&b), strlen(expected));
	ck_assert(bytes != NULL || buffer_length(&b) == 0);
	ck_assert(bytes == NULL || memcmp(bytes, expected, strlen(expected)) == 0);
}

START_TEST(bytes_come_out_as_they_went_in)
{
	buffer_init(&b, 100);
	ck_assert_uint_eq(buffer_length(&b), 0);
	buffer_put(&b, "hello ", 6);
	buffer_put(&b, "world", 5);
	holds("hello world");
	buffer_consume(&b, 6);
	holds("world");
	buffer_put(&b, "!", 1);
	holds("world!");
	buffer_consume(&b, 6);
	holds("");
}
END_TEST

START_TEST(it_fills_to_its_maximum_and_not_beyond)
{
	buffer_init(&b, 10);
	buffer_put(&b, "0123456789", 10);
	ck_assert(!b.failed);
	buffer_put(&b, "", 0);
	ck_assert(!b.failed);
	buffer_put(&b, "x", 1);
	ck_assert(b.failed);
	holds("0123456789");
	buffer_consume(&b, 5);
	buffer_put(&b, "y", 1);
	ck_assert(b.failed);
	holds("56789");
}
END_TEST

START_TEST(what_was_consumed_makes_room)
{
	buffer_init(&b, 600);
	for (int i = 0; i < 10000; i++) {
		buffer_put(&b, "0123456789", 10);
		if (i >= 50)
			buffer_consume(&b, 10);
	}
	ck_assert(!b.failed);
	ck_assert_uint_eq(buffer_length(&b), 500);
	ck_assert_uint_le(b.room, 2048);
	for (size_t i = 0; i < 500; i++)
		ck_assert_int_eq(buffer_bytes(&b)[i], '0' + (char)(i % 10));
}
END_TEST

START_TEST(reserved_room_is_claimed_by_what_was_written)
{
	buffer_init(&b, 10000);
	ck_assert(buffer_reserve(&b, 3000));
	ck_assert_uint_ge(buffer_free(&b), 3000);
	memset(buffer_end(&b), 'z', 3000);
	buffer_wrote(&b, 2999);
	ck_assert_uint_eq(buffer_length(&b), 2999);
	ck_assert_int_eq(buffer_bytes(&b)[2998], 'z');
	ck_assert(!buffer_reserve(&b, 7002));
	ck_assert(b.failed);
}
END_TEST

START_TEST(a_rewind_takes_back_and_forgives)
{
	size_t mark;

	buffer_init(&b, 10);
	buffer_put(&b, "keep", 4);
	mark = buffer_length(&b);
	buffer_put(&b, "half", 4);
	buffer_put(&b, "too much", 8);
	ck_assert(b.failed);
	buffer_rewind(&b, mark);
	ck_assert(!b.failed);
	holds("keep");
	buffer_put(&b, "!", 1);
	holds("keep!");
}
END_TEST

START_TEST(an_empty_buffer_keeps_no_memory)
{
	buffer_init(&b, 100000);
	for (int i = 0; i < 5000; i++)
		buffer_put(&b, "0123456789", 10);
	buffer_consume(&b, 49990);
	buffer_trim(&b);
	ck_assert_uint_le(b.room, 512);
	holds("0123456789");
	buffer_consume(&b, 10);
	buffer_trim(&b);
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(b.room, 0);
	buffer_put(&b, "again", 5);
	holds("again");
}
END_TEST

START_TEST(what_one_has_emptied_serves_the_next)
{
	struct buffer_store store = {0};
	const char *block;

	buffer_init(&b, 100000);
	buffer_borrow(&b, &store);
	ck_assert_ptr_null(b.data);
	buffer_put(&b, "first", 5);
	block = b.data;
	buffer_return(&b, &store);
	holds("first");
	buffer_consume(&b, 5);
	buffer_return(&b, &store);
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(store.n, 1);
	buffer_borrow(&b, &store);
	ck_assert_ptr_eq(b.data, block);
	buffer_put(&b, "second", 6);
	holds("second");
	for (int i = 0; i < 500; i++)
		buffer_put(&b, "0123456789", 10);
	buffer_consume(&b, 5006);
	buffer_return(&b, &store);
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(store.n, 0);
	buffer_store_done(&store);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("buffer", NULL, end, bytes_come_out_as_they_went_in,
		it_fills_to_its_maximum_and_not_beyond, what_was_consumed_makes_room,
		reserved_room_is_claimed_by_what_was_written, a_rewind_takes_back_and_forgives,
		an_empty_buffer_keeps_no_memory, what_one_has_emptied_serves_the_next);
}
