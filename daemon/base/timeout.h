/*
 * timeout: rings once, after some time; for timeouts that are nearly always set and rarely ring.
 *
 * While any timer of libevent is set, each turn of the loop reads the clock twice for it, and the kernel arms
 * and disarms a timer of its own for each wait: together a fourteenth of a hand-off. A timeout is a
 * descriptor (timerfd) and costs something only when it is set and when it rings. Like libevent's timers it
 * does not count time in which the host is suspended.
 */
#ifndef BASE_TIMEOUT_H
#define BASE_TIMEOUT_H

#include <stdint.h>

struct event_base;
struct timeout;

/* NULL: out of memory or descriptors, errno says which. */
struct timeout *timeout_new(struct event_base *base, void (*ring)(void *arg), void *arg)
	__attribute__((warn_unused_result));
void timeout_free(struct timeout *timeout);

/* Rings after ms; even with 0 in a later turn. An earlier setting is forgotten. */
void timeout_set(struct timeout *timeout, int64_t ms);

#endif
