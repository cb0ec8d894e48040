/*
 * reseat: see reseat.h. core.c calls it.
 */
#include "daemon/core/reseat.h"

#include "daemon/core/latch.h"
#include "daemon/core/release.h"
#include "daemon/core/renew.h"
#include "daemon/core/resource.h"
#include "daemon/core/round.h"
#include "daemon/core/seat.h"
#include "daemon/core/timers.h"

#include <assert.h>

/* The round goes on with the masters that are still asked, or is over. */
static void
lease_leaves(struct core *core, struct lease *l, unsigned master)
{
	seat_empty(l, master);
	if (l->queue_master == master)
		l->queued = false;
	if (l->state == LEASE_HELD)
		renew_emptied(core, l);
	else if (l->state == LEASE_ACQUIRING && seats_asking(core, l) == 0)
		timer_arm(&core->timers, &l->timer, core->now.ms + 1);
}

static void
resource_leaves(struct core *core, struct resource *r, unsigned master)
{
	struct lease *l, *next;

	for (l = resource_next_lease(r, NULL); l != NULL; l = next) {
		next = resource_next_lease(r, l);
		lease_leaves(core, l, master);
	}
}

/* A newcomer that is not a member yet has no seats. */
static void
reseat_moved(struct core *core, struct master *m)
{
	struct resource *r;

	if (m->index < core->seats) {
		core->newcomers_until_ms = 0;
		for (r = names_first(&core->names); r != NULL; r = names_next(&core->names, r))
			resource_leaves(core, r, m->index);
		release_leave(core, m->index);
	}
	m->moved = false;
}

static void
resource_grow(struct core *core, struct resource *r, unsigned from, unsigned to)
{
	struct lease *l;

	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
		seats_grow(core, l, from, to);
		if (l->round != NULL)
			round_grow(core, l, from, to);
	}
}

static void
reseat_grow(struct core *core)
{
	unsigned from = core->seats, to = core->settings.masters;
	struct resource *r;

	assert(from < to);
	core->seats = to;
	for (r = names_first(&core->names); r != NULL; r = names_next(&core->names, r))
		resource_grow(core, r, from, to);
	if (from == 1)
		latch_refuse_all(core);
}

void
reseat(struct core *core)
{
	core->reseat = false;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].moved)
			reseat_moved(core, &core->masters[i]);
	}
	if (core->seats != core->settings.masters)
		reseat_grow(core);
	core->retry = true;
}
