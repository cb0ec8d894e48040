/*
 * belief: looks whether what the daemons are sure of is so (rule 1): who has a lease by his own clock has it
 * at most masters. Long before anybody else takes the name this shows that a validity was reckoned too long.
 *
 * Only in worlds where no master forgets, leaps in time or is meddled with.
 */
#ifndef SIM_BELIEF_H
#define SIM_BELIEF_H

struct world;

/* Looks every now and then, from now on. */
void belief_watch(struct world *world);

#endif
