/*
 * permit_lease: permits of a name. Each hold stands on a lease of its own, a permit lease: k permits, which
 * are k slots at the masters (slots.h).
 *
 *     waiters   w1 wants 2, w2 wants 1, ...
 *                 │ one permit lease at a time, for the first waiter
 *                 ▼
 *             acquiring ──won──▶ idle ──the first waiter wants as many──▶ held
 *                                 │ ▲                                      │
 *               given back ◀──────┘ └────────── the hold has ended ────────┘
 *
 * This file is the list of a name's permit leases; permits.h decides what becomes of each.
 */
#ifndef CORE_PERMIT_LEASE_H
#define CORE_PERMIT_LEASE_H

#include "daemon/core/state.h"

/* The name has no permit leases yet. */
void permit_leases_init(struct resource *r);

/* The one that is being acquired; NULL: none. */
struct lease *permit_lease_acquiring(const struct resource *r);

/* Adds one, to be acquired. NULL: out of memory. */
struct permit_lease *permit_lease_new(struct core *core, struct resource *r);

/* It is not needed any more. It may be in any state, but without a hold. */
void permit_lease_end(struct core *core, struct permit_lease *s);

/* The hold on it has ended. */
void permit_lease_released(struct lease *l);

/* The permit lease of this attempt; NULL: none. */
struct lease *permit_lease_find(const struct core *core, const struct resource *r, uint64_t attempt);

/* No hold stands on any: gives back all of them. */
void permit_leases_drop(struct core *core, struct resource *r);

#endif
