/*
 * latches: the checker's part about latches (G12), and what the world knows of them.
 *
 * What the master answers to each call is written down when the script runs, whether or not anybody will hear
 * it. There a latch appears by SET only, and when there is none that counts; it counts down only, by what was
 * really said meanwhile, each session and tag as the most it has said; and it is there until its time. What a
 * daemon answers is what the master said after the request came, and where it has replicas a majority of the
 * servers has all that this rests on. Nobody waits for one that is open.
 */
#ifndef SIM_LATCHES_H
#define SIM_LATCHES_H

#include "daemon/redis/call.h"
#include "proto/command.h"
#include "tests/sim/forgotten.h"
#include "tests/sim/plan.h"
#include "tests/sim/replication.h"

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

/* What the master said to one call. */
struct latch_word {
	int64_t at_us;
	const struct host *host;
	uint64_t host_life;
	enum latch_op op;
	char by[LATCH_BY_BYTES]; /* DOWN */
	int64_t steps;           /* SET, DOWN */
	uint64_t meant;          /* SET, DOWN: the latch that it was said to */
	int64_t lease_ms;        /* SET; 0: none */
	int64_t deadline_us;     /* SET: the master's clock */
	uint64_t memory;
	bool there;
	struct latch_state state;
	unsigned server;    /* where there are replicas: which one said it, */
	struct reach reach; /* and what they have to have of its stream */
};

/* Steps that somebody has done. */
struct latch_mark {
	struct latch_mark *next;
	char by[LATCH_BY_BYTES];
	int64_t steps;
};

/* One name. */
struct latch_tale {
	struct latch_word *words; /* in the order in which they were said */
	size_t n;
	size_t room;
	struct latch_mark *marks; /* of the latch that was there last, */
	uint64_t id;              /* which is this, 0: there was none; */
	int64_t since_us;         /* set then, */
	uint64_t memory;          /* in this memory of the master; */
	bool leased;              /* it has a LEASE, which its use does not lengthen; */
	int64_t ends_us;          /* it ends then by the master's clock, if nobody uses it */
};

/* A DOWN that a daemon took. */
struct latch_said {
	struct latch_said *next;
	unsigned name;
	char by[LATCH_BY_BYTES];
	int64_t steps;
	int64_t over_us;  /* when it was answered, or its connection ended; INT64_MAX: not yet */
	uint64_t counted; /* the latch in which it was seen to count; 0: none */
};

/* A LATCH request that is not answered yet. */
struct latch_wait {
	struct latch_wait *next;
	struct conn *conn;
	unsigned name;
	struct latch_said *said; /* DOWN */
	int64_t since_us;
	int64_t until_ms; /* the host's clock */
	uint64_t attempt; /* DOWN: of the call that is under way; */
	uint64_t meant;   /* it was said to this latch, */
	bool unsure;      /* and may have been carried out there */
	bool once;        /* no more requests will come */
	uint64_t after;   /* questions of its daemon that left later than this one are about it */
	uint64_t first;   /* AWAIT: the latch that it has found; 0: none yet; */
	bool gone;        /* and that is there no more */
	int64_t open_us;  /* AWAIT: since when nothing has kept it from being answered; INT64_MAX: something
			     does */
};

struct latches {
	/* Of each server, as each memory of a server has latches of its own; without replicas there is one.
	 */
	struct latch_tale of[PLAN_MASTERS_MAX][PLAN_LATCHES_MAX];
	struct latch_said *said;
	struct latch_wait *waits;
	uint64_t asked[PLAN_HOSTS_MAX]; /* the last question of a daemon */
	struct forgotten forgotten[PLAN_HOSTS_MAX][PLAN_LATCHES_MAX];
};

/* Requests name latches from PLAN_NAMES_MAX on. */
const char *latches_name(unsigned name);
bool latches_verb(enum verb verb);

/* Looks every now and then, from now on. */
void latches_watch(struct world *world);
void latches_done(struct world *world);

/* What daemons do. */
void latches_command(struct world *world, struct conn *conn);
void latches_reply(struct world *world, struct conn *conn, const struct reply *reply);
void latches_finished(struct world *world, struct conn *conn);
void latches_closed(struct world *world, const struct conn *conn);
void latches_step(struct world *world, const struct host *host, int64_t now_ms);

/* What the master does: it has run this, and answered. */
void latches_ran(struct server *server, const struct flight *b);

/* Whether anybody waits for an answer. */
bool latches_wait(const struct world *world);

#endif
