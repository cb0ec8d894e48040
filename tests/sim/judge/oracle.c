/* oracle: see oracle.h. */
#include "tests/sim/judge/oracle.h"

#include "tests/sim/world/id_client.h"
#include "tests/sim/world/request.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALLOW(code)  (1U << CODE_##code)
#define ANSWER(type) (1U << REPLY_##type)
#define LATCH_CODES  (ALLOW(ERR) | ALLOW(NOMASTER) | ALLOW(GUARD) | ALLOW(MASTERERR) | ALLOW(DRAINING))

/* What may come back. */
struct forecast {
	unsigned replies;
	unsigned codes;
};

static const struct forecast error = {ANSWER(ERROR), 0};

/* By verb, in whatever state. */
static const struct {
	enum verb verb;
	struct forecast any;
} documented[] = {
	{VERB_LOCK, {ANSWER(INT) | ANSWER(VALIDITY) | ANSWER(NULL) | ANSWER(QUEUED) | ANSWER(ERROR),
			    ALLOW(HELD) | ALLOW(WRONGKIND) | ALLOW(NOMASTER) | ALLOW(GUARD) |
				    ALLOW(MASTERERR) | ALLOW(DRAINING) | ALLOW(DEADLOCK) | ALLOW(UPGRADE) |
				    ALLOW(LIMIT) | ALLOW(LOST)}},
	{VERB_DOWNGRADE,
		{ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD) | ALLOW(LOST) | ALLOW(WRONGKIND) | ALLOW(ERR)}},
	{VERB_MLOCK, {ANSWER(TOKENS) | ANSWER(NULL) | ANSWER(ERROR),
			     ALLOW(HELD) | ALLOW(WRONGKIND) | ALLOW(NOMASTER) | ALLOW(GUARD) |
				     ALLOW(MASTERERR) | ALLOW(DRAINING) | ALLOW(DEADLOCK) | ALLOW(UPGRADE) |
				     ALLOW(LIMIT) | ALLOW(LOST)}},
	{VERB_MUNLOCK, {ANSWER(INT), 0}},
	{VERB_UNLOCK, {ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD) | ALLOW(LOST) | ALLOW(ERR)}},
	{VERB_CHECK, {ANSWER(INT) | ANSWER(NULL) | ANSWER(ERROR), ALLOW(LOST)}},
	{VERB_EXTEND, {ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD) | ALLOW(LOST) | ALLOW(ERR)}},
	{VERB_CANCEL, {ANSWER(INT), 0}},
	{VERB_BREAK, {ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD)}},
	{VERB_LATCH_SET, {ANSWER(INT) | ANSWER(ERROR), LATCH_CODES}},
	{VERB_LATCH_DOWN, {ANSWER(INT) | ANSWER(ERROR), LATCH_CODES | ALLOW(LOST)}},
	{VERB_LATCH_AWAIT, {ANSWER(INT) | ANSWER(NULL) | ANSWER(ERROR), LATCH_CODES | ALLOW(LOST)}},
	{VERB_LATCH_COUNT, {ANSWER(INT) | ANSWER(NULL) | ANSWER(ERROR), LATCH_CODES | ALLOW(LOST)}},
	{VERB_SESSION_ID, {ANSWER(INT), 0}},
	{VERB_SESSION_ONLOSS, {ANSWER(OK), 0}},
	{VERB_SESSION_SECRET, {ANSWER(TEXT), 0}},
	{VERB_SESSION_JOIN, {ANSWER(INT) | ANSWER(ERROR), ALLOW(ERR)}},
	{VERB_SESSION_BIND, {ANSWER(INT) | ANSWER(ERROR), ALLOW(ERR)}},
	{VERB_SESSION_GRACE, {ANSWER(TEXT) | ANSWER(ERROR), ALLOW(LIMIT) | ALLOW(DRAINING)}},
	{VERB_SESSION_RESUME, {ANSWER(INT) | ANSWER(ERROR), ALLOW(ERR) | ALLOW(DRAINING)}},
	{VERB_SESSION_HEARTBEAT, {ANSWER(OK), 0}},
};

static void
only(struct forecast *f, unsigned replies, unsigned codes)
{
	f->replies &= replies;
	f->codes &= codes;
}

/* ---- holds (3.11 to 3.15, 3.21) ---- */

