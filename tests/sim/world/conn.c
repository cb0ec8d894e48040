/* conn: see conn.h. */
#include "tests/sim/world/conn.h"

#include "tests/sim/fault/change.h"
#include "tests/sim/fault/resp2_client.h"
#include "tests/sim/judge/answers.h"
#include "tests/sim/judge/limits.h"
#include "tests/sim/judge/listings.h"
#include "tests/sim/judge/oracle.h"
#include "tests/sim/judge/recorder.h"
#include "tests/sim/judge/sessions.h"
#include "tests/sim/world/id_client.h"
#include "tests/sim/world/request.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void conn_pump(struct conn *c);

static int64_t
later(struct world *w, int64_t *last_us)
{
	int64_t at = w->now_us + rng_range(&w->rng, 10, 200);
	if (at < *last_us)
		at = *last_us;
	*last_us = at;
	return at;
}

static bool
host_is_there(const struct conn *c)
{
	return c->host->alive && c->host->life == c->host_life;
}

/* True: the job that runs was put off until the daemon goes on. */
static bool
host_stands(const struct conn *c)
{
	struct world *w = c->world;
	int64_t until_us = c->ending ? c->host->paused_until_us : host_reads_us(c->host);
	if (until_us > w->now_us)
		schedule_again(&w->schedule, until_us);
	return until_us > w->now_us;
}

static struct conn *
conn_find(struct host *h, conn_id id)
{
	struct conn *c;
	LIST_FOREACH (c, &h->world->conns.open[h->index], in_place)
		if (id_client_speaks(c, id))
			return c;
	LIST_FOREACH (c, &h->world->conns.all, in_world)
		if (id_client_speaks(c, id))
			return c;
	assert(false && "an action names a connection that never was");
	return NULL;
}

/* Whether anything else keeps its session: another connection, or the process it is bound to. */
static bool
conn_tag_lives(const struct conn *c)
{
	const struct conn *other;
	if (c->pid != 0 && !c->unbound)
		return true;
	LIST_FOREACH (other, conns_tagged(&c->world->conns, c->tag), in_tag)
		if (other->tag == c->tag && !other->left)
			return true;
	return false;
}

static void
conn_tag_ends(const struct conn *c)
{
	struct conn *other;
	LIST_FOREACH (other, conns_tagged(&c->world->conns, c->tag), in_tag)
		other->over |= other->tag == c->tag;
	held_session_ended(c->world, c->tag);
}

/* ---- client to host ---- */

static void
host_accepts(void *arg, uint64_t a, void *data)
{
	struct conn *c = arg;
	(void)a;
	(void)data;
	if (!host_is_there(c) || host_stands(c))
		return;
	struct peer peer = {.pid = (int64_t)c->id, .uid = 1000, .admin = true};
	snprintf(peer.address, sizeof(peer.address), "%s", c->local ? "unix" : "10.0.0.7:4711");
	conns_open(&c->world->conns, c);
	host_step(c->host, &(struct event){.type = EVENT_OPEN, .conn = c->id_client.line, .peer = &peer});
	id_client_begins(c);
}

struct conn *
conn_open(struct client *client, struct host *h, bool local)
{
	struct world *w = h->world;
	struct conn *c = calloc(1, sizeof(*c));
	assert(c != NULL);
	c->world = w;
	c->id = ++w->serials;
	c->host = h;
	c->host_life = h->life;
	c->client = client;
	c->client_life = client->life;
	c->tag = c->id_client.line = c->id;
	c->local = local;
	conns_add(&w->conns, c);
	recorder_opens(c);
	schedule_add(&w->schedule, later(w, &c->to_host_us), host_accepts, c, 0, NULL);
	return c;
}

static struct slice
text_or_none(const char *text)
{
	return text[0] != '\0' ? slice_of(text) : (struct slice){NULL, 0};
}

