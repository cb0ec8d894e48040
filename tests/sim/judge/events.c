/* events: see events.h. */
#include "tests/sim/judge/events.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>

void
events_note(struct host *host, const struct note *n)
{
	struct world *w = host->world;
	bool end = n->type == NOTE_RELEASED || n->type == NOTE_LOST || n->type == NOTE_WITHHELD;
	if (n->type != NOTE_GRANTED && !end)
		return;
	struct events *e = &w->events[host->index];
	if (n->type == NOTE_RELEASED && e->n < EVENTS_RELEASED)
		e->released[e->n++] = n->token;
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		if (h->host != host || h->host_life != host->life || h->token != n->token ||
			h->name != checker_name_of(n->name))
			continue;
		/* What is broken is withheld besides. */
		if (h->over && !(n->type == NOTE_WITHHELD && h->lost))
			world_fail(w, "events: d%u tells twice that %s with token %" PRId64 " has ended",
				host->index, checker_name(h->name), h->token);
		if (n->type == NOTE_GRANTED && n->session != h->session)
			world_fail(w,
				"events: d%u tells that session %" PRIu64
				" was granted %s, and it was %" PRIu64,
				host->index, n->session, checker_name(h->name), h->session);
		h->begun |= n->type == NOTE_GRANTED;
		h->over |= end;
	}
}

void
events_unlocked(struct world *w, const struct hold *h)
{
	w->events[h->host->index].unlocked = h->token;
}

void
events_look(struct world *w, const struct hold *h, bool there)
{
	if (!h->begun)
		world_fail(w, "events: d%u does not tell that it grants %s with token %" PRId64,
			h->host->index, checker_name(h->name), h->token);
	if (!there && !h->over && !h->unannounced && !h->lost)
		world_fail(w, "events: d%u does not tell the end of %s with token %" PRId64, h->host->index,
			checker_name(h->name), h->token);
}

void
events_step(struct world *w, const struct host *host)
{
	struct events *e = &w->events[host->index];
	bool told = e->unlocked == 0 || e->n == EVENTS_RELEASED;
	for (unsigned i = 0; i < e->n; i++)
		told |= e->released[i] == e->unlocked;
	if (!told)
		world_fail(w, "events: d%u does not tell that token %" PRId64 " is given back", host->index,
			e->unlocked);
	e->unlocked = 0;
	e->n = 0;
}
