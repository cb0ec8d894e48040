/*
 * ruled: the checker's part about the rule of a name: who reads other rules asks for leases of the new length
 * from the next round on, longer ones, too (6.10).
 */
#ifndef SIM_RULED_H
#define SIM_RULED_H

struct call;
struct host;

/* What a daemon asks of a master. */
void ruled_call(struct host *host, const struct call *call);

#endif
