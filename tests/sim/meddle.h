/*
 * meddle: somebody who has no business there writes to the keys of a name at one master, or at many.
 *
 * Exclusion assumes that nobody does. Of many masters it still holds while so many of them keep a lease's key
 * for as long as its holder relies on it that nobody else can get a majority; else the name is tainted.
 */
#ifndef SIM_MEDDLE_H
#define SIM_MEDDLE_H

#include "tests/sim/plan.h"

#include <stdbool.h>

struct server;
struct world;

/* DELETE, OVERWRITE or KIND. */
void meddle(struct world *world, enum fault fault);

/* The key of this name's lease is evicted; false: it was not there. */
bool meddle_evict(struct server *server, unsigned name);

/* Looks for what was written so, which a memory may bring back long afterwards. */
void meddle_look(struct server *server);

#endif
