/* bare_majority: see bare_majority.h. */
#include "tests/sim/fault/bare_majority.h"

#include "tests/sim/fault/fault.h"
#include "tests/sim/world/world.h"

#define HOUR_US INT64_C(3600000000)

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The masters in some order, the same for both halves of it. */
static void
shuffle(uint64_t chance, unsigned n, unsigned *order)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned k = (unsigned)(chance % (i + 1));
		chance /= i + 1;
		order[i] = order[k];
		order[k] = i;
	}
}

static void
cut(struct world *w, unsigned host, unsigned master, int64_t us)
{
	route_cut(&w->hosts[host].ways[master], true, true, w->now_us + us);
}

static void
cut_all(struct world *w, unsigned master, int64_t us)
{
	for (unsigned i = 0; i < w->plan.hosts; i++)
		cut(w, i, master, us);
}

/* Some of a majority are cut off, so that for a while leases and tokens are those of the rest alone. */
static int64_t
leave_a_majority(struct world *w, const unsigned *order)
{
	int64_t third_us = w->plan.lease_ms * 1000 / 3;
	int64_t for_us = third_us < 1000000 ? rng_range(&w->rng, third_us / 2, third_us) : 1000000;
	for (unsigned i = plan_majority(&w->plan); i < w->plan.masters; i++)
		cut_all(w, order[i], for_us);
	return for_us;
}

/* In a split world the daemons of one half, of which this one is always one. */
static unsigned
half_first(const struct world *w, uint64_t chance)
{
	return (unsigned)((chance >> 46) % w->plan.hosts);
}

static bool
is_split(const struct world *w, uint64_t chance)
{
	return w->plan.hosts > 1 && (chance >> 41) % 2 == 0;
}

static bool
is_in_half(const struct world *w, uint64_t chance, unsigned host)
{
	unsigned first = half_first(w, chance);
	return host == first || (host != (first + 1) % w->plan.hosts && (chance >> (48 + host)) % 2 == 0);
}

/* For a while one half of the daemons has a majority of the masters, and the other half has the rest. */
static int64_t
split(struct world *w, const unsigned *order, uint64_t chance)
{
	int64_t for_us = rng_range(&w->rng, w->plan.lease_ms * 1000 / 6, w->plan.lease_ms * 1000 / 3);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		for (unsigned k = 0; k < w->plan.masters; k++)
			if (is_in_half(w, chance, i) != (k < plan_majority(&w->plan)))
				cut(w, i, order[k], for_us);
	return for_us;
}

/* Those of the half that alone knows, or some of all. */
static void
some_die(struct world *w, uint64_t chance)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		struct host *h = &w->hosts[i];
		bool lives = is_split(w, chance) ? !is_in_half(w, chance, i) : rng_percent(&w->rng, 40);
		if (h->alive && h->paused_until_us <= w->now_us && !lives)
			fault_crash(h);
	}
}

static bool
is_stale(uint64_t chance)
{
	return (chance >> 40) % 2 == 0;
}

/* Who has told the one that forgot is away as soon as that one is admitted, which then has to know it. */
static void
witness_leaves(void *arg, uint64_t chance, void *data)
{
	struct world *w = arg;
	unsigned order[PLAN_MASTERS_MAX] = {0};
	(void)data;
	shuffle(chance, w->plan.masters, order);
	if (w->phase != PHASE_FAULTS || fault_lacks(&w->servers[order[1]]))
		return;
	if (server_admitted(&w->servers[order[0]]))
		cut_all(w, order[1], rng_range(&w->rng, w->plan.lease_ms * 200, w->plan.lease_ms * 800));
	else
		world_after(w, 5000, witness_leaves, w, chance, NULL);
}

/* Of a majority that alone has given out leases and tokens for a while, one forgets all or what came since
 * then, and most daemons die that know of them. Sometimes another cannot be heard until the guard is over. */
