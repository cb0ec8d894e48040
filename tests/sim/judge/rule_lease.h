/*
 * rule_lease: the checker's part about the rule of a name: after a reload a daemon requests leases of the new
 * length from the next round on, also longer ones (6.10).
 */
#ifndef SIM_RULE_LEASE_H
#define SIM_RULE_LEASE_H

struct call;
struct host;

/* A daemon calls a master. */
void rule_lease_call(struct host *host, const struct call *call);

#endif
