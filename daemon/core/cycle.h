/*
 * cycle: a cycle of waits in the words of the refusal. The search for deadlocks is the only user.
 */
#ifndef CORE_CYCLE_H
#define CORE_CYCLE_H

#include "daemon/core/state.h"

/* "session 1 waits for b, held by session 2, which waits for a, held by session 1": from target by the edges
 * in the marks of the others, and by the last one back to it. Of a long cycle the middle is left out. */
void cycle_tell(const struct session *target, const struct edge *last, struct reply *out);

#endif
