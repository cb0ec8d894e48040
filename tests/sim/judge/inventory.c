/* inventory: see inventory.h. */
#include "tests/sim/judge/inventory.h"

#include "tests/sim/world/world.h"

#include <assert.h>
#include <string.h>

/* ---- what a core has ---- */

static bool
find_session(void *arg, const struct session_view *view)
{
	struct inventory *f = arg;
	assert(f->sessions_n < FOUND_SESSIONS);
	f->sessions[f->sessions_n++] = *view;
	return true;
}

static bool
find_hold(void *arg, const struct hold_view *view)
{
	struct inventory *f = arg;
	assert(f->holds_n < FOUND_HOLDS && view->owner.n < sizeof(f->holds[0].owner));
	struct inventory_hold *hold = &f->holds[f->holds_n++];
	*hold = (struct inventory_hold){.name = f->name, .view = *view};
	if (view->owner.n > 0)
		memcpy(hold->owner, view->owner.p, view->owner.n);
	return true;
}

void
inventory_all(struct inventory *f, const struct host *h, const struct core *core)
{
	scan_cursor cursor = 0;
	*f = (struct inventory){.host = h, .core = core};
	do
		cursor = core_scan_sessions(core, host_ms(h), cursor, SIZE_MAX, find_session, f);
	while (cursor != 0);
	for (f->name = 0; f->name < h->world->plan.names; f->name++)
		core_each_hold(core, host_ms(h), slice_of(checker_name(f->name)), find_hold, f);
}

const struct session_view *
inventory_session(const struct inventory *f, session_id id)
{
	for (size_t i = 0; i < f->sessions_n; i++)
		if (f->sessions[i].id == id)
			return &f->sessions[i];
	return NULL;
}

const struct inventory_hold *
inventory_hold(const struct inventory *f, unsigned name, int64_t token)
{
	for (size_t i = 0; i < f->holds_n; i++)
		if (f->holds[i].name == name && f->holds[i].view.token == token)
			return &f->holds[i];
	return NULL;
}

bool
inventory_held(const struct inventory_hold *f)
{
	return f != NULL && !f->view.withheld && f->view.session != 0;
}

/* ---- what the model has ---- */

bool
durable_is(const struct durable *d, uint64_t tag)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->of[i].tag == tag)
			return true;
	return false;
}

static void
durable_add(struct durable *d, uint64_t tag, session_id session)
{
	assert(d->n < FOUND_SESSIONS);
	if (durable_is(d, tag))
		return;
	d->of[d->n].tag = tag;
	d->of[d->n++].session = session;
}

bool
durable_pact(const struct session_terms *p, const struct host *h, uint64_t life)
{
	return p->host == h && p->host_life == life && !p->over;
}

/* Those of that life of the daemon. */
void
durable_list(struct durable *d, const struct host *h, uint64_t life)
{
	const struct world *w = h->world;
	const struct conn *c;
	d->n = 0;
	for (const struct session_terms *p = w->checker.pacts.living[h->index]; p != NULL; p = p->next_living)
		if (durable_pact(p, h, life) && p->grace_ms > 0)
			durable_add(d, p->tag, p->session);
	LIST_FOREACH (c, &w->conns.all, in_world) {
		const struct session_terms *p = session_terms_tagged(w, c->tag);
		if (c->host != h || c->host_life != life || !c->bound || c->unbound ||
			(!c->open && c->session == 0))
			continue;
		bool paired = p != NULL && durable_pact(p, h, life);
		durable_add(d, c->tag, paired ? p->session : c->open ? conn_session(c) : c->session);
	}
}
