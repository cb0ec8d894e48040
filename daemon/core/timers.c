#include "daemon/core/timers.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#define TIMERS_FIRST 256
#define FAN          4 /* children of one: a flat heap touches fewer timers than a deep one */

static bool
timer_before(const struct timer *a, const struct timer *b)
{
	return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : (int32_t)(a->serial - b->serial) < 0;
}

static void
heap_put(struct timers *t, size_t place, struct timer *timer)
{
	t->heap[place] = timer;
	timer->place = (uint32_t)place & (TIMERS_MAX - 1);
}

/* Towards the first, until one is before it. */
static size_t
heap_rise(struct timers *t, size_t place, const struct timer *timer)
{
	while (place > 0) {
		size_t above = (place - 1) / FAN;

		if (!timer_before(timer, t->heap[above]))
			break;
		heap_put(t, place, t->heap[above]);
		place = above;
	}
	return place;
}

static size_t
heap_first_below(const struct timers *t, size_t place)
{
	size_t first = place * FAN + 1, end = first + FAN < t->n ? first + FAN : t->n;

	for (size_t i = first + 1; i < end; i++) {
		if (timer_before(t->heap[i], t->heap[first]))
			first = i;
	}
	return first;
}

/* Away from the first, until it is before all below. */
static size_t
heap_sink(struct timers *t, size_t place, const struct timer *timer)
{
	while (place * FAN + 1 < t->n) {
		size_t below = heap_first_below(t, place);

		if (!timer_before(t->heap[below], timer))
			break;
		heap_put(t, place, t->heap[below]);
		place = below;
	}
	return place;
}

void
timers_init(struct timers *t)
{
	*t = (struct timers){0};
}

void
timers_done(struct timers *t)
{
	free(t->heap);
	timers_init(t);
}

void
timer_init(struct timer *timer, enum timer_kind kind)
{
	*timer = (struct timer){.at_ms = TIMER_NEVER, .kind = kind};
}

void
timer_cancel(struct timers *t, struct timer *timer)
{
	struct timer *last;
	size_t place = timer->place;

	if (timer->at_ms == TIMER_NEVER)
		return;
	assert(t->heap[place] == timer);
	timer->at_ms = TIMER_NEVER;
	last = t->heap[--t->n];
	if (last == timer)
		return;
	place = heap_sink(t, place, last);
	heap_put(t, heap_rise(t, place, last), last);
}

static void
heap_make_room(struct timers *t)
{
	size_t room = t->room == 0 ? TIMERS_FIRST : t->room * 2;
	struct timer **heap;

	if (t->n < t->room)
		return;
	heap = realloc(t->heap, room * sizeof(struct timer *));
	/* A lease whose end nobody would notice is worse than a daemon that stops (rule 7). */
	assert(heap != NULL && room <= TIMERS_MAX);
	t->heap = heap;
	t->room = room;
}

void
timer_arm(struct timers *t, struct timer *timer, int64_t at_ms)
{
	assert(timer->kind != TIMER_NONE);
	if (timer->at_ms == at_ms)
		return;
	timer_cancel(t, timer);
	if (at_ms == TIMER_NEVER)
		return;
	timer->at_ms = at_ms;
	timer->serial = ++t->serial;
	heap_make_room(t);
	t->n++;
	heap_put(t, heap_rise(t, t->n - 1, timer), timer);
}

struct timer *
timers_due(struct timers *t, int64_t now_ms)
{
	struct timer *first = t->n > 0 ? t->heap[0] : NULL;

	if (first == NULL || first->at_ms > now_ms)
		return NULL;
	timer_cancel(t, first);
	return first;
}
