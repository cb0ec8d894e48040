/*
 * dirty: the things that have to be handled before the step ends, in the order in which they became dirty:
 * names, which are scheduled (scheduler.h); and leases, whose entries go into the ledger (ledger.h).
 *
 * A step has a few, but all names when a master comes back: memory for many is given back. A thing that finds
 * no room on the list has to be found by its owner, after those on the list have had their turn.
 */
#ifndef CORE_DIRTY_H
#define CORE_DIRTY_H

#include "daemon/core/base/alloc.h"

#include <stdbool.h>
#include <stddef.h>

/* In such a thing. */
struct dirty_item {
	bool dirty; /* something changed: it is handled before the step ends */
};

struct dirty {
	struct dirty_item **list;
	struct dirty_item **first; /* the next to be handled */
	struct dirty_item **end;   /* behind the last one */
	struct dirty_item **room;  /* end of the memory of the list */
	bool missed;               /* there are dirty things that are not on the list */
};

void dirty_init(struct dirty *t, struct reserve *reserve);
void dirty_done(struct dirty *t);

/* It has to be handled before the step ends. */
void dirty_add(struct dirty *t, struct dirty_item *item);

/* It ends: it is dirty no more. */
void dirty_remove(struct dirty *t, struct dirty_item *item);

/* Takes the next one, which is not dirty any more; NULL: none is on the list. */
struct dirty_item *dirty_next(struct dirty *t);

/* The one that comes a few turns later, so that its memory can be fetched; NULL: none. */
struct dirty_item *dirty_ahead(const struct dirty *t);

/* All on the list have had their turn, and it begins anew. True: things that are still dirty were missed; if
 * not, the memory for many is given back. */
bool dirty_missed(struct dirty *t);

/* A dirty thing that was missed. False: there is no room for it, and it is missed again. */
bool dirty_found(struct dirty *t, struct dirty_item *item);

/* Nothing is left, and the memory for many is given back. */
bool dirty_at_rest(const struct dirty *t);

#endif