static void
trace_request(const struct conn *c, const struct request *r)
{
	struct world *w = c->world;
	const int64_t numbers[] = {c->client->index, c->host->index, r->verb, r->name, r->wait_ms,
		r->lease_ms, r->max_hold_ms, r->extend_ms, r->token, r->validity, r->pid, r->ms, r->kind,
		r->permits, r->steps, r->limit, r->tries, r->claim_ms};
	trace_numbers(&w->trace, w->now_us, sizeof(numbers) / sizeof(numbers[0]), numbers);
	for (unsigned i = 0; i < r->count; i++)
		trace_numbers(&w->trace, w->now_us, 1, &(const int64_t){r->names[i]});
	if (!w->trace.keep)
		return;
	char text[160];
	request_text(r, text, sizeof(text));
	trace_kept(&w->trace, w->now_us, "c%u > d%u %s", c->client->index, c->host->index, text);
}

void
conn_command(struct conn *c, conn_id line, const struct request *r)
{
	struct command command = {
		.verb = r->verb,
		.as = text_or_none(id_client_names(r->verb) ? c->id_client.as : ""),
		.kind = r->kind,
		.limit = r->limit,
		.permits = r->permits,
		.owner = text_or_none(r->owner),
		.id = text_or_none(r->id),
		.wait_ms = r->wait_ms,
		.retries = r->tries > 0 ? r->tries - 1 : COMMAND_RETRIES_ANY,
		.lease_ms = r->lease_ms,
		.max_hold_ms = r->max_hold_ms,
		.claim_ms = r->claim_ms,
		.extend_ms = r->extend_ms,
		.token = r->token,
		.steps = r->steps,
		.validity = r->validity,
		.onloss = r->onloss,
		.grace_ms = r->ms,
		.heartbeat_ms = r->ms,
		.ttl_ms = r->ms,
		.session = r->number,
	};
	struct slice names[PLAN_NAMES_MAX];
	for (unsigned i = 0; i < r->count; i++)
		names[i] = slice_of(checker_name(r->names[i]));
	command.names = names;
	command.name_count = r->count;
	command.name = slice_of(checker_name(r->name));
	command.secret = text_or_none(r->secret);
	struct event event = {.type = EVENT_COMMAND, .conn = line, .command = &command};
	if (r->verb == VERB_SESSION_BIND)
		event = (struct event){.type = EVENT_BIND, .conn = line, .process = {r->pid, 1, 3}};
	host_step(c->host, &event);
}

static void
conn_run(struct conn *c)
{
	struct world *w = c->world;
	const struct request *r = &c->current;
	w->moment.asks = c;
	if (!id_client_asks(c))
		return;
	trace_request(c, r);
	resp2_client_before(c);
	limits_before(w, c);
	checker_command(w, c);
	c->asked_as = conn_session(c);
	c->asked_late = c->host->draining;
	c->running = true;
	conn_command(c, c->id_client.line, r);
	c->running = false;
	w->comes_back = NULL;
	if (!host_is_there(c))
		return;
	losses_command(w, c);
	session_terms_heard(w, c);
	answers_command(w, c);
	if (c->busy)
		recorder_waits(c);
	if (r->verb >= VERB_SESSION_ID)
		listings_sessions(w, c->host, host_ms(c->host));
	id_client_asked(c);
}

static void
on_pump(void *arg, uint64_t a, void *data)
{
	struct conn *c = arg;
	(void)a;
	(void)data;
	if (!host_is_there(c) || host_stands(c))
		return;
	conn_pump(c);
}

static void
conn_pump(struct conn *c)
{
	if (c->busy || c->n == 0 || !c->open || c->ending)
		return;
	c->current = c->queue[0];
	c->n--;
	memmove(&c->queue[0], &c->queue[1], c->n * sizeof(c->queue[0]));
	c->current.serial = ++c->world->serials;
	c->busy = true;
	c->queued = false;
	conn_run(c);
}

static void
host_receives(void *arg, uint64_t a, void *data)
{
	struct conn *c = arg;
	struct request *r = data;
	(void)a;
	if (host_is_there(c) && host_stands(c))
		return;
	if (host_is_there(c) && c->open && !c->ending) {
		assert(c->n < CONN_REQUESTS_MAX);
		c->queue[c->n++] = *r;
		conn_pump(c);
	}
	free(r);
}

