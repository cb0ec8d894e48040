/*
 * Tests of the passwords of daemon/redis/connect.h: which password the next attempt takes.
 */
#include "daemon/redis/connect.h"
#include "tests/support/suite.h"

static struct credentials
with(const char *password)
{
	struct credentials c = {0};

	ck_assert(credentials_set(&c, password));
	credentials_worked(&c);
	ck_assert_str_eq(credentials_password(&c), password);
	return c;
}

START_TEST(both_are_tried_in_turn_until_the_new_one_works)
{
	struct credentials c = with("one");

	ck_assert(credentials_set(&c, "two"));
	for (int i = 0; i < 3; i++) {
		ck_assert_str_eq(credentials_password(&c), "two");
		credentials_refused(&c);
		ck_assert_str_eq(credentials_password(&c), "one");
		credentials_worked(&c); /* and goes on until the server refuses it */
		ck_assert_str_eq(credentials_password(&c), "one");
		credentials_refused(&c);
	}
	credentials_worked(&c);
	credentials_refused(&c);
	ck_assert_str_eq(credentials_password(&c), "two");
	ck_assert_ptr_null(c.before);
	credentials_done(&c);
}
END_TEST

START_TEST(of_several_changes_the_one_that_has_worked_is_kept)
{
	struct credentials c = with("one");

	ck_assert(credentials_set(&c, "two"));
	ck_assert(credentials_set(&c, "three"));
	credentials_refused(&c);
	ck_assert_str_eq(credentials_password(&c), "one");
	ck_assert(credentials_set(&c, "four"));
	ck_assert_str_eq(credentials_password(&c), "four");
	credentials_refused(&c);
	ck_assert_str_eq(credentials_password(&c), "one");
	credentials_done(&c);
}
END_TEST

START_TEST(the_same_one_again_changes_nothing)
{
	struct credentials c = with("one");

	ck_assert(credentials_set(&c, "one"));
	ck_assert(!c.changed);
	credentials_refused(&c);
	ck_assert_str_eq(credentials_password(&c), "one");
	credentials_done(&c);
	ck_assert(credentials_set(&c, NULL));
	ck_assert(!c.changed);
	credentials_done(&c);
}
END_TEST

START_TEST(a_password_comes_and_goes)
{
	struct credentials c = {0};

	ck_assert_ptr_null(credentials_password(&c));
	ck_assert(credentials_set(&c, "one"));
	credentials_refused(&c);
	ck_assert_ptr_null(credentials_password(&c));
	credentials_refused(&c);
	credentials_worked(&c);
	ck_assert(credentials_set(&c, NULL));
	ck_assert_ptr_null(credentials_password(&c));
	credentials_refused(&c);
	ck_assert_str_eq(credentials_password(&c), "one");
	credentials_done(&c);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("credentials", NULL, NULL, both_are_tried_in_turn_until_the_new_one_works,
		of_several_changes_the_one_that_has_worked_is_kept, the_same_one_again_changes_nothing,
		a_password_comes_and_goes);
}
