/* drain: see drain.h. */
#include "tests/sim/drain.h"

#include "tests/sim/world.h"

#include <string.h>

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

/* Who waits is answered, and who holds is told by the end of its connection, in the same step (G15). */
void
drain_began(struct world *w, const struct host *host)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		if (v->conn->host == host && v->conn->host_life == host->life && !v->stray)
			world_fail(w, "drain: c%u still waits for %s at d%u", v->conn->client->index,
				checker_name(v->name), host->index);
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		const struct conn *c;
		if (h->host != host || h->host_life != host->life || h->lost || h->untold ||
			h->valid_us <= w->now_us)
			continue;
		LIST_FOREACH (c, &w->conns.open[host->index], in_place)
			if (c->host == host && c->host_life == host->life && c->open && !c->ousted &&
				!c->ending && !c->closing && conn_session(c) == h->session)
				world_fail(w, "drain: c%u holds %s and is not told that d%u stops",
					c->client->index, checker_name(h->name), host->index);
	}
	check_unused(w, host);
}

void
drain_ended(struct world *w, const struct host *host)
{
	check_unused(w, host);
}
