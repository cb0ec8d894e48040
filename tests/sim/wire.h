/*
 * wire: one connection of a daemon's pool to a master, as daemon/pool.c drives it: calls of one operation
 * share a command, answers come in order, a lost connection makes votes of what was not answered.
 */
#ifndef SIM_WIRE_H
#define SIM_WIRE_H

#include "daemon/call.h"
#include "daemon/group.h"
#include "tests/sim/replication.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define WIRE_NAME_BYTES 24

struct host;
struct server;
struct way;
struct wire;

/* A command on its way, or its answer on the way back: exactly one job knows it until it is done. */
struct batch {
	TAILQ_ENTRY(batch) in_wire;
	LIST_ENTRY(batch) in_world;
	struct wire *wire;
	uint64_t host_life;
	char daemon_id[CALL_DAEMON_ID_SIZE]; /* of that life */
	uint64_t wire_life;
	uint64_t server_life;
	int64_t sent_us;
	bool wait;              /* WAIT, and no calls */
	bool acked;             /* its votes count when replicas have acknowledged what it did */
	int64_t replicas;       /* WAIT: that have, as the master says; -1: it is none */
	struct reach reach;     /* of the master, behind it */
	bool arrived;           /* at the master */
	bool lost;              /* never will */
	int64_t stuck_until_us; /* somewhere in the network of a connection that is dead at this end */
	bool waited;            /* its votes are still due: it is in the wire's list */
	bool jobless;           /* found the master dead: no job knows it any more */
	struct call_command command;
	redisReply *reply;
	size_t n;
	char (*names)[WIRE_NAME_BYTES];
	struct call calls[];
};

TAILQ_HEAD(batches, batch);
LIST_HEAD(all_batches, batch);

struct wire {
	struct way *way;
	unsigned index;
	bool up;
	uint64_t life; /* one number for each connection */
	uint64_t server_life;
	int64_t arrives_us; /* order is kept in both directions */
	int64_t answers_us;
	bool doomed; /* breaks with the next command under way */
	bool watched;
	struct batches waiting; /* oldest first */
	/* Where replicas have to acknowledge, as daemon/pool_lane.c does it: one WAIT behind all that a turn
	 * has sent, and its votes are told with the answer. */
	struct batches kept;
	unsigned waits;
	bool wait_due;
	int64_t wrote;         /* at the master: offset of the last change of this connection */
	struct batch *blocked; /* there: the WAIT that is not answered yet, */
	int64_t blocked_until_us;
	struct groups open; /* calls collected for the next commands */
};

void wire_init(struct wire *wire, struct way *way, unsigned index);
void wire_done(struct wire *wire);
void wire_free_all(struct all_batches *all);
void wire_connect(struct wire *wire);
void wire_call(struct wire *wire, const struct call *call);
void wire_flush(struct wire *wire);
/* Nothing that was sent on this way, and has not arrived, was sent before its daemon was told of this token.
 */
bool wires_know(const struct way *way, int64_t token);
/* Asks for acknowledgement although nothing needs it. False: there is no connection. */
bool wire_probe(struct wire *wire);
/* More is acknowledged there, or it is no master any more. */
void wires_look(struct server *server);
/* No link of this way owes its daemon an answer. */
bool wires_quiet(const struct way *way);

/* The connection is found dead now: votes, then the end of the link, then a new attempt. */
void wire_break(struct wire *wire, const char *why);

/* The daemon dies: nobody asks any more, but what was sent may still arrive. */
void wire_forget(struct wire *wire);

#endif
