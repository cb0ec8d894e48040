/*
 * flight: a command in flight to a master, and its answer on the way back.
 *
 * It arrives when the network lets it, in the order of its connection, and runs there whether or not anybody
 * still waits for it. What the answer says, or that there is none, is told to the daemon as votes.
 */
#ifndef SIM_FLIGHT_H
#define SIM_FLIGHT_H

#include "daemon/redis/call.h"
#include "tests/sim/replication.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define FLIGHT_NAME_BYTES 24

struct host;
struct wire;

/* Exactly one job knows it until it is done. */
struct flight {
	TAILQ_ENTRY(flight) in_wire;
	LIST_ENTRY(flight) in_world;
	struct wire *wire;
	uint64_t host_life;
	char daemon_id[CALL_DAEMON_ID_SIZE]; /* of that life */
	uint64_t wire_life;
	uint64_t server_life;
	int64_t sent_us;
	int64_t ran_us;         /* arrived: the master answered then */
	bool wrote;             /* and what it did goes to its replicas */
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
	char (*names)[FLIGHT_NAME_BYTES];
	struct call calls[];
};

TAILQ_HEAD(flights, flight);
LIST_HEAD(all_flights, flight);

/* With a copy of the calls. */
struct flight *flight_new(struct wire *wire, const struct call *calls, size_t n);
void flight_free(struct flight *flight);
void flights_free(struct all_flights *all);

/* It leaves now, behind what left before on its connection; and so does its answer. */
void flight_depart(struct flight *flight);
void flight_returns(struct flight *flight);

/* Votes for its calls: what the master answered, or what is left of that without acknowledgement; or that
 * there is no answer. */
void flight_tell(struct flight *flight, bool acknowledged);
void flight_fail(struct flight *flight, enum outcome outcome, const char *why);
/* A vote for a daemon that is alive and does not stand still. */
void flight_deliver(struct host *host, const struct vote *vote);

/* Its votes are due no more. Frees it, unless a job still knows it. */
void flight_drop(struct flight *flight);

#endif
