/* sentinels: see sentinels.h. */
#include "tests/sim/world/sentinels.h"

#include "tests/sim/world/world.h"

#include <assert.h>

#define LOOK_US 10000

static bool
seen(const struct server *s)
{
	int64_t now_us = s->world->now_us;
	return s->up && now_us >= s->stopped_until_us && now_us >= s->unseen_until_us;
}

static int64_t
some_leases_us(struct world *w, int64_t least_percent, int64_t most_percent)
{
	return rng_range(
		&w->rng, w->plan.lease_ms * 10 * least_percent, w->plan.lease_ms * 10 * most_percent);
}

/* ---- daemons hear of it ---- */

static void
host_hears(void *arg, uint64_t epoch, void *data)
{
	struct host *h = arg;
	struct world *w = h->world;
	int64_t until_us = h->deaf_until_us > h->paused_until_us ? h->deaf_until_us : h->paused_until_us;
	(void)data;
	if (until_us > w->now_us)
		schedule_again(&w->schedule, until_us);
	else if (epoch == w->sentinels.epoch)
		host_aim(h, w->sentinels.master, w->sentinels.known);
}

static void
tell_hosts(struct world *w)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		int64_t late_us = rng_percent(&w->rng, 70) ? rng_range(&w->rng, 0, 4 * w->plan.network_us)
							   : some_leases_us(w, 0, 50);
		world_after(w, late_us, host_hears, &w->hosts[i], w->sentinels.epoch, NULL);
	}
}

/* ---- servers are told ---- */

static void
point(void *arg, uint64_t epoch, void *data)
{
	struct server *s = arg;
	struct world *w = s->world;
	(void)data;
	if (epoch != w->sentinels.epoch)
		return;
	if (s->replication.outside)
		return;
	if (!seen(s)) {
		world_after(w, LOOK_US, point, s, epoch, NULL);
		return;
	}
	if (s->replication.follows == (int)w->sentinels.master)
		return;
	replication_follow(s, w->sentinels.master);
	/* CLIENT KILL comes with it. */
	server_hang_up(s);
}

static void
point_others(struct world *w)
{
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		int64_t late_us = w->phase != PHASE_FAULTS || rng_percent(&w->rng, 30)
					  ? rng_range(&w->rng, 0, 4 * w->plan.network_us)
					  : some_leases_us(w, 0, 200);
		if (i != w->sentinels.master && w->sentinels.known & 1U << i)
			world_after(w, late_us, point, &w->servers[i], w->sentinels.epoch, NULL);
	}
}

/* ---- failovers ---- */

/* Whether it has heard of a group, as one that has never been synchronised has not. */
static bool
knows_group(const struct server *s)
{
	struct slice text;
	return store_field(master_store(s->master), SLICE("hf:node"), SLICE(REPLICAS_MEMBERS), &text);
}

static bool
all_know_group(const struct world *w)
{
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		if (w->sentinels.ever & 1U << i && !w->servers[i].replication.outside &&
			!knows_group(&w->servers[i]))
			return false;
	return true;
}

/* The replica that has most of the master's stream, or, as often, any that is seen; NULL: none is. */
static struct server *
heir(struct world *w)
{
	unsigned before = w->sentinels.master, n = plan_servers(&w->plan);
	unsigned first = (unsigned)rng_range(&w->rng, 0, n - 1);
	bool best = rng_percent(&w->rng, 50);
	struct server *found = NULL;
	for (unsigned i = 0; i < n; i++) {
		struct server *s = &w->servers[(first + i) % n];
		if (s->index == before || s->replication.follows < 0 || !seen(s) ||
			!(w->sentinels.known & 1U << s->index) || (w->sentinels.changed && !knows_group(s)))
			continue;
		if (found == NULL ||
			(best && s->replication.most[before].offset > found->replication.most[before].offset))
			found = s;
	}
	return found;
}

static void
fail_over(struct world *w)
{
	struct server *s = heir(w);
	if (s == NULL)
		return;
	w->sentinels.master = s->index;
	w->sentinels.epoch++;
	w->sentinels.missed_us = 0;
	replication_promote(s);
	server_hang_up(s);
	tell_hosts(w);
	point_others(w);
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	struct sentinels *t = &w->sentinels;
	(void)a;
	(void)data;
	if (seen(&w->servers[t->master]))
		t->missed_us = 0;
	else if (t->missed_us == 0)
		t->missed_us = w->now_us;
	else if (w->now_us - t->missed_us > w->plan.lease_ms * 200)
		fail_over(w);
	world_after(w, LOOK_US, look, w, 0, NULL);
}

void
sentinels_watch(struct world *w)
{
	if (w->plan.replicas > 0)
		world_after(w, LOOK_US, look, w, 0, NULL);
}

/* ---- the group changes ---- */

/* They see a replica that its master tells them of. */
static void
come(struct world *w, struct server *s)
{
	replication_join(s, w->sentinels.master);
	w->sentinels.known |= 1U << s->index;
	w->sentinels.ever |= 1U << s->index;
	w->sentinels.epoch++;
	tell_hosts(w);
	point_others(w);
}

