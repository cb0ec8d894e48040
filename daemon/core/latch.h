/*
 * latch: a count-down latch at the one master, as this daemon sees it, and who asks about it here.
 *
 *     LATCH ──▶ ask ──┬─ SET, DOWN: a call of its own ─────────▶ master ──vote──▶ learned ──▶ answers
 *                     └─ AWAIT, COUNT: a look that they share ─▶
 *
 * What a client may rely on:
 *
 * - DOWN counts once for its session and tag, as the most they have said, however often it is said or carried
 *   out. Each latch has an id, and a DOWN is only ever carried out for the very latch that its daemon knew
 *   when it was first sent: never for a later one of the same name. Where the daemon knows none yet, it looks
 *   first. A question whose answer was lost is asked again until it is confirmed, or until the time of a
 *   single try (queue_once_until()) is over; then it is NOMASTER, what was said may have been done, and may
 * be said again. The same for SET, which may then find the latch that it made itself: 0.
 * - Any answer is of a moment between the request and the answer. An open latch stays open.
 * - AWAIT waits for one latch: the first that it finds. When that has ended before it was seen open here, by
 *   its LEASE or because the master forgot, it may have been open for a moment, and the answer is LOST, not a
 *   wait for another one. An AWAIT that has found none goes on waiting.
 * - The master's memory may change: it restarted, was flushed or replaced. No latch of before counts any
 *   more, since it may lack what was counted; a daemon that has known it, or a master that still has it, says
 *   LOST to whoever asks, until it is set again or its time is over. Others never knew it: no such latch.
 * - Latches need a single master. When that becomes one of several, no latch counts any more.
 * - While the master is away, SET, DOWN, COUNT and AWAIT WAIT 0 are refused as LOCK WAIT 0 is, AWAIT waits.
 *
 * Messages (EVENT_LATCH) are hints: who waits looks again by himself, within a second.
 */
#ifndef CORE_LATCH_H
#define CORE_LATCH_H

#include "daemon/core/latch_data.h"

/* LATCH SET, DOWN, AWAIT, COUNT: answered now or later. */
void latch_ask(struct core *core, struct conn *conn, const struct command *command);

/* No more requests of this connection will come: its AWAIT becomes WAIT 0. */
void latch_finish(struct core *core, struct conn *conn);
/* It is gone: what it asked is answered to nobody. */
void latch_close(struct core *core, struct conn *conn);

void latch_vote(struct core *core, const struct vote *vote);
/* The master says that something has happened to the latch of this name. */
void latch_wake(struct core *core, struct slice name);
/* A master's state changed: everything that waits looks again. */
void latch_retry_all(struct core *core);
/* There are several masters from now on, and no latches: requests about latches are refused, those that wait
 * too; calls that are under way may still be confirmed. */
void latch_refuse_all(struct core *core);
/* Shut down: who waits is refused; what is under way may still be confirmed. */
void latch_drain(struct core *core, const struct reply *refusal);

void latch_timer(struct core *core, struct latch *l);
void latch_ask_timer(struct core *core, struct latch_request *a);

/* At the core's own end. */
void latch_free_all(struct core *core);

#endif
