/* writer_place: see writer_place.h. */
#include "tests/sim/judge/writer_place.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_US 50000
#define RENEW_US 1000000 /* so often a place is renewed */
#define PLACE_US 3000000 /* and so long it lives */

static bool
first_waiter(void *arg, const struct waiter_view *view)
{
	*(struct waiter_view *)arg = *view;
	return false;
}

/* A writer is the first that waits here, and readers of this daemon are in his way. */
static bool
is_behind_readers(const struct host *h, unsigned name)
{
	struct resource_view view;
	struct waiter_view first = {.kind = KIND_SHARED};
	struct slice text = slice_of(checker_name(name));
	if (!h->alive || h->draining || h->paused_until_us > h->world->now_us ||
		!core_view_resource(h->core, host_ms(h), text, &view) || strcmp(view.lease, "held") != 0 ||
		view.kind != KIND_SHARED || view.holds == 0 || view.waiters == 0)
		return false;
	core_each_waiter(h->core, host_ms(h), text, first_waiter, &first);
	return first.kind == KIND_EXCLUSIVE && first.left_ms != 0 && first.age_ms > 0;
}

/* Whether readers of other daemons can join, as a reader's lease may be exclusive; and wherever its queue is,
 * this one is known to be a reader. */
static bool
is_shared(const struct host *h, unsigned name)
{
	struct world *w = h->world;
	unsigned shared = 0;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		struct keys keys;
		keys_read(&keys, &w->servers[i], name);
		for (unsigned k = 0; k < keys.n && keys.lock == KEYS_GROUP; k++)
			shared += keys_lives(&keys, &keys.members[k]) &&
				  strcmp(keys.members[k].slot, h->call_settings.daemon_id) == 0;
	}
	return shared == w->plan.masters;
}

/* Whether some master has a place of it that lives. */
static bool
has_place(const struct host *h, unsigned name)
{
	const struct world *w = h->world;
	struct slice field, value;
	char key[32];
	snprintf(key, sizeof(key), "hf:{%s}:w", checker_name(name));
	for (unsigned i = 0; i < w->plan.masters; i++) {
		const struct server *s = &w->servers[i];
		int64_t wall_us = server_wall_us(s);
		struct store *store = master_store(s->master);
		for (size_t k = 0; store_pair(store, wall_us, slice_of(key), k, &field, &value); k++)
			if (slice_equal(field, slice_of(h->call_settings.daemon_id)) &&
				strtoll(value.p, NULL, 10) > wall_us)
				return true;
	}
	return false;
}

/* After a leap of a clock it asks for nothing new, nor for a place. */
static bool
counts_nothing_new(const struct host *h)
{
	bool withholds = false;
	for (unsigned i = 0; i < h->world->plan.masters; i++)
		withholds |= leaps_withholds(h, i);
	return withholds;
}

static void
look_at(struct host *h, unsigned name)
{
	struct world *w = h->world;
	struct writer_place *l = &w->lines[h->index][name];
	int64_t well_us = fault_free_all_us(w, h), leased_us = w->progress.asking[h->index][name].leased_us;
	int64_t ways_us = 4 * (w->plan.network_us + w->plan.spread_us);
	int64_t most_us = RENEW_US + RENEW_US / 2 + ways_us;
	if (!is_behind_readers(h, name) || !is_shared(h, name) || counts_nothing_new(h))
		l->since_us = INT64_MAX;
	else if (l->since_us == INT64_MAX || l->since_us < leased_us)
		l->since_us = w->now_us;
	bool due = l->since_us != INT64_MAX && well_us != INT64_MAX && w->now_us - l->since_us > most_us &&
		   w->now_us - well_us > most_us;
	if (!due || has_place(h, name) || !promised(w, PROMISE_PLACE, name))
		l->gap_us = w->now_us;
	/* One that was left a moment ago is on its way again. */
	if (w->now_us - l->gap_us > ways_us + 4 * EVERY_US)
		world_fail(w,
			"queue: a writer has waited for readers of %s at d%u for %" PRId64
			" ms, and has no place in the queue",
			checker_name(name), h->index, (w->now_us - l->since_us) / 1000);
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		for (unsigned k = 0; k < w->plan.names; k++)
			look_at(&w->hosts[i], k);
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
writer_place_watch(struct world *w)
{
	for (unsigned i = 0; i < w->plan.hosts; i++)
		for (unsigned k = 0; k < w->plan.names; k++)
			w->lines[i][k] = (struct writer_place){.since_us = INT64_MAX};
	if (w->plan.replicas == 0 && w->plan.shared_percent > 0)
		world_after(w, EVERY_US, look, w, 0, NULL);
}
