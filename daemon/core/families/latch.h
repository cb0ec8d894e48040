/*
 * latch: a count-down latch at the one master, as this daemon sees it, with the requests about it here.
 *
 *     LATCH ──▶ request ──┬─ SET, DOWN: a call for each ───────▶ master ──vote──▶ learned ──▶ answers
 *                         └─ AWAIT, COUNT: one refresh ─────▶
 *
 *     a request:  ──▶ DUE ──┬── SET, DOWN ──▶ SENT ──┬─▶ answer
 *                      ▲    ├── COUNT ───────────────┤
 *                      │    └── AWAIT ──▶ WAITS ─────┘
 *                      └─ unanswered, late, meant for another latch
 *
 * What a client may rely on:
 *
 * - DOWN counts once for its session and tag, as the most they have reported, however often it is sent or
 *   carried out. Each latch has an id. A DOWN is carried out only for the latch that its daemon knew when the
 *   DOWN was first sent, never for a later one of the same name. If the daemon knows no latch yet, it asks
 *   the master first. A call whose answer was lost is repeated until it is confirmed, or until the time of a
 *   single try (queue_once_until()) is over. Then the answer is NOMASTER: the request may have been carried
 *   out, and may be sent again. The same is true for SET; a repeated SET may then find the latch that it made
 *   itself, and is answered 0.
 * - Every answer was true at a moment between the request and the answer. An open latch stays open.
 * - AWAIT waits for one latch: the first that it finds. If that latch ends before this daemon saw it open, by
 *   its LEASE or because the master forgot it, it may have been open for a moment: the answer is LOST, and
 *   AWAIT does not go on to another latch. An AWAIT that has found no latch goes on waiting.
 * - The master's memory may change: it restarted, was flushed or was replaced. Latches from before no longer
 *   count, since they may lack steps. A daemon that knew such a latch, or finds it at the master, answers
 *   LOST until the latch is set again or its lifetime is over. Other daemons never knew it: no such latch.
 * - Latches need a single master. When it becomes one of several, latches no longer count.
 * - While the master is away, SET, DOWN, COUNT and AWAIT WAIT 0 are refused as LOCK WAIT 0 is, and AWAIT
 *   waits.
 * - Each request gets exactly one answer, unless its connection ends first. A call that has been sent goes on
 *   without its request: one that is answered or loses its connection while it is SENT stays until its vote
 *   has come.
 *
 * Messages (EVENT_LATCH) are hints: a waiting AWAIT has the master asked again within a second in any case.
 */
#ifndef CORE_LATCH_H
#define CORE_LATCH_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lock/family.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;
struct conn;
struct core;
struct reply;
struct vote;

TAILQ_HEAD(latch_list, latch);

TAILQ_HEAD(latch_request_list, latch_request);

enum latch_request_kind { LATCH_REQUEST_SET, LATCH_REQUEST_DOWN, LATCH_REQUEST_AWAIT, LATCH_REQUEST_COUNT };

/* How far a request has come. */
enum latch_request_stage {
	LATCH_REQUEST_DUE,   /* the master has to be asked, or a refresh is under way */
	LATCH_REQUEST_SENT,  /* SET, DOWN: a call of its own is under way */
	LATCH_REQUEST_WAITS, /* AWAIT: not open yet, by what the master has said */
	LATCH_REQUEST_STAGE_COUNT
};

/* A LATCH request that is not answered yet. */
struct latch_request {
	struct freelist_link freed;
	UT_hash_handle hh; /* SENT: by attempt */
	TAILQ_ENTRY(latch_request) in_stage;
	struct latch *latch;
	struct conn *conn; /* NULL: gone, no answer is given; SENT: only the vote is waited for */
	enum latch_request_kind kind;
	enum latch_request_stage stage;
	struct timer timer; /* answered then at the latest */
	bool once;          /* the master's next answer is its answer; false: an AWAIT that waits */
	bool unsure;        /* SET, DOWN: it was carried out, or may have been, as the answer was lost */
	uint64_t since;     /* the last attempt before it came: answers to earlier ones are none to it */
	uint64_t attempt;   /* SENT: of its call */
	uint64_t memory;    /* the master's. SENT: the one the call is meant for; AWAIT: in which it found the
			       latch */
	uint64_t id; /* of the latch. SET: its own; DOWN: the one it was sent for; AWAIT: the one it waits
			for; 0: none */
	session_id session;
	int64_t steps;
	int64_t since_ms;
	int64_t ends_ms;  /* SET: end of its LEASE; TIMER_NEVER: none was given */
	int64_t until_us; /* SET: the same by the clock of the master, as of the first call that is meant for
			     memory; 0: no LEASE, or no call yet */
	struct slice tag;
	char bytes[];
};

/* What the master said of a latch, remembered while requests are about it or while it may still exist. */
struct latch {
	struct freelist_link freed;
	UT_hash_handle hh;
	TAILQ_ENTRY(latch) in_idle;
	bool idle; /* no request is about it */
	unsigned link;
	struct timer timer;                                            /* ask again, or forget it */
	struct latch_request_list requests[LATCH_REQUEST_STAGE_COUNT]; /* each in order of arrival */
	size_t patient;  /* how many of these are AWAITs that wait */
	uint64_t id;     /* 0: not known, or there is none */
	uint64_t memory; /* the master's memory that said so */
	int64_t set;
	int64_t left;
	int64_t ends_ms;         /* it may exist until then */
	bool lost;               /* the master's memory has changed since: it may lack steps */
	bool stale;              /* AWAITs have to be brought up to date */
	uint64_t refresh;        /* attempt of the refresh under way; 0: none */
	uint64_t refresh_memory; /* the memory for which the refresh is meant */
	int64_t again_at_ms;     /* nothing is sent before then */
	enum lease_error error;  /* the last error */
	struct slice name;
	char bytes[];
};

/* Whether this daemon knows of a latch at the master, or a client asks for one. */
bool latch_known(const struct core *core);
/* The latch of this name; NULL: none is known. */
struct latch *latch_find(const struct core *core, struct slice name);
/* No request is about it. */
bool latch_unused(const struct latch *l);

/* One of which nothing is known yet. NULL: out of memory. */
struct latch *latch_new(struct core *core, struct slice name) __attribute__((warn_unused_result));
/* No request is about it: it is the last of the idle ones. */
void latch_idle(struct core *core, struct latch *l);
/* Takes a copy of this request about the latch, for the connection, with a tag of its own. Its timer has to
 * be armed. NULL: out of memory. */
struct latch_request *latch_request_put(struct core *core, struct latch *l, struct conn *conn,
	const struct latch_request *what) __attribute__((warn_unused_result));

/* LATCH SET, DOWN, AWAIT, COUNT: answers now or later. */
void latch_begin(struct core *core, struct conn *conn, const struct command *command);

/* The connection is gone: its request gets no answer. */
void latch_close(struct core *core, struct conn *conn);

void latch_vote(struct core *core, const struct vote *vote);
/* The master says that something has happened to the latch of this name. */
void latch_wake(struct core *core, struct slice name);
/* A master's state changed: asks again for all that wait. If there are several masters from now on, there are
 * no latches: refuses requests, also waiting ones; calls under way may still be confirmed. */
void latch_retry_all(struct core *core);
/* Shutdown: refuses waiting requests; calls under way may still be confirmed. */
void latch_drain(struct core *core, const struct reply *refusal);

void latch_timer(struct core *core, struct latch *l);
void latch_request_timer(struct core *core, struct latch_request *a);

/* For core_free(). */
void latch_free_all(struct core *core);

extern const struct lock_family latches_family;

#endif
