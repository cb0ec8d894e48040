/*
 * lease: what this daemon holds at the masters for one name: the states, and the functions that all of them
 * share.
 *
 *     NONE ──acquire──▶ ACQUIRING ──won──▶ HELD ──┬─ renew at L/3 (reclaim if a master is guarded)
 *      ▲                  │    ▲            │      └─ released, lost, expired ──▶ NONE
 *      └──no waiters──────┤    │retry       │
 *                      not won │            │
 *                         ▼    │            │
 *                        WAITING ◀──────────┘ (released to another daemon, and asked for again)
 *
 * Validity counts from before a call left: a slow master costs the holder time, never the next holder safety.
 * A lease that is given up is released at the masters (release.h), whatever became of its calls. acquire.h
 * brings a lease from NONE to HELD, renew.h keeps it there; both build on this file, and core.c brings them
 * their answers and timers.
 */
#ifndef CORE_LEASE_H
#define CORE_LEASE_H

#include "daemon/core/state.h"

/* NONE, of this name; its memory is all zero. */
void lease_init(struct lease *l, struct resource *r);

/* HELD: ends the round if nothing in it is needed any more. */
void lease_quiet(struct core *core, struct lease *l);

/* A waiting daemon repeats that it waits; if it is not heard for so long, it may be gone. */
#define LEASE_WANT_MS  3000
/* Lifetime of our place in the queue; each retry refreshes it. */
#define LEASE_PLACE_MS 3000

/* NONE, and not used again: frees what belongs to it. */
void lease_done(struct core *core, struct lease *l);

/* Only to a state that the picture allows. */
void lease_move(struct core *core, struct lease *l, enum lease_state next);

/* Forgets all that belonged to the last lease. */
void lease_clear(struct core *core, struct lease *l);

/* Begins a round: one term, one token to propose and one size of block for all masters. */
void lease_round(struct core *core, struct lease *l, int64_t term_ms, int64_t block);

/* Accepts an answer to one of its questions. False: the answer is about an attempt that was given up; a
 * release is under way. */
bool lease_heard(struct core *core, struct lease *l, const struct vote *vote);

/* Until when a lease asked for at sent_ms is valid; and when to renew it. */
int64_t lease_valid_from(const struct lease *l, int64_t sent_ms);
int64_t lease_refresh_at(const struct lease *l, int64_t sent_ms);

/* HELD: the timer for its end, or for refresh_ms if that is earlier. */
void lease_arm(struct core *core, struct lease *l);

/* HELD: releases it at the masters. WAITING: leaves the queue there. NONE afterwards. */
void lease_give_back(struct core *core, struct lease *l);
void lease_leave(struct core *core, struct lease *l);

/* In any state, without holders: gives up all of it. */
void lease_drop(struct core *core, struct lease *l);

/* Gives up our place in the queue, if there is one; or that at a master that was the queue master before. */
void lease_leave_queue(struct core *core, struct lease *l);
void lease_leave_at(struct core *core, const struct lease *l, unsigned master);

/* HELD and shared: keeps a place in the queue for a writer that waits here, until the lease is given back, so
 * that no more readers join elsewhere; and stops doing so. */
void lease_line_up(struct core *core, struct lease *l);
void lease_line_off(struct core *core, struct lease *l);

/* Another daemon waits for it. */
void lease_want(struct core *core, struct lease *l);

/* Whether a lease without holders and waiters here is kept for a while: for a client that locks the name
 * again soon, and only until another daemon wants it. */
bool lease_retain(struct core *core, struct lease *l);
/* Its time is over: whether it is given back in this step. False: it is kept a little longer, because enough
 * others are given back; this happens after this process had been kept from running. */
bool lease_let_go(struct core *core, struct lease *l);

/* HELD, with a majority, and surely valid for long enough that a grant can be given on it: half the lease. */
bool lease_good(const struct core *core, const struct lease *l);

/* HELD: until when its holders may rely on it, by what they were told: its validity, or the later one from
 * before clocks shortened it. */
int64_t lease_told_ms(const struct lease *l);

/* Another daemon waits, and has waited for the streak or for its time. */
bool lease_must_yield(const struct core *core, const struct lease *l);

/* Whether a writer holds it here. */
bool lease_written(const struct lease *l);

/* HELD, and not of permits: neither a hold here nor a daemon that waits elsewhere is in this waiter's way. */
bool lease_open(const struct core *core, const struct lease *l, const struct waiter *w);

/* Keeps a block of tokens that a majority agreed on, if there is one. */
void lease_take_tokens(struct core *core, struct lease *l);

/* The next fencing token; 0: none left, renew first. */
int64_t lease_token(struct core *core, struct lease *l);

#endif
