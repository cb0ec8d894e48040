/*
 * debt: looks whether a daemon gives back what it may have got (R2). It owes a release for each acquire
 * that was granted or whose outcome it does not know, from the moment when it counts on that lease no more.
 *
 * Called by the host: for each call its core makes, each vote it is given, and at the end of each step.
 */
#ifndef SIM_DEBT_H
#define SIM_DEBT_H

#include "daemon/core/call.h"

#include <stdbool.h>
#include <stdint.h>

struct host;

/* The lease of one name at one master, as its daemon last asked for it. */
struct debt {
	uint64_t life;    /* of the host */
	uint64_t attempt; /* 0: none that it would not have released */
	bool asking;
	bool owed;
};

void debt_call(struct host *host, const struct call *call);
void debt_vote(struct host *host, const struct vote *vote);
void debt_step(struct host *host);

#endif
