/*
 * schedule: what follows from what has changed. This is the one place that decides when the next waiter is
 * granted, when the lease is acquired, retained or given back, and when a name is forgotten.
 */
#ifndef CORE_SCHEDULE_H
#define CORE_SCHEDULE_H

#include "daemon/core/state.h"

/* Before a step ends: schedules everything that is dirty. */
void schedule(struct core *core);

/* The answer of a waiter that cannot wait any longer. */
void schedule_refusal(const struct core *core, const struct waiter *w, struct reply *out);

#endif
