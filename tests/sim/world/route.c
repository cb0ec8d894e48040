/* route: see route.h. */
#include "tests/sim/world/route.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void
route_init(struct route *way, struct host *h, struct server *s)
{
	*way = (struct route){.host = h, .server = s};
	way->far_us = rng_range(&h->world->rng, 0, h->world->plan.spread_us);
	way->inbox.way = way;
	for (unsigned i = 0; i < WAY_WIRES_MAX; i++)
		wire_init(&way->wires[i], way, i);
}

bool
route_aimed(const struct route *way)
{
	const struct host *h = way->host;
	if (h->world->plan.replicas > 0)
		return h->aim == way->server->index;
	return host_master_of(h, way->server) < CORE_SLOTS_MAX;
}

unsigned
route_master(const struct route *way)
{
	return way->host->world->plan.replicas == 0 ? host_master_of(way->host, way->server) : 0;
}

int64_t
route_delay(struct route *way, bool there)
{
	struct world *w = way->host->world;
	int64_t usual = w->plan.network_us;
	if (w->now_us < way->slow_until_us && (!there || way->slow_there))
		return rng_range(&w->rng, usual, w->plan.lease_ms * 400);
	return way->far_us + rng_range(&w->rng, usual / 2, usual + usual / 2);
}

bool
route_opens(const struct route *way)
{
	int64_t now_us = way->host->world->now_us;
	return way->server->up && now_us >= way->server->stopped_until_us &&
	       now_us >= way->cut_there_until_us && now_us >= way->cut_back_until_us &&
	       now_us >= way->host->paused_until_us;
}

void
route_cut(struct route *way, bool there, bool back, int64_t until_us)
{
	struct world *w = way->host->world;
	unsigned daemon = way->host->index, master = way->server->index;
	int64_t for_ms = (until_us - w->now_us) / 1000;
	if (there)
		way->cut_there_until_us = later(way->cut_there_until_us, until_us);
	if (back)
		way->cut_back_until_us = later(way->cut_back_until_us, until_us);
	if (there && back)
		trace_kept(
			&w->trace, w->now_us, "d%u | m%u cut off for %" PRId64 " ms", daemon, master, for_ms);
	else if (there)
		trace_kept(&w->trace, w->now_us, "d%u > m%u nothing arrives for %" PRId64 " ms", daemon,
			master, for_ms);
	else if (back)
		trace_kept(&w->trace, w->now_us, "m%u > d%u nothing arrives for %" PRId64 " ms", master,
			daemon, for_ms);
}

bool
route_sound(const struct route *way)
{
	const struct world *w = way->host->world;
	bool sound = w->now_us >= route_clear_us(way);
	/* What left when it was slow may be under way for longer than that. */
	int64_t usual_us = w->now_us + 2 * w->plan.network_us + way->far_us;
	for (unsigned i = 0; i < w->plan.links; i++) {
		const struct wire *wire = &way->wires[i];
		sound = sound && wire->up && w->now_us >= wire->late_until_us &&
			wire->arrives_us <= usual_us && wire->answers_us <= usual_us;
	}
	return sound;
}

int64_t
route_clear_us(const struct route *way)
{
	return later(way->slow_until_us, later(way->cut_there_until_us, way->cut_back_until_us));
}
