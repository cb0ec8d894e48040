/*
 * scheduler: see scheduler.h. semaphore.c and share.c know what follows for a name.
 */
#include "daemon/core/lock/scheduler.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/leasing/acquire.h"
#include "daemon/core/leasing/renew.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masterset/masterset.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- a scan of all names ---- */

#define TURN_MS 1

struct rescan {
	struct core *core;
	struct master *master; /* that forgot, or whose clock jumped; NULL: one is back */
	int64_t jump_ms;       /* how far it jumped */
};

static void
rescan_lease(struct core *core, struct lease *l)
{
	if (l->state == LEASE_HELD)
		renew_catch_up(core, l);
	else
		acquire_again(core, l);
}

/* Waiters may have missed what they wait for: they try again at once. */
static void
rescan_waiting(struct core *core)
{
	const struct queue *q;
	struct lease *l;

	TAILQ_FOREACH (q, &core->locks->queues, in_core) {
		struct resource *r = q->resource;

		for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
			rescan_lease(core, l);
		dirty_add(&core->dirty, &r->item);
	}
}

/* Names with waiters were scanned when the rescan began, or the waiters came later. */
static bool
rescan_catch_up(void *arg, struct resource *r)
{
	struct rescan *rescan = arg;
	struct lease *l;

	assert(rescan->core->locks->catches);
	if (r->demand->count > 0)
		return true;
	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
		rescan_lease(rescan->core, l);
	/* A daemon that the masters refuse gives back what it retains. */
	if (r->parts || !masterset_usable(rescan->core))
		dirty_add(&rescan->core->dirty, &r->item);
	return true;
}

/* Every lease that is still valid is reclaimed there, unless it is not needed any more. */
static bool
rescan_reclaim(void *arg, struct resource *r)
{
	struct rescan *rescan = arg;
	struct lease *l;

	assert(rescan->master->index < rescan->core->settings.masters);
	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
		if (l->state == LEASE_HELD && lease_held(l)->idle_until_ms != 0 && r->demand->count == 0)
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

	assert(rescan->master != NULL && rescan->jump_ms > 0);
	for (l = resource_next_lease(r, NULL); l != NULL; l = next) {
		next = resource_next_lease(r, l);
		lease_vote_shorten(l, rescan->master->index, rescan->jump_ms);
		if (l->state == LEASE_HELD)
			grants_lose(rescan->core, l, renew_shortened(rescan->core, l));
	}
	return true;
}

void
rescan_shorten(struct core *core, struct master *m, int64_t ms)
{
	struct rescan rescan = {.core = core, .master = m, .jump_ms = ms};

	assert(m->index < core->settings.masters && ms > 0);
	(void)names_scan(&core->leases->names, 0, SIZE_MAX, rescan_shorten_one, &rescan);
}

void
rescan_timer(struct core *core)
{
	struct rescan rescan = {.core = core};
	bool more = false;

	assert(!timer_is_armed(&core->locks->rescan_timer));
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		/* A master that is away is asked nothing: the scan goes on when it is back. */
		if (!m->reclaims || (m->state != MASTER_GUARDED && m->state != MASTER_ADMITTED))
			continue;
		rescan.master = m;
		m->reclaiming = names_scan(
			&core->leases->names, m->reclaiming, RESCAN_NAMES, rescan_reclaim, &rescan);
		m->reclaims = m->reclaiming != 0;
		more |= m->reclaims;
	}
	if (core->locks->catches) {
		core->locks->catching = names_scan(
			&core->leases->names, core->locks->catching, RESCAN_NAMES, rescan_catch_up, &rescan);
		core->locks->catches = core->locks->catching != 0;
	}
	if (more || core->locks->catches)
		timer_arm(&core->timers, &core->locks->rescan_timer, core->now.ms + TURN_MS);
}

void
rescan_retry(struct core *core)
{
	core->locks->catches = true;
	core->locks->catching = 0;
	rescan_waiting(core);
	release_retry_all(core);
}

void
rescan_begin(struct core *core)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		if (!m->reclaim)
			continue;
		m->reclaim = false;
		m->reclaims = true;
		m->reclaiming = 0;
	}
	timer_cancel(&core->timers, &core->locks->rescan_timer);
	rescan_timer(core);
}

/* ---- what follows ---- */

static void
schedule_one(struct core *core, struct resource *r)
{
	assert(!r->item.dirty);
	assert(r->limit == 0 || !r->parts);
	if (r->parts)
		family_of_parts(core)->check(core, r);
	family_of_name(core, r)->schedule(core, r);
	if (!r->item.dirty && resource_idle(r))
		resource_forget(core, r);
}

/* All names on the list have had their turn. Those that are dirty found no room on it. */
static void
schedule_find(struct core *core)
{
	struct resource *r;

	for (r = names_first(&core->leases->names); r != NULL; r = names_next(&core->leases->names, r)) {
		if (r->item.dirty && !dirty_found(&core->dirty, &r->item))
			return;
	}
}

bool
schedule_next(struct core *core)
{
	struct dirty_item *item = dirty_next(&core->dirty), *ahead;

	while (item == NULL && dirty_missed(&core->dirty)) {
		schedule_find(core);
		item = dirty_next(&core->dirty);
	}
	if (item == NULL)
		return false;
	ahead = dirty_ahead(&core->dirty);
	if (ahead != NULL)
		resource_expect(OWNER_OF(ahead, struct resource, item));
	schedule_one(core, OWNER_OF(item, struct resource, item));
	return true;
}

void
schedule_refusal(const struct core *core, const struct waiter *w, struct reply *out)
{
	assert(w->resource->demand->count > 0);
	family_of_name(core, w->resource)->refusal(core, w, out);
}
