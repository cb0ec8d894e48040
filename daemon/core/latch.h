/*
 * latch: a count-down latch at the one master, as this daemon sees it, with the requests about it here.
 *
 *     LATCH ──▶ request ──┬─ SET, DOWN: a call for each ───────▶ master ──vote──▶ learned ──▶ answers
 *                         └─ AWAIT, COUNT: one look for all ───▶
 *
 * What a client may rely on:
 *
 * - DOWN counts once for its session and tag, as the most they have reported, however often it is sent or
 *   carried out. Each latch has an id. A DOWN is carried out only for the latch that its daemon knew when the
 *   DOWN was first sent, never for a later one of the same name. If the daemon knows no latch yet, it looks
 *   first. A call whose answer was lost is repeated until it is confirmed, or until the time of a single try
 *   (queue_once_until()) is over. Then the answer is NOMASTER: the request may have been carried out, and may
 *   be sent again. The same is true for SET; a repeated SET may then find the latch that it made itself, and
 *   is answered 0.
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
 *
 * Messages (EVENT_LATCH) are hints: a waiting AWAIT has the master asked again within a second in any case.
 */
#ifndef CORE_LATCH_H
#define CORE_LATCH_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease.h"
#include "proto/slice.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;
struct conn;
struct core;
struct master;
struct reply;
struct user;

TAILQ_HEAD(latch_list, latch);

TAILQ_HEAD(latch_request_list, latch_request);

enum latch_request_kind { LATCH_REQUEST_SET, LATCH_REQUEST_DOWN, LATCH_REQUEST_AWAIT, LATCH_REQUEST_COUNT };

/* How far a request has come. */
enum latch_request_place {
	LATCH_REQUEST_DUE,   /* the master has to be asked, or a look is under way */
	LATCH_REQUEST_SENT,  /* SET, DOWN: a call of its own is under way */
	LATCH_REQUEST_WAITS, /* AWAIT: not open yet, by what the master has said */
	LATCH_REQUEST_PLACE_COUNT
};

