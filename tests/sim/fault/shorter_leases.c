/* shorter_leases: see shorter_leases.h. */
#include "tests/sim/fault/shorter_leases.h"

#include "tests/sim/fault/fault.h"
#include "tests/sim/world/world.h"

void
shorter_leases_draw(struct plan *plan)
{
	/* What a copy takes over is not its daemon's to say. */
	plan->shortens = plan->fault[FAULT_RECOVER] && !plan->fault[FAULT_COPY] && plan->hosts > 1 &&
			 plan->others == 0 && !plan->changes && !plan->rolls && plan_loses(plan);
	if (!plan->shortens)
		return;
	plan->halves = true;
	plan->faults_us *= 2;
}

static bool
all_run(const struct world *w)
{
	bool all = true;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		all &= h->alive && !h->refusing && !h->draining && !h->ending &&
		       h->paused_until_us <= w->now_us;
	}
	return all;
}

/* Somebody relies on a hold for longer than a guard of the shorter leases takes, and nobody comes back for
 * it. */
static bool
is_relied_on(const struct world *w)
{
	int64_t since_us = w->now_us + w->plan.lease_ms * 700 + w->plan.margin_ms * 1000;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (held_until_us(h) > since_us && !h->unannounced && promised(w, PROMISE_HOLD, h->name) &&
			session_terms_of(w, h->host, h->session) == NULL)
			return true;
	return false;
}

static void
forget(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	unsigned spared = (unsigned)rng_range(&w->rng, 0, w->plan.masters - 1);
	(void)a;
	(void)data;
	if (w->phase != PHASE_FAULTS)
		return;
	for (unsigned i = 0; i < w->plan.masters; i++)
		if (w->plan.masters == 1 || (w->plan.fault[FAULT_TOTAL] ? i != spared : i == spared))
			if (fault_may_lose(&w->servers[i]))
				server_crash(
					&w->servers[i], NULL, rng_range(&w->rng, 0, w->plan.lease_ms * 50));
}

/* All begin with leases of this length. */
static void
restart(struct world *w, enum roll_length length)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		w->hosts[i].length = length;
		fault_crash_for(&w->hosts[i], rng_range(&w->rng, 0, w->plan.lease_ms * 50));
	}
}

/* After shorter leases longer ones take a while until all guards wait for them. */
static void
turn(void *arg, uint64_t shorter, void *data)
{
	struct world *w = arg;
	int64_t lease_us = w->plan.lease_ms * 1000;
	(void)data;
	if (w->phase != PHASE_FAULTS)
		return;
	if (!all_run(w) || (shorter && !is_relied_on(w))) {
		world_after(w, lease_us / 50, turn, w, shorter, NULL);
		return;
	}
	trace_line(&w->trace, w->now_us, "all daemons start again with %s leases",
		shorter ? "shorter" : "longer");
	restart(w, shorter ? ROLL_HALF : ROLL_FULL);
	if (shorter)
		world_after(w, rng_percent(&w->rng, 60) ? 0 : rng_range(&w->rng, 0, lease_us / 4), forget, w,
			0, NULL);
	world_after(w, rng_range(&w->rng, lease_us, lease_us * 5 / 2), turn, w, !shorter, NULL);
}

void
shorter_leases_watch(struct world *w)
{
	if (w->plan.shortens)
		world_after(w, rng_range(&w->rng, 0, w->plan.lease_ms * 2000), turn, w,
			rng_percent(&w->rng, 50), NULL);
}
