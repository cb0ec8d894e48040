/*
 * belief: looks whether what the daemons are sure of is so (R1): who has a lease by its own clock has it
 * at most masters, and when all has been well for a while, at every one. Long before any other takes the name
 * this shows that a validity was reckoned too long. A master that lost what it knew, or whose clock leapt,
 * counts for every daemon as long as the leases of before may be relied on.
 */
#ifndef SIM_BELIEF_H
#define SIM_BELIEF_H

struct world;

/* Looks every now and then, from now on. */
void belief_watch(struct world *world);

#endif
