/* following: see following.h. */
#include "tests/sim/following.h"

#include "tests/sim/world.h"

static bool
rests_on_replicas(const struct vote *vote)
{
	if (vote->outcome != OUTCOME_YES)
		return false;
	return vote->op == CALL_ACQUIRE || vote->op == CALL_RENEW || vote->op == CALL_RECLAIM ||
	       vote->op == CALL_ADMIT || (vote->op == CALL_HELLO && vote->greeting == GREETING_GOOD);
}

void
following_told(const struct flight *f, const struct vote *vote)
{
	const struct host *h = f->wire->way->host;
	const struct server *s = f->wire->way->server;
	struct world *w = h->world;
	if (w->plan.replicas == 0 || !rests_on_replicas(vote) || replication_known(s, &f->reach))
		return;
	world_fail(w, "following: d%u believes a %s of m%u that too few servers have", h->index,
		scripts[vote->op].name, s->index);
}