void
conn_send(struct conn *c, const struct request *request)
{
	struct request *copy = malloc(sizeof(*copy));
	assert(copy != NULL && !c->left);
	*copy = *request;
	copy->sent_us = c->world->now_us;
	recorder_asks(c, request);
	if (request->verb == VERB_SESSION_BIND && c->pid == 0)
		c->pid = request->pid;
	schedule_add(&c->world->schedule, later(c->world, &c->to_host_us), host_receives, c, 0, copy);
}

session_id
conn_session(const struct conn *c)
{
	if (c->closing || id_client_is(c))
		return c->session;
	if (c->host->core == NULL)
		return 0; /* between two daemons */
	return core_session_of(c->host->core, c->id);
}

static void
host_closes(void *arg, uint64_t how, void *data)
{
	struct conn *c = arg;
	struct world *w = c->world;
	(void)data;
	if (!host_is_there(c) || host_stands(c) || !c->open)
		return;
	static const char *const words[] = {
		[END_CLEAN] = "clean", [END_GONE] = "gone", [END_ABANDONED] = "abandoned"};
	c->n = 0;
	w->moment.asks = c;
	trace_line(
		&w->trace, w->now_us, "c%u > d%u closed, %s", c->client->index, c->host->index, words[how]);
	/* Its client may have taken the grace back just before it left. */
	if (how == END_GONE && !c->graced && !conn_tag_lives(c))
		conn_tag_ends(c);
	/* What is due is still answered before its end is looked at. */
	c->session = conn_session(c);
	c->closing = true;
	enum end end = (enum end)how;
	if (id_client_is(c)) {
		end = END_CLEAN;
		conn_tag_ends(c);
	}
	w->closes = c;
	w->closes_clean = end == END_CLEAN || end == END_GONE;
	id_client_ends(c);
	if (host_is_there(c))
		host_step(
			c->host, &(struct event){.type = EVENT_CLOSE, .conn = c->id_client.line, .end = end});
	w->closes = NULL;
	sessions_closed(w, c, end);
	conns_close(&w->conns, c);
	session_terms_closed(w, c, end);
	waits_close(w, c);
	bundles_closed(w, c);
	latches_closed(w, c);
	listings_sessions(w, c->host, host_ms(c->host));
}

static void
host_finishes(void *arg, uint64_t a, void *data)
{
	struct conn *c = arg;
	(void)a;
	(void)data;
	if (!host_is_there(c) || host_stands(c) || !c->open || c->ending)
		return;
	trace_line(&c->world->trace, c->world->now_us, "c%u > d%u no more requests", c->client->index,
		c->host->index);
	c->world->moment.asks = c;
	waits_finish(c->world, c);
	bundles_finished(c->world, c);
	latches_finished(c->world, c);
	host_step(c->host, &(struct event){.type = EVENT_FINISH, .conn = c->id_client.line});
}

void
conn_finish(struct conn *c)
{
	schedule_add(&c->world->schedule, later(c->world, &c->to_host_us), host_finishes, c, 0, NULL);
}

static void
host_sees_exit(void *arg, uint64_t a, void *data)
{
	struct conn *c = arg;
	(void)a;
	(void)data;
	c->missed = !host_is_there(c);
	if (c->missed || host_stands(c))
		return;
	trace_line(&c->world->trace, c->world->now_us, "c%u > d%u process %" PRId64 " has ended",
		c->client->index, c->host->index, c->pid);
	/* It may be another connection by now that has bound their session to it. */
	struct conn *other, *bound = oracle_bound(c->world, c, c->pid);
	if (bound != NULL)
		conn_tag_ends(bound);
	host_step(c->host, &(struct event){.type = EVENT_EXIT, .process = {c->pid, 1, 3}});
	if (bound == NULL)
		return;
	held_exited(c->world, bound);
	if (host_is_there(bound))
		losses_end(c->world, bound->host, bound->open ? conn_session(bound) : bound->session);
	session_terms_exited(c->world, bound);
	LIST_FOREACH (other, conns_tagged(&c->world->conns, bound->tag), in_tag)
		if (other->tag == bound->tag && other->host == c->host) {
			waits_close(c->world, other);
			other->unbound = true;
			other->graced = false; /* also for who joins before the core has closed them */
		}
}

