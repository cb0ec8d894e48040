/*
 * tally: what a script may do to a latch, to the last step: what is there before, and what each call says, is
 * reckoned anew as lua/latch.lua describes it, and compared with what is there then and what is answered. So
 * nobody counts down another latch than the one that was meant, or without having said so; and a daemon says
 * a DOWN to one latch alone once that may have been carried out (G12).
 */
#ifndef SIM_TALLY_H
#define SIM_TALLY_H

#include "daemon/redis/call.h"
#include "tests/sim/latches.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#define TALLY_MARKS    32
#define TALLY_WATCHERS 8

struct call_command;
struct host;
struct server;

/* One latch at a master. */
struct tally {
	bool looked_at; /* it can be */
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

/* What a daemon asks of latches, and is told. */
void tally_called(struct host *host, const struct call *call);
void tally_voted(struct host *host, const struct vote *vote);

void tally_before(struct tally tallies[PLAN_LATCHES_MAX], struct server *server, const struct call *calls);
void tally_check(struct tally tallies[PLAN_LATCHES_MAX], struct server *server, const struct call *calls,
	size_t n, const struct call_command *command, const redisReply *reply);

#endif
