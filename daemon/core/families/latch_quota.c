/* latch_quota: see latch_quota.h. */
#include "daemon/core/families/latch_quota.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/families.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/session/user.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define DAY_MS          86400000 /* lifetime of an unused latch without LEASE, as in lua/latch.lua */
#define STEPS_OF_A_UNIT 100

int64_t
latch_quota_cost(int64_t steps)
{
	assert(steps > 0);
	return (steps + STEPS_OF_A_UNIT - 1) / STEPS_OF_A_UNIT;
}

struct latch_quota *
latch_quota_find(const struct core *core, uint64_t latch)
{
	struct latch_quota *found;

	HASH_FIND(hh, core->families->latch_quotas, &latch, sizeof(latch), found);
	return found;
}

struct latch_quota *
latch_quota_new(struct core *core, struct user *user, uint64_t latch, int64_t cost)
{
	struct latch_quota *m = calloc(1, sizeof(*m));

	assert(cost > 0 && latch_quota_find(core, latch) == NULL);
	if (m == NULL)
		return NULL;
	m->latch = latch;
	m->user = user;
	m->cost = cost;
	timer_init(&m->timer, TIMER_LATCH_QUOTA);
	HASH_ADD(hh, core->families->latch_quotas, latch, sizeof(m->latch), m);
	if (m->hh.tbl == NULL) {
		free(m);
		return NULL;
	}
	user_latch_enter(user, cost);
	return m;
}

bool
latch_quota_begin(struct core *core, struct user *user, uint64_t latch, int64_t steps, int64_t ends_ms)
{
	struct latch_quota *m = latch_quota_new(core, user, latch, latch_quota_cost(steps));

	if (m == NULL)
		return false;
	/* In case no answer tells what became of the latch: the longest that it can exist. */
	if (ends_ms == TIMER_NEVER)
		ends_ms = queue_once_until(core) + DAY_MS + drift_ms(DAY_MS);
	timer_arm(&core->timers, &m->timer, ends_ms + binding_margin_ms(core));
	return true;
}

void
latch_quota_seen(struct core *core, uint64_t latch, int64_t ends_ms)
{
	struct latch_quota *m = latch_quota_find(core, latch);

	if (m == NULL)
		return;
	m->seen = true;
	timer_arm(&core->timers, &m->timer, ends_ms);
}

void
latch_quota_drop(struct core *core, uint64_t latch)
{
	struct latch_quota *m = latch_quota_find(core, latch);

	if (m != NULL)
		latch_quota_end(core, m);
}

void
latch_quota_remember(struct core *core, uint64_t memory)
{
	struct latch_quota *m, *next;

	if (core->families->latch_quotas_memory == memory)
		return;
	core->families->latch_quotas_memory = memory;
	HASH_ITER (hh, core->families->latch_quotas, m, next) {
		if (m->seen)
			latch_quota_end(core, m);
	}
}

void
latch_quota_end(struct core *core, struct latch_quota *m)
{
	timer_cancel(&core->timers, &m->timer);
	HASH_DELETE(hh, core->families->latch_quotas, m);
	user_latch_leave(core, m->user, m->cost);
	free(m);
}

void
latch_quota_free_all(struct core *core)
{
	struct latch_quota *m, *next;

	/* No timer is cancelled: others are of objects that are freed by now. */
	HASH_ITER (hh, core->families->latch_quotas, m, next) {
		HASH_DELETE(hh, core->families->latch_quotas, m);
		free(m);
	}
}