void
conn_exit(struct conn *c)
{
	conn_tag_ends(c);
	recorder_exits(c);
	c->exited = true;
	schedule_add(&c->world->schedule, later(c->world, &c->to_host_us), host_sees_exit, c, 0, NULL);
	recovery_exited(c);
}

void
conn_watched(struct host *h, int64_t pid)
{
	struct conn *c;
	LIST_FOREACH (c, &h->world->conns.all, in_world) {
		if (c->exited && c->pid == pid)
			recovery_exited(c);
		if (c->missed && c->host == h && c->host_life == h->life && c->pid == pid) {
			c->missed = false;
			schedule_add(&h->world->schedule, later(h->world, &c->to_host_us), host_sees_exit, c,
				0, NULL);
		}
	}
}

void
conn_leave(struct conn *c, bool quit)
{
	struct world *w = c->world;
	enum end end = c->local ? END_GONE : END_ABANDONED;
	bool ends = quit || (c->local && !c->graced) || id_client_is(c);
	if (quit)
		end = END_CLEAN;
	assert(!c->left);
	if (quit || id_client_is(c))
		recorder_quits(c);
	recorder_ends(c, false);
	c->left = true;
	if (ends && !conn_tag_lives(c))
		conn_tag_ends(c);
	schedule_add(&w->schedule, later(w, &c->to_host_us), host_closes, c, end, NULL);
}

void
conn_vanish(struct conn *c)
{
	struct world *w = c->world;
	assert(!c->left && !c->local);
	recorder_ends(c, false);
	c->left = true;
	c->to_host_us = w->now_us + rng_range(&w->rng, 0, 2000 * w->plan.lease_ms);
	schedule_add(&w->schedule, later(w, &c->to_host_us), host_closes, c, END_ABANDONED, NULL);
}

/* ---- host to client ---- */

struct parcel {
	bool is_push;
	struct request request;
	struct reply reply;
	enum push_type push;
	unsigned name;
	char id[24];
	int64_t token;
	int64_t ms;
	enum code code;
	int64_t tokens[PLAN_NAMES_MAX];
};

static bool
client_is_there(const struct conn *c)
{
	return !c->left && c->client->life == c->client_life;
}

static void
client_receives(void *arg, uint64_t a, void *data)
{
	struct conn *c = arg;
	struct parcel *p = data;
	(void)a;
	if (client_is_there(c)) {
		if (p->is_push) {
			recorder_pushed(c, p->push, p->name, p->id, p->token, p->ms, p->code);
			client_pushed(c->client, p->push, p->name, p->id, p->token);
		} else {
			recorder_reads(c, &p->request, &p->reply);
			client_answered(c->client, &p->request, &p->reply);
		}
	}
	free(p);
}

void
conn_reply_text(const struct reply *r, char *out, size_t size)
{
	switch (r->type) {
	case REPLY_INT:
		snprintf(out, size, ":%" PRId64, r->n);
		return;
	case REPLY_VALIDITY:
		snprintf(out, size, "[:%" PRId64 " :%" PRId64 "]", r->n, r->ms);
		return;
	case REPLY_ERROR:
		snprintf(out, size, "-%s %s", code_word(r->code), r->text);
		return;
	case REPLY_TOKENS:
		for (size_t i = 0, at = 0; i < r->count; i++)
			at += (size_t)snprintf(out + at, size - at, ":%" PRId64 " ", r->tokens[i]);
		return;
	default:
		snprintf(out, size, "%s",
			r->type == REPLY_NULL     ? "null"
			: r->type == REPLY_QUEUED ? "+QUEUED"
						  : "+");
	}
}

