/*
 * permits: holds of some permits of a name, each of which stands on a lease of its own (permit_lease.h).
 *
 * A waiter for many permits is not passed by waiters for few: while the first waiter lacks permits, no waiter
 * behind it is served. A permit lease whose hold has ended goes to the first waiter here only if no other
 * daemon waits.
 */
#ifndef CORE_PERMITS_H
#define CORE_PERMITS_H

#include "daemon/core/state.h"

/* Before a step ends: grants the waiters that it can, acquires what the first waiter wants, and gives back
 * what is not needed. */
void permits_schedule(struct core *core, struct resource *r);

/* The answer of a waiter whose WAIT is over. */
void permits_refusal(const struct core *core, const struct waiter *w, struct reply *out);

#endif
