/*
 * replication: how the servers of a world with sentinels copy each other's data.
 *
 *     master ── what each script changed ──▶ replica ── how far it has come ──▶ master ──▶ WAIT
 *
 * A server is a master, or follows one master at a time. It has the part of the master's stream that has
 * reached it, in order. A new connection begins with a copy of all data. Nothing passes between two servers
 * that cannot reach each other; their connection survives that.
 */
#ifndef SIM_REPLICATION_H
#define SIM_REPLICATION_H

#include "proto/slice.h"
#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct change;
struct parcel;
struct server;
struct world;

LIST_HEAD(all_parcels, parcel);

/* A position in the stream of a master, which has a new stream with each of its reigns. */
struct reach {
	uint64_t reign;
	int64_t offset;
};

struct replication {
	int follows;  /* -1: it is a master */
	bool outside; /* no server of the group yet, or none any more: neither master nor replica */
	struct reach stream;
	struct change *open; /* the changes of the current script */
	/* As a replica. */
	uint64_t line;      /* number of its connection to its master, or of its attempt to connect */
	bool linked;        /* that connection is up */
	int64_t arrives_us; /* order is kept in both directions */
	int64_t acks_us;
	struct reach most[PLAN_MASTERS_MAX]; /* the furthest that it ever had of each server's stream */
	/* As a master: what each replica has acknowledged on its current connection; -1: no connection. */
	int64_t acked[PLAN_MASTERS_MAX];
};

/* All servers follow the first, but for the last ones, which are outside. */
void replication_begin(struct world *world);
void replication_done(struct world *world);

/* REPLICAOF: follows that master from now on; NO ONE: becomes a master with a stream of its own. No effect if
 * it is so already. */
void replication_follow(struct server *server, unsigned master);
void replication_promote(struct server *server);

/* It comes as a replica of that master; or it leaves for another group, and forgets what it had. */
void replication_join(struct server *server, unsigned master);
void replication_leave(struct server *server);

/* Its process has ended, and with it all its connections. */
void replication_crashed(struct server *server);
/* Its connection to its master breaks, and it reconnects. */
void replication_resync(struct server *server);

/* A script has run: its changes go to the replicas. */
void replication_commit(struct server *server);
/* How many replicas are connected, and how many have acknowledged up to an offset. */
unsigned replication_connected(const struct server *server);
unsigned replication_acked(const struct server *server, int64_t offset);

/* Whether so many servers as are a majority of the first group have ever had this server's stream up to that
 * position. */
bool replication_known(const struct server *server, const struct reach *reach);

#endif