static void
amnesia_strikes(void *arg, uint64_t chance, void *data)
{
	struct world *w = arg;
	unsigned order[PLAN_MASTERS_MAX] = {0};
	(void)data;
	shuffle(chance, w->plan.masters, order);
	if (w->phase != PHASE_FAULTS || !fault_may_lose(&w->servers[order[0]]))
		return;
	struct server *s = &w->servers[order[0]];
	trace_line(&w->trace, w->now_us, "m%u     amnesia", order[0]);
	server_crash(s, is_stale(chance) ? store_copy(s->backup) : NULL, 1000);
	int64_t guard_us = (w->plan.lease_ms + w->plan.margin_ms) * 1000;
	if (is_split(w, chance) || rng_percent(&w->rng, 50))
		cut_all(w, order[1], guard_us + rng_range(&w->rng, 0, w->plan.lease_ms * 250));
	some_die(w, chance);
	if (rng_percent(&w->rng, 60))
		world_after(w, guard_us / 2, witness_leaves, w, chance, NULL);
}

/* A daemon proposes tokens far above all before: only those that it asks from now on know them. */
static void
clock_runs_ahead(struct world *w, uint64_t chance)
{
	struct host *h = &w->hosts[half_first(w, chance)];
	int64_t most_us = 0;
	if (w->plan.fault[FAULT_BACK])
		return;
	for (unsigned i = 0; i < w->plan.names; i++)
		most_us = later(most_us, w->checker.token[i]);
	h->wall_offset_us = w->plan.wall_ahead_us;
	if (w->plan.wild)
		h->wall_offset_us = later(most_us - WORLD_WALL_US - w->now_us, 0) + 60000000;
}

void
bare_majority_amnesia(struct world *w)
{
	unsigned order[PLAN_MASTERS_MAX] = {0};
	uint64_t chance = rng_next(&w->rng);
	shuffle(chance, w->plan.masters, order);
	for (unsigned i = 0; i < w->plan.masters; i++)
		if (fault_lacks(&w->servers[i]))
			return;
	if (rng_percent(&w->rng, 60))
		clock_runs_ahead(w, chance);
	if (is_stale(chance))
		server_backup(&w->servers[order[0]]);
	int64_t for_us = is_split(w, chance) ? split(w, order, chance) : leave_a_majority(w, order);
	world_after(w, for_us, amnesia_strikes, w, chance, NULL);
}

/* Its leases have run out for it, or some of them nearly, and it does not know. It is never put right. */
static void
jump_strikes(void *arg, uint64_t a, void *data)
{
	struct server *s = arg;
	struct world *w = s->world;
	int64_t lease_us = w->plan.lease_ms * 1000;
	(void)a;
	(void)data;
	if (w->phase != PHASE_FAULTS || !fault_may_jump(s))
		return;
	trace_line(&w->trace, w->now_us, "m%u     jumps", s->index);
	server_step_clock(s, rng_percent(&w->rng, 40) ? rng_range(&w->rng, lease_us * 2 / 5, lease_us * 4 / 5)
						      : rng_range(&w->rng, lease_us * 2, HOUR_US));
	s->lacks_until_us = w->now_us + (w->plan.lease_ms + w->plan.margin_ms) * 2200;
}

/* It shows where a lease is kept by no more than a majority. */
static void
jump_begins(void *arg, uint64_t chance, void *data)
{
	struct world *w = arg;
	unsigned order[PLAN_MASTERS_MAX] = {0};
	(void)data;
	shuffle(chance, w->plan.masters, order);
	world_after(w, leave_a_majority(w, order), jump_strikes, &w->servers[order[0]], 0, NULL);
}

/* Sometimes a daemon that has heard nothing of that master for longer than HELLOs are compared comes back
 * to it just then. */
void
bare_majority_jump(struct world *w)
{
	uint64_t chance = rng_next(&w->rng);
	unsigned order[PLAN_MASTERS_MAX] = {0};
	struct route *way;
	int64_t away_us = (w->plan.lease_ms * 3 / 2 + w->plan.margin_ms + 100) * 1100;
	if (rng_percent(&w->rng, 50)) {
		jump_begins(w, chance, NULL);
		return;
	}
	shuffle(chance, w->plan.masters, order);
	way = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)].ways[order[0]];
	route_cut(way, true, true, w->now_us + away_us + 1000000);
	world_after(w, away_us, jump_begins, w, chance, NULL);
}
