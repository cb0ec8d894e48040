/*
 * hellos: what a HELLO and an admission may do to a master's memory of itself (G2, G4). A memory that is
 * given up is not admitted by the HELLO that opens the next one; a memory goes on only as it was; each
 * HELLO is a mark; neither touches a lease; and who is admitted among several masters gives no token of
 * before its loss once more, as long as enough of the others know that one. A longer lease than before is
 * taken only when the guards of all daemons that are registered wait for it; each is told of the longest that
 * any of them would take, and goes on with guards as long as it ever said or was told.
 */
#ifndef SIM_HELLOS_H
#define SIM_HELLOS_H

#include "tests/sim/world/keys.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

struct host;
struct server;

/* Before a HELLO or an admission is run. */
struct hellos {
	bool looked_at;
	char me[33];     /* the daemon that asks */
	char memory[17]; /* "": none */
	bool admitted;
	int64_t highest;
	char run[48];             /* of the process that had it, */
	char replid[48];          /* and of its data */
	char evicted[24];         /* so many keys had been evicted */
	unsigned living;          /* other daemons that are registered and live, */
	unsigned jumped;          /* of which so many say that its clock jumped; */
	int64_t wanted_lease_ms;  /* the longest lease that any of them would take, */
	int64_t guarded_lease_ms; /* and the shortest that the guards of any wait for; INT64_MAX: there is
				     none */
	int64_t longest_ms;       /* a lease and its margin may be so long */
	struct keys keys[PLAN_NAMES_MAX];
};

/* g: what the server knew before the call; me: the daemon that asks. */
void hellos_before(struct hellos *g, struct server *s, const struct call *call, const char *me);
void hellos_check(const struct hellos *g, struct server *s, const struct call *call, const redisReply *reply);

/* A daemon sends a master HELLO or admits it, and was told of the longest lease to guard. */
void hellos_asked(struct host *host, const struct call *call);
void hellos_told(struct host *host, const struct vote *vote);

/* The master loses what it knew, or a part of it: these tokens had been granted by then. */
void hellos_lost(struct server *server);
/* A command has run there. */
void hellos_ran(struct server *server);

#endif
