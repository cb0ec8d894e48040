/*
 * many: a client that takes several names: together by MLOCK, or one more while it holds others, and gives
 * them back one by one or together. What it does in its turns; all else is like any client.
 *
 * Circles over several daemons are not found by anybody, so whoever asks for more than it has, or may have,
 * waits for ever only when there is one daemon.
 */
#ifndef SIM_MANY_H
#define SIM_MANY_H

#include "tests/sim/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct client;
struct reply;
struct request;

struct many {
	bool on;       /* this life of the client is such a one */
	unsigned held; /* a bit for each name that it believes to hold */
	int64_t tokens[PLAN_NAMES_MAX];
	char owner[8];
	int64_t until_us; /* it gives all back then */
};

/* A connection begins. */
void many_begin(struct client *client);
void many_turn(struct client *client);
void many_answered(struct client *client, const struct request *request, const struct reply *reply);
/* What it had of this name, with this token, is lost. */
void many_lost(struct client *client, unsigned name, int64_t token);

#endif
