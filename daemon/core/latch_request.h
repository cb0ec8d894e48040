/*
 * latch_request: a LATCH request, from its coming to its answer.
 *
 *     ──▶ DUE ──┬── SET, DOWN ──▶ SENT ──┬─▶ answer
 *          ▲    ├── COUNT ───────────────┤
 *          │    └── AWAIT ──▶ WAITS ─────┘
 *          └─ unanswered, late, meant for another latch
 *
 * Each gets exactly one answer, unless its connection ends first. What has been sent to the master for it
 * goes on without it: an ask that is answered, or whose connection is gone, while it is SENT stays until its
 * vote has come. latch.c asks the master; what is said of the latch is heard here.
 */
#ifndef CORE_LATCH_REQUEST_H
#define CORE_LATCH_REQUEST_H

#include "daemon/core/latch_data.h"

/* What this command asks, due; wait_ms: of an AWAIT, -1: for ever. NULL: out of memory. */
struct latch_request *latch_request_add(struct core *core, struct latch *l, struct conn *conn,
	const struct command *command, int64_t wait_ms) __attribute__((warn_unused_result));

/* Nothing more is asked for it: a latch that surely was not made counts for nobody. */
void latch_request_forgo(struct core *core, const struct latch_request *a);
/* Nobody listens any more. */
void latch_request_leave(struct core *core, struct latch_request *a);
/* The next word is its answer, as with WAIT 0. */
void latch_request_make_once(struct core *core, struct latch_request *a);

/* Its call leaves, with an attempt number of its own. False: out of memory, and it must not. */
bool latch_request_send(struct core *core, struct latch_request *a, uint64_t memory)
	__attribute__((warn_unused_result));
/* The vote for this attempt has come: whose it is, or NULL. It is due, or, where nobody listens, ended. */
struct latch_request *latch_request_take(struct core *core, uint64_t attempt);

/* Answers it, with a number, with the loss of its latch, or with what keeps it from an answer. */
void latch_request_answer_int(struct core *core, struct latch_request *a, int64_t n);
void latch_request_answer_lost(struct core *core, struct latch_request *a, bool forgotten);
void latch_request_answer_refusal(struct core *core, struct latch_request *a);

/* The latch is as it says, and was at a moment after the call with this attempt number left: who came before
 * that is answered, as far as that is an answer. news: it has opened, or is another one than before. */
void latch_requests_hear(struct core *core, struct latch *l, uint64_t attempt, bool news);
/* Likewise, that there is none. forgotten: there was one, before the master's memory changed. */
void latch_requests_hear_none(struct core *core, struct latch *l, uint64_t attempt, bool forgotten);
/* The key holds something else: everybody is told. */
void latch_requests_hear_wrong_kind(struct core *core, struct latch *l);
/* Something is in the way: who waits for one word has it, unless what he asked may have been done. */
void latch_requests_refuse(struct core *core, struct latch *l);
/* Everybody who is not SENT has this answer; with unsure also those whose question may have been done. */
void latch_requests_answer_all(struct core *core, struct latch *l, const struct reply *reply, bool unsure);

bool latch_requests_none(const struct latch *l);
void latch_requests_free(struct core *core, struct latch *l);

#endif
