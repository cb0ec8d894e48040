/*
 * moment: whose step it is, and about whom: what a failure's message leaves out. The parties note it where
 * they begin; it is forgotten before each job of the schedule.
 */
#ifndef SIM_MOMENT_H
#define SIM_MOMENT_H

#include "daemon/core/base/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;
struct host;
struct server;
struct world;

struct moment {
	const struct host *host;     /* whose step is under way, or was the last of the job; NULL: none */
	enum event_type event;       /* of that step */
	const struct conn *asks;     /* the connection of the event; NULL: none, or not of a client */
	const struct conn *told;     /* the connection that is answered or pushed to; NULL: none */
	const struct server *server; /* that runs a call, or whose vote the event has; NULL: none */
	enum call_op op;             /* of that call or vote */
	char name[24];               /* that it is about */
};

/* What a daemon noted last of a name: "lock.granted" (note.def). */
struct last_note {
	const char *event; /* NULL: nothing yet */
	int64_t at_us;
	int64_t ms; /* of the note; -1: none */
};

void moment_step(struct world *world, struct host *host, const struct event *event);
void moment_runs(struct server *server, const struct call *call);

/* One line: the time, the daemon's clock, the event, and the client with its session and request. */
void moment_text(const struct world *world, char *out, size_t size);

#endif
