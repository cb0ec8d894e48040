/*
 * wire: one connection of a daemon's pool to a master, as daemon/redis/pool.c drives it: calls of one
 * operation share a command, answers keep their order, and a lost connection turns unanswered calls into
 * votes.
 */
#ifndef SIM_WIRE_H
#define SIM_WIRE_H

#include "daemon/redis/batch.h"
#include "tests/sim/judge/order.h"
#include "tests/sim/world/flight.h"

#include <stdbool.h>
#include <stdint.h>

struct server;
struct route;

struct wire {
	struct route *way;
	unsigned index;
	bool up;
	uint64_t life; /* a new number for each connection */
	uint64_t server_life;
	int64_t arrives_us; /* order is kept in both directions */
	int64_t answers_us;
	bool bare;   /* its last HELLO met a master without scripts */
	bool doomed; /* breaks while the next command is under way */
	bool watched;
	int64_t late_until_us;  /* answers on it do not come before */
	struct flights waiting; /* oldest first */
	/* If replicas have to acknowledge, as in daemon/redis/pool_link.c: one round after all commands of a
	 * turn; its answer delivers their votes. */
	struct flights kept;
	unsigned waits;
	bool wait_due;
	unsigned again;         /* rounds that have told nothing of what is kept */
	int64_t wrote;          /* at the master: offset of the last change of this connection */
	struct flight *blocked; /* at the master: the WAIT that is not answered yet */
	int64_t blocked_until_us;
	struct order order; /* order of calls that have not left */
	struct groups open; /* calls collected for the next commands */
};

void wire_init(struct wire *wire, struct route *way, unsigned index);
void wire_done(struct wire *wire);
void wire_connect(struct wire *wire);
void wire_call(struct wire *wire, const struct call *call);
/* A call that cannot be sent. */
void wire_unsent(struct host *host, const struct call *call);
void wire_flush(struct wire *wire);
/* Whether each command under way on this path was sent after its daemon was told of this token.
 */
bool wires_know(const struct route *way, int64_t token);
/* Requests an acknowledgement although no command needs it. False: no connection. */
bool wire_probe(struct wire *wire);
/* A WAIT has arrived at the master, and blocks the commands after it on the connection. Then it is answered
 * with this many acknowledgements; -1: the server is not a master. */
void wire_blocks(struct wire *wire, struct flight *f);
void wire_acknowledged(struct wire *wire, const struct flight *f);
/* The server has more acknowledgements, or is no longer a master. */
void wires_look(struct server *server);
/* Whether no link of this path owes its daemon an answer. */
bool wires_quiet(const struct route *way);

/* The connection is found dead: delivers votes, then the end of the link, then a new attempt. */
void wire_break(struct wire *wire, const char *why);

/* The daemon dies. Commands that were sent may still arrive. */
void wire_forget(struct wire *wire);

#endif
