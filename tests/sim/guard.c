/* guard: see guard.h. */
#include "tests/sim/guard.h"

#include "tests/sim/world.h"

#include <inttypes.h>

/* The longest lease and the margin; a daemon's clock may run faster by less than it adds to that. */
static int64_t
guard_us(const struct world *w)
{
	return (w->plan.lease_ms + w->plan.margin_ms) * 1000;
}

void
guard_taken(struct server *s, const struct call *call)
{
	struct world *w = s->world;
	int64_t since_us = s->ended_us > s->forgot_us ? s->ended_us : s->forgot_us;
	if (call->op != CALL_ACQUIRE || since_us == 0 || w->now_us - since_us >= guard_us(w))
		return;
	world_fail(w,
		"guard: m%u grants %.*s, %" PRId64 " us before a guard since it may have forgotten is over",
		s->index, (int)call->name.n, call->name.p, since_us + guard_us(w) - w->now_us);
}

/* A memory that was given up since then, and is admitted, was guarded. */
void
guard_note(struct host *h, const struct note *n)
{
	if (n->type == NOTE_MASTER_LEAPT)
		h->shuns_us[n->master] = h->world->now_us;
	else if (n->type == NOTE_MASTER_ADMITTED)
		h->shuns_us[n->master] = 0;
}

void
guard_leased(struct host *h, unsigned name)
{
	struct world *w = h->world;
	unsigned sound = 0;
	if (w->plan.replicas > 0)
		return;
	for (unsigned i = 0; i < h->masters; i++)
		sound += h->shuns_us[i] == 0 || w->now_us - h->shuns_us[i] >= guard_us(w);
	if (sound < h->masters / 2 + 1)
		world_fail(w,
			"guard: d%u gets a lease of %s, and to it the clocks of all but %u masters leapt",
			h->index, checker_name(name), sound);
}
