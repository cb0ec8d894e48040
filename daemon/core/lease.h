/*
 * lease: what this daemon holds at the master for one name.
 *
 *     NONE ──acquire──▶ ACQUIRING ──yes──▶ HELD ──┬─ renew at L/3 (reclaim while the master is guarded)
 *      ▲                  │    ▲            │      └─ give back, lost, expired ──▶ NONE
 *      └──nobody waits────┤    │retry       │
 *                       busy   │            │
 *                         ▼    │            │
 *                        WAITING ◀──────────┘ (given back to another daemon, and asked for again)
 *
 * Validity counts from before the call left: a slow master costs the holder time, never the next holder
 * safety. What is given up is undone (undo.h), whatever became of it.
 */
#ifndef CORE_LEASE_H
#define CORE_LEASE_H

#include "daemon/core/state.h"

/* NONE or WAITING: asks the masters. A majority must be usable (quorum_usable). */
void lease_acquire(struct core *core, struct resource *r);

/* HELD: asks for more time, and for tokens where they run short. Does nothing while an answer is outstanding
 * or the master cannot take it; the timer comes back. */
void lease_refresh(struct core *core, struct resource *r);

/* HELD: refreshes it if that was due and could not be done: the master is back. */
void lease_catch_up(struct core *core, struct resource *r);

/* This master forgot: asserts the lease there, if it is held. */
void lease_reclaim(struct core *core, struct resource *r, unsigned master);

/* WAITING, without a majority that could be asked: gives up our place in the queue. */
void lease_step_back(struct core *core, struct resource *r);

/* HELD: releases it at the masters. WAITING: leaves the queue there. NONE afterwards. */
void lease_give_back(struct core *core, struct resource *r);
void lease_leave(struct core *core, struct resource *r);

/* A wake-up for this name, or reason to believe one was missed. */
void lease_wake(struct core *core, struct resource *r);

/* Another daemon waits for it. */
void lease_want(struct core *core, struct resource *r);

void lease_vote(struct core *core, struct resource *r, const struct vote *vote);
void lease_timer(struct core *core, struct resource *r);

/* HELD, and surely for long enough that a grant can be given on it: half the lease. */
bool lease_good(const struct core *core, const struct resource *r);

/* Another daemon waits and has waited for the streak or its time. */
bool lease_must_yield(const struct core *core, const struct resource *r);

/* The next fencing token; 0: none left, refresh first. */
int64_t lease_token(struct lease *lease);

/* HELD: fetches the next block of tokens when it is time: a hand-off should never wait for one. Does nothing
 * when the master has just had none; the timer comes back. */
void lease_refill(struct core *core, struct resource *r);

#endif
