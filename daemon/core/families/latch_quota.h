/*
 * latch_quota: the latches that users have made here, for as long as they may exist at the master.
 *
 *     LATCH SET ──▶ begun ──answer──▶ seen ──its lifetime over, or seen gone──▶ dropped
 *                     └── existed already, or surely not made ────────────────▶ dropped
 *
 * A latch belongs to no session once it is made, and outlives its maker by a day. So only this quota bounds
 * how many there are. A latch counts for the user that made it, until its lifetime as last seen by this
 * daemon is over. The count is this daemon's own, and begins anew when the master's memory does.
 */
#ifndef CORE_LATCH_QUOTA_H
#define CORE_LATCH_QUOTA_H

#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct user;

/* A latch that a user has made here. */
struct latch_quota {
	UT_hash_handle hh;
	uint64_t latch; /* its id */
	struct user *user;
	int64_t cost;
	struct timer timer; /* it may exist until then */
	bool seen;          /* the master has said that it exists */
};

/* What a latch of so many steps counts: 1 per 100 steps, rounded up, since the master may have to remember
 * which session did each step. */
int64_t latch_quota_cost(int64_t steps);

/* The one of this latch; NULL: none. */
struct latch_quota *latch_quota_find(const struct core *core, uint64_t latch);
/* Counts a latch, of which no quota is known, for the user. Its timer has to be armed. NULL: out of memory.
 */
struct latch_quota *latch_quota_new(struct core *core, struct user *user, uint64_t latch, int64_t cost)
	__attribute__((warn_unused_result));
/* A SET is about to be sent; ends_ms: the end of its LEASE, or TIMER_NEVER. False: out of memory. */
bool latch_quota_begin(struct core *core, struct user *user, uint64_t latch, int64_t steps, int64_t ends_ms)
	__attribute__((warn_unused_result));
/* The master has the latch, at least until then. */
void latch_quota_seen(struct core *core, uint64_t latch, int64_t ends_ms);
/* The master has no such latch. */
void latch_quota_drop(struct core *core, uint64_t latch);
/* The master's memory may have changed. */
void latch_quota_remember(struct core *core, uint64_t memory);

/* It counts no longer; also its timer. */
void latch_quota_end(struct core *core, struct latch_quota *m);
/* For core_free(). */
void latch_quota_free_all(struct core *core);

#endif
