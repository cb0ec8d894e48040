#include "daemon/core/holds.h"

#include "daemon/core/resource.h"

#include <assert.h>
#include <stdlib.h>

#define ROOM_LEAST 64

/* Open addressing: a hold stands at the place of its hash, or at the next one that was free. */
struct holds {
	const uint64_t *secret; /* the core's */
	size_t count;
	size_t mask; /* places - 1; at most half of them are taken */
	struct grant *places[];
};

/* A resource outlives the holds of it, and a session and tag hold it once: nothing depends on where it lies.
 */
static size_t
place_of(const struct holds *h, const struct resource *r, struct slice owner)
{
	return (hash_key(&r, sizeof(r)) ^ hash_secretly(h->secret, owner)) & h->mask;
}

static size_t
place_of_grant(const struct holds *h, const struct grant *g)
{
	return place_of(h, g->lease->resource, grant_owner(g));
}

static void
place_put(struct holds *h, struct grant *g)
{
	size_t at = place_of_grant(h, g);

	while (h->places[at] != NULL)
		at = (at + 1) & h->mask;
	h->places[at] = g;
	h->count++;
}

/* Of all that it has; without one when out of memory. */
static void
holds_make(const struct core *core, struct session *s)
{
	size_t room = ROOM_LEAST;
	struct holds *h;
	struct grant *g;

	holds_done(s);
	while (room < 4 * s->grant_count)
		room *= 2;
	h = calloc(1, sizeof(*h) + room * sizeof(struct grant *));
	if (h == NULL)
		return;
	h->secret = core->secret;
	h->mask = room - 1;
	LIST_FOREACH (g, &s->grants, in_session)
		place_put(h, g);
	assert(h->count == s->grant_count);
	s->holds = h;
}

static struct grant *
table_find(const struct holds *h, const struct resource *r, struct slice owner)
{
	size_t at = place_of(h, r, owner);
	struct grant *g;

	for (; (g = h->places[at]) != NULL; at = (at + 1) & h->mask) {
		if (g->lease->resource == r && slice_equal(grant_owner(g), owner))
			return g;
	}
	return NULL;
}

struct grant *
holds_find(const struct core *core, struct session *s, const struct resource *r, struct slice owner)
{
	struct grant *g = NULL;

	if (r->grant_count > HOLDS_FEW && s->grant_count > HOLDS_FEW) {
		if (s->holds == NULL)
			holds_make(core, s);
		if (s->holds != NULL)
			return table_find(s->holds, r, owner);
	}
	if (s->grant_count < r->grant_count) {
		LIST_FOREACH (g, &s->grants, in_session) {
			if (g->lease->resource == r && slice_equal(grant_owner(g), owner))
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
	struct holds *h = s->holds;

	if (h == NULL)
		return;
	if (2 * (h->count + 1) > h->mask)
		holds_make(core, s); /* the list has it already */
	else
		place_put(h, g);
}

/* Whoever stands further from his own place than the hole moves into it, and leaves one himself. */
static void
place_close(struct holds *h, size_t hole)
{
	for (size_t at = (hole + 1) & h->mask; h->places[at] != NULL; at = (at + 1) & h->mask) {
		size_t own = place_of_grant(h, h->places[at]);

		if (((at - own) & h->mask) < ((at - hole) & h->mask))
			continue;
		h->places[hole] = h->places[at];
		hole = at;
	}
	h->places[hole] = NULL;
}

void
holds_remove(struct session *s, const struct grant *g)
{
	struct holds *h = s->holds;
	size_t at;

	if (h == NULL)
		return;
	at = place_of_grant(h, g);
	while (h->places[at] != g)
		at = (at + 1) & h->mask;
	place_close(h, at);
	h->count--;
	if (h->count <= HOLDS_FEW / 2)
		holds_done(s);
}

void
holds_done(struct session *s)
{
	free(s->holds);
	s->holds = NULL;
}
