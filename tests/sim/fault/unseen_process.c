/* unseen_process: see unseen_process.h. */
#include "tests/sim/fault/unseen_process.h"

#include "tests/sim/judge/withheld.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>

/* By a random number of its own, so that all else is as it was. */
static bool
is_blind(const struct host *h)
{
	struct rng rng = {h->world->plan.seed * UINT64_C(0xd6e8feb86659fd93) + h->life * 64 + h->index + 41};
	return rng_percent(&rng, 25);
}

/* The connection whose session is bound to it; NULL: none, or a client has come back to that meanwhile. */
static struct conn *
bound_to(const struct host *h, int64_t pid)
{
	struct conn *c, *other, *bound = NULL;
	LIST_FOREACH (c, &h->world->conns.all, in_world)
		if (c->host == h && c->host_life == h->life && c->pid == pid && c->bound && !c->unbound)
			bound = c;
	if (bound == NULL)
		return NULL;
	LIST_FOREACH (other, conns_tagged(&h->world->conns, bound->tag), in_tag)
		if (other->tag == bound->tag && other->host == h && other->open)
			return NULL;
	return bound;
}

/* It lasts for its grace from now on, or is over. */
static void
no_process_keeps(struct host *h, const struct conn *bound)
{
	struct conn *c;
	struct session_terms *p = session_terms_living(h->world, h);
	LIST_FOREACH (c, conns_tagged(&h->world->conns, bound->tag), in_tag)
		if (c->tag == bound->tag)
			c->unbound = true;
	while (p != NULL && p->tag != bound->tag)
		p = p->next_living;
	if (p == NULL)
		return;
	p->over = p->grace_ms == 0;
	p->graced = p->grace_ms > 0;
	p->cut_ms = host_ms(h);
	p->cut_grace_ms = p->grace_ms;
}

static void
looks(void *arg, uint64_t pid, void *data)
{
	struct host *h = arg;
	uint64_t life = h->life;
	const struct conn *bound = h->alive ? bound_to(h, (int64_t)pid) : NULL;
	(void)data;
	if (bound == NULL || h->recovery.at_us != h->world->now_us || h->paused_until_us > h->world->now_us)
		return;
	no_process_keeps(h, bound);
	trace_line(&h->world->trace, h->world->now_us, "d%u     cannot see process %" PRIu64, h->index, pid);
	host_step(h, &(struct event){.type = EVENT_UNSEEN, .process = {(int64_t)pid, 1, 3}});
	if (!h->alive || h->life != life || session_terms_of(h->world, h, bound->session) != NULL)
		return;
	withheld_left(h->world, h, bound->session);
	losses_end(h->world, h, bound->session);
}

void
unseen_process_watched(struct host *h, int64_t pid)
{
	if (h->recovery.at_us == h->world->now_us && h->recovery.strange == 0 && is_blind(h))
		world_after(h->world, 0, looks, h, (uint64_t)pid, NULL);
}
