/*
 * retain: see lease.h. share.c and renew.c call it. It only says how long a lease is kept that nobody uses,
 * and releases nothing.
 */
#include "daemon/core/lease.h"

#include "daemon/core/core_inner.h"
#include "daemon/core/masterset.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/timers.h"

#include <assert.h>

#define RETAIN_TOGETHER                                                                                      \
	256 /* leases that may be released in one millisecond: about half a millisecond of work */

/* Until when a lease is kept that is unused from now on. Leases that fall out of use together, as when a
 * session with thousands of locks ends, are released at different times, few enough at once that no client
 * waits. */
static int64_t
retain_until(struct core *core)
{
	struct ration *r = &core->retained;
	int64_t until_ms = core->now.ms + core->settings.retain_ms;

	if (until_ms < r->ms)
		until_ms = r->ms;
	if (r->ms == until_ms && r->count == RETAIN_TOGETHER)
		until_ms++;
	(void)ration_take(r, until_ms);
	assert(r->count <= RETAIN_TOGETHER);
	return until_ms;
}

bool
lease_let_go(struct core *core, struct lease *l)
{
	assert(lease_held(l)->idle_ms != 0);
	if (ration_take(&core->let_go, core->now.ms) < RETAIN_TOGETHER)
		return true;
	lease_held(l)->idle_ms = retain_until(core);
	return false;
}

bool
lease_retain(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);
	int64_t until_ms;

	assert(l->grants == NULL && l->kind != KIND_PERMITS && l->resource->queue->count == 0);
	if (!held->served || held->wanted || core->drain != DRAIN_NONE || core->settings.retain_ms == 0 ||
		l->resource->rule->key != NULL || l->resource->rule->interop != INTEROP_NONE ||
		!masterset_usable(core))
		return false;
	if (held->idle_ms == 0) {
		until_ms = retain_until(core);
		held->idle_ms = until_ms;
		/* A timer that comes too early costs less than one that is set at every UNLOCK. */
		if (until_ms < timer_at(&core->timers, &l->timer))
			lease_arm(core, l);
	}
	return core->now.ms < held->idle_ms;
}
