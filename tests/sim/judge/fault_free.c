/* fault_free: see fault_free.h. */
#include "tests/sim/judge/fault_free.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

#define EVERY_US 20000

/* ---- ways ---- */

static bool
is_well(const struct host *h, const struct server *s, bool guarded)
{
	struct master_view view;
	/* Which of the servers is the master is left to the sentinels, and whether a majority follows. */
	if (h->world->plan.replicas > 0 || !h->alive || h->draining ||
		h->world->now_us < h->paused_until_us || !server_sound(s) || !route_sound(&h->ways[s->index]))
		return false;
	unsigned master = host_master_of(h, s);
	if (master >= core_members(h->core) || h->moving[master])
		return false;
	core_view_master(h->core, host_ms(h), master, &view);
	return (view.state == MASTER_ADMITTED || (guarded && view.state == MASTER_GUARDED)) && !view.down &&
	       view.links_up == h->world->plan.links;
}

static void
look_at_way(struct world *w, const struct host *h, const struct server *s)
{
	int64_t *since = &w->well.since_us[h->index][s->index], *kept = &w->well.kept_us[h->index][s->index];
	bool keeps = is_well(h, s, w->plan.masters == 1);
	if (!keeps)
		*kept = INT64_MAX;
	else if (*kept == INT64_MAX)
		*kept = w->now_us;
	if (!keeps || !is_well(h, s, false))
		*since = INT64_MAX;
	else if (*since == INT64_MAX)
		*since = w->now_us;
}

void
fault_free_voted(struct host *h, const struct vote *v)
{
	struct fault_free *well = &h->world->well;
	unsigned place = v->master < h->masters ? h->place[v->master] : PLAN_MASTERS_MAX;
	if (place >= PLAN_MASTERS_MAX ||
		(v->op != CALL_ACQUIRE && v->op != CALL_RENEW && v->op != CALL_ADOPT))
		return;
	unsigned name = checker_name_of(v->name);
	if (v->outcome == OUTCOME_YES)
		well->busy[h->index][place][name] = false;
	else if (v->op == CALL_ACQUIRE && v->outcome == OUTCOME_BUSY)
		well->busy[h->index][place][name] = true;
}

/* A question and its answer take more than a hundredth of a lease. */
static bool
slow_ways(const struct world *w)
{
	return 2 * w->plan.network_us + w->plan.spread_us > w->plan.lease_ms * 10;
}

/* Others bid for it there. */
static bool
others_bid(const struct world *w, const struct host *h, unsigned master, unsigned name)
{
	return w->plan.masters > 1 && w->well.busy[h->index][master][name] && slow_ways(w);
}

bool
fault_free_keeps(const struct world *w, const struct host *h, unsigned name, int64_t for_us)
{
	unsigned n = 0;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		int64_t since_us = w->well.kept_us[h->index][i];
		n += since_us != INT64_MAX && w->now_us - since_us > for_us && !others_bid(w, h, i, name);
	}
	return n >= plan_majority(&w->plan);
}

void
fault_free_host_starts(struct world *w, const struct host *h)
{
	for (unsigned i = 0; i < PLAN_MASTERS_MAX; i++)
		w->well.since_us[h->index][i] = w->well.kept_us[h->index][i] =
			w->well.member_us[h->index][i] = INT64_MAX;
	for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
		w->well.unused_us[h->index][i] = INT64_MAX;
}

/* ---- names ---- */

bool
fault_free_free(const struct world *w, unsigned name)
{
	struct resource_view view;
	struct slice daemon;
	if (waits_for(w, name) || held_longest_us(w, name) > w->now_us)
		return false;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (w->hosts[i].alive && core_view_resource(w->hosts[i].core, host_ms(&w->hosts[i]),
						 slice_of(checker_name(name)), &view))
			return false;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		const struct server *s = &w->servers[i];
		struct store *store = master_store(s->master);
		if (store_exists(store, server_wall_us(s), server_lease_key(w, name)) ||
			store_member(store, server_wall_us(s), server_queue_key(name), 0, &daemon))
			return false;
	}
	return true;
}

/* What nobody uses is kept for a moment, and not at all where others lock the name, too. */
static void
look_at_unused(struct world *w, const struct host *h, unsigned name)
{
	int64_t *since = &w->well.unused_us[h->index][name];
	bool foreign = plan_keyed(&w->plan, name);
	struct resource_view view;
	if (!h->alive || h->draining || h->paused_until_us + 50000 > w->now_us ||
		!core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) ||
		strcmp(view.lease, "held") != 0 || view.holds > 0 || view.waiters > 0) {
		*since = INT64_MAX;
		return;
	}
	if (*since == INT64_MAX)
		*since = w->now_us;
	if (w->now_us - *since > (foreign ? 0 : w->plan.retain_ms * 1010) + 50000)
		world_fail(w, "unused: d%u keeps its lease of %s for %" PRId64 " ms, and nobody uses it",
			h->index, checker_name(name), (w->now_us - *since) / 1000);
	if (view.wanted && w->now_us - *since > 50000 && fair_wanted_us(w, h, name) < w->now_us - 50000)
		world_fail(w, "unused: d%u keeps its lease of %s, which another daemon waits for", h->index,
			checker_name(name));
}

void
fault_free_touched(struct host *h, unsigned name)
{
	struct world *w = h->world;
	for (unsigned k = 0; k < w->plan.names; k++) {
		if (plan_first(&w->plan, k) != plan_first(&w->plan, name))
			continue;
		for (unsigned i = 0; i < w->plan.hosts; i++)
			w->well.unused_us[i][k] = INT64_MAX;
		w->well.touched[k]++;
		w->well.here[h->index][k]++;
	}
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		for (unsigned k = 0; k < w->plan.masters; k++)
			look_at_way(w, &w->hosts[i], &w->servers[k]);
		for (unsigned k = 0; k < w->plan.names; k++)
			look_at_unused(w, &w->hosts[i], k);
	}
	for (unsigned i = 0; i < w->plan.names; i++)
		if (!fault_free_free(w, i))
			w->well.free_us[i] = w->now_us;
	world_after(w, EVERY_US, look, w, 0, NULL);
}

static void
look_at_members(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		for (unsigned k = 0; k < plan_servers(&w->plan); k++) {
			int64_t *since = &w->well.member_us[i][k];
			if (!is_well(&w->hosts[i], &w->servers[k], false))
				*since = INT64_MAX;
			else if (*since == INT64_MAX)
				*since = w->now_us;
		}
	world_after(w, EVERY_US, look_at_members, w, 0, NULL);
}

void
fault_free_watch_members(struct world *w)
{
	if (w->plan.changes && w->plan.fault[FAULT_RECOVER])
		world_after(w, EVERY_US, look_at_members, w, 0, NULL);
}

void
fault_free_watch(struct world *w)
{
	world_after(w, EVERY_US, look, w, 0, NULL);
}
