/*
 * settle: what follows from what has changed. The one place that decides when the next waiter is granted,
 * when the lease is asked for, kept back or given away, and when a name is forgotten.
 */
#ifndef CORE_SETTLE_H
#define CORE_SETTLE_H

#include "daemon/core/state.h"

/* Before a step ends: settles everything that was touched. */
void settle(struct core *core);

/* What somebody who cannot have the name now is told: null when it is held or wanted by others, else the
 * error that stands in the way. */
void settle_verdict(const struct core *core, const struct resource *r, struct reply *out);

#endif
