/*
 * latch_effects: checks what a script does to a latch. From the state before and the call it computes the
 * state after and the answer, as lua/latch.lua describes them, and compares both. So a DOWN counts only at
 * the latch that it was meant for, and no latch counts without a DOWN. Once a DOWN may have been carried out,
 * its daemon sends it to the same latch only (G12).
 */
#ifndef SIM_LATCH_EFFECTS_H
#define SIM_LATCH_EFFECTS_H

#include "daemon/redis/call.h"
#include "tests/sim/judge/latches.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#define TALLY_MARKS    32
#define TALLY_WATCHERS 8

struct call_command;
struct host;
struct server;

/* One latch at a master. */
struct latch_effects {
	bool looked_at; /* whether the key can be checked */
	int64_t now_us; /* the master's clock */
	bool there;
	char id[32];
	char memory[40];
	int64_t set;
	int64_t done;
	bool leased;
	int64_t till_ms;
	unsigned n;
	struct {
		char by[LATCH_BY_BYTES];
		int64_t steps;
	} marks[TALLY_MARKS];
	unsigned watchers_n;
	struct {
		char daemon[33];
		int64_t till_us;
	} watchers[TALLY_WATCHERS];
};

void latch_effects_before(
	struct latch_effects tallies[PLAN_LATCHES_MAX], struct server *server, const struct call *calls);
void latch_effects_check(struct latch_effects tallies[PLAN_LATCHES_MAX], struct server *server,
	const struct call *calls, size_t n, const struct call_command *command, const redisReply *reply);

#endif
