/* stun: see stun.h. */
#include "tests/sim/stun.h"

#include "tests/sim/world.h"

#include <assert.h>
#include <stdlib.h>

/* What this daemon relies on is over sooner than it thinks. */
static void
taint(struct host *h, int64_t for_us)
{
	struct world *w = h->world;
	for (unsigned i = 0; i < w->plan.names; i++)
		held_taint_at(h, i);
	for (struct hold *hold = w->checker.holds; hold != NULL; hold = hold->next)
		if (hold->host == h && hold->host_life == h->life && hold->valid_us > w->now_us - for_us)
			hold->valid_us += for_us;
}

static void
stun_over(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	int64_t *for_us = data;
	if (h->alive && h->life == life) {
		taint(h, *for_us);
		/* In whole ms, and not before what it showed when this began. */
		host_stand_still(h, *for_us * (1000000 + h->ppm) / INT64_C(1000000000));
		h->stunned_us = h->world->now_us;
	}
	free(data);
}

void
stun(struct host *h, int64_t for_us)
{
	struct world *w = h->world;
	int64_t *copy = malloc(sizeof(*copy));
	assert(copy != NULL);
	*copy = for_us;
	h->paused_until_us = w->now_us + for_us;
	taint(h, 0);
	/* Before anything that waits for the end of it. */
	world_after(w, for_us - 1, stun_over, h, h->life, copy);
}
