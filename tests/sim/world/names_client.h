/*
 * names_client: the turns of a client that takes several names: together by MLOCK, or one more while it holds
 * others. It releases them one by one or together. Otherwise it is like any client.
 *
 * No daemon detects circles over several daemons. So such a client waits without a limit only if there is one
 * daemon.
 */
#ifndef SIM_NAMES_CLIENT_H
#define SIM_NAMES_CLIENT_H

#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct client;
struct reply;
struct request;

struct names_client {
	bool on;       /* this life of the client does so */
	unsigned held; /* a bit for each name that it believes to hold */
	int64_t tokens[PLAN_NAMES_MAX];
	char owner[8];
	int64_t until_us; /* when it releases all */
};

/* A connection begins. */
void names_client_begin(struct client *client);
void names_client_turn(struct client *client);
void names_client_answered(struct client *client, const struct request *request, const struct reply *reply);
/* Its hold of this name, with this token, is lost. */
void names_client_lost(struct client *client, unsigned name, int64_t token);

#endif
