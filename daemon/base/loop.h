/*
 * loop: the event loop, one turn at a time: descriptors, signals, and an alarm that counts suspended time.
 *
 * Only the driver turns it. libevent's own timers stop while the host is suspended, and leases do not: so the
 * alarm is a timerfd on CLOCK_BOOTTIME.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct loop;

struct loop_hooks {
	void (*alarm)(void *arg);              /* the time of loop_alarm_at() has come */
	void (*signal)(void *arg, int number); /* SIGTERM, SIGINT or SIGHUP */
	void (*tick)(void *arg);               /* every tick_ms */
};

/* tick_ms 0: no tick. NULL: errno says why. */
struct loop *loop_new(const struct loop_hooks *hooks, void *arg, int64_t tick_ms)
	__attribute__((warn_unused_result));
void loop_free(struct loop *loop);

/* For the rooms that watch descriptors. */
struct event_base *loop_base(struct loop *loop);

/* Sets the one alarm to at_ms of CLOCK_BOOTTIME; it may ring early. INT64_MAX: never. The latest call
 * counts. */
void loop_alarm_at(struct loop *loop, int64_t at_ms);

/* The fewest events for which libevent asks the kernel at once. */
#define LOOP_EVENTS_MIN 32

/* Waits until something happens (if busy, does not wait), and calls the hooks for it. */
void loop_turn(struct loop *loop, bool busy);

#endif
