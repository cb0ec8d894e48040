/* Tests of daemon/core/base/starts.c. */
#include "daemon/core/base/starts.h"
#include "daemon/core/base/timers.h"
#include "tests/sim/world/rng.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define MANY 3000

static struct starts starts;

static void
begin(void)
{
	ck_assert(starts_init(&starts));
}

static void
end(void)
{
	starts_done(&starts);
}

START_TEST(the_oldest_is_known_while_any_of_its_time_goes_on)
{
	begin();
	ck_assert(starts_oldest(&starts) == TIMER_NEVER);
	starts_add(&starts, 7);
	starts_add(&starts, 7);
	starts_add(&starts, 9);
	starts_add(&starts, 15);
	ck_assert_int_eq(starts_oldest(&starts), 7);
	starts_remove(&starts, 7);
	starts_remove(&starts, 9);
	ck_assert_int_eq(starts_oldest(&starts), 7);
	starts_remove(&starts, 7);
	ck_assert_int_eq(starts_oldest(&starts), 15);
	starts_remove(&starts, 15);
	ck_assert(starts_oldest(&starts) == TIMER_NEVER);
	starts_add(&starts, 15);
	ck_assert_int_eq(starts_oldest(&starts), 15);
}
END_TEST

START_TEST(one_that_lasts_takes_no_memory_for_the_short_ones_after_it)
{
	begin();
	starts_add(&starts, 0);
	for (int64_t ms = 1; ms <= 100000; ms++) {
		starts_add(&starts, ms);
		starts_remove(&starts, ms);
	}
	ck_assert_int_eq(starts_oldest(&starts), 0);
	ck_assert_uint_le(starts.room, 64);
}
END_TEST

START_TEST(memory_follows_how_many_there_are)
{
	begin();
	for (int64_t ms = 0; ms < MANY; ms++)
		starts_add(&starts, ms);
	ck_assert_uint_ge(starts.room, MANY);
	for (int64_t ms = MANY - 1; ms > 0; ms--)
		starts_remove(&starts, ms);
	for (int64_t ms = MANY; ms < 10 * MANY; ms++) {
		starts_add(&starts, ms);
		starts_remove(&starts, ms);
	}
	ck_assert_uint_le(starts.room, 64);
	ck_assert_int_eq(starts_oldest(&starts), 0);
}
END_TEST

/* A state names the holds in any order. */
START_TEST(what_comes_out_of_order_is_found)
{
	static const int64_t times[] = {30, 10, 20, 10, TIMER_NEVER, -5, 30};

	begin();
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		starts_add(&starts, times[i]);
	ck_assert_int_eq(starts_oldest(&starts), -5);
	ck_assert_uint_eq(starts_count(&starts), sizeof(times) / sizeof(*times));
	starts_remove(&starts, -5);
	ck_assert_int_eq(starts_oldest(&starts), 10);
	starts_remove(&starts, 10);
	starts_add(&starts, 15);
	starts_remove(&starts, 10);
	ck_assert_int_eq(starts_oldest(&starts), 15);
	starts_remove(&starts, 15);
	starts_remove(&starts, 20);
	starts_remove(&starts, 30);
	starts_remove(&starts, 30);
	ck_assert(starts_oldest(&starts) == TIMER_NEVER);
	ck_assert_uint_eq(starts_count(&starts), 1);
	starts_remove(&starts, TIMER_NEVER);
	ck_assert_uint_eq(starts_count(&starts), 0);
}
END_TEST

/* Against a list of all that go on. */
START_TEST(whatever_begins_and_ends_the_oldest_is_known)
{
	static int64_t all[MANY];
	struct rng rng = {11};
	int64_t now = 0;
	size_t n = 0;

	begin();
	for (int step = 0; step < 200000; step++) {
		bool grows = step / 20000 % 2 == 0;

		now += (int64_t)(rng_next(&rng) % 3);
		if (n < MANY && (n == 0 || rng_next(&rng) % 10 < (grows ? 7 : 3))) {
			/* Now and then one of another process. */
			all[n] = rng_next(&rng) % 5000 == 0 ? now - 50 : now;
			starts_add(&starts, all[n++]);
		} else {
			size_t i = rng_next(&rng) % n;

			starts_remove(&starts, all[i]);
			all[i] = all[--n];
		}
		if (step % 16 == 0) {
			int64_t oldest = TIMER_NEVER;

			for (size_t i = 0; i < n; i++)
				oldest = all[i] < oldest ? all[i] : oldest;
			ck_assert_int_eq(starts_oldest(&starts), oldest);
			ck_assert_uint_eq(starts_count(&starts), n);
		}
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN("starts", NULL, end, the_oldest_is_known_while_any_of_its_time_goes_on,
		one_that_lasts_takes_no_memory_for_the_short_ones_after_it, memory_follows_how_many_there_are,
		what_comes_out_of_order_is_found, whatever_begins_and_ends_the_oldest_is_known);
}
