/*
 * latch_quota: the latches that users have made here, for as long as they may exist at the master.
 *
 *     LATCH SET ──▶ begun ──answer──▶ sure ──its lifetime over, or seen gone──▶ dropped
 *                     └── existed already, or surely not made ────────────────▶ dropped
 *
 * A latch belongs to no session once it is made, and outlives its maker by a day. So only this quota bounds
 * how many there are. A latch counts for the user that made it, until its lifetime as last seen by this
 * daemon is over. The count is this daemon's own, and begins anew when the master's memory does.
 */
#ifndef CORE_LATCH_QUOTA_H
#define CORE_LATCH_QUOTA_H

#include "daemon/core/latch_data.h"

/* What a latch of so many steps counts: 1 per 100 steps, rounded up, since the master may have to remember
 * which session did each step. */
int64_t latch_quota_cost(int64_t steps);

/* A SET is about to be sent; ends_ms: the end of its LEASE, or TIMER_NEVER. False: out of memory. */
bool latch_quota_begin(struct core *core, struct user *user, uint64_t latch, int64_t steps, int64_t ends_ms)
	__attribute__((warn_unused_result));
/* The master has the latch, at least until then. */
void latch_quota_seen(struct core *core, uint64_t latch, int64_t ends_ms);
/* The master has no such latch; and: the latch was not made, unless the master has been seen to have it. */
void latch_quota_drop(struct core *core, uint64_t latch);
void latch_quota_forgo(struct core *core, uint64_t latch);

/* The master's memory may have changed. */
void latch_quota_remember(struct core *core, uint64_t memory);

void latch_quota_timer(struct core *core, struct latch_quota *m);
void latch_quota_free_all(struct core *core);

#endif