/* A LATCH request that is not answered yet. */
struct latch_request {
	struct freelist_link freed;
	UT_hash_handle hh; /* SENT: by attempt */
	TAILQ_ENTRY(latch_request) in_place;
	struct latch *latch;
	struct conn *conn; /* NULL: gone, no answer is given; SENT: only the vote is waited for */
	enum latch_request_kind kind;
	enum latch_request_place place;
	struct timer timer; /* answered then at the latest */
	bool once;          /* the master's next answer is its answer; false: an AWAIT that waits */
	bool unsure;        /* SET, DOWN: it may have been carried out: the answer was lost */
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

/* What the master said of a latch, kept while requests are about it or while it may still exist. */
struct latch {
	struct freelist_link freed;
	UT_hash_handle hh;
	TAILQ_ENTRY(latch) in_idle;
	bool idle; /* no request is about it */
	unsigned link;
	struct timer timer;                                            /* ask again, or forget it */
	struct latch_request_list requests[LATCH_REQUEST_PLACE_COUNT]; /* each in order of arrival */
	size_t patient;  /* how many of these are AWAITs that wait */
	uint64_t id;     /* 0: not known, or there is none */
	uint64_t memory; /* the master's memory that said so */
	int64_t set;
	int64_t left;
	int64_t ends_ms;        /* it may exist until then */
	bool lost;              /* the master's memory has changed since: it may lack steps */
	bool stale;             /* AWAITs have to be brought up to date */
	uint64_t look;          /* attempt of the look under way; 0: none */
	uint64_t look_memory;   /* the memory for which the look is meant */
	int64_t again_ms;       /* nothing is sent before then */
	enum lease_error error; /* the last error */
	struct slice name;
	char bytes[];
};

/* Whether this daemon knows of a latch at the master, or a client asks for one. */
bool latch_known(const struct core *core);

/* The latch of this name; NULL: none is known. */
struct latch *latch_find(const struct core *core, struct slice name);

/* One of which nothing is known yet. NULL: out of memory. */
struct latch *latch_new(struct core *core, struct slice name) __attribute__((warn_unused_result));
/* No request is about it: it is the last of the idle ones. */
void latch_idle(struct core *core, struct latch *l);

/* LATCH SET, DOWN, AWAIT, COUNT: answers now or later. */
void latch_begin(struct core *core, struct conn *conn, const struct command *command);

/* No more requests of this connection will come: its AWAIT becomes WAIT 0. */
void latch_finish(struct core *core, struct conn *conn);
/* The connection is gone: its request gets no answer. */
void latch_close(struct core *core, struct conn *conn);

void latch_vote(struct core *core, const struct vote *vote);
/* The master says that something has happened to the latch of this name. */
void latch_wake(struct core *core, struct slice name);
/* A master's state changed: asks again for all that wait. */
void latch_retry_all(struct core *core);
/* There are several masters from now on, and no latches: refuses requests about latches, also waiting ones;
 * calls under way may still be confirmed. */
void latch_refuse_all(struct core *core);
/* Shutdown: refuses waiting requests; calls under way may still be confirmed. */
void latch_drain(struct core *core, const struct reply *refusal);

void latch_timer(struct core *core, struct latch *l);
void latch_request_timer(struct core *core, struct latch_request *a);

/* For core_free(). */
void latch_free_all(struct core *core);

/*
 * latch_request.c: a LATCH request, from its arrival to its answer.
 *
 *     ──▶ DUE ──┬── SET, DOWN ──▶ SENT ──┬─▶ answer
 *          ▲    ├── COUNT ───────────────┤
 *          │    └── AWAIT ──▶ WAITS ─────┘
 *          └─ unanswered, late, meant for another latch
 *
 * Each request gets exactly one answer, unless its connection ends first. A call that has been sent goes on
 * without its request: if a request is answered or loses its connection while it is SENT, it stays until its
 * vote has come. latch.c asks the master; this file takes what the master says to the requests.
 */

/* The request whose call under way has this attempt number; NULL: none. */
struct latch_request *latch_request_find(const struct core *core, uint64_t attempt);

/* Makes a request of this command, due. wait_ms: for AWAIT, -1: for ever. NULL: out of memory. */
struct latch_request *latch_request_add(struct core *core, struct latch *l, struct conn *conn,
	const struct command *command, int64_t wait_ms) __attribute__((warn_unused_result));

/* Takes a copy of this request about the latch: all but the timer and the call, which it does not have yet,
 * and the bytes, which its tag gives. NULL: out of memory. */
struct latch_request *latch_request_put(struct core *core, struct latch *l, struct conn *conn,
	const struct latch_request *what) __attribute__((warn_unused_result));

/* Nothing more is sent for it: a latch that surely was not made no longer counts for its user. */
void latch_request_forgo(struct core *core, const struct latch_request *a);
/* It is answered, or its connection is gone. */
void latch_request_leave(struct core *core, struct latch_request *a);
/* The master's next answer is its answer, as with WAIT 0. */
void latch_request_make_once(struct core *core, struct latch_request *a);

/* Until when the master may carry out this SET, µs by its clock. A latch that was set and has ended must not
 * come back: this is never after the end of the LEASE, by either clock. False: the LEASE is over here. */
bool latch_request_deadline(const struct core *core, const struct master *m, struct latch_request *a,
	int64_t *deadline_us) __attribute__((warn_unused_result));
/* Its call leaves, with an attempt number of its own. False: out of memory, and the call must not leave. */
bool latch_request_send(struct core *core, struct latch_request *a, uint64_t memory)
	__attribute__((warn_unused_result));
/* The vote for this attempt has come. Returns its request, NULL: none. The request is due again; one without
 * a connection has ended. */
struct latch_request *latch_request_take(struct core *core, uint64_t attempt);

/* Answers it: with a number, with the loss of its latch, or with the error that keeps it from an answer. */
void latch_request_answer_int(struct core *core, struct latch_request *a, int64_t n);
void latch_request_answer_lost(struct core *core, struct latch_request *a, bool forgotten);
void latch_request_answer_refusal(struct core *core, struct latch_request *a);
/* That error; null if it waits for steps. */
void latch_request_refusal(const struct core *core, const struct latch_request *a, struct reply *why);
void latch_request_answer(struct core *core, struct latch_request *a, const struct reply *reply);

/* The latch is as *l says, and was so at a moment after the call with this attempt number left. Answers each
 * request that came before that call, if this is an answer to it. news: the latch has opened, or is another
 * latch than before. */
void latch_requests_hear(struct core *core, struct latch *l, uint64_t attempt, bool news);
/* The same if there is no latch. forgotten: there was one, before the master's memory changed. */
void latch_requests_hear_none(struct core *core, struct latch *l, uint64_t attempt, bool forgotten);
/* The key holds something else: answers all requests so. */
void latch_requests_hear_wrong_kind(struct core *core, struct latch *l);
/* An error: refuses requests that need just one answer, unless they may have been carried out. */
void latch_requests_refuse(struct core *core, struct latch *l);
/* Gives this answer to all requests that are not SENT; only with unsure also to those that may have been
 * carried out. */
void latch_requests_answer_all(struct core *core, struct latch *l, const struct reply *reply, bool unsure);

bool latch_requests_none(const struct latch *l);
void latch_requests_free(struct core *core, struct latch *l);

/*
 * Quotas: the latches that users have made here, for as long as they may exist at the master.
 *
 *     LATCH SET ──▶ begun ──answer──▶ sure ──its lifetime over, or seen gone──▶ dropped
 *                     └── existed already, or surely not made ────────────────▶ dropped
 *
 * A latch belongs to no session once it is made, and outlives its maker by a day. So only this quota bounds
 * how many there are. A latch counts for the user that made it, until its lifetime as last seen by this
 * daemon is over. The count is this daemon's own, and begins anew when the master's memory does.
 */

/* A latch that a user has made here. */
struct latch_quota {
	UT_hash_handle hh;
	uint64_t latch; /* its id */
	struct user *user;
	int64_t cost;
	struct timer timer; /* it may exist until then */
	bool seen;          /* the master has said that it exists */
};

/* What a latch of so many steps counts: 1 per 100 steps, rounded up, since the master may have to remember
 * which session did each step. */
int64_t latch_quota_cost(int64_t steps);

/* The one of this latch; NULL: none. */
struct latch_quota *latch_quota_find(const struct core *core, uint64_t latch);
/* Counts a latch, of which no quota is known, for the user. Its timer has to be armed. NULL: out of memory.
 */
struct latch_quota *latch_quota_new(struct core *core, struct user *user, uint64_t latch, int64_t cost)
	__attribute__((warn_unused_result));
/* A SET is about to be sent; ends_ms: the end of its LEASE, or TIMER_NEVER. False: out of memory. */
bool latch_quota_begin(struct core *core, struct user *user, uint64_t latch, int64_t steps, int64_t ends_ms)
	__attribute__((warn_unused_result));
/* The master has the latch, at least until then. */
void latch_quota_seen(struct core *core, uint64_t latch, int64_t ends_ms);
/* The master has no such latch; and: the latch was not made, unless the master has been seen to have it. */
void latch_quota_drop(struct core *core, uint64_t latch);
void latch_quota_forgo(struct core *core, uint64_t latch);

/* The master's memory may have changed. */
void latch_quota_remember(struct core *core, uint64_t memory);

void latch_quota_timer(struct core *core, struct latch_quota *m);
void latch_quota_free_all(struct core *core);

#endif
