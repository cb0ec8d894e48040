/*
 * ration: how much of a kind of work falls to one millisecond, so that no client waits for too much at once.
 */
#ifndef CORE_RATION_H
#define CORE_RATION_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* What is counted is work, as that for a call about a short name (resource_work()). */
struct ration {
	int64_t ms;
	size_t count;
};

/* So much more in this millisecond, which is no earlier than the last one; returns how much came before it.
 */
static inline size_t
ration_take(struct ration *r, int64_t ms, size_t work)
{
	size_t before;

	assert(ms >= r->ms && work > 0);
	if (r->ms != ms)
		*r = (struct ration){ms, 0};
	before = r->count;
	r->count += work;
	return before;
}

/* The first millisecond from ms on, no earlier than the last one, that has less than most (> 0); it has so
 * much more then. */
static inline int64_t
ration_turn(struct ration *r, int64_t ms, size_t most, size_t work)
{
	if (ms < r->ms)
		ms = r->ms;
	if (r->ms == ms && r->count >= most)
		ms++;
	(void)ration_take(r, ms, work);
	assert(r->count < most + work);
	return ms;
}

#endif
