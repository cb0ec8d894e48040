/*
 * ruled: the checker's part about the rule of a name: after a reload a daemon requests leases of the new
 * length from the next round on, also longer ones (6.10).
 */
#ifndef SIM_RULED_H
#define SIM_RULED_H

struct call;
struct host;

/* A daemon calls a master. */
void ruled_call(struct host *host, const struct call *call);

#endif