/* One that is outside comes, if there is one; otherwise one that has come may leave. */
static void
join_or_leave(struct world *w)
{
	unsigned n = plan_servers(&w->plan);
	unsigned first = n - w->plan.joins, i = (unsigned)rng_range(&w->rng, first, n - 1);
	struct server *s = &w->servers[i];
	if (!seen(s) || i == w->sentinels.master)
		return;
	if (s->replication.outside)
		come(w, s);
	else if (rng_percent(&w->rng, 30) && s->replication.follows == (int)w->sentinels.master)
		replication_leave(s);
}

/* As SENTINEL RESET does: then they know the master, and the replicas that it tells them of. */
static void
forget_replicas(struct world *w)
{
	w->sentinels.known = 1U << w->sentinels.master;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		if (w->servers[i].replication.follows == (int)w->sentinels.master &&
			w->servers[i].replication.linked && seen(&w->servers[i]))
			w->sentinels.known |= 1U << i;
	trace_line(&w->trace, w->now_us, "the sentinels know %x", w->sentinels.known);
	w->sentinels.epoch++;
	tell_hosts(w);
	point_others(w);
}

/* ---- cuts ---- */

static void
later(int64_t *until_us, int64_t us)
{
	*until_us = us > *until_us ? us : *until_us;
}

static void
part(struct world *w, const struct server *a, const struct server *b, int64_t until_us)
{
	later(&w->apart_until_us[a->index][b->index], until_us);
	later(&w->apart_until_us[b->index][a->index], until_us);
}

/* Each server that is cut off, from those that are not; some come back sooner, and leave the others. */
static void
cut_servers(struct world *w, const bool *off, const int64_t *until_us)
{
	unsigned n = plan_servers(&w->plan);
	for (unsigned i = 0; i < n; i++) {
		if (off[i])
			later(&w->servers[i].unseen_until_us, until_us[i]);
		for (unsigned k = 0; k < n; k++)
			if (off[i] && !off[k])
				part(w, &w->servers[i], &w->servers[k], until_us[i]);
	}
}

static void
cut_host(struct host *h, bool with, const bool *off, const int64_t *until_us, int64_t most_us)
{
	struct world *w = h->world;
	if (with)
		later(&h->deaf_until_us, most_us);
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		int64_t cut_us = off[i] ? until_us[i] : most_us;
		if (off[i] == with)
			continue;
		route_cut(&h->ways[i], true, true, cut_us);
	}
}

/* Guards shall end, and sometimes not. */
static int64_t
calm_us(struct world *w)
{
	return rng_percent(&w->rng, 50) ? some_leases_us(w, 0, 100) : some_leases_us(w, 0, 400);
}

static void
cut_off(struct world *w)
{
	bool off[PLAN_MASTERS_MAX] = {false};
	int64_t until_us[PLAN_MASTERS_MAX], most_us = w->now_us + some_leases_us(w, 50, 500);
	unsigned n = plan_servers(&w->plan), spared = 0;
	bool hosts = rng_percent(&w->rng, 70);
	assert(n > 1);
	w->sentinels.calm_us = most_us + calm_us(w);
	for (unsigned i = 0; i < n; i++) {
		off[i] = i == w->sentinels.master || rng_percent(&w->rng, 50);
		until_us[i] = most_us;
		if (i != w->sentinels.master && rng_percent(&w->rng, 60))
			until_us[i] = w->now_us + some_leases_us(w, 20, 300);
		if (until_us[i] > most_us)
			until_us[i] = most_us;
		if (!off[i])
			spared++;
	}
	/* Else there is nobody to become the master. */
	if (spared == 0)
		off[(w->sentinels.master + (unsigned)rng_range(&w->rng, 1, n - 1)) % n] = false;
	for (unsigned i = 0; i < n; i++)
		if (off[i])
			trace_line(&w->trace, w->now_us, "m%u     is cut off", i);
	cut_servers(w, off, until_us);
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		bool with = rng_percent(&w->rng, 40);
		if (hosts)
			cut_host(&w->hosts[i], with, off, until_us, most_us);
		else if (with)
			later(&w->hosts[i].deaf_until_us, most_us);
	}
}

void
sentinels_strike(struct world *w, enum fault fault)
{
	if (fault == FAULT_RESYNC) {
		replication_resync(&w->servers[rng_range(&w->rng, 0, plan_servers(&w->plan) - 1)]);
		return;
	}
	if (fault == FAULT_JOIN || fault == FAULT_UNKNOWN) {
		w->sentinels.changed |= all_know_group(w);
		if (w->sentinels.changed && fault == FAULT_JOIN)
			join_or_leave(w);
		else if (w->sentinels.changed)
			forget_replicas(w);
		return;
	}
	if (w->now_us < w->sentinels.calm_us)
		return;
	w->sentinels.calm_us = w->now_us + calm_us(w);
	if (fault == FAULT_CUT_OFF)
		cut_off(w);
	else
		fail_over(w);
}

void
sentinels_heal(struct world *w)
{
	if (w->plan.replicas == 0)
		return;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		if (w->sentinels.ever & 1U << i && w->servers[i].replication.outside)
			replication_join(&w->servers[i], w->sentinels.master);
	w->sentinels.known = w->sentinels.ever;
	w->sentinels.epoch++;
	tell_hosts(w);
	point_others(w);
}
