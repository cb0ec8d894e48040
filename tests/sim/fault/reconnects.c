/* reconnects: see reconnects.h. */
#include "tests/sim/fault/reconnects.h"

#include "tests/sim/world/world.h"

/* One daemon's connections to one master break as soon as anything is under way on them. */
static void
flap(void *arg, uint64_t until_us, void *data)
{
	struct route *way = arg;
	struct world *w = way->host->world;
	(void)data;
	if (w->phase != PHASE_FAULTS || w->now_us >= (int64_t)until_us)
		return;
	for (unsigned i = 0; i < w->plan.links; i++)
		way->wires[i].doomed |= rng_percent(&w->rng, 70);
	world_after(w, rng_range(&w->rng, 1000, 80000), flap, way, until_us, NULL);
}

static void
reconnects_begins(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	int64_t lease_us = w->plan.lease_ms * 1000;
	struct host *h = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)];
	struct route *way = &h->ways[rng_range(&w->rng, 0, plan_servers(&w->plan) - 1)];
	(void)a;
	(void)data;
	if (w->phase != PHASE_FAULTS)
		return;
	trace_line(&w->trace, w->now_us, "d%u     its links to m%u flap", h->index, way->server->index);
	flap(way, (uint64_t)(w->now_us + rng_range(&w->rng, lease_us / 4, 2 * lease_us)), NULL);
	world_after(w, rng_range(&w->rng, lease_us / 8, lease_us), reconnects_begins, w, 0, NULL);
}

void
reconnects_watch(struct world *w)
{
	if (w->plan.flaps)
		world_after(w, 0, reconnects_begins, w, 0, NULL);
}
