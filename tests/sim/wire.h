/*
 * wire: one connection of a daemon's pool to a master, as daemon/redis/pool.c drives it: calls of one
 * operation share a command, answers come in order, a lost connection makes votes of what was not answered.
 */
#ifndef SIM_WIRE_H
#define SIM_WIRE_H

#include "daemon/redis/group.h"
#include "tests/sim/flight.h"
#include "tests/sim/order.h"

#include <stdbool.h>
#include <stdint.h>

struct server;
struct way;

struct wire {
	struct way *way;
	unsigned index;
	bool up;
	uint64_t life; /* one number for each connection */
	uint64_t server_life;
	int64_t arrives_us; /* order is kept in both directions */
	int64_t answers_us;
	bool bare;   /* its last greeting met a master without scripts */
	bool doomed; /* breaks with the next command under way */
	bool watched;
	struct flights waiting; /* oldest first */
	/* Where replicas have to acknowledge, as daemon/redis/pool_lane.c does it: one WAIT behind all that a
	 * turn has sent, and its votes are told with the answer. */
	struct flights kept;
	unsigned waits;
	bool wait_due;
	int64_t wrote;          /* at the master: offset of the last change of this connection */
	struct flight *blocked; /* there: the WAIT that is not answered yet, */
	int64_t blocked_until_us;
	struct order order; /* of calls that have not left */
	struct groups open; /* calls collected for the next commands */
};

void wire_init(struct wire *wire, struct way *way, unsigned index);
void wire_done(struct wire *wire);
void wire_connect(struct wire *wire);
void wire_call(struct wire *wire, const struct call *call);
/* A call that leaves for nowhere. */
void wire_unsent(struct host *host, const struct call *call);
void wire_flush(struct wire *wire);
/* Nothing that was sent on this way, and has not arrived, was sent before its daemon was told of this token.
 */
bool wires_know(const struct way *way, int64_t token);
/* Asks for acknowledgement although nothing needs it. False: there is no connection. */
bool wire_probe(struct wire *wire);
/* A WAIT has come to the master: what is behind it on the connection waits, too. And it is answered, with so
 * many acknowledgements; -1: by no master. */
void wire_blocks(struct wire *wire, struct flight *f);
void wire_acknowledged(struct wire *wire, int64_t acknowledged);
/* More is acknowledged there, or it is no master any more. */
void wires_look(struct server *server);
/* No link of this way owes its daemon an answer. */
bool wires_quiet(const struct way *way);

/* The connection is found dead now: votes, then the end of the link, then a new attempt. */
void wire_break(struct wire *wire, const char *why);

/* The daemon dies: nobody asks any more, but what was sent may still arrive. */
void wire_forget(struct wire *wire);

#endif
