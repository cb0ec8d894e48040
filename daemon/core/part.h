/*
 * part: one name of an unanswered MLOCK, as its waiter and its hold know it.
 *
 * Called by queue and grant, possibly in the middle of their lists. So a part only notes what has happened;
 * mlock_schedule() decides what follows for the whole.
 */
#ifndef CORE_PART_H
#define CORE_PART_H

#include "daemon/core/grant.h"
#include "daemon/core/mlock.h"

#include <assert.h>
#include <stddef.h>

struct core;
struct resource;
struct waiter;

/* The part that a hold is; NULL: none. */
static inline struct part *
part_of(const struct grant *g)
{
	struct part *part = g->bounded ? g->terms->part : NULL;

	assert(part == NULL || part->grant == g);
	return part;
}

/* A part is counted once for its user: by its wait or hold, else by its MLOCK, so that an MLOCK that has
 * begun never finds the room taken. part_join(): the MLOCK counts it from now on; part_leave(): no longer. */
void part_join(struct part *p);
void part_leave(struct part *p);

/* It has this hold, which has terms and is no part yet. */
void part_hold(struct part *p, struct grant *g);

/* Its waiter was granted this hold; its waiter is refused; its hold is about to end. */
void part_granted(struct core *core, struct waiter *w, struct grant *g);
void part_refused(struct core *core, struct part *p, const struct reply *reply);
void part_lost(struct core *core, struct part *p);

/* Its hold becomes an ordinary one of the session: the client has been told, or the hold ends. */
void part_let_go(struct part *p);

/* The lease of a name has changed, and its holds may be parts. */
void parts_look(struct core *core, struct resource *r);

/* The waiter of the part that its MLOCK waits for without limit; NULL: the MLOCK tries all at once. */
const struct waiter *part_waited(const struct mlock *b);

#endif
