/*
 * latch_request: a LATCH request, from its arrival to its answer.
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
#ifndef CORE_LATCH_REQUEST_H
#define CORE_LATCH_REQUEST_H

#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"

#include <stdbool.h>
#include <stdint.h>

struct command;
struct conn;
struct core;
struct latch;
struct latch_request;
struct master;
struct reply;

/* Whether this daemon knows of a latch at the master, or a client asks for one. */
bool latch_known(const struct core *core);

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

#endif
