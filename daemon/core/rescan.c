/*
 * rescan: see rescan.h.
 */
#include "daemon/core/rescan.h"

#include "daemon/core/dirty.h"
#include "daemon/core/latch.h"
#include "daemon/core/lease.h"
#include "daemon/core/masterset.h"
#include "daemon/core/names.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/state.h"
#include "daemon/core/timers.h"

#define TURN_MS 1

struct rescan {
	struct core *core;
	struct master *master; /* that forgot, or whose clock leapt; NULL: one is back */
	int64_t leap_ms;       /* how far it leapt */
};

static void
rescan_lease(struct core *core, struct lease *l)
{
	if (l->state == LEASE_HELD)
		renew_catch_up(core, l);
	else
		acquire_look(core, l);
}

/* Waiters may have missed what they wait for: they try again at once. */
static void
rescan_waiting(struct core *core)
{
	const struct queue *q;
	struct lease *l;

	TAILQ_FOREACH (q, &core->queues, in_core) {
		struct resource *r = q->resource;

		for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
			rescan_lease(core, l);
		dirty_add(core, r);
	}
}

/* Names with waiters had their look when the rescan began, or the waiters came later. */
static bool
rescan_catch_up(void *arg, struct resource *r)
{
	struct rescan *rescan = arg;
	struct lease *l;

	if (r->queue->count > 0)
		return true;
	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
		rescan_lease(rescan->core, l);
	/* A daemon that the masters refuse gives back what it retains. */
	if (r->parts || !masterset_usable(rescan->core))
		dirty_add(rescan->core, r);
	return true;
}

/* Every lease that is still valid is reclaimed there, unless it is not needed any more. */
static bool
rescan_reclaim(void *arg, struct resource *r)
{
	struct rescan *rescan = arg;
	struct lease *l;

	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
		if (l->state == LEASE_HELD && l->idle_ms != 0 && r->queue->count == 0)
			lease_give_back(rescan->core, l);
		else if (l->state == LEASE_HELD)
			renew_reclaim(rescan->core, l, rescan->master->index);
	}
	return true;
}

static bool
rescan_shorten_one(void *arg, struct resource *r)
{
	struct rescan *rescan = arg;
	struct lease *l, *next;

	for (l = resource_next_lease(r, NULL); l != NULL; l = next) {
		next = resource_next_lease(r, l);
		seat_shorten(l, rescan->master->index, rescan->leap_ms);
		if (l->state == LEASE_HELD)
			renew_shortened(rescan->core, l);
	}
	return true;
}

void
rescan_shorten(struct core *core, struct master *m, int64_t ms)
{
	struct rescan rescan = {.core = core, .master = m, .leap_ms = ms};

	(void)names_scan(&core->names, 0, SIZE_MAX, rescan_shorten_one, &rescan);
}

void
rescan_timer(struct core *core)
{
	struct rescan rescan = {.core = core};
	bool more = false;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		/* A master that is away is asked nothing: the scan goes on when it is back. */
		if (!m->reclaims || (m->state != MASTER_GUARDED && m->state != MASTER_ADMITTED))
			continue;
		rescan.master = m;
		m->reclaiming =
			names_scan(&core->names, m->reclaiming, RESCAN_LOOKS, rescan_reclaim, &rescan);
		m->reclaims = m->reclaiming != 0;
		more |= m->reclaims;
	}
	if (core->catches) {
		core->catching =
			names_scan(&core->names, core->catching, RESCAN_LOOKS, rescan_catch_up, &rescan);
		core->catches = core->catching != 0;
	}
	if (more || core->catches)
		timer_arm(&core->timers, &core->rescan_timer, core->now.ms + TURN_MS);
}

void
rescan_begin(struct core *core)
{
	bool any = core->retry;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		if (!m->reclaim)
			continue;
		m->reclaim = false;
		m->reclaims = true;
		m->reclaiming = 0;
		any = true;
	}
	if (core->retry) {
		core->retry = false;
		core->catches = true;
		core->catching = 0;
		rescan_waiting(core);
		release_retry_all(core);
		latch_retry_all(core);
	}
	if (any) {
		timer_cancel(&core->timers, &core->rescan_timer);
		rescan_timer(core);
	}
}
