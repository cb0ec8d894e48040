/*
 * Tests of client/deadline: when a holder asks, when its command is told to stop, and when the hold is over.
 */
#include "client/wire/deadline.h"
#include "tests/support/suite.h"

#include <unistd.h>

START_TEST(a_hold_is_asked_about_at_a_third_and_stopped_before_it_expires)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	ck_assert_int_eq(deadline_next(&d, 1000), 4000);
	ck_assert_int_eq(deadline_step(&d, 3999), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_step(&d, 4000), DEADLINE_ASK);
	deadline_asked(&d, 4000);
	ck_assert_int_eq(deadline_next(&d, 4000), 8000);
	ck_assert_int_eq(deadline_step(&d, 7999), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_step(&d, 8000), DEADLINE_STOP);
	ck_assert_int_eq(deadline_next(&d, 8000), 10000);
	ck_assert_int_eq(deadline_step(&d, 10000), DEADLINE_EXPIRE);
}
END_TEST

START_TEST(an_answer_counts_from_when_the_question_left)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_asked(&d, 4000);
	deadline_announced(&d, 9000);
	ck_assert_int_eq(d.expire_ms, 13000);
	ck_assert_int_eq(deadline_step(&d, 6999), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_step(&d, 7000), DEADLINE_ASK);
}
END_TEST

START_TEST(a_long_grace_never_begins_before_an_answer_could_come)
{
	struct deadline d;

	deadline_start(&d, 1000, 900, 60000);
	ck_assert_int_eq(d.stop_ms, 1600);
	ck_assert_int_eq(d.ask_ms, 1300);
}
END_TEST

START_TEST(a_twentieth_is_set_aside_for_stopping_and_at_least_half_a_second)
{
	struct deadline d;

	ck_assert_int_eq(deadline_reserve_ms(10000, 5000), 500);
	ck_assert_int_eq(deadline_reserve_ms(60000, 5000), 3000);
	ck_assert_int_eq(deadline_reserve_ms(1000, 5000), 500);
	ck_assert_int_eq(deadline_reserve_ms(-1, 5000), 500);
	ck_assert_int_eq(deadline_reserve_ms(60000, 200), 200);
	ck_assert_int_eq(deadline_reserve_ms(60000, 0), 0);
	/* The master stands still from just before a renewal on: two thirds of the lease are left. */
	deadline_start(&d, 1000, 10000, deadline_reserve_ms(10000, 5000));
	ck_assert_int_eq(deadline_step(&d, 4333), DEADLINE_ASK);
	deadline_asked(&d, 4333);
	deadline_announced(&d, 6667);
	deadline_silence(&d);
	ck_assert_int_eq(deadline_step(&d, 4333 + 6000), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_step(&d, 4333 + 6167), DEADLINE_STOP);
}
END_TEST

START_TEST(a_hold_that_is_not_renewed_keeps_its_whole_grace)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_asked(&d, 4000);
	deadline_announced(&d, 6000);
	deadline_asked(&d, 6000);
	deadline_announced(&d, 4000);
	ck_assert_int_eq(d.expire_ms, 10000);
	ck_assert_int_eq(d.stop_ms, 8000);
}
END_TEST

START_TEST(a_silent_daemon_is_not_asked_and_what_it_told_stands)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_silence(&d);
	ck_assert_int_eq(deadline_next(&d, 1000), 8000);
	ck_assert_int_eq(deadline_step(&d, 7999), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_step(&d, 8000), DEADLINE_STOP);
	ck_assert_int_eq(deadline_step(&d, 20000), DEADLINE_EXPIRE);
}
END_TEST

START_TEST(a_holder_that_slept_asks_before_it_stops_while_its_deadline_lies_ahead)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	ck_assert_int_eq(deadline_step(&d, 8500), DEADLINE_ASK);
	deadline_asked(&d, 8500);
	ck_assert_int_eq(deadline_step(&d, 8500), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_next(&d, 8500), 8500 + DEADLINE_LATE_MS);
	ck_assert_int_eq(deadline_step(&d, 8500 + DEADLINE_LATE_MS), DEADLINE_STOP);
	deadline_announced(&d, 9000);
	ck_assert_int_eq(deadline_step(&d, 8501), DEADLINE_WAIT);
	ck_assert_int_eq(d.expire_ms, 17500);
}
END_TEST

