/*
 * sentinels: who says which server is the master, in worlds that have them.
 *
 * They agree with each other, and stand on one side of every cut. A master that they do not see for a while
 * they replace by a replica that they see, and point the others to it, each as late as they like or can.
 * Daemons hear of it later; one that is cut off from them stays with the master that it knows. A server that
 * has left a master is never pointed back to it before it was a replica of another one: that much is assumed
 * (GUARANTEES.md).
 */
#ifndef SIM_SENTINELS_H
#define SIM_SENTINELS_H

#include "tests/sim/plan.h"

#include <stdint.h>

struct host;
struct world;

struct sentinels {
	unsigned master;
	uint64_t epoch;
	int64_t missed_us; /* since when they do not see it; 0: they do */
	int64_t calm_us;   /* no further cut and no asked failover before */
};

void sentinels_watch(struct world *world);
void sentinels_strike(struct world *world, enum fault fault);

/* All see each other again; nothing keeps replicas from their master. */
void sentinels_heal(struct world *world);

#endif
