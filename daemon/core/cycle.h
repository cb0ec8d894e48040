/*
 * cycle: a cycle of waits as text for a refusal. Only the search for deadlocks uses it.
 */
#ifndef CORE_CYCLE_H
#define CORE_CYCLE_H

#include "daemon/core/state.h"

/* "session 1 waits for b, held by session 2, which waits for a, held by session 1": from target along the
 * edges in the marks of the other sessions, and by the last edge back to it. The middle of a long cycle is
 * left out. */
void cycle_tell(const struct session *target, const struct edge *last, struct reply *out);

#endif
