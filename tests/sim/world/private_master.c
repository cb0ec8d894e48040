/* private_master: see private_master.h. */
#include "tests/sim/world/private_master.h"

#include "tests/sim/world/world.h"

void
private_master_draw(struct plan *plan, struct rng *rng)
{
	static const enum fault none[] = {FAULT_CLONE, FAULT_STALE, FAULT_WHOLE, FAULT_REVERT, FAULT_SWAP,
		FAULT_FULL, FAULT_EVICT, FAULT_READONLY, FAULT_LOADING, FAULT_MISCONF};
	plan->private = rng_percent(rng, 8) && plan->masters == 1;
	if (!plan->private)
		return;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		plan->fault[none[i]] = false;
	plan->hosts = 1;
	plan->rolls = plan->halves = plan->redisson = plan->redsync = false;
	/* A daemon that has just started cannot see that a clock jumped: see plan_possible(). */
	if (plan->fault[FAULT_JUMP] || plan->fault[FAULT_FAST])
		return;
	plan->fault[FAULT_CRASH] = plan->fault[FAULT_EMPTY] = true;
	plan->fault[FAULT_DRAIN] |= rng_percent(rng, 50);
}

/* By the clock of the host, which goes on when no daemon runs there. */
void
private_master_begin(struct host *h, struct core_settings *settings)
{
	int64_t left_us = h->relied_us - h->world->now_us;
	int64_t until_ms = host_ms(h) + left_us * (1000000 + h->ppm) / INT64_C(1000000000) + 1;
	h->hello_us = INT64_MAX;
	h->begun_us = h->relied_us;
	/* The first daemon knows of no earlier one. */
	if (h->world->plan.private && h->life > 1)
		settings->relied_until_ms = until_ms > 1 ? until_ms : 1;
}

void
private_master_step(struct host *h)
{
	struct core_counts counts;
	if (!h->world->plan.private)
		return;
	core_view_counts(h->core, &counts);
	if (counts.grants + counts.withheld == 0)
		return;
	int64_t until_us = host_true_us(h, host_ms(h) + h->world->plan.lease_ms);
	if (until_us > h->relied_us)
		h->relied_us = until_us;
}

void
private_master_end(struct host *h)
{
	struct world *w = h->world;
	if (!w->plan.private)
		return;
	/* In order it tells what is left. */
	if (h->ending) {
		int64_t until_us = host_true_us(h, core_relied_until(h->core));
		h->relied_us = until_us > h->begun_us ? until_us : h->begun_us;
	}
	server_crash(&w->servers[0], NULL, 0);
}

void
private_master_hello(struct host *h)
{
	if (h->hello_us == INT64_MAX)
		h->hello_us = h->world->now_us;
}

bool
private_master_guarded(const struct server *s)
{
	const struct world *w = s->world;
	const struct host *h = &w->hosts[0];
	return w->plan.private && h->life > 1 && s->ended_us <= h->hello_us && s->forgot_us <= h->hello_us &&
	       w->now_us >= h->begun_us - 2000;
}
