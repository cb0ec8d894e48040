/*
 * chaos_client: a client without any order: it sends any request for any name in any state of its session,
 * with tags and ids that other such clients also use. It releases names that it does not hold, uses ids that
 * are in use, joins, binds and resumes where it may not, and looks for sessions that are gone. oracle.h knows
 * the permitted answers.
 *
 * All its requests end by themselves: each wait has a limit, and each hold of a session that others may join
 * has a MAXHOLD.
 */
#ifndef SIM_CHAOS_CLIENT_H
#define SIM_CHAOS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct reply;
struct request;

struct chaos_client {
	bool on;          /* this life of the client does so */
	bool alone;       /* no other client learns its secret */
	bool waits;       /* its last LOCK is unanswered */
	int64_t until_us; /* when it leaves */
};

/* A connection begins. */
void chaos_client_begin(struct client *client);
void chaos_client_turn(struct client *client);
void chaos_client_answered(struct client *client, const struct request *request, const struct reply *reply);

#endif
