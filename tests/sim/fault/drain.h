/*
 * drain: tells a daemon to stop, and checks how it does (G15). It grants nothing new and answers all waiters.
 * It may wait until the holders have finished, and no longer. Then it tells the remaining holders by closing
 * their connections, and releases all leases without holders.
 */
#ifndef SIM_DRAIN_H
#define SIM_DRAIN_H

struct host;

/* A fault tells the daemon to drain or, if it already waits, to hurry. The daemon is not paused. */
void drain_begin(struct host *host);
/* Its core has made a step. */
void drain_step(struct host *host);

#endif
