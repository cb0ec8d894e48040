/* session_terms: see session_terms.h. */
#include "tests/sim/judge/session_terms.h"

#include "tests/sim/judge/withheld.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static bool
is_alive(const struct session_terms *p)
{
	return !p->over && p->host->alive && p->host->life == p->host_life;
}

static struct session_terms *
find_tag(const struct world *w, uint64_t tag)
{
	struct session_terms *p = w->checker.pacts.tagged[tag % PACT_BUCKETS];
	while (p != NULL && p->tag != tag)
		p = p->next_tag;
	return p;
}

static struct session_terms *
find_session(const struct world *w, const struct host *host, session_id session)
{
	struct session_terms *p = w->checker.pacts.living[host->index];
	while (p != NULL && !(is_alive(p) && p->session == session))
		p = p->next_living;
	return p;
}

const struct session_terms *
session_terms_of(const struct world *w, const struct host *host, session_id session)
{
	return find_session(w, host, session);
}

const struct session_terms *
session_terms_tagged(const struct world *w, uint64_t tag)
{
	return find_tag(w, tag);
}

struct session_terms *
session_terms_living(struct world *w, const struct host *host)
{
	struct session_terms **at = &w->checker.pacts.living[host->index];
	while (*at != NULL)
		if ((*at)->over || (*at)->host_life != host->life)
			*at = (*at)->next_living;
		else
			at = &(*at)->next_living;
	return w->checker.pacts.living[host->index];
}

static struct session_terms *
add(struct world *w, const struct conn *c)
{
	struct session_terms **tagged = &w->checker.pacts.tagged[c->tag % PACT_BUCKETS];
	struct session_terms **living = &w->checker.pacts.living[c->host->index];
	struct session_terms *p = calloc(1, sizeof(*p));
	assert(p != NULL);
	*p = (struct session_terms){.next_tag = *tagged,
		.next_living = *living,
		.host = c->host,
		.host_life = c->host_life,
		.tag = c->tag,
		.session = conn_session(c)};
	*tagged = p;
	*living = p;
	return p;
}

/* What was kept over an earlier cut stays for the grace of then, also when that has been taken back since. */
static void
cut(struct session_terms *p)
{
	if (p->grace_ms == 0 && p->cut_ms != 0)
		return;
	p->cut_ms = host_ms(p->host);
	p->cut_grace_ms = p->grace_ms;
}

/* Others that still speak for it are closed; what they wait for strays, or ends where there is no grace. */
static void
take_over(struct world *w, struct session_terms *p, const struct conn *by)
{
	struct conn *other;
	if (p != NULL && p->grace_ms > 0)
		waits_cut(w, p->host, p->session, host_ms(p->host) + p->grace_ms);
	LIST_FOREACH (other, conns_tagged(&w->conns, by->current.tag), in_tag) {
		if (other == by || other->tag != by->current.tag || other->host != by->host || !other->open ||
			other->ousted)
			continue;
		other->ousted = true;
		bundles_closed(w, other);
		latches_closed(w, other);
		if (p == NULL || p->grace_ms == 0) {
			waits_close(w, other);
			continue;
		}
		cut(p);
		waits_stray(w, other, p->session, host_ms(p->host) + p->grace_ms);
	}
}

static bool
others_speak(const struct world *w, const struct conn *c)
{
	const struct conn *other;
	LIST_FOREACH (other, conns_tagged(&w->conns, c->tag), in_tag)
		if (other != c && other->tag == c->tag && other->open && !other->ousted)
			return true;
	return false;
}

static void
resumed(struct world *w, struct conn *c, const struct reply *reply)
{
	struct session_terms *p = find_tag(w, c->current.tag);
	bool refused = reply->type == REPLY_ERROR;
	if (p == NULL || !is_alive(p)) {
		if (!refused)
			take_over(w, NULL, c);
		return;
	}
	if (p->host->draining)
		return;
	/* Who has a session of its own may be refused (oracle.h). It may have asked for another one before it
	 * was cut off. */
	if (refused && c->client->lost.returning && c == c->client->conn &&
		(!p->detached || host_ms(p->host) < p->cut_ms + p->grace_ms)) {
		world_fail(w, "grace: c%u cannot resume its session within the grace: %s", c->client->index,
			reply->text);
		return;
	}
	if (refused)
		return;
	if (conn_session(c) != p->session)
		world_fail(w, "grace: c%u has resumed another session than its own", c->client->index);
	p->detached = false;
	take_over(w, p, c);
}

void
session_terms_moves(struct world *w, const struct conn *c, uint64_t tag)
{
	struct session_terms *own = find_tag(w, c->tag), *p = find_tag(w, tag);
	if (own != NULL && tag != c->tag && is_alive(own) && !others_speak(w, c))
		own->over = true;
	if (p == NULL || !is_alive(p))
		return;
	p->detached = false;
	p->heard_ms = host_ms(c->host);
}

void
session_terms_reply(struct world *w, struct conn *c, const struct reply *reply)
{
	struct session_terms *p = find_tag(w, c->tag);
	switch (c->current.verb) {
	case VERB_SESSION_GRACE:
		if (reply->type != REPLY_TEXT)
			return;
		if (p == NULL || !is_alive(p))
			p = add(w, c);
		p->grace_ms = c->current.ms;
		p->most_ms = p->most_ms > p->grace_ms ? p->most_ms : p->grace_ms;
		return;
	case VERB_SESSION_HEARTBEAT:
		if (p == NULL || !is_alive(p))
			p = add(w, c);
		p->heartbeat_ms = c->current.ms;
		p->heard_ms = host_ms(c->host);
		return;
	case VERB_SESSION_RESUME:
		resumed(w, c, reply);
		session_terms_heard(w, c);
		return;
	default:
		session_terms_heard(w, c);
		return;
	}
}

