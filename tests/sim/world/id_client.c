/* id_client: see id_client.h. */
#include "tests/sim/world/id_client.h"

#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool
id_client_is(const struct conn *c)
{
	return c->id_client.as[0] != '\0';
}

bool
id_client_names(enum verb verb)
{
	return verb != VERB_BREAK;
}

/* One of another daemon, whose id this host has not heard; NULL: none. */
static struct conn *
id_client_elsewhere(struct world *w, const struct host *here)
{
	struct conn *c;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		if (i == here->index)
			continue;
		LIST_FOREACH (c, &w->conns.open[i], in_place)
			if (id_client_is(c) && !(c->id_client.hosts & 1U << here->index))
				return c;
	}
	return NULL;
}

/* An id of its own, or one that another daemon has: there it is another session (5.11). */
static void
id_client_name(struct world *w, struct conn *c)
{
	struct conn *other = rng_percent(&w->rng, 40) ? id_client_elsewhere(w, c->host) : NULL;
	snprintf(c->id_client.as, sizeof(c->id_client.as), "persona%016" PRIx64, ++w->serials);
	c->id_client.hosts = 1U << c->host->index;
	if (other == NULL)
		return;
	memcpy(c->id_client.as, other->id_client.as, sizeof(c->id_client.as));
	other->id_client.hosts |= c->id_client.hosts;
	c->id_client.hosts = UINT_MAX;
}

bool
id_client_begin(struct client *client)
{
	struct world *w = client->world;
	struct request r = {.verb = VERB_SESSION_ONLOSS};
	if (w->plan.id_percent == 0 || !rng_percent(&w->rng, w->plan.id_percent))
		return false;
	client->many.on = client->chaos.on = false;
	client->words = 0;
	id_client_name(w, client->conn);
	r.onloss = w->serials % 3 == 0 ? ONLOSS_PUSH : ONLOSS_NEXT;
	client_send(client, &r);
	return true;
}

bool
id_client_speaks(const struct conn *c, conn_id line)
{
	return line == c->id_client.line || (c->id_client.aside != 0 && line == c->id_client.aside);
}

/* Its daemon still is there, and knows it. */
static bool
is_there(const struct conn *c)
{
	return c->host->alive && c->host->life == c->host_life && c->open;
}

/* The daemon can read now. */
static bool
can_ask(const struct conn *c)
{
	const struct world *w = c->world;
	return is_there(c) && !c->ending && !c->closing && !c->left &&
	       c->host->paused_until_us <= w->now_us && host_reads_us(c->host) <= w->now_us;
}

/* A line more. False: the daemon has ended in that step. */
static bool
line_open(struct conn *c, conn_id line)
{
	struct peer peer = {.pid = (int64_t)c->id, .uid = 1000, .admin = true, .address = "unix"};
	host_step(c->host, &(struct event){.type = EVENT_OPEN, .conn = line, .peer = &peer});
	return is_there(c);
}

static bool
line_close(struct conn *c, conn_id line)
{
	host_step(c->host, &(struct event){.type = EVENT_CLOSE, .conn = line, .end = END_GONE});
	return is_there(c);
}

/* Asks over another line, which is closed again. False: no answer has come. */
static bool
ask_aside(struct conn *c, const struct request *r)
{
	conn_id line = ++c->world->serials;
	c->id_client.aside = line;
	c->id_client.heard = false;
	if (line_open(c, line)) {
		conn_command(c, line, r);
		if (is_there(c))
			(void)line_close(c, line);
	}
	c->id_client.aside = 0;
	return c->id_client.heard;
}

void
id_client_begins(struct conn *c)
{
	if (!id_client_is(c) || !is_there(c))
		return;
	if (ask_aside(c, &(struct request){.verb = VERB_SESSION_TTL, .ms = ID_CLIENT_TTL_MS}) &&
		ask_aside(c, &(struct request){.verb = VERB_SESSION_ID}) &&
		c->id_client.said.type == REPLY_INT)
		c->session = (session_id)c->id_client.said.n;
}

