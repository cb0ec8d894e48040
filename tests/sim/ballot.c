/* ballot: see ballot.h. */
#include "tests/sim/ballot.h"

#include "tests/sim/world.h"

#include <inttypes.h>

static struct ballot *
ballot_of(struct host *h, unsigned name)
{
	struct ballot *b = &h->world->ballots[h->index][name];
	if (b->life != h->life)
		*b = (struct ballot){.life = h->life};
	return b;
}

/* Of permits a daemon may have several leases; and where the set is changed, masters change their places. */
static bool
is_judged(const struct host *h, unsigned name)
{
	return !plan_counts(&h->world->plan, name) && !h->world->plan.changes;
}

/* Its clock leapt, and it has not been admitted since: for a guard. */
static bool
is_shunned(const struct host *h, unsigned master)
{
	const struct plan *p = &h->world->plan;
	return h->shuns_us[master] != 0 &&
	       h->world->now_us - h->shuns_us[master] < (p->lease_ms + p->margin_ms) * 1000;
}

void
ballot_vote(struct host *h, const struct call *call, const struct vote *v)
{
	struct master_view master;
	if (call->op != CALL_ACQUIRE || !is_judged(h, checker_name_of(call->name)))
		return;
	struct ballot *b = ballot_of(h, checker_name_of(call->name));
	if (call->attempt < b->attempt)
		return; /* it has begun anew since */
	if (b->attempt != call->attempt)
		*b = (struct ballot){.life = h->life, .attempt = call->attempt};
	b->master = v->master;
	b->yes &= ~(1U << v->master);
	core_view_master(h->core, host_ms(h), v->master, &master);
	if (v->outcome == OUTCOME_YES && master.incarnation == call->incarnation && !is_shunned(h, v->master))
		b->yes |= 1U << v->master;
}

void
ballot_leased(struct host *h, unsigned name)
{
	struct ballot *b = ballot_of(h, name);
	unsigned yes = b->yes, n = 0;
	if (!is_judged(h, name))
		return;
	/* That its clock leapt may show by this very answer. */
	if (h->shuns_us[b->master] == h->world->now_us)
		yes &= ~(1U << b->master);
	for (; yes != 0; yes &= yes - 1)
		n++;
	if (n < h->masters / 2 + 1)
		world_fail(h->world,
			"ballot: d%u gets a lease of %s by attempt %" PRIu64
			", and only %u of %u masters gave it so that it counts",
			h->index, checker_name(name), b->attempt, n, h->masters);
}
