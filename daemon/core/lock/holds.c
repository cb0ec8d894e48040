/* holds: see holds.h. grant.c maintains the table; the table owns none of the holds. */
#include "daemon/core/lock/holds.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/map.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/session/session.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A session and tag hold a name at most once. */
struct hold_key {
	const struct resource *r;
	struct slice owner;
};

/* A resource lives as long as its holds, so its address can be the key. */
static uint64_t
hold_hash(const struct core *core, const struct resource *r, struct slice owner)
{
	uint64_t hash = hash_key(&r, sizeof(const struct resource *)) ^ hash_secretly(core->secret, owner);

	return hash != 0 ? hash : 1;
}

static uint64_t
hold_hash_of(const struct core *core, const struct grant *g)
{
	return hold_hash(core, g->lease->resource, grant_owner(g));
}

static bool
hold_is_of(const void *thing, const void *key)
{
	const struct grant *g = thing;
	const struct hold_key *of = key;

	return g->lease->resource == of->r && slice_equal(grant_owner(g), of->owner);
}

/* Makes the table of all holds of the session; out of memory: no table. */
static void
holds_make(const struct core *core, struct session *s)
{
	struct grant *g;

	assert(s->holds == NULL);
	s->holds = calloc(1, sizeof(*s->holds));
	LIST_FOREACH (g, &s->grants, in_session)
		holds_add(core, s, g);
}

struct grant *
holds_find(const struct core *core, struct session *s, const struct resource *r, struct slice owner)
{
	const struct hold_key key = {r, owner};
	struct grant *g = NULL;

	if (r->grant_count > HOLDS_FEW && s->grant_count > HOLDS_FEW) {
		if (s->holds == NULL)
			holds_make(core, s);
		if (s->holds != NULL)
			return map_search(s->holds, hold_hash(core, r, owner), hold_is_of, &key);
	}
	if (s->grant_count < r->grant_count) {
		LIST_FOREACH (g, &s->grants, in_session) {
			if (hold_is_of(g, &key))
				return g;
		}
		return NULL;
	}
	while ((g = resource_next_grant(r, g)) != NULL) {
		if (g->session == s && slice_equal(grant_owner(g), owner))
			return g;
	}
	return NULL;
}

void
holds_add(const struct core *core, struct session *s, struct grant *g)
{
	assert(g->session == s);
	/* Without memory for one more, there is no table until the next lookup. */
	if (s->holds != NULL && map_add(s->holds, hold_hash_of(core, g), g) != 0)
		holds_done(s);
}

void
holds_remove(const struct core *core, struct session *s, const struct grant *g)
{
	assert(g->session == s);
	if (s->holds == NULL)
		return;
	map_remove(s->holds, hold_hash_of(core, g), g);
	if (s->holds->count <= HOLDS_FEW / 2)
		holds_done(s);
}

void
holds_done(struct session *s)
{
	if (s->holds != NULL)
		map_done(s->holds);
	free(s->holds);
	s->holds = NULL;
}
