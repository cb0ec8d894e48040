/* evict: see evict.h. */
#include "tests/sim/fault/evict.h"

#include "tests/sim/fault/foreign_writes.h"
#include "tests/sim/world/world.h"

static void
policy_over(void *arg, uint64_t life, void *data)
{
	struct server *s = arg;
	(void)data;
	if (s->life != life)
		return;
	master_health(s->master)->evicting = false;
	trace_line(&s->world->trace, s->world->now_us, "m%u     evicts no more", s->index);
}

void
evict(struct server *s)
{
	struct world *w = s->world;
	int gone = 0;
	for (unsigned i = 0; i < w->plan.names; i++)
		if (plan_first(&w->plan, i) == i && plan_breaks(&w->plan, ASSUMES_WRITES, i) &&
			rng_percent(&w->rng, 70))
			gone += foreign_writes_evict(s, i);
	/* The other keys are nobody's, or are made again. */
	master_health(s->master)->evicted += gone;
	if (gone > 0)
		s->evicted_us = w->now_us;
	master_health(s->master)->evicting = true;
	world_after(w, rng_range(&w->rng, 1000, w->plan.lease_ms * 1000), policy_over, s, s->life, NULL);
}

void
evict_hello(struct server *s, const struct vote *vote)
{
	struct world *w = s->world;
	if (vote->op != CALL_HELLO || vote->outcome != OUTCOME_YES || vote->hello != HELLO_GOOD ||
		s->evicted_us == 0)
		return;
	if (vote->admitted)
		world_fail(w, "guard: m%u has evicted leases, and is used on without a guard", s->index);
	s->evicted_us = 0;
	/* Its guard begins. */
	s->ended_us = w->now_us;
}
