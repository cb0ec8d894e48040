/*
 * set_takeover: when a daemon takes a next set of masters that no master has told it to be in force, all
 * members that stay had told it that they have accepted that set, each once more after all had, and none of
 * them was guarded when it said so last (GUARANTEES, Changing the set under load).
 */
#ifndef SIM_SET_TAKEOVER_H
#define SIM_SET_TAKEOVER_H

#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct vote;

/* What one server has told a daemon of the next set. */
struct set_takeover_of {
	int64_t generation;  /* which one it has accepted */
	int64_t since_us;    /* when the daemon first heard that; 0: it has not */
	int64_t again_us;    /* when the last HELLO left that was answered so */
	int64_t answered_us; /* when it gave the latest answer that the daemon has heard */
	bool guarded;
};

struct set_takeover {
	int64_t generation; /* of the set that the daemon goes by; 0: it is not agreed on */
	int64_t told;       /* the latest one in force that any server has told it */
	struct set_takeover_of of[PLAN_MASTERS_MAX];
};

/* Before the daemon gets this answer; and after each of its steps. */
void set_takeover_vote(struct host *host, const struct vote *vote);
void set_takeover_step(struct host *host);

#endif
