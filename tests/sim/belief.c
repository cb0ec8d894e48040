/* belief: see belief.h. */
#include "tests/sim/belief.h"

#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

#define EVERY_US 10000

/* At how many masters a lease of this daemon is there. */
static unsigned
seats(const struct host *h, unsigned name)
{
	const struct world *w = h->world;
	unsigned n = 0;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		struct slice owner;
		n += server_owner(&w->servers[i], name, &owner) && owner.n > 32 &&
		     memcmp(owner.p, h->call_settings.daemon_id, 32) == 0;
	}
	return n;
}

static void
look_at(struct host *h, unsigned name)
{
	struct world *w = h->world;
	struct resource_view view;
	if (!core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) ||
		view.kind != KIND_EXCLUSIVE || strcmp(view.lease, "held") != 0 || view.lease_ms <= 0)
		return;
	unsigned n = seats(h, name);
	if (n < plan_majority(&w->plan))
		world_fail(w,
			"belief: d%u is sure of its lease of %s for %" PRId64 " ms, but has it at %u of %u",
			h->index, checker_name(name), view.lease_ms, n, w->plan.masters);
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		for (unsigned k = 0; k < w->plan.names && w->hosts[i].alive; k++)
			look_at(&w->hosts[i], k);
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
belief_watch(struct world *w)
{
	const bool *fault = w->plan.fault;
	if (!plan_loses(&w->plan) && !fault[FAULT_LEAP] && !fault[FAULT_DELETE] && !fault[FAULT_OVERWRITE] &&
		!fault[FAULT_KIND])
		world_after(w, EVERY_US, look, w, 0, NULL);
}
