/* withheld: see withheld.h. grant.c maintains the table; the table owns none of the holds. */
#include "daemon/core/lock/withheld.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/map.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/locks.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A resource lives as long as its holds, so its address can be part of the key. */
struct withheld_key {
	const struct resource *r;
	int64_t token;
};

static uint64_t
withheld_hash(const struct resource *r, int64_t token)
{
	struct withheld_key key;
	uint64_t hash;

	/* Where a pointer is shorter than the alignment of a token, there is padding between them. */
	memset(&key, 0, sizeof(key));
	key.r = r;
	key.token = token;
	hash = hash_key(&key, sizeof(key));
	return hash != 0 ? hash : 1;
}

static bool
withheld_is_of(const void *thing, const void *what)
{
	const struct grant *g = thing;
	const struct withheld_key *key = what;

	return g->lease->resource == key->r && g->token == key->token;
}

void
withheld_add(struct core *core, struct grant *g)
{
	struct withheld *w = &core->locks->withheld;

	assert(g->session == NULL);
	core->counts.withheld++;
	if (w->lacks || map_add(&w->holds, withheld_hash(g->lease->resource, g->token), g) == 0)
		return;
	map_done(&w->holds);
	w->lacks = true;
}

void
withheld_remove(struct core *core, const struct grant *g)
{
	struct withheld *w = &core->locks->withheld;

	assert(g->session == NULL && core->counts.withheld > 0);
	if (!w->lacks)
		map_remove(&w->holds, withheld_hash(g->lease->resource, g->token), g);
	if (--core->counts.withheld > 0)
		return;
	assert(w->holds.count == 0);
	map_done(&w->holds);
	w->lacks = false;
}

struct grant *
withheld_find(const struct core *core, const struct resource *r, int64_t token)
{
	const struct withheld *w = &core->locks->withheld;
	const struct withheld_key key = {r, token};
	struct grant *g;

	if (!w->lacks)
		return map_search(&w->holds, withheld_hash(r, token), withheld_is_of, &key);
	g = grant_with(r, token);
	return g != NULL && g->session == NULL ? g : NULL;
}

void
withheld_done(struct core *core)
{
	map_done(&core->locks->withheld.holds);
}
