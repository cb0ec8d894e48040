/*
 * timers: see timers.h.
 */
#include "daemon/core/base/timers.h"

#include "daemon/core/base/alloc.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#define TIMERS_FIRST 256
#define FAN          4 /* children of each: a flat heap touches fewer timers than a deep one */

static void
heap_put(struct timers *t, size_t at, const struct timer_entry *entry)
{
	assert(at < t->n);
	t->heap[at] = *entry;
	entry->timer->index = (uint32_t)(at + 1) & TIMER_INDEX_MASK;
}

/* Moves it up until one is before it. */
static size_t
heap_rise(struct timers *t, size_t at, const struct timer_entry *entry)
{
	while (at > 0) {
		size_t above = (at - 1) / FAN;

		if (t->heap[above].key <= entry->key)
			break;
		heap_put(t, at, &t->heap[above]);
		at = above;
	}
	return at;
}

static size_t
heap_first_below(const struct timers *t, size_t at)
{
	size_t first = at * FAN + 1, end = first + FAN < t->n ? first + FAN : t->n;

	assert(first < t->n);
	for (size_t i = first + 1; i < end; i++) {
		if (t->heap[i].key < t->heap[first].key)
			first = i;
	}
	return first;
}

/* Moves it down until it is before all below. */
static size_t
heap_sink(struct timers *t, size_t at, const struct timer_entry *entry)
{
	while (at * FAN + 1 < t->n) {
		size_t below = heap_first_below(t, at);

		if (entry->key <= t->heap[below].key)
			break;
		heap_put(t, at, &t->heap[below]);
		at = below;
	}
	return at;
}

/* Puts it where it belongs; at is free, and all else is in order. */
static void
heap_schedule(struct timers *t, size_t at, struct timer_entry entry)
{
	assert(at < t->n);
	at = heap_sink(t, at, &entry);
	heap_put(t, heap_rise(t, at, &entry), &entry);
	at = entry.timer->index - 1U;
	assert(at == 0 || t->heap[(at - 1) / FAN].key <= entry.key);
	assert(at * FAN + 1 >= t->n || entry.key <= t->heap[at * FAN + 1].key);
}

void
timers_init(struct timers *t, struct reserve *reserve)
{
	*t = (struct timers){.reserve = reserve};
}

void
timers_done(struct timers *t)
{
	free(t->heap);
	timers_init(t, t->reserve);
}

void
timer_init(struct timer *timer, enum timer_kind kind)
{
	/* The heap would keep the address of one that is armed. */
	assert(timer->index == 0);
	assert(kind != TIMER_NONE);
	*timer = (struct timer){.kind = kind};
}

/* Gives memory back if the heap has become much smaller. */
static void
heap_shrink(struct timers *t)
{
	size_t room = t->room / 2;
	struct timer_entry *heap;

	if (t->n > t->room / 4 || room < TIMERS_FIRST)
		return;
	assert(room >= t->n);
	heap = realloc(t->heap, room * sizeof(*heap));
	if (heap == NULL)
		return;
	t->heap = heap;
	t->room = room;
}

void
timer_cancel(struct timers *t, struct timer *timer)
{
	size_t at = timer->index;

	if (at-- == 0)
		return;
	assert(at < t->n);
	assert(t->heap[at].timer == timer);
	timer->index = 0;
	if (at < --t->n)
		heap_schedule(t, at, t->heap[t->n]);
	heap_shrink(t);
}

static void
heap_make_room(struct timers *t)
{
	if (t->n < t->room)
		return;
	t->heap = reserve_grow(t->reserve, t->heap, &t->room, sizeof(*t->heap), TIMERS_FIRST);
	assert(t->n < t->room);
	assert(t->n < TIMER_INDEX_MASK);
}

void
timer_arm(struct timers *t, struct timer *timer, int64_t at_ms)
{
	assert(timer->kind != TIMER_NONE);
	if (timer_at(t, timer) == at_ms)
		return;
	if (at_ms == TIMER_NEVER) {
		timer_cancel(t, timer);
		return;
	}
	if (timer->index == 0) {
		heap_make_room(t);
		timer->index = (uint32_t)++t->n & TIMER_INDEX_MASK;
	}
	assert(at_ms > -TIMER_FAR_MS && at_ms < TIMER_FAR_MS);
	t->serial = (t->serial + 1) & ((1U << TIMER_SERIAL_BITS) - 1);
	heap_schedule(t, timer->index - 1U,
		(struct timer_entry){at_ms * (INT64_C(1) << TIMER_SERIAL_BITS) + t->serial, timer});
}

struct timer *
timers_due(struct timers *t, int64_t now_ms)
{
	struct timer *first;

	if (timers_first(t) > now_ms)
		return NULL;
	first = t->heap[0].timer;
	timer_cancel(t, first);
	return first;
}
