/* latch_client: see latch_client.h. */
#include "tests/sim/world/latch_client.h"

#include "tests/sim/world/world.h"

#include <stdio.h>

int
latch_client_percent(const struct world *w)
{
	if (w->plan.masters > 1)
		return 2;
	return w->plan.seed % 4 == 0 || w->plan.flaps ? 85 : 30;
}

void
latch_client_turn(struct client *c)
{
	struct world *w = c->world;
	struct rng *rng = &w->rng;
	/* Of two sessions one may be the other's number with such a tag behind it. */
	static const char *const tags[] = {"1", "2", "12"};
	struct request r = {.wait_ms = COMMAND_WAIT_RULE};
	int chance = (int)rng_range(rng, 0, 99);
	r.name = PLAN_NAMES_MAX + (unsigned)rng_range(rng, 0, w->plan.latches - 1);
	if (chance < 25) {
		r.verb = VERB_LATCH_SET;
		r.steps = rng_range(rng, 1, 6);
		r.lease_ms = rng_percent(rng, 15) ? 0 : rng_range(rng, 1, 2 * w->plan.lease_ms);
		if (rng_percent(rng, 50) || w->plan.flaps)
			r.lease_ms /=
				8; /* so that another one is set while somebody still counts down this one */
	} else if (chance < 65) {
		r.verb = VERB_LATCH_DOWN;
		r.steps = rng_range(rng, 0, 3);
		if (rng_percent(rng, 60))
			snprintf(r.owner, sizeof(r.owner), "%s", tags[rng_range(rng, 0, 2)]);
	} else if (chance < 90) {
		r.verb = VERB_LATCH_AWAIT;
		r.wait_ms = rng_percent(rng, 20) ? 0 : rng_range(rng, 1, 6000);
	} else {
		r.verb = VERB_LATCH_COUNT;
	}
	client_send(c, &r);
	if (r.verb == VERB_LATCH_AWAIT && rng_percent(rng, 5)) {
		c->finished = true;
		conn_finish(c->conn);
	}
}
