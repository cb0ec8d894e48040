/*
 * many: the turns of a client that takes several names: together by MLOCK, or one more while it holds others.
 * It releases them one by one or together. Otherwise it is like any client.
 *
 * No daemon detects circles over several daemons. So such a client waits without a limit only if there is one
 * daemon.
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
	bool on;       /* this life of the client does so */
	unsigned held; /* a bit for each name that it believes to hold */
	int64_t tokens[PLAN_NAMES_MAX];
	char owner[8];
	int64_t until_us; /* when it releases all */
};

/* A connection begins. */
void many_begin(struct client *client);
void many_turn(struct client *client);
void many_answered(struct client *client, const struct request *request, const struct reply *reply);
/* Its hold of this name, with this token, is lost. */
void many_lost(struct client *client, unsigned name, int64_t token);

#endif
