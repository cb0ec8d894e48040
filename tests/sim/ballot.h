/*
 * ballot: a daemon has a lease when a majority of its masters has said yes to this attempt, each of which it
 * may believe when it hears that: the question was meant for the memory that it knows there by now, and the
 * clock of that master has not leapt to it (G1, G4).
 */
#ifndef SIM_BALLOT_H
#define SIM_BALLOT_H

#include "daemon/core/call.h"

#include <stdint.h>

struct host;

/* One daemon and name. */
struct ballot {
	uint64_t life; /* of the daemon */
	uint64_t attempt;
	unsigned yes;    /* masters that count, one bit each */
	unsigned master; /* that said so last */
};

/* A master answers this call, before its daemon hears of that. */
void ballot_vote(struct host *host, const struct call *call, const struct vote *vote);

/* It has got a lease that it did not have. */
void ballot_leased(struct host *host, unsigned name);

#endif
