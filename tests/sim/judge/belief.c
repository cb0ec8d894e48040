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
			had += backing_seats(&w->servers[i], name, h->call_settings.daemon_id,
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

/* A lease is given back to a master that missed it: after a while in which all is well it is at every one, or
 * others who wait for it are there each time that it is asked for. */
static void
look_at_repair(struct host *h, unsigned name)
{
	struct world *w = h->world;
	int64_t since_us = fault_free_all_us(w, h), leased_us = w->progress.asking[h->index][name].leased_us;
	struct resource_view view;
	if (since_us == INT64_MAX || w->phase == PHASE_FAULTS || !promised(w, PROMISE_RENEWAL, name))
		return;
	since_us = since_us > leased_us ? since_us : leased_us;
	if (w->now_us - since_us < w->plan.lease_ms * 2500 ||
		!core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) ||
		view.limit > 0 || strcmp(view.lease, "held") != 0 || view.lease_ms <= 0)
		return;
	for (unsigned i = 0; i < w->plan.masters; i++)
		if (!backing_lacks(&w->servers[i]) &&
			!store_exists(master_store(w->servers[i].master), server_wall_us(&w->servers[i]),
				server_lease_key(w, name)) &&
			!fault_free_outbid(w, h, i, name))
			world_fail(w,
				"repair: d%u has had its lease of %s for %" PRId64 " ms, and m%u lacks it",
				h->index, checker_name(name), (w->now_us - leased_us) / 1000, i);
}

/* Whether this master has a vote for it. */
static bool
votes(const struct host *h, const struct server *s)
{
	struct master_view view;
	unsigned master = host_master_of(h, s);
	if (master == CORE_SLOTS_MAX)
		return false;
	core_view_master(h->core, host_ms(h), master, &view);
	return view.state == MASTER_ADMITTED && view.guard_ms == 0;
}

/* It could use most masters for so long, and has the lease there. Where it lacks it, those who wait may be in
 * the way, who ask as often; one whose clock seems to leap again and again gives its memory up as often. */
static bool
can_renew(const struct host *h, unsigned name, enum kind kind, int64_t for_us)
{
	const struct world *w = h->world;
	unsigned n = 0, lacks = 0;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		const struct server *s = &w->servers[i];
		int64_t since_us = w->well.since_us[h->index][i];
		if (since_us == INT64_MAX || w->now_us - since_us < for_us)
			continue;
		n++;
		lacks += !votes(h, s) || backing_lacks(s) ||
			 backing_seats(s, name, h->call_settings.daemon_id, kind, 1) == 0;
	}
	unsigned need = plan_majority(&w->plan);
	return n - lacks >= need;
}

/* It is renewed at a third: whoever could use a majority for a whole lease has much left of it. What was said
 * just now may be on its way. */
static void
look_at_renewal(struct host *h, unsigned name)
{
	struct world *w = h->world;
	struct asking *a = &w->progress.asking[h->index][name];
	int64_t most_us = w->plan.lease_ms * 1100 + 100000, lease_ms = h->least_lease_ms[name];
	int64_t ways_us = 2 * (w->plan.network_us + w->plan.spread_us) + EVERY_US;
	struct resource_view view = {.lease_ms = 0};
	bool short_of = w->now_us - a->leased_us >= most_us &&
			core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) &&
			view.limit == 0 && strcmp(view.lease, "held") == 0 && view.lease_ms < lease_ms / 4;
	if (!short_of || !promised(w, PROMISE_RENEWAL, name) || !can_renew(h, name, view.kind, most_us))
		a->renewed_us = w->now_us;
	if (w->now_us - a->renewed_us > ways_us)
		world_fail(w,
			"renewal: d%u has %" PRId64 " of %" PRId64
			" ms left of its lease of %s, and could renew it",
			h->index, view.lease_ms, lease_ms, checker_name(name));
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
			look_at_repair(&w->hosts[i], k);
			look_at_renewal(&w->hosts[i], k);
		}
	backing_look(w);
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
belief_watch(struct world *w)
{
	/* What was acknowledged to a master that has been replaced is good for its time, wherever it is. */
	if (w->plan.replicas == 0)
		world_after(w, EVERY_US, look, w, 0, NULL);
}