void
session_terms_torn(struct world *w, const struct conn *c, int64_t grace_ms, int64_t heartbeat_ms)
{
	struct session_terms *p = find_tag(w, c->tag);
	if ((p == NULL || !is_alive(p)) && grace_ms + heartbeat_ms == 0)
		return;
	if (p == NULL || !is_alive(p))
		p = add(w, c);
	p->grace_ms = grace_ms;
	p->most_ms = p->most_ms > grace_ms ? p->most_ms : grace_ms;
	p->heartbeat_ms = heartbeat_ms;
}

void
session_terms_heard(struct world *w, const struct conn *c)
{
	struct session_terms *p = find_tag(w, c->tag);
	if (p != NULL)
		p->heard_ms = host_ms(p->host);
}

void
session_terms_exited(struct world *w, const struct conn *c)
{
	struct session_terms *p = find_tag(w, c->tag);
	if (p == NULL || !is_alive(p))
		return;
	p->grace_ms = 0;
	if (others_speak(w, c) || c->open)
		return;
	p->over = true;
	waits_drop(w, p->host, p->session);
}

/* Whether its daemon has bound its session to a process. A BIND that is on its way binds nothing. */
static bool
is_bound(const struct world *w, const struct conn *c)
{
	const struct conn *other;
	LIST_FOREACH (other, conns_tagged(&w->conns, c->tag), in_tag)
		if (other->tag == c->tag && other->host == c->host && other->bound && !other->unbound)
			return true;
	return false;
}

void
session_terms_closed(struct world *w, const struct conn *c, enum end end)
{
	struct session_terms *p = find_tag(w, c->tag);
	if (p == NULL || !is_alive(p) || c->ousted || others_speak(w, c))
		return;
	if (!is_bound(w, c) && (p->grace_ms == 0 || end == END_CLEAN || p->host->draining)) {
		p->over = true;
		return;
	}
	p->detached = true;
	cut(p);
	p->graced = p->grace_ms > 0 && end != END_CLEAN && !p->host->draining;
	if (p->grace_ms == 0 || end == END_CLEAN || p->host->draining)
		return; /* its process keeps it, and nothing it waits for */
	waits_cut(w, p->host, p->session, p->cut_ms + p->grace_ms);
	waits_stray(w, c, p->session, p->cut_ms + p->grace_ms);
}

static void
expired(struct session_terms *p)
{
	struct host *h = p->host;
	struct world *w = h->world;
	if (!h->draining && (!p->detached || host_ms(h) < p->cut_ms + p->grace_ms))
		world_fail(w, "grace: session %" PRIu64 " of d%u ends within its grace of %" PRId64 " ms",
			p->session, h->index, p->grace_ms);
	p->over = true;
	withheld_left(w, h, p->session);
	waits_drop(w, h, p->session);
}

/* Who waits for an answer cannot ask for anything. */
static bool
is_blocked(const struct session_terms *p)
{
	const struct conn *c;
	LIST_FOREACH (c, conns_tagged(&p->host->world->conns, p->tag), in_tag)
		if (c->tag == p->tag && c->open && c->busy && !c->running && !c->ousted)
			return true;
	return false;
}

static void
silent(struct session_terms *p)
{
	int64_t for_ms = host_ms(p->host) - p->heard_ms;
	if (p->heartbeat_ms == 0 || for_ms < p->heartbeat_ms || is_blocked(p))
		world_fail(p->host->world,
			"heartbeat: session %" PRIu64 " of d%u is closed after %" PRId64 " ms of %" PRId64,
			p->session, p->host->index, for_ms, p->heartbeat_ms);
	struct conn *bound;
	LIST_FOREACH (bound, conns_tagged(&p->host->world->conns, p->tag), in_tag)
		if (bound->tag == p->tag)
			bound->unbound = true;
	if (p->detached)
		cut(p);
	p->over |= p->detached && p->grace_ms == 0;
	if (p->grace_ms > 0)
		return;
	/* What it waits for ends with it, before its connections do. */
	struct conn *c;
	LIST_FOREACH (c, conns_tagged(&p->host->world->conns, p->tag), in_tag)
		if (c->tag == p->tag && c->open)
			waits_close(p->host->world, c);
}

void
session_terms_note(struct host *h, const struct note *n)
{
	struct session_terms *p = n->session != 0 ? find_session(h->world, h, n->session) : NULL;
	if (n->type == NOTE_LOST)
		held_lost(h, checker_name_of(n->name), n->token);
	if (p == NULL)
		return;
	if (n->type == NOTE_EXPIRED)
		expired(p);
	else if (n->type == NOTE_SILENT)
		silent(p);
	else if (n->type == NOTE_GRANTED)
		grants_stray(h, n);
}

void
session_terms_free(struct world *w)
{
	for (unsigned i = 0; i < PACT_BUCKETS; i++)
		for (struct session_terms *p = w->checker.pacts.tagged[i], *next; p != NULL; p = next) {
			next = p->next_tag;
			free(p);
		}
	w->checker.pacts = (struct pacts){.tagged = {NULL}};
}
