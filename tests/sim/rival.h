/*
 * rival: a program that locks the last name as Redisson's RFencedLock does, past every daemon, at the one
 * master.
 *
 * What it does there are the effects of Redisson's own scripts. It relies on its lock for as long as its time
 * to live less a clock margin, as a daemon does, counted from before it asked; it renews it, gives it back
 * and publishes that, or dies. It is there in worlds that are drawn with it (plan.redisson), until their
 * faults end.
 */
#ifndef SIM_RIVAL_H
#define SIM_RIVAL_H

#include <stdbool.h>
#include <stdint.h>

struct world;

struct rival {
	int64_t until_us; /* relies on its lock until then; 0: has none */
	uint64_t locks;   /* so far; also the number of its thread */
	int64_t ttl_ms;
};

void rival_watch(struct world *world);

/* Whether somebody relies on its lock of this name now. */
bool rival_holds(const struct world *world, unsigned name);

/* Somebody writes to the key. */
void rival_taint(struct world *world, unsigned name);

#endif
