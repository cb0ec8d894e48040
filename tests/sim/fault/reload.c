/* reload: see reload.h. */
#include "tests/sim/fault/reload.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

void
reload(struct host *h)
{
	struct world *w = h->world;
	struct rule rules[WORLD_RULES];
	int64_t way_us = w->plan.network_us + w->plan.spread_us, lease_ms = w->plan.lease_ms;
	memcpy(rules, w->rules, sizeof(rules));
	for (size_t i = 0; i < WORLD_RULES; i++) {
		int64_t part = way_us > lease_ms * 1000 / 64 ? 2 : 4;
		if (rng_percent(&w->rng, 60) && lease_ms / part >= 100 && rules[i].lease_ms > lease_ms / part)
			rules[i].lease_ms = rng_range(&w->rng, lease_ms / part, rules[i].lease_ms);
		if (rng_percent(&w->rng, 30))
			rules[i].max_hold_ms = rng_range(&w->rng, lease_ms / 4, 2 * lease_ms);
		if (rng_percent(&w->rng, 30))
			rules[i].crash_delay_ms = rng_range(&w->rng, 0, lease_ms / 2);
		if (rng_percent(&w->rng, 20))
			rules[i].wait_ms = rng_range(&w->rng, 0, 2 * lease_ms);
	}
	trace_line(&w->trace, w->now_us, "d%u     has other rules: leases of %" PRId64 " and %" PRId64 " ms",
		h->index, rules[0].lease_ms, rules[WORLD_RULES - 1].lease_ms);
	host_reload(h, rules);
}

static void
reload_turn(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	struct host *h = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)];
	(void)a;
	(void)data;
	if (w->phase != PHASE_FAULTS)
		return;
	if (h->alive && !h->draining && !h->ending && h->paused_until_us <= w->now_us)
		reload(h);
	world_after(w, rng_range(&w->rng, 0, w->plan.lease_ms * 2500), reload_turn, w, 0, NULL);
}

void
reload_watch(struct world *w)
{
	if (w->plan.reloads)
		world_after(w, rng_range(&w->rng, 0, w->plan.lease_ms * 1000), reload_turn, w, 0, NULL);
}
