/*
 * loop: the event loop, one turn at a time: descriptors, signals, an alarm that counts suspended time, and
 * timeouts.
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
	void (*alarm)(void *arg);              /* the time of loop_alarm_at() has come; once for each */
	void (*signal)(void *arg, int number); /* SIGTERM, SIGINT, SIGHUP or SIGUSR2 */
	void (*tick)(void *arg);               /* every tick_ms */
};

/* tick_ms 0: no tick. NULL: errno says why. */
struct loop *loop_new(const struct loop_hooks *hooks, void *arg, int64_t tick_ms)
	__attribute__((warn_unused_result));

/* The signals stay blocked: a second SIGTERM must not kill a daemon that is ending well. */
void loop_free(struct loop *loop);

/* Blocks the signals of the loop and SIGCHLD, as before an exec: a signal that comes before the new program
 * handles it would end the process. Blocked, it waits for that. loop_new() unblocks them. */
void loop_block_signals(bool block);

/* For the rooms that watch descriptors. */
struct event_base *loop_base(struct loop *loop);

/* Sets the one alarm to at_ms of CLOCK_BOOTTIME; it may ring early. INT64_MAX: never. The latest call
 * counts. */
void loop_alarm_at(struct loop *loop, int64_t at_ms);

/* The fewest events for which libevent asks the kernel at once. */
#define LOOP_EVENTS_MIN 32

/* Waits until something happens (if busy, does not wait), and calls the hooks for it. */
void loop_turn(struct loop *loop, bool busy);

/*
 * Rings once, after some time; for timeouts that are nearly always set and rarely ring.
 *
 * While any timer of libevent is set, each turn of the loop reads the clock twice for it, and the kernel arms
 * and disarms a timer of its own for each wait: together a fourteenth of a hand-off. A timeout is a
 * descriptor (timerfd) and costs something only when it is set and when it rings. Like libevent's timers it
 * does not count time in which the host is suspended. It never rings from within its own interface.
 */
struct timeout;

/* NULL: out of memory or descriptors, errno says which. */
struct timeout *timeout_new(struct event_base *base, void (*ring)(void *arg), void *arg)
	__attribute__((warn_unused_result));
void timeout_free(struct timeout *timeout);

/* Rings after ms; even with 0 in a later turn. An earlier setting is forgotten. */
void timeout_set(struct timeout *timeout, int64_t ms);

#endif
