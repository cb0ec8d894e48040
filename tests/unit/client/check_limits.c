/*
 * Tests of client/limits: when a command has run for long enough, and when its lock may go.
 */
#include "client/wire/deadline.h"
#include "tests/support/suite.h"

START_TEST(a_command_is_asked_to_end_once_and_killed_once)
{
	struct limits l;

	limits_start(&l, 1000, 5000, 200, 0);
	ck_assert_int_eq(limits_next(&l), 6000);
	ck_assert_int_eq(limits_step(&l, 5999), LIMITS_WAIT);
	ck_assert_int_eq(limits_step(&l, 6000), LIMITS_STOP);
	ck_assert_int_eq(limits_next(&l), 6200);
	ck_assert_int_eq(limits_step(&l, 6199), LIMITS_WAIT);
	ck_assert_int_eq(limits_step(&l, 6200), LIMITS_KILL);
	ck_assert_int_eq(limits_step(&l, 9000), LIMITS_WAIT);
	ck_assert(limits_next(&l) == INT64_MAX);
}
END_TEST

START_TEST(who_slept_past_both_still_has_its_time_between_them)
{
	struct limits l;

	limits_start(&l, 1000, 5000, 200, 0);
	ck_assert_int_eq(limits_step(&l, 90000), LIMITS_STOP);
	ck_assert_int_eq(limits_step(&l, 90000), LIMITS_WAIT);
	ck_assert_int_eq(limits_step(&l, 90200), LIMITS_KILL);
}
END_TEST

START_TEST(without_limits_nothing_is_due_and_nothing_kept)
{
	struct limits l;

	limits_start(&l, 1000, 0, 200, 0);
	ck_assert(limits_next(&l) == INT64_MAX);
	ck_assert_int_eq(limits_step(&l, INT64_MAX - 1), LIMITS_WAIT);
	ck_assert_int_eq(l.keep_ms, 1000);
}
END_TEST

START_TEST(a_lock_is_kept_from_when_it_was_there)
{
	struct limits l;

	limits_start(&l, 1000, 0, 0, 30000);
	ck_assert_int_eq(l.keep_ms, 31000);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("limits", NULL, NULL, a_command_is_asked_to_end_once_and_killed_once,
		who_slept_past_both_still_has_its_time_between_them,
		without_limits_nothing_is_due_and_nothing_kept, a_lock_is_kept_from_when_it_was_there);
}
