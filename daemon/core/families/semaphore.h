/*
 * semaphore: holds of a name: permits of a limited number, or exclusive and shared ones (share.c).
 *
 * With permits each hold stands on a lease of its own, a permit lease: k permits, which are k slots at the
 * masters.
 *
 *     waiters   w1 wants 2, w2 wants 1, ...
 *                 │ one permit lease at a time, for the first waiter
 *                 ▼
 *             acquiring ──won──▶ idle ──the first waiter wants as many──▶ held
 *                                 │ ▲                                      │
 *               given back ◀──────┘ └────────── the hold has ended ────────┘
 *
 * An idle permit lease is retained (retain.h) for the next waiter that wants as many, so that a daemon soon
 * has as many permits ahead as its clients use at a time. It is given back when its time is over, when a
 * waiter here lacks permits, or when another daemon wants some.
 *
 * A waiter for many permits is not passed by waiters for few: while the first waiter lacks permits, no waiter
 * behind it is served. A permit lease whose hold has ended goes to the first waiter here only if no other
 * daemon waits.
 */
#ifndef CORE_SEMAPHORE_H
#define CORE_SEMAPHORE_H

#include "daemon/core/lock/family.h"

extern const struct lock_family permits_family;

#endif
