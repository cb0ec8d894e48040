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
 * This file is the list of them; permits.h is about what becomes of each.
 */
#ifndef CORE_STAKE_H
#define CORE_STAKE_H

#include "daemon/core/state.h"

/* There are none. */
void stakes_init(struct resource *r);

/* The one that is asked for; NULL: none. */
struct lease *stake_bidder(const struct resource *r);

/* One more, to be asked for. NULL: out of memory. */
struct stake *stake_new(struct core *core, struct resource *r);

/* In whatever state, and nobody holds it: it is not wanted any more. */
void stake_end(struct core *core, struct stake *s);

/* The hold on it has ended. */
void stake_released(struct lease *l);

/* The stake of this attempt; NULL: there is none any more. */
struct lease *stake_find(const struct core *core, const struct resource *r, uint64_t attempt);

/* Nobody holds any: gives back all there are. */
void stakes_drop(struct core *core, struct resource *r);

#endif
