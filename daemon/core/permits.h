/*
 * permits: holds of so many permits of a name, each of which stands on a lease of its own (permit_lease.h).
 *
 * Who wants many is not passed by those who want few: while the first waiter lacks permits, nobody behind it
 * is served. A permit lease whose hold has ended goes to the first waiter here only when nobody waits
 * elsewhere.
 */
#ifndef CORE_PERMITS_H
#define CORE_PERMITS_H

#include "daemon/core/state.h"

/* Before a step ends: grants whom it can, asks for what the first waiter wants, gives back what is left. */
void permits_schedule(struct core *core, struct resource *r);

/* What a waiter is told whose WAIT is over. */
void permits_refusal(const struct core *core, const struct waiter *w, struct reply *out);

#endif
