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

#include "daemon/core/latch_data.h"

/* LATCH SET, DOWN, AWAIT, COUNT: answers now or later. */
void latch_ask(struct core *core, struct conn *conn, const struct command *command);

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
void latch_ask_timer(struct core *core, struct latch_request *a);

/* For core_free(). */
void latch_free_all(struct core *core);

#endif
