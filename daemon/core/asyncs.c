#include "daemon/core/asyncs.h"

#include <assert.h>
#include <stdlib.h>

#define ROOM_LEAST 64

/* Open addressing: a wait stands at the place of its hash, or at the next one that was free. */
struct asyncs {
	const uint64_t *secret; /* the core's */
	size_t count;
	size_t mask; /* places - 1; at most half of them are taken */
	struct waiter *places[];
};

static size_t
place_of(const struct asyncs *a, struct slice id)
{
	return hash_secretly(a->secret, id) & a->mask;
}

static void
place_put(struct asyncs *a, struct waiter *w)
{
	size_t at = place_of(a, waiter_id(w));

	while (a->places[at] != NULL)
		at = (at + 1) & a->mask;
	a->places[at] = w;
	a->count++;
}

/* Of all that it has; without one when out of memory. */
static void
asyncs_make(const struct core *core, struct session *s)
{
	size_t room = ROOM_LEAST;
	struct asyncs *a;
	struct waiter *w;

	asyncs_done(s);
	while (room < 4 * s->waiter_count)
		room *= 2;
	a = calloc(1, sizeof(*a) + room * sizeof(struct waiter *));
	if (a == NULL)
		return;
	a->secret = core->secret;
	a->mask = room - 1;
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (w->async)
			place_put(a, w);
	}
	s->asyncs = a;
}

static struct waiter *
table_find(const struct asyncs *a, struct slice id)
{
	size_t at = place_of(a, id);
	struct waiter *w;

	for (; (w = a->places[at]) != NULL; at = (at + 1) & a->mask) {
		if (slice_equal(waiter_id(w), id))
			return w;
	}
	return NULL;
}

struct waiter *
asyncs_find(const struct core *core, struct session *s, struct slice id)
{
	struct waiter *w;

	if (s->asyncs == NULL && s->waiter_count > ASYNCS_FEW)
		asyncs_make(core, s);
	if (s->asyncs != NULL)
		return table_find(s->asyncs, id);
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (w->async && slice_equal(waiter_id(w), id))
			return w;
	}
	return NULL;
}

void
asyncs_add(const struct core *core, struct waiter *w)
{
	struct asyncs *a = w->session->asyncs;

	if (a == NULL)
		return;
	if (2 * (a->count + 1) > a->mask)
		asyncs_make(core, w->session); /* the list has it already */
	else
		place_put(a, w);
}

/* Whoever stands further from his own place than the hole moves into it, and leaves one himself. */
static void
place_close(struct asyncs *a, size_t hole)
{
	for (size_t at = (hole + 1) & a->mask; a->places[at] != NULL; at = (at + 1) & a->mask) {
		size_t own = place_of(a, waiter_id(a->places[at]));

		if (((at - own) & a->mask) < ((at - hole) & a->mask))
			continue;
		a->places[hole] = a->places[at];
		hole = at;
	}
	a->places[hole] = NULL;
}

void
asyncs_remove(const struct waiter *w)
{
	struct asyncs *a = w->session->asyncs;
	size_t at;

	if (a == NULL)
		return;
	at = place_of(a, waiter_id(w));
	while (a->places[at] != w)
		at = (at + 1) & a->mask;
	place_close(a, at);
	a->count--;
	/* Of all waits, as where it is made: else it could come and go with each of them. */
	if (w->session->waiter_count <= ASYNCS_FEW / 2)
		asyncs_done(w->session);
}

void
asyncs_done(struct session *s)
{
	free(s->asyncs);
	s->asyncs = NULL;
}