void
id_client_ends(struct conn *c)
{
	if (!id_client_is(c))
		return;
	c->id_client.ends = true;
	if (ask_aside(c, &(struct request){.verb = VERB_SESSION_END, .number = (int64_t)c->session}) &&
		c->busy)
		world_fail(c->world, "id: c%u ends its session, and its request that waits is not told so",
			c->client->index);
}

/* SESSION END tells the request that waits. What was due before that is an answer as any other. */
static bool
is_refusal(const struct reply *reply)
{
	return reply->type == REPLY_ERROR && reply->code == CODE_ERR;
}

bool
id_client_takes(struct conn *c, conn_id line, const struct reply *reply)
{
	if (c->id_client.aside != 0 && line == c->id_client.aside) {
		c->id_client.heard = true;
		c->id_client.said = *reply;
		return true;
	}
	if (!c->id_client.ends || !c->busy || !is_refusal(reply))
		return false;
	c->busy = false;
	return true;
}

/* ---- its LOCK comes when nobody wants it any more ---- */

/* Its daemon has this hold. */
static bool
is_held_as(const struct conn *c, const struct hold *h)
{
	return h->session == c->session && held_there(h);
}

void
id_client_strays(const struct conn *c, struct request *r)
{
	struct world *w = c->world;
	if (!id_client_is(c) || !rng_percent(&w->rng, 20))
		return;
	r->astray = true;
	snprintf(r->owner, sizeof(r->owner), "late");
	r->wait_ms = r->lease_ms = r->claim_ms = r->tries = 0;
}

int64_t
id_client_ttl_ms(const struct conn *c)
{
	return c->current.astray ? c->world->plan.lease_ms : ID_CLIENT_TTL_MS;
}

/* What it is granted is kept for the TTL of then. */
bool
id_client_asks(struct conn *c)
{
	if (c->current.astray)
		(void)ask_aside(c, &(struct request){.verb = VERB_SESSION_TTL, .ms = id_client_ttl_ms(c)});
	return is_there(c);
}

/* A CHECK or an MLOCK that says no token comes as late, and claims nothing: the time begins anew. */
static void
check_strayed(struct conn *c)
{
	struct hold *h = held_by(c->world, c, c->current.name, c->current.owner);
	if (h == NULL || !held_surely(c->world, h) || h->ended_us <= c->world->now_us || !is_held_as(c, h) ||
		c->host->draining || !rng_percent(&c->world->rng, 50))
		return;
	struct request r = {.verb = VERB_CHECK, .name = h->name};
	memcpy(r.owner, c->current.owner, sizeof(r.owner));
	if (h->kind == KIND_EXCLUSIVE && rng_percent(&c->world->rng, 50)) {
		r.verb = VERB_MLOCK;
		r.names[r.count++] = h->name;
	}
	/* Another LOCK that came late may have ended with the TTL of all. */
	if (!ask_aside(c, &(struct request){.verb = VERB_SESSION_TTL, .ms = id_client_ttl_ms(c)}) ||
		!ask_aside(c, &r))
		return;
	if (c->id_client.said.type == REPLY_ERROR || c->id_client.said.type == REPLY_NULL)
		world_fail(c->world, "id: c%u asks about what came late, and is answered %d %s",
			c->client->index, c->id_client.said.type, c->id_client.said.text);
	held_put_off(h, id_client_ttl_ms(c));
}

/* From now on it may be silent for as long as all, unless the next one is under way. */
static void
answer_strayed(void *arg, uint64_t serial, void *data)
{
	struct conn *c = arg;
	(void)data;
	if (!is_there(c) || c->ending || c->closing || c->left || (c->busy && c->current.astray))
		return;
	if (can_ask(c))
		check_strayed(c);
	if (can_ask(c))
		(void)ask_aside(c, &(struct request){.verb = VERB_SESSION_TTL, .ms = ID_CLIENT_TTL_MS});
	else
		world_after(c->world, 1000, answer_strayed, c, serial, NULL);
}

/* ---- its request is repeated while it waits ---- */

/* The line breaks, and the next one repeats the request. */
static void
break_then_repeat(struct conn *c, const struct request *r)
{
	conn_id next = ++c->world->serials;
	c->id_client.apart = true;
	bool there = line_close(c, c->id_client.line);
	c->id_client.line = next;
	there = there && line_open(c, next);
	c->id_client.apart = false;
	if (there)
		conn_command(c, next, r);
}

