/*
 * lease: what this daemon holds at the masters for one name: its states, and what belongs to all of them.
 *
 *     NONE ──acquire──▶ ACQUIRING ──won──▶ HELD ──┬─ renew at L/3 (reclaim where a master is guarded)
 *      ▲                  │    ▲            │      └─ give back, lost, expired ──▶ NONE
 *      └──nobody waits────┤    │retry       │
 *                      not won │            │
 *                         ▼    │            │
 *                        WAITING ◀──────────┘ (given back to another daemon, and asked for again)
 *
 * Validity counts from before a call left: a slow master costs the holder time, never the next holder safety.
 * What is given up is undone (release.h), whatever became of it. acquire.h brings a lease from NONE to HELD,
 * renew.h keeps it there; both build on this file, and core.c brings them their answers and timers.
 */
#ifndef CORE_LEASE_H
#define CORE_LEASE_H

#include "daemon/core/state.h"

/* NONE, of this name; its memory is all zero. */
void lease_init(struct lease *l, struct resource *r);

/* HELD: if nothing goes on any more, there is nothing to remember of it. */
void lease_quiet(struct core *core, struct lease *l);

/* Who waits says so again and again; not heard for so long, it may have gone. */
#define LEASE_WANT_MS  3000
/* Lifetime of our place in the queue; each retry refreshes it. */
#define LEASE_PLACE_MS 3000

/* NONE, and it will not be used again. */
void lease_done(struct core *core, struct lease *l);

/* Only to a state that the picture allows. */
void lease_move(struct core *core, struct lease *l, enum lease_state next);

/* Forgets all that belonged to the last lease. */
void lease_clear(struct core *core, struct lease *l);

/* Questions to the masters begin: a term, a token and a block of them for all. */
void lease_round(struct core *core, struct lease *l, int64_t term_ms, int64_t block);

/* An answer to one of them. False: it is about something that was given up; its undo is on its way. */
bool lease_heard(struct core *core, struct lease *l, const struct vote *vote);

/* What was sent then is good until, and to be renewed at. */
int64_t lease_valid_from(const struct lease *l, int64_t sent_ms);
int64_t lease_refresh_at(const struct lease *l, int64_t sent_ms);

/* HELD: the timer for its end, or for refresh_ms if that is earlier. */
void lease_arm(struct core *core, struct lease *l);

/* HELD: releases it at the masters. WAITING: leaves the queue there. NONE afterwards. */
void lease_give_back(struct core *core, struct lease *l);
void lease_leave(struct core *core, struct lease *l);

/* In whatever state, and nobody holds it: none of it is wanted any more. */
void lease_drop(struct core *core, struct lease *l);

/* Gives up our place in the queue, where there is one; or that at a master which is not home any more. */
void lease_leave_queue(struct core *core, struct lease *l);
void lease_leave_at(struct core *core, const struct lease *l, unsigned master);

/* HELD and shared: a place in the queue for a writer who waits here until it is given back, so that no more
 * readers come in elsewhere; and not any more. */
void lease_line_up(struct core *core, struct lease *l);
void lease_line_off(struct core *core, struct lease *l);

/* Another daemon waits for it. */
void lease_want(struct core *core, struct lease *l);

/* Whether a lease that nobody here holds or waits for is kept for a while: for who locks the name again soon,
 * and as long as no other daemon wants it. */
bool lease_retain(struct core *core, struct lease *l);
/* Its time is over: whether it is given back in this step. False: it is kept somewhat longer, as enough
 * others are given back; that is after this process had been kept from running. */
bool lease_let_go(struct core *core, struct lease *l);

/* HELD, with a majority, and surely for long enough that a grant can be given on it: half the lease. */
bool lease_good(const struct core *core, const struct lease *l);

/* HELD: until when its holders may rely on it, by what they were told: for as long as it is surely ours, or
 * was before clocks shortened it. */
int64_t lease_told_ms(const struct lease *l);

/* Another daemon waits and has waited for the streak or its time. */
bool lease_must_yield(const struct core *core, const struct lease *l);

/* Whether a writer holds it here. */
bool lease_written(const struct lease *l);

/* HELD, and not of permits: nobody's hold stands in this waiter's way, nor does a daemon that waits
 * elsewhere. */
bool lease_open(const struct core *core, const struct lease *l, const struct waiter *w);

/* Keeps a block of tokens that a majority agreed on, if there is one. */
void lease_take_tokens(struct core *core, struct lease *l);

/* The next fencing token; 0: none left, refresh first. */
int64_t lease_token(struct core *core, struct lease *l);

#endif
