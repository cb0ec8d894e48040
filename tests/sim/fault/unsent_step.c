/* unsent_step: see unsent_step.h. */
#include "tests/sim/fault/unsent_step.h"

#include "tests/sim/judge/inventory.h"
#include "tests/sim/judge/oracle.h"
#include "tests/sim/world/world.h"

#include <string.h>

/* Of a session, what it has asked for in this step: nobody was told that it has it. */
static void
tear_session(struct host *h, const struct session_view *view)
{
	struct world *w = h->world;
	struct conn *c;
	LIST_FOREACH (c, &w->conns.open[h->index], in_place) {
		enum verb verb = c->current.verb;
		if (!c->running || conn_session(c) != view->id)
			continue;
		if (verb == VERB_SESSION_GRACE || verb == VERB_SESSION_HEARTBEAT)
			session_terms_torn(w, c, view->grace_ms, view->heartbeat_ms);
		if (verb == VERB_SESSION_BIND && c->pid == view->bound_pid &&
			oracle_bound(w, c, c->pid) == NULL)
			c->bound = true;
	}
}

static void
tear_sessions(struct host *h, const struct inventory *f, const struct durable *d)
{
	struct world *w = h->world;
	struct conn *c;
	for (size_t i = 0; i < f->sessions_n; i++)
		tear_session(h, &f->sessions[i]);
	for (struct session_terms *p = w->checker.pacts.living[h->index]; p != NULL; p = p->next_living)
		p->over |= durable_pact(p, h, h->life) && inventory_session(f, p->session) == NULL;
	for (size_t i = 0; i < d->n; i++) {
		const struct session_view *view = inventory_session(f, d->of[i].session);
		LIST_FOREACH (c, conns_tagged(&w->conns, d->of[i].tag), in_tag)
			if (c->tag == d->of[i].tag && (view == NULL || view->bound_pid == 0))
				c->unbound = true;
	}
}

/* EXTEND sets the end anew, sooner too. From its sending on the holder relies on the hold until then at most,
 * whether or not it is answered. */
static void
tear_extended(struct host *h, struct hold *hold, int64_t extend_ms)
{
	grants_extended(hold, extend_ms);
	int64_t ends_us = host_true_us(h, hold->ends_ms);
	hold->valid_us = hold->valid_us < ends_us ? hold->valid_us : ends_us;
	hold->told_us = hold->told_us < ends_us ? hold->told_us : ends_us;
	hold->longest_ms = hold->longest_ms < hold->ends_ms ? hold->longest_ms : hold->ends_ms;
}

/* Whether what it asks for in this step claims the hold (3.46), if the hold is there afterwards. */
static bool
tear_names(const struct conn *c, const struct hold *hold)
{
	const struct request *r = &c->current;
	bool named = r->name == hold->name;
	for (unsigned i = 0; i < r->count; i++)
		named |= r->names[i] == hold->name;
	if (!named || strcmp(r->owner, hold->owner) != 0 || (r->token != 0 && r->token != hold->token))
		return false;
	return r->verb == VERB_LOCK
		       ? held_names(c, r->owner)
		       : r->verb == VERB_CHECK || r->verb == VERB_EXTEND || r->verb == VERB_UNLOCK ||
				 r->verb == VERB_DOWNGRADE || r->verb == VERB_MUNLOCK;
}

/* The end of a hold, or what was given by it, in this step. */
static void
tear_hold(struct host *h, struct hold *hold, const struct inventory_hold *is)
{
	const struct conn *c;
	if (!inventory_held(is)) {
		hold->torn = true;
		losses_torn(h, hold);
		return;
	}
	hold->kind = is->view.kind;
	if (!hold->unannounced)
		hold->count = is->view.count;
	LIST_FOREACH (c, &h->world->conns.open[h->index], in_place)
		if (c->running && conn_session(c) == hold->session && tear_names(c, hold))
			held_asked(c, hold);
	LIST_FOREACH (c, &h->world->conns.open[h->index], in_place)
		if (c->running && c->current.verb == VERB_EXTEND && conn_session(c) == hold->session &&
			c->current.name == hold->name && strcmp(c->current.owner, hold->owner) == 0 &&
			hold->leased)
			tear_extended(h, hold, c->current.extend_ms);
}

/* A client that has asked for a DOWNGRADE of an exclusive hold relies on a shared one at most, answered or
 * not. */
static void
tear_downgrades(struct host *h)
{
	struct conn *c;
	LIST_FOREACH (c, &h->world->conns.open[h->index], in_place) {
		struct hold *hold = c->running && c->current.verb == VERB_DOWNGRADE
					    ? held_by(h->world, c, c->current.name, c->current.owner)
					    : NULL;
		if (hold != NULL && hold->kind == KIND_EXCLUSIVE)
			hold->kind = KIND_SHARED;
	}
}

static void
tear_choices(struct host *h)
{
	const struct conn *c;
	LIST_FOREACH (c, &h->world->conns.open[h->index], in_place)
		if (c->running && c->current.verb == VERB_SESSION_ONLOSS)
			losses_torn_choice(h->world, c);
}

void
torn(struct host *h)
{
	static struct inventory f;
	struct world *w = h->world;
	struct durable before, after;
	struct core_settings settings = h->settings;
	settings.daemon_id = NULL;
	struct core *core = recovery_core(h, &settings, ledgers_left(h));
	if (core == NULL)
		return;
	inventory_all(&f, h, core);
	durable_list(&before, h, h->life);
	tear_sessions(h, &f, &before);
	durable_list(&after, h, h->life);
	tear_downgrades(h);
	for (struct hold *hold = w->checker.holds; hold != NULL; hold = hold->next)
		if (hold->host == h && hold->host_life == h->life && !hold->lost && !hold->unannounced &&
			durable_is(&after, hold->tag))
			tear_hold(h, hold, inventory_hold(&f, hold->name, hold->token));
	for (size_t i = 0; i < f.holds_n; i++)
		if (inventory_held(&f.holds[i]) &&
			held_with(w, h, f.holds[i].name, f.holds[i].view.token) == NULL)
			grants_torn(h, f.holds[i].name, &f.holds[i].view);
	losses_forgettable(h);
	tear_choices(h);
	core_free(core);
}
