/* belief: see belief.h. */
#include "tests/sim/judge/belief.h"

#include "tests/sim/judge/backing.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_US 10000

/* Of a semaphore, so many permits are held for at least so long. */
struct permits {
	int64_t held;
	int64_t left_ms;
};

static bool
count_permits(void *arg, const struct hold_view *view)
{
	struct permits *p = arg;
	if (view->valid_ms <= 0)
		return true;
	p->held += view->permits;
	if (p->left_ms > view->valid_ms)
		p->left_ms = view->valid_ms;
	return true;
}

static void
check_permits(struct host *h, unsigned name)
{
	struct world *w = h->world;
	struct permits p = {.held = 0, .left_ms = INT64_MAX};
	core_each_hold(h->core, host_ms(h), slice_of(checker_name(name)), count_permits, &p);
	if (p.held > 0 && promised(w, PROMISE_VALIDITY, name) &&
		backing_permits(w, name, h->call_settings.daemon_id, p.left_ms * 1000) < p.held)
		world_fail(w,
			"validity: d%u is sure of %" PRId64 " permits of %s for %" PRId64
			" ms, and no majority has the same ones",
			h->index, p.held, checker_name(name), p.left_ms);
}

static void
check_lease(struct host *h, unsigned name, enum kind kind, int64_t left_ms)
{
	struct world *w = h->world;
	unsigned votes = 0;
	if (!promised(w, PROMISE_VALIDITY, name))
		return;
	for (unsigned i = 0; i < w->plan.masters; i++)
		votes += backing_lacks(&w->servers[i]) ||
			 backing_vote(&w->servers[i], name, h->call_settings.daemon_id, kind, left_ms * 1000);
	if (votes < plan_majority(&w->plan))
		world_fail(w,
			"validity: d%u is sure of %s for %" PRId64
			" ms, and only %u of %u masters have it, or have forgotten",
			h->index, checker_name(name), left_ms, votes, w->plan.masters);
}

static void
check(struct host *h, unsigned name)
{
	struct resource_view view;
	if (!core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view))
		return;
	if (view.limit > 0)
		check_permits(h, name);
	else if (strcmp(view.lease, "held") == 0 && view.lease_ms > 0)
		check_lease(h, name, view.kind, view.lease_ms);
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		for (unsigned k = 0; k < w->plan.names && w->hosts[i].alive; k++) {
			check(&w->hosts[i], k);
		}
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
belief_watch(struct world *w)
{
	/* What was acknowledged to a master that has been replaced is good for its time, wherever it is. */
	if (w->plan.replicas == 0)
		world_after(w, EVERY_US, look, w, 0, NULL);
}
