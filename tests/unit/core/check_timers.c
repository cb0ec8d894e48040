/* Tests of daemon/core/base/timers.c. */
#include "daemon/core/base/alloc.h"
#include "daemon/core/base/timers.h"
#include "tests/sim/world/rng.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define MANY 300

static struct reserve reserve;
static struct timers timers;
static struct timer all[MANY];

static void
begin(void)
{
	timers_init(&timers, &reserve);
	for (int i = 0; i < MANY; i++)
		timer_init(&all[i], TIMER_LEASE);
}

static void
end(void)
{
	timers_done(&timers);
}

START_TEST(they_come_in_the_order_of_their_times)
{
	begin();
	ck_assert(timers_first(&timers) == TIMER_NEVER);
	timer_arm(&timers, &all[0], 30);
	timer_arm(&timers, &all[1], 10);
	timer_arm(&timers, &all[2], 20);
	ck_assert_int_eq(timers_first(&timers), 10);
	ck_assert_ptr_null(timers_due(&timers, 9));
	ck_assert_ptr_eq(timers_due(&timers, 25), &all[1]);
	ck_assert_ptr_eq(timers_due(&timers, 25), &all[2]);
	ck_assert_ptr_null(timers_due(&timers, 25));
	ck_assert_int_eq(timers_first(&timers), 30);
}
END_TEST

START_TEST(of_one_time_the_one_that_was_armed_first_comes_first)
{
	begin();
	for (int i = 0; i < MANY; i++)
		timer_arm(&timers, &all[i], 5);
	timer_arm(&timers, &all[0], 6);
	timer_arm(&timers, &all[0], 5); /* armed anew: behind the others */
	timer_arm(&timers, &all[1], 5); /* as it was: keeps its place */
	for (int i = 1; i < MANY; i++)
		ck_assert_ptr_eq(timers_due(&timers, 5), &all[i]);
	ck_assert_ptr_eq(timers_due(&timers, 5), &all[0]);
	ck_assert_ptr_null(timers_due(&timers, 5));
}
END_TEST

START_TEST(the_heap_grows_with_them_and_shrinks)
{
	size_t most;

	begin();
	for (int i = 0; i < MANY; i++)
		timer_arm(&timers, &all[i], i);
	most = timers.room;
	ck_assert_uint_ge(most, MANY);
	for (int i = 0; i < MANY - 10; i++)
		ck_assert_ptr_eq(timers_due(&timers, i), &all[i]);
	ck_assert_uint_lt(timers.room, most);
	for (int i = MANY - 10; i < MANY; i++)
		ck_assert_ptr_eq(timers_due(&timers, i), &all[i]);
	ck_assert_ptr_null(timers_due(&timers, MANY));
}
END_TEST

START_TEST(what_is_cancelled_does_not_come)
{
	begin();
	for (int i = 0; i < MANY; i++)
		timer_arm(&timers, &all[i], i % 7);
	for (int i = 0; i < MANY; i += 2)
		timer_cancel(&timers, &all[i]);
	timer_cancel(&timers, &all[0]); /* once is enough */
	timer_arm(&timers, &all[1], TIMER_NEVER);
	for (int i = 3; i < MANY; i += 2)
		ck_assert_ptr_nonnull(timers_due(&timers, 7));
	ck_assert(timers_first(&timers) == TIMER_NEVER);
	ck_assert(!timer_is_armed(&all[1]) && !timer_is_armed(&all[299]));
}
END_TEST

/* What a look through all of them would find. */
static struct timer *
first_of_all(void)
{
	struct timer_entry *first = NULL;

	for (int i = 0; i < MANY; i++) {
		struct timer_entry *at;

		if (!timer_is_armed(&all[i]))
			continue;
		at = timers.heap + all[i].index - 1;
		if (first == NULL || at->key < first->key)
			first = at;
	}
	return first == NULL ? NULL : first->timer;
}

START_TEST(whatever_is_armed_moved_and_cancelled_the_first_is_known)
{
	struct rng rng = {7};

	begin();
	for (int step = 0; step < 5000; step++) {
		struct timer *t = &all[rng_next(&rng) % MANY];
		struct timer *first;

		if (rng_next(&rng) % 4 == 0)
			timer_cancel(&timers, t);
		else
			timer_arm(&timers, t, (int64_t)(rng_next(&rng) % 50));
		first = first_of_all();
		ck_assert_int_eq(
			timers_first(&timers), first == NULL ? TIMER_NEVER : timer_at(&timers, first));
		if (first != NULL && step % 8 == 0)
			ck_assert_ptr_eq(timers_due(&timers, timer_at(&timers, first)), first);
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN("timers", NULL, end, they_come_in_the_order_of_their_times,
		of_one_time_the_one_that_was_armed_first_comes_first, the_heap_grows_with_them_and_shrinks,
		what_is_cancelled_does_not_come, whatever_is_armed_moved_and_cancelled_the_first_is_known);
}
