/* asyncs: see asyncs.h. verbs.c and queue.c call it; it owns the table, never the waits. */
#include "daemon/core/asyncs.h"

#include "daemon/core/map.h"
#include "daemon/core/state.h"

static uint64_t
wait_hash(const uint64_t secret[2], const void *thing)
{
	return hash_secretly(secret, waiter_id(thing));
}

static bool
wait_is_of(const void *thing, const void *key)
{
	const struct slice *id = key;

	return slice_equal(waiter_id(thing), *id);
}

/* Makes the table of all ASYNC waits of the session; out of memory: no table. */
static void
asyncs_make(const struct core *core, struct session *s)
{
	struct waiter *w;

	asyncs_done(s);
	s->asyncs = index_new(core->secret, wait_hash, s->waiter_count);
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (s->asyncs != NULL && w->async && !index_put(s->asyncs, w))
			asyncs_done(s);
	}
}

struct waiter *
asyncs_find(const struct core *core, struct session *s, struct slice id)
{
	struct waiter *w;

	if (s->asyncs == NULL && s->waiter_count > ASYNCS_FEW)
		asyncs_make(core, s);
	if (s->asyncs != NULL)
		return index_find(s->asyncs, hash_secretly(core->secret, id), wait_is_of, &id);
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (w->async && slice_equal(waiter_id(w), id))
			return w;
	}
	return NULL;
}

void
asyncs_add(const struct core *core, struct waiter *w)
{
	struct session *s = w->session;

	/* The table is full: a new one is made from the list, which has the wait already. */
	if (s->asyncs != NULL && !index_put(s->asyncs, w))
		asyncs_make(core, s);
}

void
asyncs_remove(const struct waiter *w)
{
	struct session *s = w->session;

	if (s->asyncs == NULL)
		return;
	index_remove(s->asyncs, w);
	/* All waits count, as in asyncs_find(); if only ASYNC ones did, the table could come and go with each
	 * of them. */
	if (s->waiter_count <= ASYNCS_FEW / 2)
		asyncs_done(s);
}

void
asyncs_done(struct session *s)
{
	index_free(s->asyncs);
	s->asyncs = NULL;
}
