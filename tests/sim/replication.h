/*
 * replication: what the servers of a world with sentinels have of each other's data.
 *
 *     master ── what each script changed ──▶ replica ── how far it has come ──▶ master ──▶ WAIT
 *
 * A server follows one master at a time, or is one. It has the stream that has reached it, later than the
 * master and in its order; a new connection begins with a copy of everything. Between two servers that cannot
 * reach each other nothing passes; connections survive that.
 */
#ifndef SIM_REPLICATION_H
#define SIM_REPLICATION_H

#include "proto/slice.h"
#include "tests/sim/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct change;
struct parcel;
struct server;
struct world;

LIST_HEAD(all_parcels, parcel);

/* How far somebody has come in the stream of a master, which is another one with each of its reigns. */
struct reach {
	uint64_t reign;
	int64_t offset;
};

struct replication {
	int follows; /* -1: it is a master */
	struct reach stream;
	struct change *open; /* what the script that runs has changed */
	/* As a replica. */
	uint64_t line;      /* number of its connection to its master, or of its search for one */
	bool linked;        /* that connection is there */
	int64_t arrives_us; /* order is kept in both directions */
	int64_t acks_us;
	struct reach most[PLAN_MASTERS_MAX]; /* of each server's stream, ever */
	/* As a master: what each has acknowledged on its present connection; -1: it has none. */
	int64_t acked[PLAN_MASTERS_MAX];
};

/* All follow the first. */
void replication_begin(struct world *world);
void replication_done(struct world *world);

/* REPLICAOF: from now on it follows that one; NO ONE: it is a master, with a stream of its own. What it is
 * already changes nothing. */
void replication_follow(struct server *server, unsigned master);
void replication_promote(struct server *server);

/* Its process has ended, and with it all its connections. */
void replication_crashed(struct server *server);
/* Its connection to its master breaks; it looks for another one. */
void replication_resync(struct server *server);

/* A script has run: what it changed goes to those who follow. */
void replication_commit(struct server *server);
/* How many replicas are connected, and how many have acknowledged so much. */
unsigned replication_connected(const struct server *server);
unsigned replication_acked(const struct server *server, int64_t offset);

/* Whether a majority of all servers has had so much of this server's stream, at one time or another. */
bool replication_known(const struct server *server, const struct reach *reach);

#endif
