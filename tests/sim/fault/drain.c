/* drain: see drain.h. */
#include "tests/sim/fault/drain.h"

#include "tests/sim/world/id_client.h"
#include "tests/sim/world/world.h"

#include <string.h>

#define END_US 300000 /* what it takes for the rest, at most */

/* What nobody holds is released at once. */
static void
check_unused(struct world *w, const struct host *host)
{
	struct resource_view view;
	for (unsigned i = 0; i < w->plan.names; i++)
		if (core_view_resource(host->core, host_ms(host), slice_of(checker_name(i)), &view) &&
			strcmp(view.lease, "held") == 0 && view.holds == 0)
			world_fail(w, "drain: d%u ends with a lease of %s that nobody uses", host->index,
				checker_name(i));
}

/* Who waits is answered in the same step. */
static void
check_answered(struct world *w, const struct host *host)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		if (v->conn->host == host && v->conn->host_life == host->life && !v->stray)
			world_fail(w, "drain: c%u still waits for %s at d%u", v->conn->client->index,
				checker_name(v->name), host->index);
}

/* Who holds is told by the end of its connection, likewise (G15). The session of an id has none. */
static void
check_told(struct world *w, const struct host *host)
{
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		const struct conn *c;
		if (h->host != host || h->host_life != host->life || h->lost || h->unannounced ||
			h->valid_us <= w->now_us)
			continue;
		LIST_FOREACH (c, &w->conns.open[host->index], in_place)
			if (c->host == host && c->host_life == host->life && c->open && !c->ousted &&
				!c->ending && !c->closing && !id_client_is(c) &&
				conn_session(c) == h->session)
				world_fail(w, "drain: c%u holds %s and is not told that d%u stops",
					c->client->index, checker_name(h->name), host->index);
	}
}

static void
drained(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	(void)data;
	if (!h->alive || h->life != life)
		return;
	if (h->paused_until_us <= h->world->now_us)
		check_unused(h->world, h);
	host_crash(h);
	ledgers_drop(h);
	if (h->world->phase != PHASE_FAULTS)
		host_start(h); /* what heals everything has been and gone */
}

static void
hurry(struct host *h)
{
	h->hurried = true;
	trace_line(&h->world->trace, h->world->now_us, "d%u     stops now", h->index);
	host_step(h, &(struct event){.type = EVENT_DRAIN});
	check_answered(h->world, h);
	check_told(h->world, h);
	check_unused(h->world, h);
}

static void
wait_over(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	(void)data;
	if (!h->alive || h->life != life || h->draining)
		return;
	if (h->paused_until_us > h->world->now_us)
		schedule_again(&h->world->schedule, h->paused_until_us);
	else
		hurry(h);
}

void
drain_begin(struct host *h)
{
	struct world *w = h->world;
	if (h->draining)
		return;
	if (h->refusing || rng_percent(&w->rng, 50)) {
		h->refusing = true;
		hurry(h);
		return;
	}
	h->refusing = true;
	h->hurried = false;
	h->drain_until_us = w->now_us + rng_range(&w->rng, 0, 3000 * w->plan.lease_ms);
	trace_line(&w->trace, w->now_us, "d%u     stops when nothing is held", h->index);
	world_after(w, h->drain_until_us - w->now_us, wait_over, h, h->life, NULL);
	host_step(h, &(struct event){.type = EVENT_DRAIN, .waits = true});
	check_answered(w, h);
	check_unused(w, h);
}

void
drain_step(struct host *h)
{
	struct core_counts counts;
	if (!h->refusing || h->draining)
		return;
	core_view_counts(h->core, &counts);
	bool held = counts.grants + counts.withheld > 0;
	h->draining = core_drained(h->core);
	if (h->draining && !h->hurried && held)
		world_fail(h->world, "drain: d%u does not wait for what is held there", h->index);
	if (!h->draining && !held && !core_ended(h->core))
		world_fail(h->world, "drain: d%u waits, and nothing is held there", h->index);
	if (h->draining)
		world_after(h->world, END_US, drained, h, h->life, NULL);
}
