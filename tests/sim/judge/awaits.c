/* awaits: see awaits.h. */
#include "tests/sim/judge/awaits.h"

#include "tests/sim/world/world.h"

void
awaits_called(struct host *h, const struct call *call)
{
	if (call->op == CALL_LATCH)
		h->world->latches.asked[h->index] = call->attempt;
}

void
awaits_voted(struct host *h, const struct vote *vote)
{
	bool there = vote->outcome == OUTCOME_YES, none = vote->outcome == OUTCOME_NO;
	if (vote->op != CALL_LATCH || (!there && !none))
		return;
	for (struct latch_wait *v = h->world->latches.waits; v != NULL; v = v->next) {
		if (v->conn->host != h || v->conn->host_life != h->life || vote->attempt <= v->after ||
			v->conn->current.verb != VERB_LATCH_AWAIT ||
			!slice_equal(vote->name, slice_of(latches_name(v->name))))
			continue;
		v->gone |= v->first != 0 && (none || vote->latch.id != v->first);
		if (there && v->first == 0)
			v->first = vote->latch.id;
	}
}

void
awaits_step(struct world *w, const struct host *host)
{
	for (struct latch_wait *v = w->latches.waits; v != NULL; v = v->next) {
		if (v->gone && !leaps_noted(host) && v->conn->host == host &&
			v->conn->host_life == host->life && v->conn->open && !v->conn->ending &&
			!v->conn->closing)
			world_fail(w, "latch: c%u waits on for %s, and the latch that it found has ended",
				v->conn->client->index, latches_name(v->name));
	}
}
