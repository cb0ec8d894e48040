/* orphan: see orphan.h. */
#include "tests/sim/orphan.h"

#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVERY_US 50000

static bool
server_is_sound(const struct world *w)
{
	const struct master_health *health = master_health(w->server.master);
	return w->server.up && w->now_us >= w->server.stopped_until_us && !health->full &&
	       !health->readonly && !health->loading && !health->misconf;
}

static bool
host_is_sound(const struct world *w, const struct host *h)
{
	struct master_view view;
	bool sound = h->alive && !h->draining && w->now_us >= h->paused_until_us &&
		     w->now_us >= h->cut_until_us && w->now_us >= h->slow_until_us;
	for (unsigned i = 0; i < w->plan.links; i++)
		sound = sound && h->wires[i].up;
	if (!sound)
		return false;
	core_view_master(h->core, host_ms(h), 0, &view);
	return view.state == MASTER_ADMITTED;
}

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

/* How long it may take: what is unanswered is waited for, then released, and that once more at its deadline.
 */
static int64_t
most_us(const struct world *w)
{
	int64_t patience_ms = w->plan.lease_ms / 3 < 2000 ? w->plan.lease_ms / 3 : 2000;
	return (patience_ms + 700) * 1000;
}

static void
look_at(struct world *w, unsigned name)
{
	struct orphans *o = &w->orphans;
	char key[64], text[64];
	struct slice owner;
	bool foreign = w->plan.foreign && name == 2;
	snprintf(key, sizeof(key), "%s%s%s", foreign ? "lock:" : "hf:{", checker_name(name),
		foreign ? "" : "}");
	const struct host *h = NULL;
	if (store_get(master_store(w->server.master), server_wall_us(w), slice_of(key), &owner))
		h = forgetful(w, name, owner);
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
		world_fail(w, "orphan: d%u has forgotten its lease %s of %s", h->index, text,
			checker_name(name));
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	bool sound = server_is_sound(w);
	(void)a;
	(void)data;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (!sound || !host_is_sound(w, &w->hosts[i]))
			w->orphans.sound_us[i] = w->now_us;
	for (unsigned i = 0; i < w->plan.names; i++)
		look_at(w, i);
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
orphan_watch(struct world *w)
{
	for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
		w->orphans.since_us[i] = INT64_MAX;
	/* Where the master's clock steps back, a key may outlive the repeats of its release; then it ends by
	 * itself. */
	if (!w->plan.fault[FAULT_BACK])
		world_after(w, EVERY_US, look, w, 0, NULL);
}
