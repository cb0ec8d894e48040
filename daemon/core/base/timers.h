/*
 * timers: everything in the core that has to happen at a time, in one heap.
 *
 * A timer is embedded in the object that it belongs to; its kind says which object that is. The core runs due
 * timers at the start of every step and tells the driver when to come back (core_wake_at). Arming and
 * cancelling are O(log n), finding the first O(1). If there is no memory for the heap, it comes from the
 * reserve.
 */
#ifndef CORE_TIMERS_H
#define CORE_TIMERS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reserve;

#define TIMER_NEVER INT64_MAX

enum timer_kind {
	TIMER_NONE,            /* not set up */
	TIMER_WAITER,          /* the WAIT of a LOCK is over */
	TIMER_MLOCK,           /* the WAIT of an MLOCK is over */
	TIMER_GRANT,           /* a hold's LEASE, MAXHOLD or withholding is over */
	TIMER_LEASE,           /* a lease has to be tried, renewed or given up */
	TIMER_RELEASE,         /* a release has to be repeated */
	TIMER_LATCH,           /* a latch has to be refreshed, or forgotten */
	TIMER_LATCH_REQUEST,   /* the time of a LATCH request is over */
	TIMER_MASTER,          /* HELLO, or end the guard */
	TIMER_GRACE,           /* a session without connection has waited long enough */
	TIMER_HEARTBEAT,       /* a session has to be heard of */
	TIMER_LATCH_QUOTA,     /* a latch that is counted for a user is over */
	TIMER_DEFERRED_CHECKS, /* a search for a deadlock was deferred */
	TIMER_RULES,           /* more names have to be checked for other rules, */
	TIMER_RESCAN,          /* or because a master's state has changed */
	TIMER_ENDING,          /* sessions that end have more to give up */
	TIMER_MASTERS          /* newcomers to the set of masters were checked for long enough */
};

#define TIMER_INDEX_MASK ((1U << 27) - 1)

struct timer {
	uint32_t index : 27; /* in the heap, counted from 1; 0: not armed */
	enum timer_kind kind : 5;
};

/* What is compared is here and not in the timer: entries lie side by side, and timers anywhere. The key is
 * when the timer is due, CLOCK_BOOTTIME, and in the low bits a number that counts the armings and wraps. So
 * ties are broken in the order of arming, unless a million armings lie between, and the same way in every
 * replay. */
#define TIMER_SERIAL_BITS 20
#define TIMER_FAR_MS      (INT64_C(1) << (62 - TIMER_SERIAL_BITS)) /* nothing is due so late, or before -then */

struct timer_entry {
	int64_t key;
	struct timer *timer;
};

/* All armed timers: each is before those below it, the first is on top. */
struct timers {
	struct reserve *reserve;
	struct timer_entry *heap;
	size_t n;
	size_t room;
	uint32_t serial;
};

/* reserve is held by reference. */
void timers_init(struct timers *t, struct reserve *reserve);
void timers_done(struct timers *t);
void timer_init(struct timer *timer, enum timer_kind kind);

/* Arms or re-arms; TIMER_NEVER cancels. */
void timer_arm(struct timers *t, struct timer *timer, int64_t at_ms);
void timer_cancel(struct timers *t, struct timer *timer);

static inline bool
timer_is_armed(const struct timer *timer)
{
	return timer->index > 0;
}

static inline int64_t
timer_entry_at(const struct timer_entry *entry)
{
	return entry->key >> TIMER_SERIAL_BITS;
}

/* When it is due; TIMER_NEVER: it is not armed. */
static inline int64_t
timer_at(const struct timers *t, const struct timer *timer)
{
	if (!timer_is_armed(timer))
		return TIMER_NEVER;
	assert(timer->index <= t->n && t->heap[timer->index - 1].timer == timer);
	return timer_entry_at(&t->heap[timer->index - 1]);
}

/* When the first one is due; TIMER_NEVER: none is armed. */
static inline int64_t
timers_first(const struct timers *t)
{
	return t->n > 0 ? timer_entry_at(&t->heap[0]) : TIMER_NEVER;
}

/* Takes out the first timer that is due; NULL: none is. */
struct timer *timers_due(struct timers *t, int64_t now_ms);

/* The object that this is a member of. */
#define OWNER_OF(part, type, member) ((type *)(void *)((char *)(part)-offsetof(type, member)))

/*
 * The drift: how far two clocks may part while one of them counts a duration.
 *
 * One percent of the duration, many times what real clocks differ by, and two milliseconds for the rounding
 * on both sides. It is subtracted wherever another clock relies on a duration counted here, or the other way
 * round: from a lease's validity against the master's clock, and from the deadline that a client gets against
 * ours.
 */

static inline int64_t
drift_ms(int64_t duration_ms)
{
	return duration_ms / 100 + 2;
}

#endif