START_TEST(a_holder_that_slept_past_its_deadline_is_in_doubt_until_it_is_answered)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	ck_assert_int_eq(deadline_step(&d, 60000), DEADLINE_ASK);
	ck_assert(!deadline_doubts(&d, 60000));
	deadline_asked(&d, 60000);
	ck_assert(deadline_doubts(&d, 60000));
	ck_assert_int_eq(deadline_step(&d, 60001), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_next(&d, 60001), 60000 + DEADLINE_DOUBT_MS);
	deadline_announced(&d, 9000);
	ck_assert(!deadline_doubts(&d, 60001));
	ck_assert_int_eq(deadline_step(&d, 60001), DEADLINE_WAIT);
	ck_assert_int_eq(d.expire_ms, 69000);
	ck_assert_int_eq(d.stop_ms, 67000);
}
END_TEST

START_TEST(a_question_that_was_under_way_when_the_process_stood_still_leaves_a_doubt)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_asked(&d, 4000);
	deadline_stood(&d, 10000 + DEADLINE_STOOD_MS - 1);
	ck_assert_int_eq(deadline_step(&d, 10000 + DEADLINE_STOOD_MS - 1), DEADLINE_EXPIRE);
	deadline_stood(&d, 60000);
	ck_assert_int_eq(deadline_step(&d, 60000), DEADLINE_WAIT);
	deadline_stood(&d, 60100);
	ck_assert_int_eq(deadline_next(&d, 60100), 60000 + DEADLINE_DOUBT_MS);
	deadline_announced(&d, 9000); /* the answer of before */
	ck_assert_int_eq(deadline_step(&d, 60100), DEADLINE_ASK);
	deadline_asked(&d, 60100);
	deadline_announced(&d, 9000);
	ck_assert_int_eq(deadline_step(&d, 60200), DEADLINE_WAIT);
	ck_assert_int_eq(d.expire_ms, 69100);
}
END_TEST

START_TEST(a_connection_that_was_away_when_the_process_stood_still_leaves_a_doubt)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_cut(&d, 4000);
	deadline_stood(&d, 60000);
	ck_assert_int_eq(deadline_step(&d, 60000), DEADLINE_WAIT);
	deadline_back(&d, 60100);
	ck_assert_int_eq(deadline_step(&d, 60100), DEADLINE_ASK);
	deadline_asked(&d, 60100);
	ck_assert_int_eq(deadline_step(&d, 60000 + DEADLINE_DOUBT_MS), DEADLINE_EXPIRE);
}
END_TEST

START_TEST(a_doubt_that_nobody_answers_ends_the_hold)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_asked(&d, 60000);
	ck_assert_int_eq(deadline_step(&d, 60000 + DEADLINE_DOUBT_MS - 1), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_step(&d, 60000 + DEADLINE_DOUBT_MS), DEADLINE_EXPIRE);
	ck_assert(!deadline_doubts(&d, 60000 + DEADLINE_DOUBT_MS));
}
END_TEST

START_TEST(a_doubt_ends_with_the_connection)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_asked(&d, 60000);
	deadline_silence(&d);
	ck_assert(!deadline_doubts(&d, 60001));
	ck_assert_int_eq(deadline_step(&d, 60001), DEADLINE_EXPIRE);
}
END_TEST

START_TEST(a_connection_that_is_cut_and_back_is_asked_at_once)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_asked(&d, 4000);
	deadline_cut(&d, 4500);
	ck_assert_int_eq(deadline_step(&d, 7999), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_next(&d, 4500), 8000);
	deadline_back(&d, 5000);
	ck_assert_int_eq(deadline_step(&d, 5000), DEADLINE_ASK);
	deadline_asked(&d, 5000);
	deadline_announced(&d, 9000);
	ck_assert_int_eq(d.expire_ms, 14000);
	ck_assert_int_eq(d.stop_ms, 12000);
}
END_TEST

START_TEST(a_connection_that_stays_away_ends_the_hold_at_its_deadline)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_cut(&d, 4500);
	ck_assert_int_eq(deadline_step(&d, 8000), DEADLINE_STOP);
	ck_assert_int_eq(deadline_step(&d, 10000), DEADLINE_EXPIRE);
	ck_assert(!deadline_doubts(&d, 10000));
}
END_TEST

START_TEST(a_holder_that_slept_and_finds_itself_cut_is_in_doubt_until_it_is_back_or_a_second_is_over)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_cut(&d, 60000);
	ck_assert(deadline_doubts(&d, 60000));
	ck_assert_int_eq(deadline_step(&d, 60001), DEADLINE_WAIT);
	deadline_back(&d, 60100);
	ck_assert_int_eq(deadline_step(&d, 60100), DEADLINE_ASK);
	deadline_asked(&d, 60100);
	/* Neither a second cut nor CHECK begins the second anew. */
	deadline_cut(&d, 60500);
	ck_assert_int_eq(deadline_step(&d, 60000 + DEADLINE_DOUBT_MS - 1), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_step(&d, 60000 + DEADLINE_DOUBT_MS), DEADLINE_EXPIRE);
	deadline_back(&d, 60600);
	deadline_asked(&d, 60600);
	deadline_announced(&d, 9000);
	ck_assert(!deadline_doubts(&d, 60700));
	ck_assert_int_eq(d.expire_ms, 69600);
}
END_TEST