/* The next line repeats the request while the one before is still open. That gets an answer, too. */
static void
repeat_then_break(struct conn *c, const struct request *r)
{
	conn_id line = ++c->world->serials;
	if (!line_open(c, line))
		return;
	c->id_client.aside = c->id_client.line;
	c->id_client.line = line;
	c->id_client.heard = false;
	conn_command(c, line, r);
	if (!is_there(c))
		return;
	if (!c->id_client.heard || !is_refusal(&c->id_client.said))
		world_fail(c->world, "id: c%u repeats its LOCK, and the one before is not told so",
			c->client->index);
	(void)line_close(c, c->id_client.aside);
	c->id_client.aside = 0;
}

static void
line_breaks(void *arg, uint64_t serial, void *data)
{
	struct conn *c = arg;
	struct world *w = c->world;
	struct request r = c->current;
	(void)data;
	if (!can_ask(c) || !c->busy || r.serial != serial)
		return;
	const struct wait *v = waits_find_asked(w, c);
	int64_t left_ms = v == NULL ? 0 : v->until_ms - host_ms(c->host);
	if (v == NULL || v->once || left_ms < 2)
		return;
	/* Its rule says for how long it waits, and may say otherwise by now. */
	if (v->until_ms == INT64_MAX && host_rule(c->host, r.name)->wait_ms >= 0)
		return;
	if (v->until_ms != INT64_MAX)
		r.wait_ms = left_ms;
	bool first = rng_percent(&w->rng, 50);
	trace_line(&w->trace, w->now_us, "c%u     repeats its LOCK over another line%s", c->client->index,
		first ? "" : ", after a cut");
	if (first)
		repeat_then_break(c, &r);
	else
		break_then_repeat(c, &r);
	id_client_asked(c);
}

void
id_client_asked(struct conn *c)
{
	struct world *w = c->world;
	const struct request *r = &c->current;
	if (id_client_is(c) && c->busy && r->verb == VERB_LOCK && r->wait_ms != 0 && r->tries == 0 &&
		rng_percent(&w->rng, 60))
		world_after(
			w, rng_range(&w->rng, 0, w->plan.lease_ms * 300), line_breaks, c, r->serial, NULL);
}

/* ---- its answer is lost, and the request repeated ---- */

struct sought {
	const struct conn *conn;
	bool found;
};

static bool
look_at_hold(void *arg, const struct hold_view *view)
{
	struct sought *s = arg;
	const char *owner = s->conn->current.owner;
	s->found = s->found || (view->session == s->conn->session && view->valid_ms > 0 &&
				       slice_equal(view->owner, (struct slice){owner, strlen(owner)}));
	return !s->found;
}

static bool
is_held(const struct conn *c)
{
	struct sought s = {.conn = c};
	core_each_hold(
		c->host->core, host_ms(c->host), slice_of(checker_name(c->current.name)), look_at_hold, &s);
	return s.found;
}

static void
answer_lost(void *arg, uint64_t serial, void *data)
{
	struct conn *c = arg;
	struct world *w = c->world;
	const struct request *r = &c->current;
	bool lock = r->verb == VERB_LOCK, ends = c->host->draining;
	(void)data;
	/* What was lost meanwhile is told to its client, not here. */
	if (!can_ask(c) || c->busy || r->serial != serial || is_held(c) != lock)
		return;
	trace_line(&w->trace, w->now_us, "c%u     repeats what was answered", c->client->index);
	if (!ask_aside(c, r))
		return;
	const struct reply *said = &c->id_client.said;
	bool refused = said->type == REPLY_ERROR && said->code == CODE_DRAINING;
	bool alike = lock ? (said->type == REPLY_INT || said->type == REPLY_VALIDITY) &&
				     said->n == c->id_client.token
			  : said->type == REPLY_INT && said->n == 0;
	struct hold *h = lock && alike ? held_by(w, c, r->name, r->owner) : NULL;
	if (h != NULL)
		held_asked(c, h);
	if (ends ? !refused : !alike)
		world_fail(w, "id: c%u repeats its %s and is answered %d :%" PRId64 " %s", c->client->index,
			lock ? "LOCK" : "UNLOCK", said->type, said->n,
			said->type == REPLY_ERROR ? said->text : "");
}

