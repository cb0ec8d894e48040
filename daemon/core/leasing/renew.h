/*
 * renew: a lease that is held, renewed while it is needed.
 *
 * At L/3 a round asks every master: votes that are ours are renewed, missing ones are acquired again, and
 * those at a guarded master are reclaimed. The lease lives on if a majority answers yes. A round that failed
 * is repeated while the lease is valid.
 */
#ifndef CORE_RENEW_H
#define CORE_RENEW_H

#include "daemon/core/lease/lease.h"

struct core;
struct vote;

/* HELD, in all functions of renew.c. Asks for more time, and for tokens if they run short. Does nothing
 * while a round is under way. If no master can be asked, the timer comes back. */
void renew_begin(struct core *core, struct lease *l);

/* A waiter wants it, and its validity is too short for a grant: refreshes it now, unless that happens soon
 * anyway. */
void renew_now(struct core *core, struct lease *l);

/* EXCLUSIVE with readers alone: shared with other daemons from now on. It counts as shared at once. A
 * round reports it to the masters, or the next one if one is under way. */
void renew_shared(struct core *core, struct lease *l);

/* A master is back: refreshes the lease if that was due and failed. */
void renew_catch_up(struct core *core, struct lease *l);

/* This master forgot: asserts the lease there. */
void renew_reclaim(struct core *core, struct lease *l, unsigned master);

/* These answer whether the lease is lost, and why. If it is, the caller ends the holds that stand on it, and
 * then the lease, by lease_lose(). */

/* After lease_vote_shorten(): the lease is valid for as long as a majority of its votes is, and lost after
 * that. */
enum lease_loss renew_shortened(struct core *core, struct lease *l) __attribute__((warn_unused_result));

/* That master is another server from now on, which has nothing of the lease. A round goes on with the masters
 * that are still asked, or is over. */
enum lease_loss renew_master_replaced(struct core *core, struct lease *l, unsigned master)
	__attribute__((warn_unused_result));

/* An answer that lease_answered() has taken. */
enum lease_loss renew_vote(struct core *core, struct lease *l, const struct vote *vote)
	__attribute__((warn_unused_result));
enum lease_loss renew_timer(struct core *core, struct lease *l) __attribute__((warn_unused_result));

/* Fetches the next block of tokens in time, so that a hand-off never waits for one. Does nothing if the
 * masters have just given none; the timer comes back. */
void renew_tokens(struct core *core, struct lease *l);

/* A waiter is granted the lock now: the token of its hold. The lease counts as used from now on, and
 * renew_tokens() has to follow the grant. 0: not yet; the lease is being refreshed, or its tokens are. */
int64_t lease_take(struct core *core, struct lease *l) __attribute__((warn_unused_result));

#endif
