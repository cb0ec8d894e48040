/* circle: see circle.h. */
#include "tests/sim/judge/circle.h"

#include "tests/sim/world/id_client.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STUCK_MAX (4 * PLAN_CLIENTS_MAX)

/* Those of one daemon who seem to wait for each other. */
struct stuck {
	const struct conn *asks; /* who is answered; it may be closed in the same step */
	session_id session[STUCK_MAX];
	unsigned n;
};

static bool
is_stuck(const struct stuck *s, session_id session)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->session[i] == session)
			return true;
	return false;
}

/* Its session counts it. */
static bool
is_there(const struct stuck *s, const struct conn *c, const struct host *host)
{
	bool there = c->open && (!c->closing || c == s->asks);
	return c->host == host && c->host_life == host->life && there && conn_session(c) != 0;
}

static bool
speaks_at(const struct stuck *s, const struct conn *c, const struct host *host)
{
	/* Who is about to be closed is told nothing more, and may be named. */
	bool goes = c->ending && s->asks == NULL;
	return is_there(s, c, host) && !goes;
}

/* Waits for as long as it takes. An MLOCK only may: it tries first. */
static bool
conn_waits(struct world *w, const struct conn *c, bool mlock)
{
	const struct wait *v;
	/* Any connection could still speak for it (5.15). */
	if (!c->busy || id_client_is(c))
		return false;
	if (c->current.verb == VERB_MLOCK)
		return mlock && bundles_find(w, c) != NULL;
	if (c->current.verb != VERB_LOCK || c->current.id[0] != '\0')
		return false;
	v = waits_find(w, c, "");
	return v != NULL && !v->once;
}

/* Everybody all of whose connections wait. One that its daemon closes is counted until the core hears of its
 * end; but a session all of whose connections are closed has ended. */
static void
collect(struct world *w, const struct host *host, bool mlock, struct stuck *s)
{
	const struct conn *c;
	s->n = 0;
	LIST_FOREACH (c, &w->conns.open[host->index], in_place)
		if (speaks_at(s, c, host) && s->n < STUCK_MAX && !is_stuck(s, conn_session(c)))
			s->session[s->n++] = conn_session(c);
	LIST_FOREACH (c, &w->conns.open[host->index], in_place) {
		if (!is_there(s, c, host) || conn_waits(w, c, mlock))
			continue;
		for (unsigned i = 0; i < s->n; i++)
			if (s->session[i] == conn_session(c))
				s->session[i] = s->session[--s->n];
	}
}

/* Whether an MLOCK that is not answered may have this name already. */
static bool
is_taken_by_mlock(struct world *w, const struct host *host, const struct stuck *s, const struct conn *but,
	unsigned name)
{
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next) {
		if (v->conn == but || !speaks_at(s, v->conn, host) || !is_stuck(s, conn_session(v->conn)))
			continue;
		for (unsigned i = 0; i < v->conn->current.count; i++)
			if (v->conn->current.names[i] == name)
				return true;
	}
	return false;
}

/* Whether it surely keeps somebody waiting who asks for this. */
static bool
hold_blocks(const struct hold *h, enum kind kind)
{
	return h->kind != KIND_PERMITS && (h->kind == KIND_EXCLUSIVE || kind == KIND_EXCLUSIVE);
}

/* Whether these, as far as anybody knows, keep so many permits that too few are left for it, whoever has the
 * others. */
static bool
permits_are_kept(struct world *w, const struct host *host, const struct stuck *s, const struct request *r)
{
	int64_t kept = 0;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->kind == KIND_PERMITS && h->limit == r->limit && h->host == host &&
			h->host_life == host->life && h->name == r->name && is_stuck(s, h->session) &&
			held_surely(w, h) && h->withheld_us == 0)
			kept += h->permits;
	return r->kind == KIND_PERMITS && r->permits > r->limit - kept;
}

/* Whether, as far as anybody knows, these may have so many permits, or be given them before, that too few are
 * left for it or for one that waits with it. */
