/* ballot: see ballot.h. */
#include "tests/sim/judge/ballot.h"

#include "tests/sim/judge/guard.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

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

/* Whom this answer names, who has the name instead. */
static void
note_owner(struct ballot *b, const struct vote *v)
{
	char *owner = b->owner[v->master];
	bool refused = v->outcome == OUTCOME_BUSY || v->outcome == OUTCOME_NO;
	if (v->outcome == OUTCOME_YES || v->outcome == OUTCOME_WRONGKIND || refused)
		owner[0] = '\0';
	if (refused && v->holder.n > 0 && v->holder.n < BALLOT_OWNER) {
		memcpy(owner, v->holder.p, v->holder.n);
		owner[v->holder.n] = '\0';
	}
}

/* How many of its masters name the same other owner. */
static unsigned
most_name(const struct host *h, const struct ballot *b)
{
	unsigned most = 0, members = core_members(h->core);
	for (unsigned i = 0; i < members; i++) {
		unsigned same = 0;
		for (unsigned k = 0; k < members; k++)
			same += b->owner[i][0] != '\0' && strcmp(b->owner[i], b->owner[k]) == 0;
		most = same > most ? same : most;
	}
	return most;
}

void
ballot_heard(struct host *h, const struct vote *v)
{
	unsigned name;
	struct resource_view view;
	if ((v->op != CALL_ACQUIRE && v->op != CALL_RENEW && v->op != CALL_RECLAIM) ||
		!is_judged(h, name = checker_name_of(v->name)))
		return;
	struct ballot *b = ballot_of(h, name);
	if (v->attempt != b->attempt || most_name(h, b) < core_members(h->core) / 2 + 1)
		return;
	if (core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) &&
		strcmp(view.lease, "held") == 0)
		world_fail(h->world,
			"loss: d%u has heard from %u of %u masters that another has %s, and keeps its lease",
			h->index, most_name(h, b), core_members(h->core), checker_name(name));
}

void
ballot_vote(struct host *h, const struct call *call, const struct vote *v)
{
	struct master_view master;
	bool keeps = call->op == CALL_RENEW || call->op == CALL_RECLAIM;
	if (keeps && is_judged(h, checker_name_of(call->name)) &&
		call->attempt == ballot_of(h, checker_name_of(call->name))->attempt)
		note_owner(ballot_of(h, checker_name_of(call->name)), v);
	if (call->op != CALL_ACQUIRE || !is_judged(h, checker_name_of(call->name)))
		return;
	struct ballot *b = ballot_of(h, checker_name_of(call->name));
	if (call->attempt < b->attempt)
		return; /* it has begun anew since */
	if (b->attempt != call->attempt)
		*b = (struct ballot){.life = h->life, .attempt = call->attempt};
	note_owner(b, v);
	b->yes &= ~(1U << v->master);
	core_view_master(h->core, host_ms(h), v->master, &master);
	if (v->outcome == OUTCOME_YES && master.incarnation == call->incarnation)
		b->yes |= 1U << v->master;
}

void
ballot_leased(struct host *h, unsigned name)
{
	struct ballot *b = ballot_of(h, name);
	unsigned yes = b->yes, n = 0;
	if (!is_judged(h, name))
		return;
	for (; yes != 0; yes &= yes - 1)
		n++;
	if (n < h->masters / 2 + 1)
		world_fail(h->world,
			"ballot: d%u gets a lease of %s by attempt %" PRIu64
			", and only %u of %u masters gave it so that it counts",
			h->index, checker_name(name), b->attempt, n, h->masters);
}
