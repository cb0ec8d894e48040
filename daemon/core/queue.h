/*
 * queue: the waiters of one name here, in arrival order.
 *
 * Every waiter gets exactly one answer: by being granted (grant.h), or here.
 */
#ifndef CORE_QUEUE_H
#define CORE_QUEUE_H

#include "daemon/core/state.h"

/* Makes a waiter of a LOCK, at the tail. NULL: out of memory. until_ms: the end of WAIT, or TIMER_NEVER;
 * once: WAIT 0, or RETRIES 0. */
struct waiter *queue_add(struct core *core, struct resource *r, struct conn *conn,
	const struct command *command, int64_t until_ms, bool once) __attribute__((warn_unused_result));

/* Answers the waiter with this reply (a push if it is ASYNC) and removes it. */
void queue_answer(struct core *core, struct waiter *w, const struct reply *reply);

/* Removes it without an answer: its client is gone, or was granted. */
void queue_remove(struct core *core, struct waiter *w);

/* Its connection is lost, and its session may come back for it: it keeps its place, as a stray. */
void queue_stray(const struct core *core, struct waiter *w);

/* Whether it is a stray and this LOCK repeats it. queue_adopt(): it waits for conn from now on, on new
 * terms. */
bool queue_is_repeated(const struct waiter *w, const struct command *c);
void queue_adopt(struct core *core, struct waiter *w, struct conn *conn, const struct command *c,
	int64_t until_ms, bool once);
/* All waiters have been refused: that is the answer of those without RETRIES left. */
void queue_refused(struct core *core, struct resource *r, const struct reply *refusal);

/* Its timer. False: its WAIT or its RETRIES are over. True: the name is held here, and the waiter has looked
 * whether it is free yet. No master is asked meanwhile, so the look counts as a refusal. */
bool queue_looks(struct core *core, struct waiter *w);

/* Trying once takes as long as the master takes, but ends then. */
int64_t queue_once_until(const struct core *core);

/* From now on the next refusal is its answer, as with WAIT 0, or the end of its WAIT. */
void queue_make_once(struct core *core, struct waiter *w);

/* Answers every waiter. */
void queue_answer_all(struct core *core, struct resource *r, const struct reply *reply);

/* A waiter waits for more than one refusal. */
bool queue_patient(const struct resource *r);

#endif