static bool
permits_may_lack(struct world *w, const struct host *host, const struct stuck *s, const struct request *r)
{
	int64_t stuck = 0, most = r->permits;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->kind == KIND_PERMITS && h->host == host && h->host_life == host->life &&
			h->name == r->name && is_stuck(s, h->session))
			stuck += h->permits;
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next) {
		bool here = v->conn->host == host && v->conn->host_life == host->life && v->name == r->name;
		if (!here || v->kind != KIND_PERMITS)
			continue;
		if (v->permits > most)
			most = v->permits;
		/* What it is given before the others is stuck, too. */
		if (v->stray ? is_stuck(s, v->session)
			     : v->id[0] != '\0' && speaks_at(s, v->conn, host) &&
					is_stuck(s, conn_session(v->conn)))
			stuck += v->permits;
	}
	return stuck > 0 && most > r->limit - stuck;
}

/* Whether somebody of these has the name and, as far as anybody knows, keeps it; or will be given it before.
 */
static bool
is_kept(struct world *w, const struct host *host, const struct stuck *s, unsigned name, enum kind kind,
	bool loosely)
{
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if ((loosely || hold_blocks(h, kind)) && h->host == host && h->host_life == host->life &&
			h->name == name && is_stuck(s, h->session) && (loosely || held_surely(w, h)))
			return true;
	for (const struct wait *v = w->checker.waits; loosely && v != NULL; v = v->next)
		if (v->stray ? v->name == name && v->conn->host == host && is_stuck(s, v->session)
			     : v->id[0] != '\0' && v->name == name && speaks_at(s, v->conn, host) &&
					is_stuck(s, conn_session(v->conn)))
			return true;
	return false;
}

static bool
goes_on(struct world *w, const struct conn *c, const struct stuck *s, bool loosely)
{
	const struct request *r = &c->current;
	if (r->verb == VERB_LOCK && loosely && r->kind == KIND_PERMITS)
		return !permits_may_lack(w, c->host, s, r);
	if (r->verb == VERB_LOCK)
		return !is_kept(w, c->host, s, r->name, r->kind, loosely) &&
		       !(!loosely && permits_are_kept(w, c->host, s, r)) &&
		       !(loosely && is_taken_by_mlock(w, c->host, s, c, r->name));
	for (unsigned i = 0; i < r->count; i++)
		if (is_kept(w, c->host, s, r->names[i], KIND_EXCLUSIVE, loosely) ||
			is_taken_by_mlock(w, c->host, s, c, r->names[i]))
			return false;
	return true;
}

/* Takes away everybody who can go on when those that are away have gone on. */
static void
reduce(struct world *w, const struct host *host, struct stuck *s, bool loosely)
{
	const struct conn *c;
	unsigned before;
	do {
		before = s->n;
		LIST_FOREACH (c, &w->conns.open[host->index], in_place) {
			if (!speaks_at(s, c, host) || !is_stuck(s, conn_session(c)) ||
				!goes_on(w, c, s, loosely))
				continue;
			for (unsigned i = 0; i < s->n; i++)
				if (s->session[i] == conn_session(c))
					s->session[i] = s->session[--s->n];
		}
	} while (s->n < before);
}

static bool
is_in_circle(struct world *w, const struct conn *c)
{
	struct stuck s = {.asks = c};
	collect(w, c->host, true, &s);
	reduce(w, c->host, &s, true);
	return is_stuck(&s, conn_session(c));
}

void
circle_note(struct host *h, const struct note *n)
{
	struct world *w = h->world;
	struct conn *c;
	if (n->type != NOTE_DEADLOCK)
		return;
	LIST_FOREACH (c, &w->conns.open[h->index], in_place)
		if (c->busy && c->current.verb == VERB_MLOCK && conn_session(c) == n->session &&
			is_in_circle(w, c))
			c->circled = c->current.serial;
}

void
circle_verify(struct world *w, struct conn *c, const struct reply *reply)
{
	char begin[64];
	if (!is_in_circle(w, c) && c->circled != c->current.serial)
		world_fail(w, "deadlock: c%u is refused, but it waits in no circle: %s", c->client->index,
			reply->text);
	snprintf(begin, sizeof(begin), "session %" PRIu64 " ", conn_session(c));
	if (strncmp(reply->text, begin, strlen(begin)) != 0)
		world_fail(w, "deadlock: c%u is not who the circle begins with: %s", c->client->index,
			reply->text);
}

void
circle_step(struct world *w, const struct host *host)
{
	struct stuck s = {.asks = NULL};
	collect(w, host, false, &s);
	reduce(w, host, &s, false);
	if (s.n > 0)
		world_fail(w, "deadlock: session %" PRIu64 " of d%u waits for itself, and is not told",
			s.session[0], host->index);
}
