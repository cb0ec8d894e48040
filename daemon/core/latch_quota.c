/* latch_quota: see latch_quota.h. The latch's files call it with what the master said. */
#include "daemon/core/latch_quota.h"

#include "daemon/core/drift.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/state.h"
#include "daemon/core/table.h"
#include "daemon/core/user.h"

#include <stdlib.h>

#define DAY_MS          86400000 /* lifetime of an unused latch without LEASE, as in lua/latch.lua */
#define STEPS_OF_A_UNIT 100

int64_t
latch_quota_cost(int64_t steps)
{
	return (steps + STEPS_OF_A_UNIT - 1) / STEPS_OF_A_UNIT;
}

static void
latch_quota_end(struct core *core, struct latch_quota *m)
{
	timer_cancel(&core->timers, &m->timer);
	table_remove_latch_quota(core, m);
	user_latch_leave(core, m->user, m->cost);
	free(m);
}

bool
latch_quota_begin(struct core *core, struct user *user, uint64_t latch, int64_t steps, int64_t ends_ms)
{
	struct latch_quota *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return false;
	m->latch = latch;
	m->user = user;
	m->cost = latch_quota_cost(steps);
	timer_init(&m->timer, TIMER_MINT);
	if (!table_add_latch_quota(core, m)) {
		free(m);
		return false;
	}
	user_latch_enter(user, m->cost);
	/* In case no answer tells what became of the latch: the longest that it can exist. */
	if (ends_ms == TIMER_NEVER)
		ends_ms = queue_once_until(core) + DAY_MS + drift_ms(DAY_MS);
	timer_arm(&core->timers, &m->timer, ends_ms + core->settings.margin_ms);
	return true;
}

void
latch_quota_seen(struct core *core, uint64_t latch, int64_t ends_ms)
{
	struct latch_quota *m = table_latch_quota(core, latch);

	if (m == NULL)
		return;
	m->seen = true;
	timer_arm(&core->timers, &m->timer, ends_ms);
}

void
latch_quota_drop(struct core *core, uint64_t latch)
{
	struct latch_quota *m = table_latch_quota(core, latch);

	if (m != NULL)
		latch_quota_end(core, m);
}

void
latch_quota_forgo(struct core *core, uint64_t latch)
{
	struct latch_quota *m = table_latch_quota(core, latch);

	if (m != NULL && !m->seen)
		latch_quota_end(core, m);
}

void
latch_quota_remember(struct core *core, uint64_t memory)
{
	struct latch_quota *m, *next;

	if (core->latch_quotas_memory == memory)
		return;
	core->latch_quotas_memory = memory;
	HASH_ITER (hh, core->latch_quotas, m, next) {
		if (m->seen)
			latch_quota_end(core, m);
	}
}

void
latch_quota_timer(struct core *core, struct latch_quota *m)
{
	latch_quota_end(core, m);
}

void
latch_quota_free_all(struct core *core)
{
	struct latch_quota *m, *next;

	HASH_ITER (hh, core->latch_quotas, m, next) {
		table_remove_latch_quota(core, m);
		free(m);
	}
}
