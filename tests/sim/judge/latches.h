/*
 * latches: the checker's part about latches (G12), and the world's record of them.
 *
 * The master's answer to each call is recorded when the script runs, even if it never arrives; whether it is
 * the right one is judged by latch_effects. A daemon answers what the master answered after the request came;
 * if there are replicas, a majority of the servers has everything that the answer depends on. No session
 * waits for an open latch.
 */
#ifndef SIM_LATCHES_H
#define SIM_LATCHES_H

#include "daemon/redis/call.h"
#include "proto/command.h"
#include "tests/sim/world/plan.h"
#include "tests/sim/world/replication.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call;
struct conn;
struct flight;
struct host;
struct reply;
struct server;
struct vote;
struct world;

#define LATCH_BY_BYTES 64

/* The master's answer to one call. */
struct latch_word {
	int64_t at_us;
	const struct host *host;
	uint64_t host_life;
	enum latch_op op;
	char by[LATCH_BY_BYTES]; /* DOWN */
	int64_t steps;           /* SET, DOWN */
	uint64_t meant;          /* SET, DOWN: the latch that the call was meant for */
	bool there;
	struct latch_state state;
	unsigned server;    /* with replicas: the server that answered */
	struct reach reach; /* with replicas: the part of its stream that they must have */
};

/* One name. */
struct latch_tale {
	struct latch_word *words; /* in the order of the answers */
	size_t n;
	size_t room;
};

/* A LATCH request that is not answered yet. */
struct latch_wait {
	struct latch_wait *next;
	struct conn *conn;
	unsigned name;
	char by[LATCH_BY_BYTES]; /* DOWN: as its daemon names the session and tag to the master */
	int64_t since_us;
	int64_t until_ms; /* the host's clock */
	bool once;        /* no further requests will come */
	uint64_t after;   /* its answer comes from a question of its daemon with a greater number than this */
	uint64_t first;   /* AWAIT: the latch that it waits for; 0: none yet */
	int64_t open_us;  /* AWAIT: since when it could be answered; INT64_MAX: it cannot */
};

struct latches {
	/* For each server, since each memory of a server has its own latches; without replicas there is one
	 * server.
	 */
	struct latch_tale of[PLAN_MASTERS_MAX][PLAN_LATCHES_MAX];
	struct latch_wait *waits;
	uint64_t asked[PLAN_HOSTS_MAX]; /* number of the last question of a daemon */
};

/* Requests name latches from PLAN_NAMES_MAX on. */
const char *latches_name(unsigned name);
bool latches_verb(enum verb verb);

/* Checks periodically from now on. */
void latches_watch(struct world *world);
void latches_done(struct world *world);

/* Actions of daemons. */
void latches_command(struct world *world, struct conn *conn);
void latches_reply(struct world *world, struct conn *conn, const struct reply *reply);
void latches_finished(struct world *world, struct conn *conn);
void latches_closed(struct world *world, const struct conn *conn);
void latches_step(struct world *world, const struct host *host, int64_t now_ms);

/* A daemon's calls about latches, and their votes: an AWAIT waits for the first latch that its daemon is told
 * of after the request came (3.40). */
void latches_called(struct host *host, const struct call *call);
void latches_voted(struct host *host, const struct vote *vote);

/* The master has run this command, and answered. */
void latches_ran(struct server *server, const struct flight *b);

/* Whether any LATCH request waits for its answer. */
bool latches_wait(const struct world *world);

#endif
