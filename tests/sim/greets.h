/*
 * greets: what a greeting and an admission may do to a master's memory of itself (G2, G4). A memory that is
 * given up is not admitted by the greeting that opens the next one; a memory goes on only as it was; each
 * greeting is a mark; neither touches a lease; and who is admitted among several masters gives no token of
 * before its loss once more, as long as enough of the others know that one.
 */
#ifndef SIM_GREETS_H
#define SIM_GREETS_H

#include "tests/sim/keys.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

struct server;

/* Before a greeting or an admission is run. */
struct greets {
	bool looked_at;
	char me[33];     /* the daemon that asks */
	char memory[17]; /* "": none */
	bool admitted;
	int64_t highest;
	char run[48];     /* of the process that had it, */
	char replid[48];  /* and of its data */
	char evicted[24]; /* so many keys had been evicted */
	unsigned living;  /* other daemons that are registered and live, */
	unsigned leapt;   /* of which so many say that its clock leapt */
	struct keys keys[PLAN_NAMES_MAX];
};

/* me: the daemon that asks. */
void greets_before(struct greets *greets, struct server *server, const struct call *call, const char *me);
void greets_check(
	const struct greets *greets, struct server *server, const struct call *call, const redisReply *reply);

/* The master loses what it knew, or a part of it: these tokens had been granted by then. */
void greets_lost(struct server *server);

#endif
