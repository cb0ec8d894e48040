#include "daemon/core/sweep.h"

#include "daemon/core/bid.h"
#include "daemon/core/keep.h"
#include "daemon/core/latch.h"
#include "daemon/core/lease.h"
#include "daemon/core/masterset.h"
#include "daemon/core/names.h"
#include "daemon/core/resource.h"
#include "daemon/core/seat.h"
#include "daemon/core/timers.h"
#include "daemon/core/touched.h"
#include "daemon/core/undo.h"

#define TURN_MS 1

struct sweep {
	struct core *core;
	struct master *master; /* that forgot, or whose clock leapt; NULL: one is back */
	int64_t leap_ms;       /* by so much */
};

static void
sweep_lease(struct core *core, struct lease *l)
{
	if (l->state == LEASE_HELD)
		keep_catch_up(core, l);
	else
		bid_look(core, l);
}

/* It waits, and may have missed what it waits for: at once. */
static void
sweep_waiting(struct core *core)
{
	const struct queue *q;
	struct lease *l;

	TAILQ_FOREACH (q, &core->queues, in_core) {
		struct resource *r = q->resource;

		for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
			sweep_lease(core, l);
		touched_add(core, r);
	}
}

/* Who waits has had his look when the sweep began, or came later. */
static bool
sweep_catch_up(void *arg, struct resource *r)
{
	struct sweep *sweep = arg;
	struct lease *l;

	if (r->queue->count > 0)
		return true;
	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
		sweep_lease(sweep->core, l);
	/* A daemon that the masters refuse gives back what it retains. */
	if (r->parts || !masterset_usable(sweep->core))
		touched_add(sweep->core, r);
	return true;
}

/* Every lease that is still valid is asserted there again, unless nobody needs it. */
static bool
sweep_reclaim(void *arg, struct resource *r)
{
	struct sweep *sweep = arg;
	struct lease *l;

	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
		if (l->state == LEASE_HELD && l->idle_ms != 0 && r->queue->count == 0)
			lease_give_back(sweep->core, l);
		else if (l->state == LEASE_HELD)
			keep_reclaim(sweep->core, l, sweep->master->index);
	}
	return true;
}

static bool
sweep_shorten_one(void *arg, struct resource *r)
{
	struct sweep *sweep = arg;
	struct lease *l, *next;

	for (l = resource_next_lease(r, NULL); l != NULL; l = next) {
		next = resource_next_lease(r, l);
		seat_shorten(l, sweep->master->index, sweep->leap_ms);
		if (l->state == LEASE_HELD)
			keep_shortened(sweep->core, l);
	}
	return true;
}

void
sweep_shorten(struct core *core, struct master *m, int64_t ms)
{
	struct sweep sweep = {.core = core, .master = m, .leap_ms = ms};

	(void)names_scan(&core->names, 0, SIZE_MAX, sweep_shorten_one, &sweep);
}

void
sweep_timer(struct core *core)
{
	struct sweep sweep = {.core = core};
	bool more = false;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		/* One that is away is asked nothing: it goes on when it is back. */
		if (!m->reclaims || (m->state != MASTER_GUARDED && m->state != MASTER_ADMITTED))
			continue;
		sweep.master = m;
		m->reclaiming = names_scan(&core->names, m->reclaiming, SWEEP_LOOKS, sweep_reclaim, &sweep);
		m->reclaims = m->reclaiming != 0;
		more |= m->reclaims;
	}
	if (core->catches) {
		core->catching =
			names_scan(&core->names, core->catching, SWEEP_LOOKS, sweep_catch_up, &sweep);
		core->catches = core->catching != 0;
	}
	if (more || core->catches)
		timer_arm(&core->timers, &core->sweep_timer, core->now.ms + TURN_MS);
}

void
sweep_begin(struct core *core)
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
		sweep_waiting(core);
		undo_retry_all(core);
		latch_retry_all(core);
	}
	if (any) {
		timer_cancel(&core->timers, &core->sweep_timer);
		sweep_timer(core);
	}
}
