/*
 * latches: the checker's part about latches (G12), and the world's record of them.
 *
 * The master's answer to each call is recorded when the script runs, even if it never arrives. At the master
 * a latch appears only by SET, and only if there is no valid latch. Its count only decreases, by steps that
 * were requested meanwhile; each session and tag counts with the most steps that it has requested. It exists
 * until its time. A daemon answers what the master answered after the request came; if there are replicas, a
 * majority of the servers has everything that the answer depends on. No session waits for an open latch.
 */
#ifndef SIM_LATCHES_H
#define SIM_LATCHES_H

#include "daemon/redis/call.h"
#include "proto/command.h"
#include "tests/sim/judge/forgotten.h"
#include "tests/sim/world/plan.h"
#include "tests/sim/world/replication.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flight;
struct conn;
struct host;
struct reply;
struct server;
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
	int64_t lease_ms;        /* SET; 0: none */
	int64_t deadline_us;     /* SET: the master's clock */
	uint64_t memory;
	bool there;
	struct latch_state state;
	unsigned server;    /* with replicas: the server that answered */
	struct reach reach; /* with replicas: the part of its stream that they must have */
};

/* The steps of one session and tag. */
struct latch_mark {
	struct latch_mark *next;
	char by[LATCH_BY_BYTES];
	int64_t steps;
};

/* One name. */
struct latch_tale {
	struct latch_word *words; /* in the order of the answers */
	size_t n;
	size_t room;
	struct latch_mark *marks; /* of the last latch */
	uint64_t id;              /* of the last latch; 0: none */
	int64_t since_us;         /* when it was set */
	uint64_t memory;          /* the master's memory that has it */
	bool leased;              /* it has a LEASE, which its use does not prolong */
	int64_t ends_us;          /* when it ends by the master's clock, if it is not used */
};

/* A DOWN that a daemon has accepted. */
struct latch_said {
	struct latch_said *next;
	unsigned name;
	char by[LATCH_BY_BYTES];
	int64_t steps;
	int64_t over_us;  /* when it was answered, or its connection ended; INT64_MAX: not yet */
	uint64_t counted; /* the latch that it was counted in; 0: none */
};

/* A LATCH request that is not answered yet. */
struct latch_wait {
	struct latch_wait *next;
	struct conn *conn;
	unsigned name;
	struct latch_said *said; /* DOWN */
	int64_t since_us;
	int64_t until_ms; /* the host's clock */
	uint64_t attempt; /* DOWN: of the call under way */
	uint64_t meant;   /* DOWN: the latch that the call was meant for */
	bool unsure;      /* DOWN: it may have been carried out there */
	bool once;        /* no further requests will come */
	uint64_t after;   /* its answer comes from a question of its daemon with a greater number than this */
	uint64_t first;   /* AWAIT: the latch that it waits for; 0: none yet */
	bool gone;        /* AWAIT: that latch no longer exists */
	int64_t open_us;  /* AWAIT: since when it could be answered; INT64_MAX: it cannot */
};

struct latches {
	/* For each server, since each memory of a server has its own latches; without replicas there is one
	 * server.
	 */
	struct latch_tale of[PLAN_MASTERS_MAX][PLAN_LATCHES_MAX];
	struct latch_said *said;
	struct latch_wait *waits;
	uint64_t asked[PLAN_HOSTS_MAX]; /* number of the last question of a daemon */
	struct forgotten forgotten[PLAN_HOSTS_MAX][PLAN_LATCHES_MAX];
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

/* The master has run this command, and answered. */
void latches_ran(struct server *server, const struct flight *b);

/* Whether any LATCH request waits for its answer. */
bool latches_wait(const struct world *world);

#endif
