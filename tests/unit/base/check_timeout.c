/*
 * Tests of the timeouts of daemon/base/loop.h: each rings once for the last time it was set, and in a later
 * turn.
 */
#include "daemon/base/loop.h"
#include "tests/support/suite.h"

#include <event2/event.h>

#define HOUR_MS 3600000

struct rope {
	struct timeout *timeout;
	struct rope *other; /* silenced by this one; NULL: none is */
	int rung;
};

static void
rope_pulled(void *arg)
{
	struct rope *rope = arg;

	rope->rung++;
	if (rope->other != NULL)
		timeout_set(rope->other->timeout, HOUR_MS);
}

static void
rope_init(struct rope *rope, struct event_base *base)
{
	*rope = (struct rope){.timeout = timeout_new(base, rope_pulled, rope)};
	ck_assert_ptr_nonnull(rope->timeout);
}

START_TEST(a_bell_rings_once_and_in_a_later_turn)
{
	struct event_base *base = event_base_new();
	struct rope rope;

	rope_init(&rope, base);
	timeout_set(rope.timeout, 0);
	ck_assert_int_eq(rope.rung, 0);
	event_base_loop(base, EVLOOP_ONCE);
	ck_assert_int_eq(rope.rung, 1);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(rope.rung, 1);
	timeout_set(rope.timeout, 1);
	event_base_loop(base, EVLOOP_ONCE);
	ck_assert_int_eq(rope.rung, 2);
	timeout_free(rope.timeout);
	event_base_free(base);
}
END_TEST

START_TEST(a_bell_that_is_set_again_does_not_ring_for_the_time_before)
{
	struct event_base *base = event_base_new();
	struct rope rope;

	rope_init(&rope, base);
	timeout_set(rope.timeout, 0);
	timeout_set(rope.timeout, HOUR_MS);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(rope.rung, 0);
	timeout_free(rope.timeout);
	event_base_free(base);
}
END_TEST

/* Both have come when the loop looks: the first that rings sets the other one again. */
START_TEST(not_even_when_that_time_has_come_in_the_same_turn)
{
	struct event_base *base = event_base_new();
	struct rope one, two;

	rope_init(&one, base);
	rope_init(&two, base);
	one.other = &two;
	two.other = &one;
	timeout_set(one.timeout, 0);
	timeout_set(two.timeout, 0);
	event_base_loop(base, EVLOOP_ONCE);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(one.rung + two.rung, 1);
	timeout_free(one.timeout);
	timeout_free(two.timeout);
	event_base_free(base);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("timeout", NULL, NULL, a_bell_rings_once_and_in_a_later_turn,
		a_bell_that_is_set_again_does_not_ring_for_the_time_before,
		not_even_when_that_time_has_come_in_the_same_turn);
}