START_TEST(a_holder_that_asked_in_time_expires_without_a_doubt)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_asked(&d, 9900);
	ck_assert_int_eq(deadline_step(&d, 9999), DEADLINE_WAIT);
	ck_assert_int_eq(deadline_next(&d, 9999), 10000);
	ck_assert_int_eq(deadline_step(&d, 10000), DEADLINE_EXPIRE);
	ck_assert(!deadline_doubts(&d, 10000));
	deadline_announced(&d, 9000);
	ck_assert_int_eq(deadline_step(&d, 10001), DEADLINE_WAIT);
}
END_TEST

START_TEST(a_holder_that_slept_and_finds_the_daemon_gone_stops_at_once)
{
	struct deadline d;

	deadline_start(&d, 1000, 9000, 2000);
	deadline_asked(&d, 8500);
	ck_assert_int_eq(deadline_step(&d, 8600), DEADLINE_WAIT);
	deadline_silence(&d);
	ck_assert_int_eq(deadline_step(&d, 8600), DEADLINE_STOP);
	ck_assert_int_eq(deadline_step(&d, 10000), DEADLINE_EXPIRE);
}
END_TEST

START_TEST(a_validity_of_zero_expires_at_once)
{
	struct deadline d;

	deadline_start(&d, 1000, 0, 2000);
	ck_assert_int_eq(deadline_step(&d, 1000), DEADLINE_EXPIRE);
}
END_TEST

START_TEST(a_time_that_no_daemon_tells_is_bounded)
{
	static const int64_t strange[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX - 1000, DEADLINE_MS_MAX + 1};
	struct deadline d;

	for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
		int64_t most = strange[i] < 0 ? 1000 : 1000 + DEADLINE_MS_MAX;

		deadline_start(&d, 1000, strange[i], 2000);
		ck_assert_int_eq(d.expire_ms, most);
		deadline_asked(&d, 1000);
		deadline_announced(&d, strange[i]);
		ck_assert_int_eq(d.expire_ms, most);
		ck_assert_int_ge(d.stop_ms, 0);
	}
}
END_TEST

START_TEST(a_timer_that_was_closed_is_told)
{
	int fd = wakeup_open(), other[2];

	ck_assert_int_gt(fd, 2);
	ck_assert(wakeup_set(fd, 1));
	close(fd);
	ck_assert(!wakeup_set(fd, 1));
	ck_assert(!wakeup_set(-1, 1));
	/* Its number is a pipe's now. */
	ck_assert_int_eq(pipe(other), 0);
	ck_assert(!wakeup_set(other[1], 1));
	close(other[0]);
	close(other[1]);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("deadline", NULL, NULL,
		a_hold_is_asked_about_at_a_third_and_stopped_before_it_expires,
		an_answer_counts_from_when_the_question_left,
		a_long_grace_never_begins_before_an_answer_could_come,
		a_twentieth_is_set_aside_for_stopping_and_at_least_half_a_second,
		a_hold_that_is_not_renewed_keeps_its_whole_grace,
		a_silent_daemon_is_not_asked_and_what_it_told_stands,
		a_holder_that_slept_asks_before_it_stops_while_its_deadline_lies_ahead,
		a_holder_that_slept_past_its_deadline_is_in_doubt_until_it_is_answered,
		a_doubt_that_nobody_answers_ends_the_hold,
		a_question_that_was_under_way_when_the_process_stood_still_leaves_a_doubt,
		a_connection_that_was_away_when_the_process_stood_still_leaves_a_doubt,
		a_doubt_ends_with_the_connection, a_connection_that_is_cut_and_back_is_asked_at_once,
		a_connection_that_stays_away_ends_the_hold_at_its_deadline,
		a_holder_that_slept_and_finds_itself_cut_is_in_doubt_until_it_is_back_or_a_second_is_over,
		a_holder_that_asked_in_time_expires_without_a_doubt,
		a_holder_that_slept_and_finds_the_daemon_gone_stops_at_once,
		a_validity_of_zero_expires_at_once, a_time_that_no_daemon_tells_is_bounded,
		a_timer_that_was_closed_is_told);
}
