/* plan: see plan.h. */
#include "tests/sim/plan.h"

const char *const fault_word[FAULT_COUNT] = {
#define FAULT(id, word) word,
	FAULTS(FAULT)
#undef FAULT
};

bool
plan_loses(const struct plan *plan)
{
	return plan->fault[FAULT_EMPTY] || plan->fault[FAULT_STALE] || plan->fault[FAULT_FLUSH];
}

static int64_t
pick(struct rng *rng, const int64_t *values, int64_t n)
{
	return values[rng_range(rng, 0, n - 1)];
}

/*
 * A single master that forgets everything leaves the clocks to order its tokens: the floor is above its own
 * and that of the daemon that admits it, so that no token of a daemon that died meanwhile may be further
 * ahead than a guard.
 */
static void
plan_clocks(struct plan *plan)
{
	int64_t guard_us = (plan->lease_ms + plan->margin_ms) * 1000;
	plan->wall_ahead_us = guard_us * 3 / 4;
	if (plan->fault[FAULT_BACK]) {
		plan->fault[FAULT_WALL] = false;
		plan->wall_ahead_us = plan->wall_behind_us = guard_us / 4;
	}
}

void
plan_draw(struct plan *plan, uint64_t seed)
{
	static const int64_t leases[] = {600, 1000, 1000, 3000, 10000};
	static const int64_t margins[] = {10, 10, 1, 0}; /* percent */
	static const int64_t thinks[] = {2000, 20000, 200000};
	static const int64_t longs[] = {2, 10, 50};
	static const int64_t holds[] = {1000, 30000, 300000};
	static const int64_t delays[] = {50, 300, 5000};
	struct rng rng = {seed * UINT64_C(0x2545f4914f6cdd1d) + 1};
	*plan = (struct plan){.seed = seed};
	plan->hosts = (unsigned)rng_range(&rng, 1, PLAN_HOSTS_MAX);
	plan->clients = (unsigned)rng_range(&rng, 2, PLAN_CLIENTS_MAX);
	plan->names = (unsigned)rng_range(&rng, 1, PLAN_NAMES_MAX);
	plan->links = (unsigned)rng_range(&rng, 1, 2);
	plan->lease_ms = pick(&rng, leases, 5);
	plan->margin_ms = plan->lease_ms * pick(&rng, margins, 4) / 100;
	plan->streak = rng_percent(&rng, 50) ? 1 : rng_range(&rng, 2, 64);
	plan->streak_ms = rng_range(&rng, 5, 200);
	plan->trusted = rng_percent(&rng, 70);
	plan->foreign = rng_percent(&rng, 30);
	plan->network_us = pick(&rng, delays, 3);
	plan->think_us = pick(&rng, thinks, 3);
	plan->hold_us = pick(&rng, holds, 3);
	plan->long_percent = (int)pick(&rng, longs, 3);
	plan->faults_us = plan->lease_ms * 1000 * rng_range(&rng, 3, 8);
	plan->fault_every_us = plan->lease_ms * rng_range(&rng, 30, 600);
	if (!rng_percent(&rng, 10)) {
		int percent = (int)rng_range(&rng, 5, 40);
		for (int i = 0; i < FAULT_COUNT; i++)
			plan->fault[i] = rng_percent(&rng, percent);
	}
	if (plan->margin_ms == 0)
		plan->fault[FAULT_FORWARD] = false; /* what no margin absorbs is not promised */
	plan->wall_behind_us = plan->wall_ahead_us = INT64_C(3600) * 1000000;
	if (plan_loses(plan))
		plan_clocks(plan);
}
