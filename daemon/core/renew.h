/*
 * renew: a lease that is held, kept while it is needed.
 *
 * A round asks every seat at L/3: those that are ours to be renewed, the missing ones to be acquired again,
 * those at a guarded master to be reclaimed. A majority keeps the lease; what failed is tried again while it
 * lasts.
 */
#ifndef CORE_RENEW_H
#define CORE_RENEW_H

#include "daemon/core/state.h"

/* HELD, all of them. Asks for more time, and for tokens where they run short. Does nothing while a round is
 * under way; where no master can be asked, the timer comes back. */
void renew_begin(struct core *core, struct lease *l);

/* Somebody waits for it, and it is not good enough to be granted: refreshes it now, unless that is done soon
 * anyway. */
void renew_now(struct core *core, struct lease *l);

/* Exclusive, and readers alone stand on it: shared with other daemons from now on. Counted so at once; the
 * masters are told by a round, or the one after the one that runs. */
void renew_shared(struct core *core, struct lease *l);

/* Refreshes it if that was due and could not be done: a master is back. */
void renew_catch_up(struct core *core, struct lease *l);

/* This master forgot: asserts the lease there. */
void renew_reclaim(struct core *core, struct lease *l, unsigned master);

/* After seat_shorten(): the lease is valid for as long as a majority of its seats is, and lost when that is
 * over. */
void renew_shortened(struct core *core, struct lease *l);

/* A seat was emptied: the lease is lost if it has no seat left, and asked for again if no answer is to come.
 */
void renew_emptied(struct core *core, struct lease *l);

/* Fetches the next block of tokens when it is time: a hand-off should never wait for one. Does nothing when
 * the masters have just had none; the timer comes back. */
void renew_tokens(struct core *core, struct lease *l);

/* An answer, which lease_heard() has taken. */
void renew_vote(struct core *core, struct lease *l, const struct vote *vote);
void renew_timer(struct core *core, struct lease *l);

#endif
