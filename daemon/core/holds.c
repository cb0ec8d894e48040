/* holds: see holds.h. It owns the table, never the holds. */
#include "daemon/core/holds.h"

#include "daemon/core/map.h"
#include "daemon/core/resource.h"
#include "daemon/core/state.h"

/* A session and tag hold a name at most once. */
struct hold_key {
	const struct resource *r;
	struct slice owner;
};

/* A resource lives as long as its holds, so its address can be the key. */
static uint64_t
key_hash(const uint64_t secret[2], struct hold_key key)
{
	return hash_key(&key.r, sizeof(key.r)) ^ hash_secretly(secret, key.owner);
}

static uint64_t
hold_hash(const uint64_t secret[2], const void *thing)
{
	const struct grant *g = thing;

	return key_hash(secret, (struct hold_key){g->lease->resource, grant_owner(g)});
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

	holds_done(s);
	s->holds = index_new(core->secret, hold_hash, s->grant_count);
	LIST_FOREACH (g, &s->grants, in_session) {
		if (s->holds != NULL && !index_put(s->holds, g))
			holds_done(s);
	}
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
			return index_find(s->holds, key_hash(core->secret, key), hold_is_of, &key);
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
	/* The table is full: a new one is made from the list, which has the hold already. */
	if (s->holds != NULL && !index_put(s->holds, g))
		holds_make(core, s);
}

void
holds_remove(struct session *s, const struct grant *g)
{
	if (s->holds == NULL)
		return;
	index_remove(s->holds, g);
	if (index_count(s->holds) <= HOLDS_FEW / 2)
		holds_done(s);
}

void
holds_done(struct session *s)
{
	index_free(s->holds);
	s->holds = NULL;
}
