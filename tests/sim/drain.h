/*
 * drain: a daemon is told to stop, and the checker's part about it (G15): it grants nothing new and answers
 * all who wait. It may wait until those who hold have finished, and not for longer. Then it tells all who
 * hold by the end of their connections, and releases what nobody holds.
 */
#ifndef SIM_DRAIN_H
#define SIM_DRAIN_H

struct host;

/* It is told to, by a fault; or to hurry, if it waits. Not paused. */
void drain_begin(struct host *host);
/* Its core has made a step. */
void drain_step(struct host *host);

#endif
