/*
 * circle: a circle of waits in the words of the refusal. The search for deadlocks is the only user.
 */
#ifndef CORE_CIRCLE_H
#define CORE_CIRCLE_H

#include "daemon/core/state.h"

/* "session 1 waits for b, held by session 2, which waits for a, held by session 1": from target by the legs
 * in the marks of the others, and by the last one back to it. Of a long circle the middle is left out. */
void circle_tell(const struct session *target, const struct leg *last, struct reply *out);

#endif
