/* following: see following.h. */
#include "tests/sim/judge/following.h"

#include "tests/sim/world/world.h"

static bool
rests_on_replicas(const struct vote *vote)
{
	if (vote->op == CALL_LATCH)
		return vote->outcome == OUTCOME_YES || vote->outcome == OUTCOME_NO;
	if (vote->outcome != OUTCOME_YES)
		return false;
	return vote->op == CALL_ACQUIRE || vote->op == CALL_RENEW || vote->op == CALL_ADOPT ||
	       vote->op == CALL_RECLAIM || vote->op == CALL_ADMIT ||
	       (vote->op == CALL_HELLO && vote->hello == HELLO_GOOD);
}

void
following_told(const struct flight *f, const struct vote *vote)
{
	const struct host *h = f->wire->way->host;
	const struct server *s = f->wire->way->server;
	struct world *w = h->world;
	if (w->plan.replicas == 0 || !rests_on_replicas(vote))
		return;
	if (!replication_known(s, &f->reach))
		world_fail(w, "following: d%u believes a %s of m%u that too few servers have", h->index,
			scripts[vote->op].name, s->index);
	/* Replicas that have left it may have acknowledged all that was there before. A lease that is there
	 * for long enough already needs no more; for what is not there, or may have changed, they must
	 * follow. */
	else if (!f->wrote && (vote->op == CALL_LATCH || vote->op == CALL_HELLO))
		world_fail(w, "following: d%u believes a %s of m%u that left nothing to acknowledge",
			h->index, scripts[vote->op].name, s->index);
}
