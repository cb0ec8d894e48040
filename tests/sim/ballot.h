/*
 * ballot: a daemon has a lease when a majority of its masters has said yes to this attempt, each of which it
 * may believe when it hears that: the question was meant for the memory that it knows there by now, and the
 * clock of that master has not leapt to it (G1, G4). It gives the lease up, and tells its holders, with the
 * answer by which a majority of its masters has named one and the same other owner (G5).
 */
#ifndef SIM_BALLOT_H
#define SIM_BALLOT_H

#include "daemon/core/call.h"
#include "tests/sim/plan.h"

#include <stdint.h>

struct host;

#define BALLOT_OWNER 64

/* One daemon and name. */
struct ballot {
	uint64_t life; /* of the daemon */
	uint64_t attempt;
	unsigned yes;                               /* masters that count, one bit each */
	unsigned master;                            /* that said so last */
	char owner[PLAN_MASTERS_MAX][BALLOT_OWNER]; /* that each master named in its last answer; "": none */
};

/* A master answers this call, before its daemon hears of that. */
void ballot_vote(struct host *host, const struct call *call, const struct vote *vote);

/* Its daemon has heard that. */
void ballot_heard(struct host *host, const struct vote *vote);

/* It has got a lease that it did not have. */
void ballot_leased(struct host *host, unsigned name);

#endif
