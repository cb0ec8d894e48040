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
look_at(struct host *h, unsigned name)
{
	struct world *w = h->world;
	struct resource_view view;
	struct permits p = {.held = 0, .left_ms = INT64_MAX};
	int64_t had = 0, held = 1, left_us;
	unsigned unknown = 0;
	if (!core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view))
		return;
	if (view.limit > 0) {
		core_each_hold(h->core, host_ms(h), slice_of(checker_name(name)), count_permits, &p);
		held = p.held;
	} else if (strcmp(view.lease, "held") != 0 || view.lease_ms <= 0) {
		return;
	}
	if (held == 0)
		return;
	left_us = (view.limit > 0 ? p.left_ms : view.lease_ms) * 1000;
	if (!promised(w, PROMISE_VALIDITY, name))
		return;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		if (backing_lacks(&w->servers[i]))
			unknown++;
		else
			had += backing_votes(&w->servers[i], name, h->call_settings.daemon_id,
				view.limit > 0 ? KIND_PERMITS : view.kind, left_us);
	}
	if (view.limit > 0 && backing_permits(w, name, h->call_settings.daemon_id, left_us) < held)
		world_fail(w,
			"validity: d%u is sure of %" PRId64 " permits of %s for %" PRId64
			" ms, and no majority has the same ones",
			h->index, held, checker_name(name), p.left_ms);
	if (had + (int64_t)unknown * held < (int64_t)plan_majority(&w->plan) * held)
		world_fail(w,
			"validity: d%u is sure of %" PRId64 " of %s for %" PRId64 " ms, but has %" PRId64
			" at those of %u masters that remember",
			h->index, held, checker_name(name), view.lease_ms, had, w->plan.masters);
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		for (unsigned k = 0; k < w->plan.names && w->hosts[i].alive; k++) {
			look_at(&w->hosts[i], k);
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
