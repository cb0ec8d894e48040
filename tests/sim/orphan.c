/* orphan: see orphan.h. */
#include "tests/sim/orphan.h"

#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVERY_US 50000

/* The daemon that owns this lease and knows nothing of it; NULL: there is none. Of a daemon and its copy it
 * is the one whose way there is sound last: either can be who has to give the lease back. What another
 * process with its daemon-id had, which has ended, ends by itself. */
static const struct host *
forgetful(const struct world *w, const struct orphans *o, unsigned name, struct slice owner)
{
	const struct host *found = NULL;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		struct resource_view view;
		if (!h->alive || owner.n < 33 || memcmp(owner.p, h->call_settings.daemon_id, 32) != 0)
			continue;
		bool knows = core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) &&
			     (strcmp(view.lease, "held") == 0 || strcmp(view.lease, "acquiring") == 0);
		if (knows || excuse(w, EXCUSE_ORPHAN_COPY, host_left_by_copy(h)))
			return NULL;
		if (found == NULL || o->sound_us[h->index] > o->sound_us[found->index])
			found = h;
	}
	return found;
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
	const struct host *h = first && server_owner(s, name, &owner) ? forgetful(w, o, name, owner) : NULL;
	if (h == NULL) {
		o->since_us[name] = INT64_MAX;
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)owner.n, owner.p);
	if (o->since_us[name] == INT64_MAX || strcmp(text, o->owner[name]) != 0) {
		o->since_us[name] = w->now_us;
		memcpy(o->owner[name], text, sizeof(text));
	}
	int64_t since = o->since_us[name] > o->sound_us[h->index] ? o->since_us[name] : o->sound_us[h->index];
	if (w->now_us - since > most_us(w))
		world_fail(w, "orphan: d%u has forgotten its lease %s of %s at m%u", h->index, text,
			checker_name(name), s->index);
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
			/* Where its clock steps back, a key may outlive the repeats of its release; then it
			 * ends by itself. */
			if (excuse(w, EXCUSE_ORPHAN_BACK, w->now_us < s->back_until_us) || !sound ||
				!host_sound_at(h, s) || o->life[i] != h->life)
				o->sound_us[i] = w->now_us;
			o->life[i] = h->life;
		}
		for (unsigned i = 0; i < w->plan.names; i++)
			look_at(s, i);
	}
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
orphan_watch(struct world *w)
{
	for (unsigned k = 0; k < w->plan.masters; k++)
		for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
			w->orphans[k].since_us[i] = INT64_MAX;
	if (w->plan.replicas == 0)
		world_after(w, EVERY_US, look, w, 0, NULL);
}