static void
trace_reply(const struct conn *c, const struct reply *r)
{
	struct world *w = c->world;
	bool counts = r->type == REPLY_INT || r->type == REPLY_VALIDITY;
	const int64_t numbers[] = {c->client->index, c->host->index, r->type,
		r->type == REPLY_ERROR ? (int64_t)r->code : -1, counts ? r->n : 0,
		r->type == REPLY_VALIDITY ? r->ms : 0};
	trace_numbers(&w->trace, w->now_us, sizeof(numbers) / sizeof(numbers[0]), numbers);
	if (r->type == REPLY_TOKENS)
		trace_numbers(&w->trace, w->now_us, r->count, r->tokens);
	if (!w->trace.keep)
		return;
	char text[300];
	conn_reply_text(r, text, sizeof(text));
	trace_kept(&w->trace, w->now_us, "d%u > c%u %s", c->host->index, c->client->index, text);
}

/* As all do that speak for its session. */
static void
conn_grace(struct conn *c, bool graced)
{
	struct conn *other;
	LIST_FOREACH (other, conns_tagged(&c->world->conns, c->tag), in_tag)
		if (other->tag == c->tag)
			other->graced = graced;
}

/* The session and who else speaks for it: nothing else in a history shows that clients share one. */
static void
trace_session(const struct conn *c)
{
	struct world *w = c->world;
	const struct conn *other;
	char others[160] = "";
	size_t n = 0;
	if (!w->trace.keep)
		return;
	LIST_FOREACH (other, conns_tagged(&w->conns, c->tag), in_tag)
		if (other != c && other->tag == c->tag && other->open && n < sizeof(others))
			n += (size_t)snprintf(
				others + n, sizeof(others) - n, " and c%u", other->client->index);
	trace_kept(&w->trace, w->now_us, "c%u%s speak%s for session %" PRIu64 " of d%u", c->client->index,
		others, n > 0 ? "" : "s", conn_session(c), c->host->index);
}

static void
conn_speaks_for(struct conn *c, uint64_t tag)
{
	struct conn *other;
	session_terms_moves(c->world, c, tag);
	recorder_joins(c, tag);
	if (tag != c->tag) {
		c->graced = false;
		c->secret[0] = '\0';
		/* What ended the binding of the session that it leaves is no matter of this one. */
		c->pid = c->unbound ? 0 : c->pid;
		c->bound = c->unbound = false;
	}
	conns_move(&c->world->conns, c, tag);
	LIST_FOREACH (other, conns_tagged(&c->world->conns, tag), in_tag) {
		if (other == c || other->tag != tag)
			continue;
		if (other->secret[0] != '\0')
			memcpy(c->secret, other->secret, sizeof(c->secret));
		c->graced |= other->graced;
		c->unbound |= other->unbound;
		c->pid = other->pid != 0 ? other->pid : c->pid;
	}
	trace_session(c);
}

/* To its process, or to the session of another connection that is bound to it. */
static void
conn_binds(struct conn *c, bool granted)
{
	const struct conn *other = oracle_bound(c->world, c, c->current.pid);
	if (!granted && !c->bound)
		c->pid = 0;
	else if (granted && other != NULL && other->tag != c->tag)
		conn_speaks_for(c, other->tag);
	else if (granted)
		c->bound = true;
	/* And all that speak for the session. */
	struct conn *each;
	LIST_FOREACH (each, conns_tagged(&c->world->conns, c->tag), in_tag)
		if (c->bound && each->tag == c->tag)
			each->pid = c->pid;
}

