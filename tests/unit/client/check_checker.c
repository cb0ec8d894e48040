/*
 * Tests of client/checker: it must find each promise of a lock that is broken, and no other.
 */
#include "client/bench/bench.h"
#include "tests/support/suite.h"

#include <string.h>

START_TEST(grants_one_after_the_other_with_growing_tokens_are_fine)
{
	struct checker u = {0};
	int a = 0, b = 0;

	ck_assert_ptr_null(checker_grant(&u, &a, false, 10));
	checker_release(&u, false);
	ck_assert_ptr_null(checker_grant(&u, &a, false, 11));
	checker_release(&u, false);
	ck_assert_ptr_null(checker_grant(&u, &b, false, 20));
	ck_assert_uint_eq(u.changes, 2);
}
END_TEST

START_TEST(two_holders_at_once_are_found)
{
	struct checker u = {0};
	int a = 0, b = 0;

	ck_assert_ptr_null(checker_grant(&u, &a, false, 10));
	ck_assert_ptr_nonnull(strstr(checker_grant(&u, &b, false, 11), "while another has it"));
	ck_assert_ptr_nonnull(strstr(checker_grant(&u, &b, true, 12), "while another has it"));
}
END_TEST

START_TEST(a_writer_beside_readers_is_found)
{
	struct checker u = {0};
	int a = 0, b = 0, c = 0;

	ck_assert_ptr_null(checker_grant(&u, &a, true, 10));
	ck_assert_ptr_null(checker_grant(&u, &b, true, 11));
	checker_release(&u, true);
	ck_assert_ptr_nonnull(strstr(checker_grant(&u, &c, false, 12), "others have it shared"));
	checker_release(&u, true);
	ck_assert_ptr_null(checker_grant(&u, &c, false, 12));
}
END_TEST

START_TEST(a_token_that_does_not_grow_is_found)
{
	struct checker u = {0};
	int a = 0, b = 0;

	ck_assert_ptr_null(checker_grant(&u, &a, false, 10));
	checker_release(&u, false);
	ck_assert_ptr_nonnull(strstr(checker_grant(&u, &b, false, 10), "token"));
	ck_assert_ptr_nonnull(strstr(checker_grant(&u, &b, true, 9), "token"));
}
END_TEST

START_TEST(readers_of_one_time_are_in_no_order_but_below_the_next_writer)
{
	struct checker u = {0};
	int a = 0, b = 0, c = 0;

	ck_assert_ptr_null(checker_grant(&u, &a, true, 11));
	ck_assert_ptr_null(checker_grant(&u, &b, true, 10));
	checker_release(&u, true);
	checker_release(&u, true);
	ck_assert_ptr_nonnull(strstr(checker_grant(&u, &c, false, 11), "token"));
	ck_assert_ptr_null(checker_grant(&u, &c, false, 12));
}
END_TEST

int
main(void)
{
	return SUITE_RUN("checker", NULL, NULL, grants_one_after_the_other_with_growing_tokens_are_fine,
		two_holders_at_once_are_found, a_writer_beside_readers_is_found,
		a_token_that_does_not_grow_is_found,
		readers_of_one_time_are_in_no_order_but_below_the_next_writer);
}
