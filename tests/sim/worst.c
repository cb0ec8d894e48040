/* worst: see worst.h. */
#include "tests/sim/worst.h"

#include "tests/sim/fault.h"
#include "tests/sim/world.h"

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
cut_all(struct world *w, unsigned master, int64_t us)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		struct way *way = &w->hosts[i].ways[master];
		way->cut_there_until_us = later(way->cut_there_until_us, w->now_us + us);
		way->cut_back_until_us = later(way->cut_back_until_us, w->now_us + us);
	}
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

static void
some_die(struct world *w)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		struct host *h = &w->hosts[i];
		if (!h->alive || h->paused_until_us > w->now_us || rng_percent(&w->rng, 40))
			continue;
		fault_crash(h);
	}
}

/* Of a majority that alone has given out leases and tokens for a while, one forgets, and most daemons die
 * that know of them. Sometimes another cannot be heard until the guard is over. */
static void
amnesia_strikes(void *arg, uint64_t chance, void *data)
{
	struct world *w = arg;
	unsigned order[PLAN_MASTERS_MAX] = {0};
	(void)data;
	shuffle(chance, w->plan.masters, order);
	if (w->phase != PHASE_FAULTS || !fault_may_lose(&w->servers[order[0]]))
		return;
	trace_line(&w->trace, w->now_us, "m%u     amnesia", order[0]);
	server_crash(&w->servers[order[0]], NULL, 1000);
	int64_t guard_us = (w->plan.lease_ms + w->plan.margin_ms) * 1000;
	if (rng_percent(&w->rng, 50))
		cut_all(w, order[1], guard_us + rng_range(&w->rng, 0, w->plan.lease_ms * 250));
	some_die(w);
}

void
worst_amnesia(struct world *w)
{
	unsigned order[PLAN_MASTERS_MAX] = {0};
	uint64_t chance = rng_next(&w->rng);
	shuffle(chance, w->plan.masters, order);
	for (unsigned i = 0; i < w->plan.masters; i++)
		if (fault_lacks(&w->servers[i]))
			return;
	world_after(w, leave_a_majority(w, order), amnesia_strikes, w, chance, NULL);
}

/* Its leases have run out for it, or some of them nearly, and it does not know. It is never put right. */
static void
leap_strikes(void *arg, uint64_t a, void *data)
{
	struct server *s = arg;
	struct world *w = s->world;
	int64_t lease_us = w->plan.lease_ms * 1000;
	(void)a;
	(void)data;
	if (w->phase != PHASE_FAULTS || !fault_may_lose(s))
		return;
	trace_line(&w->trace, w->now_us, "m%u     leaps", s->index);
	server_step_clock(s, rng_percent(&w->rng, 40) ? rng_range(&w->rng, lease_us * 2 / 5, lease_us * 4 / 5)
						      : rng_range(&w->rng, lease_us * 2, HOUR_US));
	s->lacks_until_us = w->now_us + (w->plan.lease_ms + w->plan.margin_ms) * 2200;
}

/* It shows where a lease is kept by no more than a majority. */
static void
leap_begins(void *arg, uint64_t chance, void *data)
{
	struct world *w = arg;
	unsigned order[PLAN_MASTERS_MAX] = {0};
	(void)data;
	shuffle(chance, w->plan.masters, order);
	world_after(w, leave_a_majority(w, order), leap_strikes, &w->servers[order[0]], 0, NULL);
}

/* Sometimes a daemon that has heard nothing of that master for longer than greetings are compared comes back
 * to it just then. */
void
worst_leap(struct world *w)
{
	uint64_t chance = rng_next(&w->rng);
	unsigned order[PLAN_MASTERS_MAX] = {0};
	struct way *way;
	int64_t away_us = (w->plan.lease_ms * 3 / 2 + w->plan.margin_ms + 100) * 1100;
	if (rng_percent(&w->rng, 50)) {
		leap_begins(w, chance, NULL);
		return;
	}
	shuffle(chance, w->plan.masters, order);
	way = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)].ways[order[0]];
	way->cut_there_until_us = later(way->cut_there_until_us, w->now_us + away_us + 1000000);
	way->cut_back_until_us = later(way->cut_back_until_us, w->now_us + away_us + 1000000);
	world_after(w, away_us, leap_begins, w, chance, NULL);
}
