/*
 * resource: one name, while a session here holds it or waits for it, or this daemon has a lease of it.
 *
 * Every noun that changes something about a resource makes it dirty; before the step ends scheduler.c looks
 * at the whole and does what follows.
 */
#ifndef CORE_RESOURCE_H
#define CORE_RESOURCE_H

#include "daemon/core/state.h"

/* Makes one for a name that has none. NULL: out of memory. */
struct resource *resource_new(struct core *core, struct slice name) __attribute__((warn_unused_result));

/* Finds or makes it. NULL: out of memory. */
struct resource *resource_get(struct core *core, struct slice name) __attribute__((warn_unused_result));

/* Asks the masters to tell when locks of other daemons on this name end, until the name is forgotten. */
void resource_listen(struct core *core, struct resource *r);

/* Seats of its lease within the struct: as many as there were masters when it was made. */
unsigned resource_seats(const struct resource *r);

/* There is nothing left to remember of it. */
bool resource_idle(const struct resource *r);

/* Forgets it if it is idle and not dirty. */
void resource_forget(struct core *core, struct resource *r);

/* The lease of r after this one; NULL: the first one, or there is none. A name has one lease, with permits
 * any number. */
struct lease *resource_next_lease(const struct resource *r, const struct lease *l);

/* The hold of r after this one, oldest first; NULL: the first one, or there is none. */
struct grant *resource_next_grant(const struct resource *r, const struct grant *g);

/* The link to the master for a name, with a resource or without. */
unsigned resource_link_of(const struct core *core, struct slice name);

#endif
