/*
 * rival: a program that locks the last name past every daemon: as Redisson's RFencedLock does, at the one
 * master, or as redsync does, at a majority of several.
 *
 * What it does there are the effects of their own scripts. It relies on its lock for as long as its time to
 * live less a clock margin, as a daemon does, counted from before it asked; it renews it, gives it back,
 * which Redisson publishes, or dies. It is there in worlds that are drawn with it, until their faults end.
 */
#ifndef SIM_RIVAL_H
#define SIM_RIVAL_H

#include <stdbool.h>
#include <stdint.h>

struct world;

struct rival {
	int64_t until_us; /* relies on its lock until then; 0: has none */
	uint64_t locks;   /* that it has asked for so far; each has another owner */
	int64_t ttl_ms;
};

void rival_watch(struct world *world);

/* Whether somebody relies on its lock of this name now. */
bool rival_holds(const struct world *world, unsigned name);

/* Whether there is one that locks this name. */
bool rival_locks(const struct world *world, unsigned name);

/* No library of theirs knows a guard: who had a lock before a master forgot may have it beside a rival, or
 * lose it to him. Whether that is over. */
bool rival_is_sound(const struct world *world);

/* Somebody writes to the key. */
void rival_taint(struct world *world, unsigned name);

#endif