void
conn_reply(struct host *h, conn_id id, const struct reply *reply)
{
	struct world *w = h->world;
	if (id == h->operator_conn) {
		change_reply(h, reply);
		return;
	}
	struct conn *c = conn_find(h, id);
	w->moment.told = c;
	if (id_client_takes(c, id, reply))
		return;
	trace_reply(c, reply);
	if (!c->busy || !c->open) {
		world_fail(w, "one answer: d%u answers c%u, who asked nothing", h->index, c->client->index);
		return;
	}
	checker_reply(w, c, reply);
	if (c->current.verb == VERB_SESSION_BIND)
		conn_binds(c, reply->type == REPLY_INT);
	bool joins = c->current.verb == VERB_SESSION_JOIN || c->current.verb == VERB_SESSION_RESUME;
	if (reply->type == REPLY_INT && joins)
		conn_speaks_for(c, c->current.tag);
	sessions_reply(w, c, reply);
	if (reply->type == REPLY_TEXT && c->current.verb == VERB_SESSION_GRACE)
		conn_grace(c, c->current.ms > 0);
	struct parcel *p = calloc(1, sizeof(*p));
	assert(p != NULL);
	p->request = c->current;
	p->reply = *reply;
	if (reply->type == REPLY_TOKENS && reply->count <= PLAN_NAMES_MAX)
		memcpy(p->tokens, reply->tokens, reply->count * sizeof(p->tokens[0]));
	p->reply.tokens = p->tokens;
	schedule_add(&w->schedule, later(w, &c->to_client_us), client_receives, c, 0, p);
	c->busy = false;
	c->queued = reply->type == REPLY_QUEUED;
	id_client_answered(c, reply);
	if (c->n > 0)
		world_after(w, 0, on_pump, c, 0, NULL);
}

void
conn_push(struct host *h, conn_id id, const struct push *push)
{
	struct world *w = h->world;
	struct conn *c = conn_find(h, id);
	static const char *const words[] = {"grant", "failed", "lost"};
	w->moment.told = c;
	trace_line(&w->trace, w->now_us, "d%u > c%u push %s %.*s %.*s %" PRId64 " %" PRId64, h->index,
		c->client->index, words[push->type], (int)push->id.n, push->id.n > 0 ? push->id.p : "",
		(int)push->name.n, push->name.n > 0 ? push->name.p : "", push->token,
		push->type == PUSH_GRANT ? push->ms : -1);
	if (!c->open)
		world_fail(w, "one answer: d%u pushes to c%u, whose connection is gone", h->index,
			c->client->index);
	checker_push(w, c, push);
	if (resp2_client_push(c, push))
		return;
	struct parcel *p = calloc(1, sizeof(*p));
	assert(p != NULL && push->id.n < sizeof(p->id));
	p->is_push = true;
	p->push = push->type;
	p->name = checker_name_of(push->name);
	p->token = push->token;
	p->ms = push->type == PUSH_GRANT ? push->ms : -1;
	p->code = push->code;
	if (push->id.n > 0)
		memcpy(p->id, push->id.p, push->id.n);
	schedule_add(&w->schedule, later(w, &c->to_client_us), client_receives, c, 0, p);
}

static void
client_closes(void *arg, uint64_t a, void *data)
{
	struct conn *c = arg;
	(void)a;
	(void)data;
	if (!client_is_there(c))
		return;
	recorder_ends(c, true);
	c->left = true;
	client_closed(c->client);
}

void
conn_close_by_host(struct host *h, conn_id id)
{
	struct world *w = h->world;
	if (id == h->operator_conn)
		return;
	struct conn *c = conn_find(h, id);
	if (c->ending || !c->open)
		return;
	c->ending = true;
	resp2_client_closes(c);
	trace_line(&w->trace, w->now_us, "d%u > c%u closes", h->index, c->client->index);
	schedule_add(&w->schedule, later(w, &c->to_client_us), client_closes, c, 0, NULL);
	world_after(w, 0, host_closes, c, END_ABANDONED, NULL);
}

void
conn_host_gone(struct host *h)
{
	struct conn *c;
	LIST_FOREACH (c, &h->world->conns.all, in_world) {
		if (c->host != h || c->host_life != h->life)
			continue;
		waits_forget(h->world, c);
		bundles_closed(h->world, c);
		latches_closed(h->world, c);
		if (c->open)
			conns_close(&h->world->conns, c);
		if (client_is_there(c))
			schedule_add(&h->world->schedule, later(h->world, &c->to_client_us), client_closes, c,
				0, NULL);
	}
}
