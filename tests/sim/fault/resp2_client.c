/* resp2_client: see resp2_client.h. */
#include "tests/sim/fault/resp2_client.h"

#include "tests/sim/world/world.h"

static void
resp2_client_turns(struct conn *c, bool on)
{
	trace_line(&c->world->trace, c->world->now_us, "c%u > d%u HELLO %d", c->client->index, c->host->index,
		on ? 2 : 3);
	c->deaf = on;
	host_step(c->host, &(struct event){.type = EVENT_NO_PUSH, .conn = c->id, .no_push = on});
}

static bool
waits_for_push(const struct conn *c)
{
	return c != NULL && c->open && !c->ending && !c->left && !c->busy && c->queued && !c->deaf &&
	       c->host->paused_until_us <= c->world->now_us;
}

static void
resp2_client_turn(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	struct conn *c = w->clients[rng_range(&w->rng, 0, w->plan.clients - 1)].conn;
	(void)a;
	(void)data;
	if (w->phase == PHASE_DRAIN)
		return;
	if (waits_for_push(c))
		resp2_client_turns(c, true);
	world_after(w, rng_range(&w->rng, 0, w->plan.lease_ms * 100), resp2_client_turn, w, 0, NULL);
}

void
resp2_client_watch(struct world *w)
{
	if (w->plan.resp2)
		world_after(w, 0, resp2_client_turn, w, 0, NULL);
}

void
resp2_client_before(struct conn *c)
{
	const struct request *r = &c->current;
	if (c->deaf && (r->id[0] != '\0' || r->onloss == ONLOSS_PUSH))
		resp2_client_turns(c, false);
}

void
resp2_client_closes(const struct conn *c)
{
	for (struct wait *v = c->world->checker.waits; v != NULL && c->deaf; v = v->next)
		v->loose |= v->conn == c && v->id[0] != '\0';
}

bool
resp2_client_push(struct conn *c, const struct push *push)
{
	if (c->deaf && push->type == PUSH_GRANT)
		world_fail(c->world, "resp2: d%u gives c%u a lock by a push, and it takes none",
			c->host->index, c->client->index);
	if (c->deaf)
		conn_close_by_host(c->host, c->id);
	return c->deaf;
}
