/*
 * latch_quota: the latches that users have made here, for as long as they may be at the master.
 *
 *     LATCH SET ──▶ begun ──answer──▶ sure ──its time, or seen gone──▶ dropped
 *                     └── was there already, or surely not done ─────▶ dropped
 *
 * A latch belongs to nobody once it is made and outlives whoever made it by a day, so that nothing else
 * bounds how many there are. Whoever made it is counted for it until its time is over as this daemon has seen
 * it last. The count is this daemon's own, and begins anew when the master's memory does.
 */
#ifndef CORE_LATCH_QUOTA_H
#define CORE_LATCH_QUOTA_H

#include "daemon/core/latch_data.h"

/* For how many one of so many steps counts: one for each begun hundred, since the master may have to remember
 * who did each step. */
int64_t latch_quota_cost(int64_t steps);

/* A SET is about to be asked for; ends_ms: of its LEASE, or TIMER_NEVER. False: out of memory. */
bool latch_quota_begin(struct core *core, struct user *user, uint64_t latch, int64_t steps, int64_t ends_ms)
	__attribute__((warn_unused_result));
/* The master has it, until then at least. */
void latch_quota_seen(struct core *core, uint64_t latch, int64_t ends_ms);
/* It has not; and: it was not made, unless somebody has seen it. */
void latch_quota_drop(struct core *core, uint64_t latch);
void latch_quota_forgo(struct core *core, uint64_t latch);

/* The master's memory may be another one now. */
void latch_quota_remember(struct core *core, uint64_t memory);

void latch_quota_timer(struct core *core, struct latch_quota *latch_quota);
void latch_quota_free_all(struct core *core);

#endif
