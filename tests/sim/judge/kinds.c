/* kinds: see kinds.h. */
#include "tests/sim/judge/kinds.h"

#include "tests/sim/world/keys.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_US 50000
#define AGAIN_US 30000 /* the masters are asked once more after this, at the earliest */

static unsigned
form_of(const struct world *w, int64_t limit)
{
	return limit == 0 ? 0 : limit == w->plan.permits ? 1 : 2;
}

void
kinds_touched(struct world *w, unsigned name, int64_t limit)
{
	if (name < PLAN_NAMES_MAX)
		w->kinds.last_us[name][form_of(w, limit)] = w->now_us + 1;
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->told_us > w->now_us || h->valid_us > w->now_us)
			kinds_touched(w, h->name, h->limit);
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		kinds_touched(w, v->name, v->limit);
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		for (unsigned i = 0; i < v->conn->current.count; i++)
			kinds_touched(w, v->conn->current.names[i], 0);
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
kinds_watch(struct world *w)
{
	if (w->plan.permits > 0)
		world_after(w, 0, look, w, 0, NULL);
}

/* What is left of a dead daemon, or withheld, ends by then; a clock that steps back lets it live for longer.
 */
static int64_t
most_us(const struct world *w)
{
	return (3 * (w->plan.lease_ms + w->plan.margin_ms) + w->plan.crash_delay_ms + w->plan.retain_ms +
		       5000) *
	       1000;
}

static bool
was_so(const struct world *w, unsigned name, unsigned form)
{
	int64_t last_us = w->kinds.last_us[name][form];
	return last_us != 0 && w->now_us - last_us <= most_us(w);
}

/* ---- what is kept for nobody ---- */

/* Whether this daemon has a lease that it would give back if it heard that it is wanted. */
static bool
keeps(const struct host *h, unsigned name)
{
	struct resource_view view;
	return h->alive && !h->draining &&
	       core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) &&
	       strcmp(view.lease, "held") == 0 && view.holds == 0 && view.waiters == 0;
}

static bool
knows(const struct host *h, unsigned name)
{
	struct resource_view view;
	return h->alive && core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view);
}

static bool
keeper_has(const struct world *w, unsigned name, const char *owner)
{
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (keeps(&w->hosts[i], name) && strncmp(owner, w->hosts[i].call_settings.daemon_id, 32) == 0)
			return true;
	return false;
}

/* Nobody else has it at this master, or stands in its queue. */
static bool
is_kept_at(struct world *w, struct server *s, unsigned name)
{
	struct keys k;
	keys_read(&k, s, name);
	bool kept = k.lock != KEYS_STRANGE && !k.crowd && k.places_n == 0 && !k.places_many;
	for (unsigned i = 0; i < k.n && kept; i++)
		kept = !keys_lives(&k, &k.members[i]) || keeper_has(w, name, k.members[i].owner);
	return kept;
}

/* Somebody has it or waits for it, wherever. */
static bool
is_wanted(const struct world *w, unsigned name)
{
	bool wanted = waits_for(w, name) || held_longest_us(w, name) > w->now_us;
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		for (unsigned i = 0; i < v->conn->current.count; i++)
			wanted |= v->conn->current.names[i] == name;
	return wanted;
}

static bool
listens(const struct host *h)
{
	bool up = true;
	for (unsigned i = 0; i < h->world->plan.masters; i++)
		up = up && h->ways[i].inbox.up;
	return up;
}

static bool
same_id(const struct host *a, const struct host *b)
{
	return strncmp(a->call_settings.daemon_id, b->call_settings.daemon_id, 32) == 0;
}

unsigned
kinds_keepers(struct world *w, const struct host *host, unsigned name)
{
	unsigned keepers = 0;
	if (w->plan.replicas > 0 || !world_alike(w) || knows(host, name) || is_wanted(w, name))
		return 0;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		/* A copy of this daemon has its id: the masters do not tell this daemon of it. */
		if (keeps(&w->hosts[i], name) && listens(&w->hosts[i]) && !same_id(&w->hosts[i], host))
			keepers |= 1U << i;
		else if (knows(&w->hosts[i], name))
			return 0;
	}
	for (unsigned i = 0; i < w->plan.masters; i++)
		if (!is_kept_at(w, &w->servers[i], name))
			return 0;
	return keepers;
}

uint64_t
kinds_inboxes(const struct world *w, unsigned keepers)
{
	uint64_t lives = 0;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		for (unsigned k = 0; k < w->plan.masters && (keepers & 1U << i) != 0; k++)
			lives += w->hosts[i].ways[k].inbox.life;
	return lives;
}

/* This daemon has heard all since then that the masters told it, and they all that it asked. What it is told
 * comes in order: behind a message that was sent while the network was slow. */
static bool
hears(const struct host *h, int64_t since_us)
{
	const struct world *w = h->world;
	bool hears = fault_free_all_us(w, h) <= since_us && h->paused_until_us < since_us;
	for (unsigned i = 0; i < w->plan.masters; i++)
		hears = hears && h->ways[i].inbox.up && h->ways[i].inbox.arrives_us <= w->now_us &&
			w->servers[i].deaf_until_us < since_us;
	return hears;
}

static bool
all_hear(const struct world *w, const struct wait *v)
{
	bool hear = 2 * (2 * w->plan.network_us + w->plan.spread_us) < AGAIN_US;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (&w->hosts[i] == v->conn->host || (v->keepers & 1U << i) != 0)
			hear = hear && hears(&w->hosts[i], v->since_us);
	return hear;
}

/* Nobody has come for it since. */
static bool
is_untouched(const struct world *w, const struct wait *v)
{
	return w->well.touched[v->name] == v->touched && kinds_inboxes(w, v->keepers) == v->inboxes;
}

static void
check_kept(struct world *w, const struct wait *v, bool other)
{
	if (!other || v->keepers == 0 || !promised(w, PROMISE_REFUSAL, v->name) || !is_untouched(w, v) ||
		!all_hear(w, v))
		return;
	world_fail(w, "kind: c%u is refused %s, which is kept for nobody", v->conn->client->index,
		checker_name(v->name));
}

void
kinds_refused(struct world *w, const struct wait *v, enum code code, const char *text)
{
	unsigned name = v->name, form = form_of(w, v->limit), other = 3 - form;
	bool fair = true, limit = code == CODE_LIMIT && strncmp(text, "it has LIMIT", 12) == 0;
	check_kept(w, v, limit || code == CODE_WRONGKIND);
	if (plan_keyed(&w->plan, name) || !promised(w, PROMISE_REFUSAL, name) || w->plan.fault[FAULT_BACK])
		return;
	if (limit)
		fair = form != 0 && was_so(w, name, other) && strtoll(text + 12, NULL, 10) != v->limit;
	else if (code == CODE_WRONGKIND)
		fair = form == 0 ? was_so(w, name, 1) || was_so(w, name, 2) : was_so(w, name, 0);
	if (!fair)
		world_fail(w, "kind: c%u is refused %s, which nobody has or wants otherwise: -%s %s",
			v->conn->client->index, checker_name(name), code_word(code), text);
}
