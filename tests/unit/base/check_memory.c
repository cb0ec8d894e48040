/*
 * Tests of daemon/base/memory: when free memory is returned. What is full is tested end to end.
 */
#include "daemon/base/memory.h"
#include "tests/support/suite.h"

#define MB ((size_t)1 << 20)

static struct memory memory;

static void
setup(void)
{
	memory_init(&memory, NULL);
}

static void
teardown(void)
{
	memory_done(&memory);
}

/* Whether a turn at this time has returned memory. A trim that has to wait tells when it is due. */
static bool
trims(int64_t now_ms, size_t load)
{
	int64_t before_ms = memory.trim_at_ms;
	int64_t wake_ms = memory_turn(&memory, now_ms, load, 0);
	ck_assert(wake_ms == INT64_MAX || wake_ms == memory.trim_at_ms);
	return memory.trim_at_ms != before_ms;
}

START_TEST(a_large_fall_or_one_by_half_is_returned)
{
	ck_assert(!trims(1, 100 * MB));
	ck_assert(!trims(2, 85 * MB));
	ck_assert(trims(3, 84 * MB));
	ck_assert_int_eq(memory.trim_at_ms, 3 + MEMORY_TRIM_MS);

	memory = (struct memory){.fd = -1};
	ck_assert(!trims(1, 6 * MB));
	ck_assert(!trims(2, 3 * MB));
	ck_assert(trims(3, 2 * MB));
}
END_TEST

START_TEST(what_is_freed_after_the_trim_is_returned_a_second_later_until_the_load_stays)
{
	ck_assert(!trims(1, 50 * MB));
	ck_assert(trims(2, 34 * MB));
	/* Too little for a fall of its own, and less than half. */
	ck_assert(!trims(3, 26 * MB));
	ck_assert_int_eq(memory_turn(&memory, 4, 26 * MB, 0), 2 + MEMORY_TRIM_MS);
	ck_assert(trims(2 + MEMORY_TRIM_MS, 26 * MB));
	ck_assert(trims(2 + 2 * MEMORY_TRIM_MS, 26 * MB));
	/* That second has brought nothing. */
	ck_assert_int_eq(memory_turn(&memory, 9000, 26 * MB, 0), INT64_MAX);
	ck_assert(!trims(9001, 20 * MB));
}
END_TEST

START_TEST(a_load_that_comes_and_goes_is_trimmed_once_more_and_then_kept)
{
	ck_assert(!trims(1, 50 * MB));
	ck_assert(trims(2, 34 * MB));
	ck_assert(!trims(3, 45 * MB));
	ck_assert(trims(5000, 34 * MB));
	ck_assert(!trims(10000, 45 * MB));
	ck_assert(!trims(15000, 34 * MB));
	ck_assert_int_eq(memory_turn(&memory, 15001, 34 * MB, 0), INT64_MAX);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("memory", setup, teardown, a_large_fall_or_one_by_half_is_returned,
		what_is_freed_after_the_trim_is_returned_a_second_later_until_the_load_stays,
		a_load_that_comes_and_goes_is_trimmed_once_more_and_then_kept);
}
