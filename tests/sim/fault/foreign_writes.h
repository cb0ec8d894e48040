/*
 * foreign_writes: simulates another program that writes to the keys of a name, at one master or at many.
 *
 * Exclusion assumes that no other program does this. The plan says before the run which names it may happen
 * to; what stands on that assumption is not judged for these (promise.h).
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

#endif
