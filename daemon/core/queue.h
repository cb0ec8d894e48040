/*
 * queue: the sessions that wait for one name here, in the order in which they came.
 *
 * Every waiter gets exactly one answer: by being granted (grant.h), or here.
 */
#ifndef CORE_QUEUE_H
#define CORE_QUEUE_H

#include "daemon/core/state.h"

/* What a LOCK asked for, turned into a waiter at the tail. NULL: out of memory. until_ms: TIMER_NEVER, or
 * when WAIT is over; once: WAIT 0, or RETRIES 0. */
struct waiter *queue_add(struct core *core, struct resource *r, struct conn *conn,
	const struct command *command, int64_t until_ms, bool once) __attribute__((warn_unused_result));

/* Answers the waiter with this reply (a push when it is ASYNC) and removes it. */
void queue_answer(struct core *core, struct waiter *w, const struct reply *reply);

/* Removes it without an answer: its client is gone, or was granted. */
void queue_remove(struct core *core, struct waiter *w);

/* Its connection is lost, and its session may come back for it: it keeps its place. */
void queue_stray(const struct core *core, struct waiter *w);

/* Whether it is a stray, and this LOCK says what it said; and then it waits for conn, on new terms. */
bool queue_is_repeated(const struct waiter *w, const struct command *c);
void queue_adopt(struct core *core, struct waiter *w, struct conn *conn, const struct command *c,
	int64_t until_ms, bool once);
/* All who wait have been refused: that is the answer for those who have no RETRIES left. */
void queue_refused(struct core *core, struct resource *r, const struct reply *refusal);

/* Its timer. False: its WAIT is over, or its RETRIES. Else it looked whether the name, which is held here, is
 * free yet: no master is asked meanwhile, and that counts as if one had been. */
bool queue_looks(struct core *core, struct waiter *w);

/* Trying once takes as long as the master takes, but not longer than until then. */
int64_t queue_once_until(const struct core *core);

/* From now on the next refusal is its answer, as with WAIT 0, or the end of its WAIT. */
void queue_make_once(struct core *core, struct waiter *w);

/* Answers everyone. */
void queue_answer_all(struct core *core, struct resource *r, const struct reply *reply);

/* Waits for longer than one refusal. */
bool queue_patient(const struct resource *r);

#endif
