/*
 * ballot: the checker's part about majorities. A daemon has a lease if a majority of its masters has granted
 * this attempt. A vote counts if the call was meant for the memory that the daemon now knows at that master
 * (G1, G4). The daemon gives the lease up, and tells its holders, as soon as a majority of its masters has
 * named the same other owner (G5).
 */
#ifndef SIM_BALLOT_H
#define SIM_BALLOT_H

#include "daemon/core/base/call.h"
#include "tests/sim/world/plan.h"

#include <stdint.h>

struct host;

#define BALLOT_OWNER 64

/* One daemon and name. */
struct ballot {
	uint64_t life; /* of the daemon */
	uint64_t attempt;
	unsigned yes; /* masters whose grant counts, one bit each */
	char owner[PLAN_MASTERS_MAX]
		  [BALLOT_OWNER]; /* the owner that each master named in its last answer; "": none */
};

/* A master has answered this call, and its daemon does not know yet. */
void ballot_vote(struct host *host, const struct call *call, const struct vote *vote);

/* The daemon has got the vote. */
void ballot_heard(struct host *host, const struct vote *vote);

/* The daemon has got a new lease. */
void ballot_leased(struct host *host, unsigned name);

#endif