/* late: it may be a copy that comes late, as it has an id (5.16). */
static void
of_hold(const struct world *w, const struct request *r, const struct hold *h, bool late, struct forecast *f)
{
	bool other = r->token != 0 && r->token != h->token;
	if (other && r->verb == VERB_CHECK)
		only(f, ANSWER(NULL), 0);
	else if (other)
		only(f, error.replies, ALLOW(NOTHELD));
	else if (late && r->token == 0 && r->verb != VERB_CHECK)
		only(f, error.replies, ALLOW(ERR));
	else if (r->verb == VERB_EXTEND && !h->leased)
		only(f, error.replies, ALLOW(ERR));
	else if (r->verb == VERB_DOWNGRADE && h->kind == KIND_PERMITS)
		only(f, error.replies, ALLOW(WRONGKIND));
	else if (r->verb == VERB_DOWNGRADE && plan_keyed(&w->plan, r->name))
		only(f, f->replies, ALLOW(WRONGKIND));
	else
		only(f, ANSWER(INT), 0);
}

/* ---- LOCK (3.5 to 3.7, 3.10, 3.20, 3.24) ---- */

/* It is held by this session and tag already. */
static void
of_reentry(
	const struct world *w, const struct request *r, const struct hold *h, bool again, struct forecast *f)
{
	unsigned refused = 0, number = r->validity ? ANSWER(VALIDITY) : ANSWER(INT);
	bool more = r->permits > h->permits, up = h->kind == KIND_SHARED && r->kind == KIND_EXCLUSIVE;
	if ((h->kind == KIND_PERMITS) != (r->kind == KIND_PERMITS) || h->limit != r->limit)
		refused = ALLOW(WRONGKIND) | ALLOW(LIMIT);
	else if (plan_keyed(&w->plan, r->name) && r->kind != KIND_EXCLUSIVE)
		refused = ALLOW(WRONGKIND);
	else if (up || (more && (again || r->owner[0] != '\0')))
		refused = ALLOW(UPGRADE);
	else if (r->owner[0] == '\0' && !again)
		refused = more ? ALLOW(UPGRADE) | ALLOW(HELD) : ALLOW(HELD);
	if (refused != 0)
		only(f, error.replies, refused);
	else
		only(f, number, 0);
}

/* How many LOCKs of this session wait under its id; lost: over connections that are lost. */
static unsigned
waits_under_id(const struct world *w, const struct conn *c, bool lost)
{
	unsigned n = 0;
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		n += v->stray == lost && v->conn->host == c->host && v->conn->host_life == c->host_life &&
		     strcmp(v->id, c->current.id) == 0 &&
		     (lost ? v->session : conn_session(v->conn)) == conn_session(c);
	return n;
}

/* Another one waits under its id. */
static void
of_id(const struct world *w, const struct conn *c, bool held, struct forecast *f)
{
	bool taken = waits_under_id(w, c, false) > 1;
	if (taken || waits_under_id(w, c, true) > 0)
		f->codes |= ALLOW(ERR);
	if (taken && !held)
		f->replies &= error.replies;
}

static void
of_lock(struct world *w, const struct conn *c, const struct hold *h, struct forecast *f)
{
	const struct request *r = &c->current;
	bool async = r->id[0] != '\0';
	f->replies &= ~(async ? ANSWER(NULL) : ANSWER(QUEUED));
	f->replies &= ~(r->validity ? ANSWER(INT) : ANSWER(VALIDITY));
	if (async || r->wait_ms == 0)
		f->codes &= ~ALLOW(DEADLOCK);
	if (async && h == NULL)
		f->replies &= ~(ANSWER(INT) | ANSWER(VALIDITY));
	if (plan_first(&w->plan, r->name) != r->name)
		f->codes |= ALLOW(ERR);
	/* Who waited already goes on waiting (3.5). */
	if (h != NULL && c->running && held_surely(w, h) && h->withheld_us == 0) {
		of_reentry(w, r, h, id_client_is(c), f);
	} else if (async) {
		of_id(w, c, h != NULL, f);
	}
}

/* None of several names may be held already (3.32). */
static void
of_mlock(struct world *w, struct conn *c, struct forecast *f)
{
	const struct request *r = &c->current;
	for (unsigned i = 0; i < r->count; i++) {
		const struct hold *h = held_by(w, c, r->names[i], r->owner);
		if (h != NULL && c->running && held_surely(w, h) && h->withheld_us == 0)
			only(f, error.replies, ~0U);
		if (plan_first(&w->plan, r->names[i]) != r->names[i])
			f->codes |= ALLOW(ERR);
	}
}

/* ---- sessions (5.3, 5.4, 5.8, 5.9) ---- */

/* Its daemon ends, and no connection speaks for its session any more: its process keeps nothing. */
static bool
is_left_behind(const struct world *w, const struct conn *c)
{
	const struct conn *other;
	bool spoken_for = false;
	LIST_FOREACH (other, conns_tagged(&w->conns, c->tag), in_tag)
		spoken_for |= other->tag == c->tag && other->open && !other->ousted;
	return c->host->draining && !spoken_for;
}

struct conn *
oracle_bound(const struct world *w, const struct conn *c, int64_t pid)
{
	struct conn *other;
	LIST_FOREACH (other, &w->conns.all, in_world)
		if (other->pid == pid && other->bound && !other->unbound && other->host == c->host &&
			other->host_life == c->host_life && !is_left_behind(w, other))
			return other;
	return NULL;
}

