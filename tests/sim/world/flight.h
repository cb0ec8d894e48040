/*
 * flight: a command in flight to a master, and its answer on the way back.
 *
 * It arrives when the network permits, in the order of its connection, and runs there even if the daemon no
 * longer waits for it. The answer, or its absence, becomes votes for the daemon.
 */
#ifndef SIM_FLIGHT_H
#define SIM_FLIGHT_H

#include "daemon/redis/call.h"
#include "tests/sim/world/replication.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define FLIGHT_NAME_BYTES 24

struct host;
struct wire;

/* Exactly one job owns it until it is done. */
struct flight {
	TAILQ_ENTRY(flight) in_wire;
	LIST_ENTRY(flight) in_world;
	struct wire *wire;
	uint64_t host_life;
	char daemon_id[CALL_DAEMON_ID_SIZE]; /* of that life */
	uint64_t wire_life;
	uint64_t server_life;
	int64_t sent_us;
	int64_t ran_us;            /* arrived: when the master answered */
	bool wrote;                /* arrived: it changed data, which goes to the replicas */
	bool wait;                 /* a round about replicas, without calls */
	struct replica_poll *poll; /* of it */
	bool acked;                /* its votes count only after replicas have acknowledged its changes */
	int64_t replicas;   /* of its WAIT: the acknowledgements in the answer; -1: the server is not a master
			     */
	struct reach reach; /* of the master's stream, after it ran */
	bool arrived;       /* at the master */
	bool lost;          /* it will never arrive */
	int64_t stuck_until_us; /* still in the network, of a connection that is dead at the daemon's end */
	bool waited;            /* its votes are still due; it is in the wire's list */
	bool jobless;           /* it found the master dead; no job owns it any more */
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

/* Sends the command now, after all earlier ones of its connection; and the same for its answer. */
void flight_depart(struct flight *flight);
void flight_returns(struct flight *flight);

/* Delivers votes for its calls: the master's answers, reduced if there is no acknowledgement; or that there
 * is no answer. */
void flight_tell(struct flight *flight, bool acknowledged);
void flight_fail(struct flight *flight, enum outcome outcome, const char *why);
/* Delivers a vote to a daemon that is alive and not paused. */
void flight_deliver(struct host *host, const struct vote *vote);

/* Its votes are no longer due. Frees it unless a job still owns it. */
void flight_drop(struct flight *flight);

#endif
