/*
 * odd: a client that keeps to no order: it asks anything about any name, in whatever state its session is,
 * with the tags and ids that others of its kind use, too. It gives back what it does not hold, takes ids that
 * are in use, joins, binds and resumes where it may not, and looks for sessions that are gone. What it may be
 * answered says the oracle.
 *
 * Whatever it asks for ends by itself: each wait has an end, and what a session holds that others may speak
 * for has a MAXHOLD.
 */
#ifndef SIM_ODD_H
#define SIM_ODD_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct reply;
struct request;

struct odd {
	bool on;          /* this life of the client is such a one */
	bool alone;       /* nobody ever learns its secret */
	bool waits;       /* its last LOCK has not been answered */
	int64_t until_us; /* it leaves then */
};

/* A connection begins. */
void odd_begin(struct client *client);
void odd_turn(struct client *client);
void odd_answered(struct client *client, const struct request *request, const struct reply *reply);

#endif
