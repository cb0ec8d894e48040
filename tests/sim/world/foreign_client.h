/*
 * foreign_client: a program that locks the last name without a daemon: as Redisson's RFencedLock at the one
 * master, or as redsync at a majority of several.
 *
 * Its writes have the effects of their scripts. It relies on its lock for the time to live less a clock
 * margin, counted from before its request, as a daemon does. It renews the lock, releases it, which Redisson
 * publishes, or dies. It exists in worlds whose plan has it, until the faults end.
 */
#ifndef SIM_FOREIGN_CLIENT_H
#define SIM_FOREIGN_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

struct world;

struct foreign_client {
	int64_t until_us; /* until when it relies on its lock; 0: no lock */
	uint64_t locks;   /* locks requested so far, each with a new owner */
	int64_t ttl_ms;
};

void foreign_client_watch(struct world *world);

/* Whether a rival relies on its lock of this name now. */
bool foreign_client_holds(const struct world *world, unsigned name);

/* Whether a rival locks this name. */
bool foreign_client_locks(const struct world *world, unsigned name);

#endif
