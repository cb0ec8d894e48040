/*
 * scheduler: see scheduler.h. Each noun whose change matters to a name calls dirty_add(); core.c calls
 * schedule(). semaphore.c and share.c know what follows for a name.
 */
#include "daemon/core/scheduler.h"

#include "daemon/core/core_inner.h"
#include "daemon/core/latch.h"
#include "daemon/core/lease.h"
#include "daemon/core/masterset.h"
#include "daemon/core/mlock.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/semaphore.h"
#include "daemon/core/timers.h"

#include <assert.h>
#include <stdlib.h>

/* ---- the dirty names ---- */

#define KEPT  256
#define AHEAD 4 /* names by which their memory is fetched */

/* False: out of memory, the room stays as it is. */
static bool
dirty_set_room(struct dirty *t, size_t room)
{
	size_t first = (size_t)(t->first - t->list), end = (size_t)(t->end - t->list);
	struct resource **list;

	assert(room >= end && first <= end);
	list = realloc(t->list, room * sizeof(struct resource *));
	if (list == NULL)
		return false;
	t->list = list;
	t->first = list + first;
	t->end = list + end;
	t->room = list + room;
	assert(t->list <= t->first && t->first <= t->end && t->end <= t->room);
	return true;
}

void
dirty_init(struct dirty *t, struct reserve *reserve)
{
	struct resource **list = reserve_resize(reserve, NULL, KEPT * sizeof(*list));

	*t = (struct dirty){.list = list, .first = list, .end = list, .room = list + KEPT};
}

void
dirty_done(struct dirty *t)
{
	free(t->list);
}

/* False: there is no room for it. */
static bool
dirty_put(struct dirty *t, struct resource *r)
{
	if (t->end == t->room && !dirty_set_room(t, 2 * (size_t)(t->room - t->list)))
		return false;
	assert(r->dirty && t->first <= t->end && t->end < t->room);
	*t->end++ = r;
	return true;
}

void
dirty_add(struct core *core, struct resource *r)
{
	struct dirty *t = &core->dirty;

	if (r->dirty)
		return;
	r->dirty = true;
	if (!dirty_put(t, r))
		t->missed = true;
}

/* All names on the list have had their turn: those that are still dirty were missed. */
static void
dirty_find(struct core *core)
{
	struct dirty *t = &core->dirty;
	struct resource *r;

	assert(t->first == t->end);
	t->first = t->list;
	t->end = t->list;
	if (!t->missed)
		return;
	t->missed = false;
	for (r = names_first(&core->names); r != NULL && !t->missed; r = names_next(&core->names, r))
		t->missed = r->dirty && !dirty_put(t, r);
}

struct resource *
dirty_next(struct core *core)
{
	struct dirty *t = &core->dirty;

	if (t->first == t->end)
		dirty_find(core);
	if (t->first == t->end) {
		if (t->room > t->list + KEPT)
			(void)dirty_set_room(t, KEPT);
		return NULL;
	}
	assert(t->first < t->end);
	assert((*t->first)->dirty);
	(*t->first)->dirty = false;
	if (t->end - t->first > AHEAD)
		resource_expect(t->first[AHEAD]);
	return *t->first++;
}

bool
dirty_at_rest(const struct core *core)
{
	const struct dirty *t = &core->dirty;

	return t->end == t->list && !t->missed && t->room == t->list + KEPT;
}

/* ---- a look at all names ---- */

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

	assert(rescan->core->catches);
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

	assert(rescan->master->index < rescan->core->settings.masters);
	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
		if (l->state == LEASE_HELD && lease_held(l)->idle_ms != 0 && r->queue->count == 0)
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

	assert(rescan->master != NULL && rescan->leap_ms > 0);
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

	assert(m->index < core->settings.masters && ms > 0);
	(void)names_scan(&core->names, 0, SIZE_MAX, rescan_shorten_one, &rescan);
}

void
rescan_timer(struct core *core)
{
	struct rescan rescan = {.core = core};
	bool more = false;

	assert(!timer_is_armed(&core->rescan_timer));
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

/* ---- what follows ---- */

static void
schedule_one(struct core *core, struct resource *r)
{
	assert(!r->dirty);
	assert(r->limit == 0 || !r->parts);
	if (r->parts)
		parts_look(core, r);
	if (r->limit == 0)
		share_schedule(core, r);
	else
		permits_schedule(core, r);
	if (!r->dirty && resource_idle(r))
		resource_forget(core, r);
}

static bool
schedule_next(struct core *core)
{
	struct resource *r = dirty_next(core);

	if (r == NULL)
		return false;
	schedule_one(core, r);
	return true;
}

void
schedule_refusal(const struct core *core, const struct waiter *w, struct reply *out)
{
	assert(w->resource->queue->count > 0);
	if (w->resource->limit == 0)
		share_refusal(core, w, out);
	else
		permits_refusal(core, w, out);
}

void
schedule(struct core *core)
{
	do {
		rescan_begin(core);
		/* An MLOCK that waits for a name next has to do so before the name is given back. */
		while ((!TAILQ_EMPTY(&core->mlocks) && mlock_schedule(core)) || schedule_next(core))
			continue;
		assert(core->dirty.first == core->dirty.end && !core->dirty.missed);
		assert(TAILQ_EMPTY(&core->mlocks) && !core->reseat);
	} while (drain_goes_on(core));
}