/* A session has one secret, and it alone. */
static void
check_secret(struct world *w, struct conn *c, const struct reply *reply)
{
	struct conn *other;
	LIST_FOREACH (other, &w->conns.all, in_world) {
		if (other->secret[0] == '\0' || other->host != c->host || other->host_life != c->host_life)
			continue;
		if ((strcmp(other->secret, reply->text) == 0) != (other->tag == c->tag))
			world_fail(w, "secret: c%u is told another secret than its session has, or another's",
				c->client->index);
	}
	memcpy(c->secret, reply->text, sizeof(c->secret) - 1);
}

static void
of_session(struct world *w, struct conn *c, const struct reply *reply, struct forecast *f)
{
	const struct request *r = &c->current;
	switch (r->verb) {
	case VERB_SESSION_RESUME:
		if (c->host->draining)
			only(f, error.replies, ALLOW(DRAINING));
		return;
	case VERB_SESSION_GRACE:
		if (r->ms > w->settings.grace.most_ms)
			only(f, error.replies, ~0U);
		break;
	case VERB_SESSION_ID:
		if ((uint64_t)reply->n != conn_session(c))
			world_fail(w, "session: c%u is told that it is %" PRId64, c->client->index, reply->n);
		return;
	default:
		break;
	}
	if (reply->type == REPLY_TEXT)
		check_secret(w, c, reply);
}

/* ---- */

/* A daemon that ends speaks for no id (5.11). */
static void
of_end(const struct conn *c, struct forecast *f)
{
	if (!id_client_is(c) || !c->host->draining || !id_client_names(c->current.verb))
		return;
	if (c->asked_late)
		*f = (struct forecast){0, 0};
	f->replies |= ANSWER(ERROR);
	f->codes |= ALLOW(DRAINING);
}

/* If a verb has no row, only that is reported. */
static struct forecast
any_answer(struct world *w, enum verb verb)
{
	char name[COMMAND_NAME_MAX];
	for (size_t i = 0; i < sizeof(documented) / sizeof(documented[0]); i++)
		if (documented[i].verb == verb)
			return documented[i].any;
	command_name(verb, name);
	world_fail(w, "reply: documented in tests/sim/judge/oracle.c says nothing of: %s", name);
	return (struct forecast){~0U, ~0U};
}

static struct forecast
forecast(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	struct forecast f = any_answer(w, r->verb);
	const struct hold *h = r->count == 0 ? held_find(w, c, conn_session(c), r->name, r->owner) : NULL;
	switch (r->verb) {
	case VERB_LOCK:
		of_lock(w, c, h, &f);
		break;
	case VERB_MLOCK:
		of_mlock(w, c, &f);
		break;
	case VERB_UNLOCK:
	case VERB_CHECK:
	case VERB_EXTEND:
	case VERB_DOWNGRADE:
		if (h != NULL && held_surely(w, h) && h->withheld_us == 0)
			of_hold(w, r, h, id_client_is(c), &f);
		break;
	default:
		of_session(w, c, reply, &f);
		break;
	}
	of_end(c, &f);
	return f;
}

static void
forecast_text(const struct forecast *f, char *out, size_t size)
{
	static const char *const words[] = {[REPLY_INT] = "a number",
		[REPLY_NULL] = "null",
		[REPLY_OK] = "OK",
		[REPLY_QUEUED] = "QUEUED",
		[REPLY_TEXT] = "a text",
		[REPLY_VALIDITY] = "a token with its ms",
		[REPLY_TOKENS] = "tokens",
		[REPLY_ERROR] = "an error:"};
	size_t at = 0;
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((f->replies & 1U << i) && at < size)
			at += (size_t)snprintf(out + at, size - at, " %s", words[i]);
	for (enum code code = 0; code < CODE_COUNT; code++)
		if ((f->replies & 1U << REPLY_ERROR) && (f->codes & 1U << code) && at < size)
			at += (size_t)snprintf(out + at, size - at, " %s", code_word(code));
}

void
oracle_reply(struct world *w, struct conn *c, const struct reply *reply)
{
	struct forecast f = forecast(w, c, reply);
	bool good = (f.replies & 1U << reply->type) &&
		    (reply->type != REPLY_ERROR || (f.codes & 1U << reply->code));
	char asked[160], answer[300], allowed[160];
	if (good)
		return;
	request_text(&c->current, asked, sizeof(asked));
	conn_reply_text(reply, answer, sizeof(answer));
	forecast_text(&f, allowed, sizeof(allowed));
	world_fail(w, "reply: c%u asks %s and is answered %s; right would be%s", c->client->index, asked,
		answer, allowed);
}
