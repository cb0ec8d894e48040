/*
 * dirty: the names that have to be scheduled before the step ends, in the order in which they became dirty.
 *
 * A step has a few, but all names when a master comes back: memory for many is given back. A name that finds
 * no room on the list is found by a walk through all names, after those on the list have had their turn.
 */
#ifndef CORE_DIRTY_H
#define CORE_DIRTY_H

#include <stdbool.h>

struct core;
struct reserve;
struct resource;

struct dirty {
	struct resource **list;
	struct resource **first; /* the next to be scheduled */
	struct resource **end;   /* behind the last one */
	struct resource **room;  /* end of the memory of the list */
	bool missed;             /* there are dirty names that are not on the list */
};

void dirty_init(struct dirty *t, struct reserve *reserve);
void dirty_done(struct dirty *t);

/* The name has to be scheduled before the step ends. */
void dirty_add(struct core *core, struct resource *r);

/* Takes the next name; NULL: none left. */
struct resource *dirty_next(struct core *core);

/* No name is left, and the memory for many is given back. */
bool dirty_at_rest(const struct core *core);

#endif
