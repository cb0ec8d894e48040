/* orphan: see orphan.h. */
#include "tests/sim/judge/orphan.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVERY_US 50000

/* The daemon that owns this lease and knows nothing of it; NULL: there is none. */
static const struct host *
forgetful(const struct world *w, unsigned name, struct slice owner)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		struct resource_view view;
		if (!h->alive || owner.n < 33 || memcmp(owner.p, h->call_settings.daemon_id, 32) != 0)
			continue;
		bool knows = core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) &&
			     (strcmp(view.lease, "held") == 0 || strcmp(view.lease, "acquiring") == 0);
		return knows ? NULL : h;
	}
	return NULL;
}

void
orphan_back(struct server *s)
{
	struct orphans *o = &s->world->orphans[s->index];
	for (unsigned i = 0; i < s->world->plan.names; i++) {
		struct slice owner;
		o->back[i][0] = '\0';
		if (server_owner(s, i, &owner) && forgetful(s->world, i, owner) != NULL)
			snprintf(o->back[i], sizeof(o->back[i]), "%.*s", (int)owner.n, owner.p);
	}
}

/* How long it may take: what is unanswered is waited for, then released, and that once more at its deadline.
 */
static int64_t
most_us(const struct world *w)
{
	int64_t patience_ms = w->plan.lease_ms / 3 < 2000 ? w->plan.lease_ms / 3 : 2000;
	return (patience_ms + 200) * 1000 + 4 * (2 * w->plan.network_us + w->plan.spread_us);
}

static void
look_at(struct server *s, unsigned name)
{
	struct world *w = s->world;
	struct orphans *o = &w->orphans[s->index];
	char text[64];
	struct slice owner;
	bool first = plan_first(&w->plan, name) == name;
	const struct host *h = first && server_owner(s, name, &owner) ? forgetful(w, name, owner) : NULL;
	if (h == NULL) {
		o->since_us[name] = INT64_MAX;
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)owner.n, owner.p);
	/* Its daemon has given that back once, and the guard is longer than it lasts. */
	if (strcmp(text, o->back[name]) == 0) {
		o->since_us[name] = INT64_MAX;
		return;
	}
	if (o->since_us[name] == INT64_MAX || strcmp(text, o->owner[name]) != 0) {
		o->since_us[name] = w->now_us;
		memcpy(o->owner[name], text, sizeof(text));
	}
	int64_t since = o->since_us[name] > o->sound_us[h->index] ? o->since_us[name] : o->sound_us[h->index];
	if (w->now_us - since > most_us(w))
		world_fail(w, "orphan: d%u has forgotten its lease %s of %s at m%u", h->index, text,
			checker_name(name), s->index);
}

/* ---- what was given back ---- */

bool
orphan_is_given(const struct host *h, uint64_t attempt)
{
	const struct given_back *g = &h->world->given[h->index];
	for (unsigned i = 0; i < ORPHAN_GIVEN && g->life == h->life; i++)
		if (g->of[i].attempt == attempt && g->of[i].at_us != 0)
			return true;
	return false;
}

void
orphan_given(struct host *h, unsigned name, uint64_t attempt)
{
	struct given_back *g = &h->world->given[h->index];
	if (g->life != h->life)
		*g = (struct given_back){.life = h->life};
	if (orphan_is_given(h, attempt))
		return;
	g->of[g->next] = (struct given_attempt){.attempt = attempt, .name = name, .at_us = h->world->now_us};
	g->next = (g->next + 1) % ORPHAN_GIVEN;
}

void
orphan_acquire_ran(const struct server *s, const struct host *h, const struct call *call)
{
	struct given_back *g = &h->world->given[h->index];
	int64_t left_us = call->deadline_us - server_wall_us(s);
	if (call->op != CALL_ACQUIRE || g->life != h->life || left_us <= 0)
		return;
	for (unsigned i = 0; i < ORPHAN_GIVEN; i++)
		if (g->of[i].attempt == call->attempt && g->of[i].at_us != 0)
			g->of[i].until_us[s->index] = h->world->now_us + left_us;
}

/* What the living daemon whose lease this is gave back; NULL: it did not. */
static const struct given_attempt *
given_of(const struct world *w, unsigned name, const char *owner, const struct host **whose)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		const struct given_back *g = &w->given[i];
		char text[CALL_OWNER_SIZE];
		if (!h->alive || g->life != h->life ||
			strncmp(owner, h->call_settings.daemon_id, CALL_DAEMON_ID_SIZE - 1) != 0)
			continue;
		*whose = h;
		for (unsigned k = 0; k < ORPHAN_GIVEN; k++) {
			if (g->of[k].at_us == 0 || g->of[k].name != name)
				continue;
			call_owner(h->call_settings.daemon_id, g->of[k].attempt, text);
			if (strcmp(text, owner) == 0)
				return &g->of[k];
		}
	}
	return NULL;
}

/* Old data bring back what was given back before. */
static bool
is_brought_back(const struct server *s, int64_t at_us)
{
	const struct world *w = s->world;
	int64_t lost_us = s->forgot_us > s->ended_us ? s->forgot_us : s->ended_us;
	int64_t lives_us = (w->plan.lease_ms + w->plan.margin_ms) * 1000;
	return lost_us != 0 && lost_us + lives_us >= at_us;
}

/* No reader's share and no permit is left of what was given back. */
static void
look_at_given(struct server *s, unsigned name)
{
	struct world *w = s->world;
	struct keys keys;
	if (plan_first(&w->plan, name) != name || plan_keyed(&w->plan, name))
		return;
	keys_read(&keys, s, name);
	for (unsigned i = 0; i < keys.n; i++) {
		const struct host *h = NULL;
		const struct given_attempt *given = given_of(w, name, keys.members[i].owner, &h);
		if (given == NULL || !keys_lives(&keys, &keys.members[i]) || is_brought_back(s, given->at_us))
			continue;
		int64_t since_us = w->orphans[s->index].sound_us[h->index];
		since_us = since_us > given->at_us ? since_us : given->at_us;
		since_us = since_us > given->until_us[s->index] ? since_us : given->until_us[s->index];
		if (w->now_us - since_us > most_us(w))
			world_fail(w,
				"orphan: d%u gave %s of %s back %" PRId64
				" ms ago, and m%u has it (member %s)",
				h->index, keys.members[i].owner, checker_name(name),
				(w->now_us - given->at_us) / 1000, s->index, keys.members[i].slot);
	}
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (unsigned k = 0; k < w->plan.masters; k++) {
		struct server *s = &w->servers[k];
		struct orphans *o = &w->orphans[k];
		bool sound = server_sound(s);
		for (unsigned i = 0; i < w->plan.hosts; i++) {
			const struct host *h = &w->hosts[i];
			if (!sound || !host_sound_at(h, s) || o->life[i] != h->life)
				o->sound_us[i] = w->now_us;
			o->life[i] = h->life;
		}
		for (unsigned i = 0; i < w->plan.names; i++) {
			look_at(s, i);
			look_at_given(s, i);
		}
	}
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
orphan_watch(struct world *w)
{
	for (unsigned k = 0; k < w->plan.masters; k++)
		for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
			w->orphans[k].since_us[i] = INT64_MAX;
	/* Where a clock steps back, a key may outlive the repeats of its release; and whoever was copied
	 * shares its leases with the copy. */
	if (w->plan.replicas == 0 && promised(w, PROMISE_RELEASE, PLAN_ANY_NAME))
		world_after(w, EVERY_US, look, w, 0, NULL);
}
