/* listings: see listings.h. */
#include "tests/sim/judge/listings.h"

#include "tests/sim/world/id_client.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

#define LOOKED_MOST 256 /* waits at one daemon; what is beyond is not looked at */

/* One name of one daemon, and which of the model's waits have been seen there. */
struct look {
	struct world *w;
	const struct host *host;
	int64_t now_ms;
	unsigned name;
	const struct wait *seen[LOOKED_MOST];
	unsigned n;
	int64_t position;
};

static bool
owner_is(const char *owner, struct slice shown)
{
	return slice_equal(slice_of(owner), shown) || (owner[0] == '\0' && shown.n == 0);
}

/* ---- who waits ---- */

static session_id
session_of(const struct wait *v)
{
	return v->stray ? v->session : conn_session(v->conn);
}

static bool
is_seen(const struct look *l, const struct wait *v)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->seen[i] == v)
			return true;
	return false;
}

static bool
is_here(const struct look *l, const struct wait *v)
{
	return v->name == l->name && v->conn->host == l->host && v->conn->host_life == l->host->life;
}

static bool
speaks(const struct conn *c)
{
	return c->open && !c->closing && !c->ending && !c->ousted;
}

/* What is left of its WAIT, as it has to be shown. */
static bool
left_is(const struct look *l, const struct wait *v, int64_t left_ms)
{
	bool shown = v->until_ms == INT64_MAX ? left_ms == -1 : left_ms == v->until_ms - l->now_ms;
	/* Between two lines a place is kept for as long as the daemon chooses. */
	return v->once || v->stray || v->conn->id_client.apart || shown;
}

/* The first of the model that it may be: a session can wait for a name more than once, and over a connection
 * that is being closed. How long a single try is given is not judged, so it may be one only if no other is.
 */
static const struct wait *
wait_shown(const struct look *l, const struct waiter_view *view)
{
	const struct wait *any = NULL, *once = NULL;
	for (const struct wait *v = l->w->checker.waits; v != NULL; v = v->next) {
		if (!is_here(l, v) || is_seen(l, v) || session_of(v) != view->session ||
			v->kind != view->kind || v->permits != view->permits ||
			!owner_is(v->owner, view->owner))
			continue;
		if (left_is(l, v, view->left_ms) && !v->stray && speaks(v->conn)) {
			if (!v->once)
				return v;
			once = once == NULL ? v : once;
		}
		any = any == NULL || (v->stray && !any->stray) ? v : any;
	}
	return once != NULL ? once : any;
}

/* An MLOCK of that session that wants the name. */
static bool
is_part(const struct look *l, session_id session, enum kind kind, struct slice owner)
{
	for (const struct bundle_wait *v = l->w->checker.bundles; v != NULL; v = v->next) {
		const struct request *r = &v->conn->current;
		if (v->conn->host != l->host || v->conn->host_life != l->host->life ||
			conn_session(v->conn) != session || r->kind != kind || !owner_is(r->owner, owner))
			continue;
		for (unsigned i = 0; i < r->count; i++)
			if (r->names[i] == l->name)
				return true;
	}
	return false;
}

static bool
look_at_waiter(void *arg, const struct waiter_view *view)
{
	struct look *l = arg;
	const char *name = checker_name(l->name);
	const struct wait *v = wait_shown(l, view);
	unsigned d = l->host->index;
	l->position++;
	if (view->position != l->position)
		world_fail(l->w, "listing: d%u shows the waiter %" PRId64 " for %s at position %" PRId64, d,
			l->position, name, view->position);
	if (v == NULL && !is_part(l, view->session, view->kind, view->owner)) {
		world_fail(l->w,
			"listing: d%u has a waiter for %s of session %" PRIu64 ", which does not wait", d,
			name, view->session);
		return false;
	}
	if (v == NULL)
		return true;
	if (l->n < LOOKED_MOST)
		l->seen[l->n++] = v;
	if (!left_is(l, v, view->left_ms) && speaks(v->conn) &&
		!is_part(l, view->session, view->kind, view->owner))
		world_fail(l->w,
			"listing: d%u shows %" PRId64 " ms of the WAIT of c%u for %s, and %" PRId64
			" are left",
			d, view->left_ms, v->conn->client->index, name, v->until_ms - l->now_ms);
	return !l->w->failed;
}

static void
look_at_waits(struct look *l)
{
	core_each_waiter(l->host->core, l->now_ms, slice_of(checker_name(l->name)), look_at_waiter, l);
	for (const struct wait *v = l->w->checker.waits; v != NULL && l->n < LOOKED_MOST; v = v->next)
		if (is_here(l, v) && !v->stray && speaks(v->conn) && !is_seen(l, v))
			world_fail(l->w, "listing: c%u waits for %s and is in no queue of d%u",
				v->conn->client->index, checker_name(l->name), l->host->index);
}

/* ---- who holds ---- */