/* ---- a copy of a request comes late ---- */

/* It was sent about the hold before, and names that, or none. */
static struct request
late_request(struct rng *rng, const struct past *past)
{
	static const enum verb verbs[] = {
		VERB_UNLOCK, VERB_EXTEND, VERB_DOWNGRADE, VERB_CHECK, VERB_MUNLOCK, VERB_SESSION_END};
	struct request r = {.verb = verbs[rng_range(rng, 0, 5)], .name = past->name, .extend_ms = 1};
	memcpy(r.owner, past->owner, sizeof(r.owner));
	r.names[r.count] = past->name;
	r.count += r.verb == VERB_MUNLOCK;
	if (r.verb != VERB_SESSION_END && r.verb != VERB_MUNLOCK && rng_percent(rng, 50))
		r.token = past->token;
	return r;
}

static void
late_copy(void *arg, uint64_t serial, void *data)
{
	struct conn *c = arg;
	struct world *w = c->world;
	struct hold *h = held_by(w, c, c->id_client.past.name, c->id_client.past.owner);
	(void)serial;
	(void)data;
	if (!can_ask(c) || c->busy || c->host->draining || h == NULL || !held_surely(w, h) ||
		h->ended_us <= w->now_us || h->token == c->id_client.past.token || !is_held_as(c, h))
		return;
	struct request r = late_request(&w->rng, &c->id_client.past);
	/* One that names another session of the id ends none. */
	bool other = r.verb == VERB_SESSION_END && c->session > 1 && rng_percent(&w->rng, 50);
	if (other)
		r.number = (int64_t)c->session - 1;
	trace_line(&w->trace, w->now_us, "c%u     a copy of verb %d comes late", c->client->index, r.verb);
	if (!ask_aside(c, &r))
		return;
	const struct reply *said = &c->id_client.said;
	bool check = r.verb == VERB_CHECK;
	if (other       ? said->type != REPLY_INT || said->n != 0
		: check ? said->type != (r.token == 0 ? REPLY_INT : REPLY_NULL)
			: said->type != REPLY_ERROR || (said->code != CODE_ERR && said->code != CODE_NOTHELD))
		world_fail(w, "id: a copy of c%u comes late, and is answered %d :%" PRId64 " %s",
			c->client->index, said->type, said->n, said->type == REPLY_ERROR ? said->text : "");
	else if (check ? r.token == 0
		       : said->code == CODE_ERR && r.verb != VERB_SESSION_END && r.verb != VERB_MUNLOCK)
		held_put_off(h, ID_CLIENT_TTL_MS);
}

/* The name is given back, or granted: copies that were sent before may come. */
static void
late_copies(struct conn *c)
{
	struct world *w = c->world;
	const struct request *r = &c->current;
	struct past *past = &c->id_client.past;
	if (r->verb == VERB_UNLOCK) {
		past->name = r->name;
		memcpy(past->owner, r->owner, sizeof(past->owner));
		past->token = r->token;
	} else if (past->token != 0 && rng_percent(&w->rng, 50)) {
		world_after(w, rng_range(&w->rng, 0, w->plan.hold_us), late_copy, c, 0, NULL);
	}
}

void
id_client_answered(struct conn *c, const struct reply *reply)
{
	struct world *w = c->world;
	if (c->current.astray) {
		world_after(w, 0, answer_strayed, c, c->current.serial, NULL);
		return;
	}
	bool granted =
		c->current.verb == VERB_LOCK && (reply->type == REPLY_INT || reply->type == REPLY_VALIDITY);
	/* Where users may have little, what was given back is forgotten soon (1.13). */
	bool released = c->current.verb == VERB_UNLOCK && reply->type == REPLY_INT &&
			w->settings.per_user.locks > 100;
	if (!id_client_is(c) || (!granted && !released))
		return;
	c->id_client.token = reply->n;
	late_copies(c);
	if (rng_percent(&w->rng, 40))
		world_after(w, 0, answer_lost, c, c->current.serial, NULL);
}
