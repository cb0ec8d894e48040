/*
 * sentinels: the Redis Sentinels of a world, which say which server is the master.
 *
 * They agree with each other, and are on one side of every cut. If they do not see the master for a time,
 * they promote a replica that they see, and point the others to it, each with any delay. Daemons learn of it
 * later; a daemon that is cut off from the sentinels keeps the master that it knows. A server that has left a
 * master is not pointed back to it before it was a replica of another one, as GUARANTEES.md assumes.
 */
#ifndef SIM_SENTINELS_H
#define SIM_SENTINELS_H

#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

struct sentinels {
	unsigned master;
	unsigned known; /* servers, a bit for each */
	unsigned ever;  /* known to them, likewise */
	bool changed;   /* some may have come or been forgotten: the first group is known to all servers */
	uint64_t epoch;
	int64_t missed_us; /* since when they do not see the master; 0: they see it */
	int64_t calm_us;   /* no further cut and no requested failover before */
};

void sentinels_watch(struct world *world);
void sentinels_strike(struct world *world, enum fault fault);

/* All see each other again, and replicas can reach their master. */
void sentinels_heal(struct world *world);

#endif
