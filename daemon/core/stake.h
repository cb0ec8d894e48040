/*
 * stake: permits of a name. Each hold stands on a lease of its own, a stake: k permits, which are k slots at
 * the masters (slots.h).
 *
 *     waiters   w1 wants 2, w2 wants 1, ...
 *                │ the first one is bid for, one at a time
 *              bidder ──won──▶ idle stake ──the first waiter wants as many──▶ held ──┐
 *                                │   ▲                                               │ the hold ends
 *                given back ◀────┘   └───────────────────────────────────────────────┘
 *
 * Who wants many is not passed by those who want few: while the first waiter lacks permits, nobody behind it
 * is served. A stake whose hold has ended goes to the first waiter here only when nobody waits elsewhere.
 */
#ifndef CORE_STAKE_H
#define CORE_STAKE_H

#include "daemon/core/state.h"

/* Before a step ends: grants whom it can, asks for what the first waiter wants, gives back what is left. */
void stake_settle(struct core *core, struct resource *r);

/* There are none. */
void stakes_init(struct resource *r);

/* The one that is asked for; NULL: none. */
struct lease *stake_bidder(const struct resource *r);

/* The hold on it has ended. */
void stake_released(struct lease *l);

/* The stake of this attempt; NULL: there is none any more. */
struct lease *stake_find(const struct core *core, const struct resource *r, uint64_t attempt);

/* Nobody holds any: gives back all there are. */
void stakes_drop(struct core *core, struct resource *r);

/* What a waiter is told whose WAIT is over. */
void stake_verdict(const struct core *core, const struct waiter *w, struct reply *out);

#endif
