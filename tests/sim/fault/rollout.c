/* rollout: see rollout.h. */
#include "tests/sim/fault/rollout.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

static void
halve(struct host *h)
{
	for (unsigned i = 0; i < WORLD_RULES; i++)
		h->rules[i].lease_ms = rollout_least_ms(h, h->rules[i].lease_ms);
}

/* What a session may hold and wait for: less than before a crash, or more, too. A random number of its own,
 * so that all else is as it was. */
static void
limit(const struct host *h, const struct host *of, struct core_settings *settings)
{
	const struct world *w = h->world;
	struct rng rng = {w->plan.seed * UINT64_C(0xd6e8feb86659fd93) + h->life * 64 + h->index + 37};
	if (of != NULL) {
		settings->grants_per_session = of->settings.grants_per_session;
		settings->waiters_per_session = of->settings.waiters_per_session;
	} else if (w->plan.fault[FAULT_RECOVER] && w->phase == PHASE_FAULTS && rng_percent(&rng, 30)) {
		settings->grants_per_session = rng_range(&rng, 1, 4);
		settings->waiters_per_session = rng_range(&rng, 1, 3);
	}
}

/* Without a ledger it does not know what was told under longer leases before (shorter_leases.h). */
static bool
begins_half(struct host *h, bool recovers)
{
	struct world *w = h->world;
	bool half = w->plan.halves && w->phase == PHASE_FAULTS && rng_percent(&w->rng, 50);
	if (h->length != ROLL_ANY && w->phase == PHASE_FAULTS)
		half = h->length == ROLL_HALF;
	h->length = ROLL_ANY;
	return half && (recovers || h->life == 1 || !w->plan.shortens);
}

void
rollout_begin(struct host *h, const struct host *of, bool recovers, struct core_settings *settings)
{
	struct world *w = h->world;
	bool other = w->plan.rolls && w->phase == PHASE_FAULTS && rng_percent(&w->rng, 40);
	bool half = begins_half(h, recovers);
	h->half = of != NULL ? of->half : half;
	h->call_settings.layout = other ? "y" : "x";
	limit(h, of, settings);
	if (!h->half)
		return;
	settings->lease_max_ms = rollout_shortest_ms(&w->plan);
	halve(h);
}

void
rollout_pass(struct host *h)
{
	struct world *w = h->world;
	if (!w->plan.halves || w->phase != PHASE_FAULTS)
		return;
	h->half = rng_percent(&w->rng, 50);
	memcpy(h->rules, w->rules, sizeof(h->rules));
	if (h->half)
		halve(h);
	host_ruled(h);
	trace_line(&w->trace, w->now_us, "d%u     goes on with leases of at most %" PRId64 " ms", h->index,
		h->settings.lease_max_ms);
}

int64_t
rollout_longest_ms(const struct host *h)
{
	int64_t longest_ms = 0;
	for (unsigned i = 0; i < WORLD_RULES; i++)
		longest_ms = h->rules[i].lease_ms > longest_ms ? h->rules[i].lease_ms : longest_ms;
	return longest_ms;
}

int64_t
rollout_least_ms(const struct host *h, int64_t lease_ms)
{
	int64_t shortest_ms = rollout_shortest_ms(&h->world->plan);
	return lease_ms < shortest_ms ? lease_ms : shortest_ms;
}

int64_t
rollout_shortest_ms(const struct plan *plan)
{
	return plan->halves ? plan->lease_ms / 2 : plan->lease_ms;
}

void
rollout_leased(struct host *h, unsigned name)
{
	struct world *w = h->world;
	for (const struct hold *of = w->checker.holds; of != NULL && w->plan.rolls; of = of->next)
		if (strcmp(of->layout, h->call_settings.layout) != 0 && held_until_us(of) > w->now_us &&
			promised(of->host->world, PROMISE_HOLD, of->name))
			world_fail(w,
				"rollout: d%u has a lease of %s by its rules, and by other rules somebody "
				"relies on %s for "
				"%" PRId64 " us more",
				h->index, checker_name(name), checker_name(of->name),
				held_until_us(of) - w->now_us);
}
