/*
 * foreign_writes: simulates another program that writes to the keys of a name, at one master or at many.
 *
 * Exclusion assumes that no other program does this. With many masters, exclusion still holds if enough of
 * them keep a lease's key while its holder relies on it, so that no other daemon can get a majority.
 * Otherwise the name is tainted.
 */
#ifndef SIM_FOREIGN_WRITES_H
#define SIM_FOREIGN_WRITES_H

#include "tests/sim/world/plan.h"

#include <stdbool.h>

struct server;
struct world;

/* DELETE, OVERWRITE or KIND. */
void meddle(struct world *world, enum fault fault);

/* Evicts the key of this name's lease; false: there was no key. */
bool foreign_writes_evict(struct server *server, unsigned name);

/* Looks for such writes, which an old memory may bring back much later. */
void foreign_writes_look(struct server *server);

#endif
