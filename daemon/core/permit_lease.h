/*
 * permit_lease: permits of a name. Each hold stands on a lease of its own, a permit lease: k permits, which
 * are k slots at the masters (slots.h).
 *
 *     waiters   w1 wants 2, w2 wants 1, ...
 *                │ the first one is acquired, one at a time
 *              acquiring ──won──▶ idle permit lease ──the first waiter wants as many──▶ held ──┐
 *                                │   ▲                                               │ the hold ends
 *                given back ◀────┘   └───────────────────────────────────────────────┘
 *
 * This file is the list of them; permits.h is about what becomes of each.
 */
#ifndef CORE_PERMIT_LEASE_H
#define CORE_PERMIT_LEASE_H

#include "daemon/core/state.h"

/* There are none. */
void permit_leases_init(struct resource *r);

/* The one that is asked for; NULL: none. */
struct lease *permit_lease_acquiring(const struct resource *r);

/* One more, to be asked for. NULL: out of memory. */
struct permit_lease *permit_lease_new(struct core *core, struct resource *r);

/* In whatever state, and nobody holds it: it is not wanted any more. */
void permit_lease_end(struct core *core, struct permit_lease *s);

/* The hold on it has ended. */
void permit_lease_released(struct lease *l);

/* The permit lease of this attempt; NULL: there is none any more. */
struct lease *permit_lease_find(const struct core *core, const struct resource *r, uint64_t attempt);

/* Nobody holds any: gives back all there are. */
void permit_leases_drop(struct core *core, struct resource *r);

#endif
