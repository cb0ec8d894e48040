/*
 * schedule: what follows from what has changed. The one place that decides when the next waiter is granted,
 * when the lease is asked for, kept back or given away, and when a name is forgotten.
 */
#ifndef CORE_SCHEDULE_H
#define CORE_SCHEDULE_H

#include "daemon/core/state.h"

/* Before a step ends: schedules everything that was touched. */
void schedule(struct core *core);

/* What a waiter is told who cannot wait any longer. */
void schedule_refusal(const struct core *core, const struct waiter *w, struct reply *out);

#endif
