/*
 * parts: what happens to the parts of an unanswered MLOCK (part.h).
 *
 * Called by queue and grant (parts_family), possibly in the middle of their lists. So a part only notes what
 * has happened; mlock_schedule() decides what follows for the whole.
 */
#ifndef CORE_PARTS_H
#define CORE_PARTS_H

#include "daemon/core/lock/family.h"

struct grant;
struct mlock;
struct part;
struct waiter;

extern const struct lock_family parts_family;

/* A part is counted once for its user: by its wait or hold, else by its MLOCK, so that an MLOCK that has
 * begun never finds the room taken. part_join(): the MLOCK counts it from now on; part_leave(): no longer. */
void part_join(struct part *p);
void part_leave(struct part *p);

/* It has this hold, which has terms and is no part yet. */
void part_hold(struct part *p, struct grant *g);

/* Its hold becomes an ordinary one of the session: the client has been answered, or the hold ends. */
void part_release(struct part *p);

/* The waiter of the part that its MLOCK waits for without limit; NULL: the MLOCK tries all at once. */
const struct waiter *part_waited(const struct mlock *b);

#endif
