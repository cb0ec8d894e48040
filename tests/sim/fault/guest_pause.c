/* guest_pause: see guest_pause.h. */
#include "tests/sim/fault/guest_pause.h"

#include "tests/sim/fault/fault.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* Never earlier than before: the answers that wait until then must stay in order. */
static void
wire_late(struct wire *wire, int64_t until_us)
{
	if (until_us > wire->late_until_us)
		wire->late_until_us = until_us;
}

/* What was sent to it meanwhile is sent again, on each connection by a timer of its own. */
static void
answers_come_late(struct host *h)
{
	struct world *w = h->world;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		for (unsigned k = 0; k < w->plan.links; k++)
			if (rng_percent(&w->rng, 40))
				wire_late(&h->ways[i].wires[k],
					w->now_us + rng_range(&w->rng, 0, w->plan.lease_ms * 300));
}

static void
guest_pause_over(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	int64_t *for_us = data;
	if (h->alive && h->life == life) {
		/* In whole ms, and not before what it showed when this began. */
		host_stand_still(h, *for_us * (1000000 + h->ppm) / INT64_C(1000000000));
		answers_come_late(h);
	}
	free(data);
}

/* When it goes on, one master shows nothing for a while, and another less than the rest, as its clock was set
 * back meanwhile. */
static void
masters_differ(struct host *h, int64_t for_us)
{
	struct world *w = h->world;
	unsigned one = (unsigned)rng_range(&w->rng, 0, w->plan.masters - 1);
	route_cut(&h->ways[one], false, true,
		w->now_us + for_us + rng_range(&w->rng, 0, w->plan.lease_ms * 1000));
	if (w->plan.fault[FAULT_BACK])
		fault_back(
			&w->servers[(one + 1) % w->plan.masters], rng_range(&w->rng, for_us / 4, for_us / 2));
}

void
guest_pause_later(struct host *h, int64_t for_us)
{
	h->stun_us = for_us;
}

void
guest_pause_answered(struct host *h, const struct call *call)
{
	int64_t for_us = h->stun_us;
	if (for_us == 0 || h->world->phase != PHASE_FAULTS || !h->alive || call->op != CALL_RENEW ||
		h->paused_until_us > h->world->now_us)
		return;
	h->stun_us = 0;
	stun(h, for_us);
}

void
stun(struct host *h, int64_t for_us)
{
	struct world *w = h->world;
	int64_t *copy = malloc(sizeof(*copy));
	assert(copy != NULL);
	*copy = for_us;
	h->paused_until_us = w->now_us + for_us;
	trace_kept(&w->trace, w->now_us, "d%u     stands still, and its clock, for %" PRId64 " ms", h->index,
		for_us / 1000);
	if (w->plan.masters > 1 && rng_percent(&w->rng, 40))
		masters_differ(h, for_us);
	/* Before anything that waits for the end of it. */
	world_after(w, for_us - 1, guest_pause_over, h, h->life, copy);
}
