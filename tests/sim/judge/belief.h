/*
 * belief: checks that what daemons are sure of is true (R1): a daemon that has a lease by its own clock has
 * it at a majority of the masters. This detects a validity that was computed too long before another daemon
 * takes the name. A master that lost its memory, or whose clock jumped, counts for every daemon as long as
 * earlier leases may be relied on.
 */
#ifndef SIM_BELIEF_H
#define SIM_BELIEF_H

struct world;

/* Checks periodically from now on. */
void belief_watch(struct world *world);

#endif