static bool
look_at_hold(void *arg, const struct hold_view *view)
{
	struct look *l = arg;
	const char *name = checker_name(l->name);
	const struct hold *h = held_with(l->w, l->host, l->name, view->token);
	unsigned d = l->host->index;
	if (view->withheld || view->ends || view->session == 0)
		return true;
	if (h == NULL) {
		if (!is_part(l, view->session, view->kind, view->owner))
			world_fail(l->w,
				"listing: d%u has a hold of %s with token %" PRId64 " for session %" PRIu64
				", which does not know",
				d, name, view->token, view->session);
		return !l->w->failed;
	}
	if (h->session != view->session || !owner_is(h->owner, view->owner))
		world_fail(l->w, "listing: d%u shows another holder of %s with token %" PRId64, d, name,
			view->token);
	if (!h->unannounced && h->count != view->count)
		world_fail(l->w, "listing: d%u shows that %s is held %" PRId64 " times, and it is %" PRId64,
			d, name, view->count, h->count);
	return !l->w->failed;
}

void
listings_step(struct world *w, const struct host *host, int64_t now_ms)
{
	if (!host->alive || host->ending)
		return;
	for (unsigned i = 0; i < w->plan.names && !w->failed; i++) {
		struct look look = {.w = w, .host = host, .now_ms = now_ms, .name = i};
		if (promised(w, PROMISE_HOLD, i))
			core_each_hold(host->core, now_ms, slice_of(checker_name(i)), look_at_hold, &look);
		look_at_waits(&look);
	}
}

/* ---- sessions ---- */

struct shown {
	struct world *w;
	const struct host *host;
	int64_t now_ms;
};

/* What the model knows of one. */
struct known {
	const struct conn *any; /* that speaks for it, or did */
	size_t connections;
	bool unsure; /* one of them is about to be closed */
	int64_t pid;
};

/* The last that spoke for it, and is closed; NULL: none. */
static const struct conn *
last_closed(const struct shown *s, session_id session)
{
	const struct conn *c;
	LIST_FOREACH (c, conns_closed(&s->w->conns, session), in_place)
		if (c->session == session && c->host == s->host && c->host_life == s->host->life)
			return c;
	return NULL;
}

static void
collect(const struct shown *s, session_id session, struct known *k)
{
	const struct conn *c;
	uint64_t tag = 0;
	*k = (struct known){.any = NULL};
	LIST_FOREACH (c, &s->w->conns.open[s->host->index], in_place) {
		if (c->ousted || conn_session(c) != session)
			continue;
		if (k->connections > 0 && c->tag != tag)
			world_fail(s->w,
				"listing: c%u speaks for session %" PRIu64 " of d%u, which it did not join",
				c->client->index, session, s->host->index);
		tag = c->tag;
		k->any = c;
		k->connections++;
		k->unsure |= c->closing;
	}
	if (k->any == NULL)
		k->any = last_closed(s, session);
	if (k->any == NULL)
		return;
	tag = k->any->tag;
	LIST_FOREACH (c, conns_tagged(&s->w->conns, tag), in_tag)
		if (c->tag == tag && c->host == s->host && c->bound && !c->unbound)
			k->pid = c->pid;
}

static void
check_terms(const struct shown *s, const struct session_view *view, const struct known *k)
{
	const struct session_terms *p = session_terms_of(s->w, s->host, view->id);
	int64_t grace_ms = p != NULL ? p->grace_ms : 0, heartbeat_ms = p != NULL ? p->heartbeat_ms : 0;
	unsigned d = s->host->index;
	if (view->grace_ms != grace_ms)
		world_fail(s->w,
			"listing: session %" PRIu64 " of d%u has a grace of %" PRId64
			" ms, and asked for %" PRId64,
			view->id, d, view->grace_ms, grace_ms);
	if (view->heartbeat_ms != heartbeat_ms)
		world_fail(s->w,
			"listing: session %" PRIu64 " of d%u has a heartbeat of %" PRId64
			" ms, and asked for %" PRId64,
			view->id, d, view->heartbeat_ms, heartbeat_ms);
	if (view->connections > 0 && view->left_ms != -1)
		world_fail(s->w,
			"listing: session %" PRIu64 " of d%u has a connection, and %" PRId64
			" ms of its grace left",
			view->id, d, view->left_ms);
	if (k->connections > 0 && view->bound_pid != k->pid)
		world_fail(s->w,
			"listing: session %" PRIu64 " of d%u is bound to process %" PRId64
			", and asked for %" PRId64,
			view->id, d, view->bound_pid, k->pid);
}

static bool
look_at_session(void *arg, const struct session_view *view)
{
	struct shown *s = arg;
	struct known k;
	collect(s, view->id, &k);
	/* A session of an id has a connection only while a request is under way. */
	if (view->ends || k.unsure || k.any == NULL || id_client_is(k.any))
		return !s->w->failed;
	if (view->connections != k.connections)
		world_fail(s->w, "listing: session %" PRIu64 " of d%u has %zu connections, and not %zu",
			view->id, s->host->index, view->connections, k.connections);
	if (view->connections == 0 && view->grace_ms == 0 && view->bound_pid == 0 && !view->ends)
		world_fail(s->w, "listing: session %" PRIu64 " of d%u is there, and nothing keeps it",
			view->id, s->host->index);
	check_terms(s, view, &k);
	return !s->w->failed;
}

void
listings_sessions(struct world *w, const struct host *host, int64_t now_ms)
{
	struct shown shown = {w, host, now_ms};
	scan_cursor cursor = 0;
	if (!host->alive || host->ending)
		return;
	do
		cursor = core_scan_sessions(host->core, now_ms, cursor, SIZE_MAX, look_at_session, &shown);
	while (cursor != 0);
}
