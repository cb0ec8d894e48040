/*
 * touched: the names that have to be scheduled before the step ends, in the order in which they were touched.
 *
 * There are a few in a step, and all there are when a master comes back: what takes room for that is given
 * back. A name for which there is no room is found by a walk through all names, when the others have had
 * their turn.
 */
#ifndef CORE_DIRTY_H
#define CORE_DIRTY_H

#include <stdbool.h>

struct core;
struct reserve;
struct resource;

struct dirty {
	struct resource **list;
	struct resource **first; /* has its turn; from here */
	struct resource **end;   /* to here, exclusive */
	struct resource **room;  /* the end of the list, beyond all that */
	bool missed;             /* there are dirty names besides */
};

void dirty_init(struct dirty *t, struct reserve *reserve);
void dirty_done(struct dirty *t);

/* It has to be scheduled before the step ends. */
void dirty_add(struct core *core, struct resource *r);

/* Takes the next one; NULL: none left. */
struct resource *dirty_next(struct core *core);

/* None is left, and there is no room for many. */
bool dirty_at_rest(const struct core *core);

#endif
