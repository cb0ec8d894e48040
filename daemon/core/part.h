/*
 * part: one name of an MLOCK that is not answered yet, as its waiter and its hold know of it.
 *
 * Called by queue and grant, which may be in the middle of their lists then: it notes what has happened, and
 * what becomes of the whole is decided in mlock_schedule().
 */
#ifndef CORE_PART_H
#define CORE_PART_H

#include "daemon/core/state.h"

/* The part that a hold is; NULL: none. */
static inline struct part *
part_of(const struct grant *g)
{
	return g->bounded ? g->terms->part : NULL;
}

/* It is counted once for its user: as what it waits for or holds, and by the MLOCK when it does neither, so
 * that who has begun never finds the room taken. The MLOCK counts it from now on; and no longer. */
void part_join(struct part *p);
void part_leave(struct part *p);

/* Its waiter was granted this hold, or is refused; its hold is about to end. */
void part_granted(struct core *core, struct waiter *w, struct grant *g);
void part_refused(struct core *core, struct part *p, const struct reply *reply);
void part_lost(struct core *core, struct part *p);

/* Its hold is the session's as all others are: it has been told, or it ends. */
void part_let_go(struct part *p);

/* Something about the lease of a name has changed whose holds may be parts. */
void parts_look(struct core *core, struct resource *r);

/* A refusal of one name that is no answer for all: others have it, or masters are away. */
bool part_may_come(const struct reply *refusal);

/* The one that its MLOCK waits for, for as long as that takes; NULL: it tries. */
const struct waiter *part_waited(const struct mlock *b);

#endif
