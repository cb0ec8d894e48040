/* owed_releases: see owed_releases.h. */
#include "tests/sim/judge/owed_releases.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

static struct owed_releases *
owed_releases_of(struct host *h, unsigned master, unsigned name)
{
	struct owed_releases *d = &h->world->debts[h->index][master][name];
	if (d->life != h->life)
		*d = (struct owed_releases){.life = h->life};
	return d;
}

/* A semaphore has several leases at a time; what it owes is looked for when the world drains. */
static bool
owed_releases_many(const struct host *h, unsigned name)
{
	return plan_counts(&h->world->plan, name);
}

/* The daemon has done with this attempt: unless it has released it, it must have noted that it will. */
static void
owed_releases_due(struct host *h, unsigned master, unsigned name, struct owed_releases *d)
{
	struct core_counts n;
	core_view_counts(h->core, &n);
	if ((d->owed || d->asking) && n.releasing == 0)
		world_fail(h->world,
			"release: d%u has done with acquire %" PRIu64 " of %s and does not release it at m%u",
			h->index, d->attempt, checker_name(name), master);
	*d = (struct owed_releases){.life = h->life};
}

void
owed_releases_call(struct host *h, const struct call *call)
{
	if ((call->op != CALL_ACQUIRE && call->op != CALL_RELEASE) || h->world->plan.changes)
		return;
	unsigned name = checker_name_of(call->name);
	if (owed_releases_many(h, name))
		return;
	struct owed_releases *d = owed_releases_of(h, call->master, name);
	if (call->op == CALL_ACQUIRE) {
		/* A new attempt: it has done with the last one at every master. */
		for (unsigned k = 0; k < h->world->plan.masters; k++)
			if (owed_releases_of(h, k, name)->attempt != call->attempt)
				owed_releases_due(h, k, name, owed_releases_of(h, k, name));
		d->attempt = call->attempt;
		d->asking = true;
	} else if (d->attempt == call->attempt) {
		*d = (struct owed_releases){.life = h->life};
	}
}

void
owed_releases_vote(struct host *h, const struct vote *vote)
{
	if ((vote->op != CALL_ACQUIRE && vote->op != CALL_RENEW && vote->op != CALL_RECLAIM) ||
		h->world->plan.changes)
		return;
	unsigned name = checker_name_of(vote->name);
	struct owed_releases *d = owed_releases_of(h, vote->master, name);
	if (owed_releases_many(h, name) || d->attempt != vote->attempt)
		return;
	if (vote->op == CALL_ACQUIRE)
		d->asking = false;
	switch (vote->outcome) {
	case OUTCOME_YES:
		d->owed = true;
		return;
	case OUTCOME_UNKNOWN:
		d->owed |= vote->op == CALL_ACQUIRE;
		return;
	case OUTCOME_BUSY:
	case OUTCOME_NO:
	case OUTCOME_WRONGKIND:
		d->owed = false; /* somebody else has it */
		return;
	default:
		return;
	}
}

void
owed_releases_step(struct host *h)
{
	struct world *w = h->world;
	for (unsigned i = 0; i < w->plan.names && !w->plan.changes; i++) {
		struct resource_view view;
		if (core_view_resource(h->core, host_ms(h), slice_of(checker_name(i)), &view) &&
			(strcmp(view.lease, "held") == 0 || strcmp(view.lease, "acquiring") == 0))
			continue;
		for (unsigned k = 0; k < w->plan.masters; k++)
			owed_releases_due(h, k, i, owed_releases_of(h, k, i));
	}
}
