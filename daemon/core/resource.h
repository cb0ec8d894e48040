/*
 * resource: one name, while anybody here holds it, waits for it or has a lease of it.
 *
 * Nouns that change something about it touch it; before the step ends schedule.c looks at the whole and does
 * what follows.
 */
#ifndef CORE_RESOURCE_H
#define CORE_RESOURCE_H

#include "daemon/core/state.h"

/* Makes one that is not there yet. NULL: out of memory. */
struct resource *resource_new(struct core *core, struct slice name) __attribute__((warn_unused_result));

/* Finds or makes it. NULL: out of memory. */
struct resource *resource_get(struct core *core, struct slice name) __attribute__((warn_unused_result));

/* Asks to hear of the ends of somebody else's locks of it; until it is forgotten. */
void resource_listen(struct core *core, struct resource *r);

/* So many seats of its lease have room within it: as many as there were masters when it was made. */
unsigned resource_seats(const struct resource *r);

/* There is nothing left to remember of it. */
bool resource_idle(const struct resource *r);

/* Idle and not touched: forgets it. */
void resource_forget(struct core *core, struct resource *r);

/* The lease of r after this one: it has one, or with permits any number; NULL: the first one, and none. */
struct lease *resource_next_lease(const struct resource *r, const struct lease *l);

/* The hold of r after this one, the oldest first; NULL: the first one, and none. */
struct grant *resource_next_grant(const struct resource *r, const struct grant *g);

/* Of a name, resource or not: the link to its master. */
unsigned resource_link_of(const struct core *core, struct slice name);

#endif
