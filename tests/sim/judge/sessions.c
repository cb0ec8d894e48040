/* sessions: see sessions.h. */
#include "tests/sim/judge/sessions.h"

#include "tests/sim/judge/withheld.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>

#define SLACK_MOST_MS 1000 /* until it is looked once more, an eighth of the time at most */

struct sought {
	int64_t token;
	bool found;
};

static bool
seek(void *arg, const struct hold_view *view)
{
	struct sought *s = arg;
	/* What is left of many holds is given up within the next milliseconds. */
	s->found |= view->token == s->token && !view->ends;
	return !s->found;
}

static bool
is_there(const struct host *h, const struct hold *hold)
{
	struct sought s = {.token = hold->token};
	core_each_hold(h->core, host_ms(h), slice_of(checker_name(hold->name)), seek, &s);
	return s.found;
}

static bool
is_of(const struct hold *h, const struct host *host, session_id session)
{
	return h->host == host && h->host_life == host->life && h->session == session;
}

/* Whether something else keeps the session of a connection that is closed: another one, its process, a grace.
 */
static bool
is_kept(const struct world *w, const struct conn *c, enum end end)
{
	const struct session_terms *p = session_terms_of(w, c->host, c->session);
	const struct conn *other;
	/* Its heartbeat may end in the same step, and that otherwise. */
	if (p != NULL && ((p->grace_ms > 0 && end != END_CLEAN) || p->heartbeat_ms > 0))
		return true;
	if (c->pid != 0)
		return true;
	LIST_FOREACH (other, conns_tagged(&w->conns, c->tag), in_tag)
		if (other != c && other->tag == c->tag &&
			(other->pid != 0 || (other->open && !other->ousted)))
			return true;
	return false;
}

void
sessions_closed(struct world *w, const struct conn *c, enum end end)
{
	if (!c->ousted && c->session != 0 && end == END_ABANDONED && !is_kept(w, c, end))
		withheld_left(w, c->host, c->session);
	if (c->ousted || c->session == 0 || (end != END_CLEAN && end != END_GONE) || is_kept(w, c, end))
		return;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (is_of(h, c->host, c->session) && !h->lost && h->withheld_us == 0 && is_there(c->host, h))
			world_fail(w,
				"session end: d%u keeps %s with token %" PRId64 ", and its session has ended",
				c->host->index, checker_name(h->name), h->token);
}

/* ---- how many names it holds ---- */

static void
check_holds(struct world *w, const struct conn *c, int64_t n)
{
	int64_t sure = 0, known = 0;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		if (!is_of(h, c->host, conn_session(c)) || h->lost)
			continue;
		known++;
		sure += !h->unannounced && promised(w, PROMISE_HOLD, h->name) && h->ended_us > w->now_us &&
			h->valid_us > w->now_us;
	}
	if (n < sure || (n > known && !bundles_of(w, c->host, conn_session(c))))
		world_fail(w,
			"session: c%u is told that its session holds %" PRId64 " names, of %" PRId64
			" for sure and %" PRId64 " at most",
			c->client->index, n, sure, known);
}

void
sessions_reply(struct world *w, const struct conn *c, const struct reply *reply)
{
	enum verb verb = c->current.verb;
	if (reply->type == REPLY_INT &&
		(verb == VERB_SESSION_JOIN || verb == VERB_SESSION_RESUME || verb == VERB_SESSION_BIND))
		check_holds(w, c, reply->n);
}

/* ---- what is over ---- */

static int64_t
slack_ms(int64_t ms)
{
	return ms / 8 + 1 < SLACK_MOST_MS ? ms / 8 + 1 : SLACK_MOST_MS;
}

/* A daemon that stood still, or read no client, looks once more when it goes on. */
static bool
stood_still(const struct host *h, int64_t slack)
{
	int64_t until_us = host_reads_us(h);
	return until_us > 0 && h->world->now_us - until_us < 2 * slack * 1000 + 100000;
}

static bool
is_blocked(const struct world *w, const struct session_terms *p)
{
	const struct conn *c;
	LIST_FOREACH (c, conns_tagged(&w->conns, p->tag), in_tag)
		if (c->tag == p->tag && c->open && c->busy && !c->ousted)
			return true;
	return false;
}

/* The connections that its daemon has not closed. */
static unsigned
speakers(const struct world *w, const struct session_terms *p)
{
	const struct conn *c;
	unsigned n = 0;
	LIST_FOREACH (c, conns_tagged(&w->conns, p->tag), in_tag)
		n += c->tag == p->tag && c->host == p->host && c->open && !c->ousted && !c->ending &&
		     !c->closing;
	return n;
}

static void
look_at_heartbeat(struct world *w, struct session_terms *p, int64_t now_ms)
{
	int64_t slack = slack_ms(p->heartbeat_ms);
	if (p->heartbeat_ms == 0 || speakers(w, p) == 0)
		return;
	if (is_blocked(w, p))
		p->heard_ms = now_ms;
	if (now_ms > p->heard_ms + p->heartbeat_ms + slack + 2 && !stood_still(p->host, slack))
		world_fail(w,
			"heartbeat: session %" PRIu64 " of d%u has been silent for %" PRId64
			" ms of %" PRId64,
			p->session, p->host->index, now_ms - p->heard_ms, p->heartbeat_ms);
}

static void
look_at_unannounced(struct world *w, const struct session_terms *p, int64_t now_ms)
{
	int64_t slack = slack_ms(p->most_ms);
	/* What an MLOCK is taking may be taken for what its session waited for before. */
	if (p->grace_ms == 0 || p->cut_ms == 0 || bundles_of(w, p->host, p->session) ||
		now_ms <= p->cut_ms + p->cut_grace_ms + slack + 2 || stood_still(p->host, slack))
		return;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (is_of(h, p->host, p->session) && h->unannounced && !h->unsent && is_there(p->host, h))
			world_fail(w,
				"grace: d%u keeps %s with token %" PRId64
				", of which nobody was told in time",
				p->host->index, checker_name(h->name), h->token);
}

void
sessions_step(struct world *w, const struct host *host, int64_t now_ms)
{
	for (struct session_terms *p = session_terms_living(w, host); p != NULL && !host->draining;
		p = p->next_living) {
		look_at_heartbeat(w, p, now_ms);
		look_at_unannounced(w, p, now_ms);
	}
}
