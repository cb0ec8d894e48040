/*
 * owed_releases: checks that a daemon releases every lease that it may have got (R2). When it no longer
 * relies on a lease, it owes a release for each acquire that was granted or whose outcome is unknown.
 *
 * The host calls it for each call of its core, for each vote to its core, and at the end of each step.
 */
#ifndef SIM_OWED_RELEASES_H
#define SIM_OWED_RELEASES_H

#include "daemon/core/base/call.h"

#include <stdbool.h>
#include <stdint.h>

struct host;

/* The lease of one name at one master, by the daemon's last acquire. */
struct owed_releases {
	uint64_t life;    /* of the host */
	uint64_t attempt; /* 0: it owes no release */
	bool asking;
	bool owed;
};

void owed_releases_call(struct host *host, const struct call *call);
void owed_releases_vote(struct host *host, const struct vote *vote);
void owed_releases_step(struct host *host);

#endif
