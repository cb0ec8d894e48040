/*
 * timeout: rings once, after a while; for what is set nearly always and rings nearly never.
 *
 * As long as any timer of libevent is set, each turn of the loop looks at the clock twice for its sake, and
 * the kernel sets up a timer of its own for each wait and takes it down again: together a fourteenth of a
 * hand-off. A timeout is a descriptor (timerfd) and costs something when it is set and when it rings. Its
 * time stands still while the host is suspended, like that of libevent's timers.
 */
#ifndef BASE_TIMEOUT_H
#define BASE_TIMEOUT_H

#include <stdint.h>

struct event_base;
struct timeout;

/* NULL: no memory or no descriptor, errno says which. */
struct timeout *timeout_new(struct event_base *base, void (*ring)(void *arg), void *arg)
	__attribute__((warn_unused_result));
void timeout_free(struct timeout *timeout);

/* Rings in so many ms, in a later turn even with 0. What was set before does not ring any more. */
void timeout_set(struct timeout *timeout, int64_t ms);

#endif
