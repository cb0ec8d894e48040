/*
 * state_session: see state_session.h. Sessions with what they have lost and the connections that speak for
 * them, and MLOCKs without an answer.
 */
#include "daemon/core/persist/state_session.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/starts.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/deadlock.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/guest.h"
#include "daemon/core/families/mlock.h"
#include "daemon/core/families/parts.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/liveness/ending.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/part.h"
#include "daemon/core/persist/durable.h"
#include "daemon/core/persist/state.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- sessions ---- */

/* What only a restart keeps of it. */
struct session_now {
	bool deferred; /* a search for a deadlock is deferred */
	bool ends;     /* it gives up its holds and losses, and how */
	enum end end;
};

static void
now_fields(struct record *r, struct core *core, struct session *s, struct session_now *now)
{
	record_unsigned(r, &s->push_conn);
	s->alive_ms = state_time(r, s->alive_ms);
	state_timer(r, core, &s->grace_timer);
	s->grace_check_at_ms = state_time(r, s->grace_check_at_ms);
	state_timer(r, core, &s->heartbeat_timer);
	s->heartbeat_check_at_ms = state_time(r, s->heartbeat_check_at_ms);
	record_flag(r, &now->deferred);
	record_flag(r, &s->unseen);
	record_flag(r, &s->written);
	record_flag(r, &now->ends);
	now->end = (enum end)record_range(r, now->end, END_CLEAN, END_ABANDONED);
}

static void
conn_fields(struct record *r, struct conn *conn)
{
	record_flag(r, &conn->no_push);
	record_flag(r, &conn->anchor);
}

static void
save_session(struct core *core, struct record *r, struct session *s)
{
	struct session_entry e = durable_session(s);
	struct session_now now = {s->deferred, s->ends, s->end};
	struct conn *conn;

	assert(s->id != 0 && s->id <= core->sessions->last_id);
	record_begin(r, RECORD_SESSION);
	durable_session_fields(r, &e);
	now_fields(r, core, s, &now);
	record_end(r);
	for (const struct loss *loss = s->losses; loss != NULL; loss = loss->hh.next) {
		struct loss_entry lost = durable_loss(loss);

		record_begin(r, RECORD_LOSS);
		durable_loss_fields(r, &lost);
		record_end(r);
	}
	TAILQ_FOREACH (conn, &s->conns, in_session) {
		assert(conn->session == s);
		if (conn->host != NULL)
			continue;
		record_begin(r, RECORD_CONN);
		record_unsigned(r, &conn->id);
		conn_fields(r, conn);
		record_end(r);
	}
}

/* A connection has its own session in any case, which has to be there. */
static void
save_guests(struct record *r, const struct session *s)
{
	struct conn *conn;
	session_id id = s->id;

	TAILQ_FOREACH (conn, &s->conns, in_session) {
		if (conn->host == NULL)
			continue;
		record_begin(r, RECORD_GUEST);
		record_unsigned(r, &conn->id);
		record_unsigned(r, &id);
		record_end(r);
	}
}

void
state_save_sessions(struct core *core, struct record *r)
{
	for (struct session *s = core->sessions->all; s != NULL; s = s->hh.next)
		save_session(core, r, s);
	for (const struct session *s = core->sessions->all; s != NULL; s = s->hh.next)
		save_guests(r, s);
}

void
state_load_session(struct state_loader *l)
{
	struct core *core = l->core;
	struct session_entry e = {.peer = {.uid = -1}};
	struct session_now now = {0};
	struct session *s;

	durable_session_fields(l->r, &e);
	if (e.id > core->sessions->last_id || map_find(&l->sessions, e.id) != NULL)
		record_fail(l->r, "the number of a session in it is invalid");
	s = durable_session_make(core, l->r, &e);
	if (s == NULL)
		return;
	l->session = s;
	if (map_add(&l->sessions, e.id, s) != 0)
		record_no_memory(l->r);
	now_fields(l->r, core, s, &now);
	if (s->unseen && s->process.pid == 0)
		record_fail(l->r, "a session of it is bound to no process, which cannot be seen");
	if (now.ends && (s->grace_ms > 0 || s->process.pid != 0 || s->orphaned))
		record_fail(l->r, "a session that ends is kept");
	if (l->r->failed)
		return;
	if (now.deferred)
		deadlock_defer(core, s);
	if (now.ends)
		ending_enter(core, s, now.end);
	durable_session_settle(core, l->r, s, e.as);
}

void
state_load_loss(struct state_loader *l)
{
	struct loss_entry e = {0};

	durable_loss_fields(l->r, &e);
	durable_loss_make(l->core, l->r, l->session, &e);
}

void
state_load_conn(struct state_loader *l)
{
	struct session *s = l->session;
	struct conn *conn;
	conn_id id = 0;

	record_unsigned(l->r, &id);
	if (s == NULL || id == 0 || conn_find(l->core, id) != NULL)
		record_fail(l->r, "a connection in it has no session, or an invalid number");
	if (l->r->failed)
		return;
	conn = conn_new(l->core, id);
	if (conn == NULL) {
		record_no_memory(l->r);
		return;
	}
	conn_fields(l->r, conn);
	conn->session = s;
	TAILQ_INSERT_TAIL(&s->conns, conn, in_session);
	s->conn_count++;
	s->anchors += conn->anchor;
}

void
state_load_guest(struct state_loader *l)
{
	struct session *s;
	struct conn *conn;
	conn_id id = 0;
	session_id session = 0;

	record_unsigned(l->r, &id);
	record_unsigned(l->r, &session);
	conn = conn_find(l->core, id);
	s = map_find(&l->sessions, session);
	if (conn == NULL || conn->guest != NULL || s == NULL || s->named == NULL)
		record_fail(l->r, "a connection speaks for a session of no id");
	else if (!guest_load(l->core, conn, s))
		record_no_memory(l->r);
}

/* ---- MLOCKs ---- */

static void
mlock_fields(struct record *r, struct core *core, struct mlock *b)
{
	b->since_ms = state_time(r, b->since_ms);
	state_timer(r, core, &b->timer);
	record_flag(r, &b->once);
	record_flag(r, &b->ordered);
}

/* What is asked for. */
static void
asked_fields(struct record *r, struct command *c)
{
	state_tag(r, &c->owner);
	state_why(r, &c->why);
	c->lease_ms = record_range(r, c->lease_ms, 0, COMMAND_MS_MAX);
	c->max_hold_ms = record_range(r, c->max_hold_ms, 0, COMMAND_MS_MAX);
	c->kind = (enum kind)record_range(r, c->kind, KIND_EXCLUSIVE, KIND_SHARED);
	c->retries = record_range(r, c->retries, COMMAND_RETRIES_ANY, COMMAND_RETRIES_MAX);
}

/* What an older version does not ask for: at the end of the record. */
static void
claim_fields(struct record *r, struct command *c)
{
	c->claim_ms = record_range(r, c->claim_ms, 0, COMMAND_MS_MAX);
}

/* How far a part has come: the ticket of its waiter, the token of its hold; 0: none. */
static void
progress_fields(struct record *r, uint64_t *ticket, int64_t *token)
{
	record_unsigned(r, ticket);
	record_number(r, token);
}

/* Its names come in the order of the request: that of the parts follows from them. */
static const struct part *
part_at(const struct mlock *b, size_t index)
{
	const struct part *p = b->parts;

	while (p->index != index) {
		p++;
		assert(p < b->parts + b->count);
	}
	return p;
}

static void
save_mlock(struct core *core, struct record *r, struct mlock *b)
{
	size_t count = b->count;

	assert(b->conn->mlock == b && count > 0);
	assert(!b->dirty && !b->refused);
	record_begin(r, RECORD_MLOCK);
	record_unsigned(r, &b->conn->id);
	asked_fields(r, &b->lock);
	(void)record_range(r, (int64_t)count, 1, COMMAND_NAMES_MAX);
	for (size_t i = 0; i < count; i++) {
		struct slice name = part_at(b, i)->name;

		state_name(r, &name);
	}
	mlock_fields(r, core, b);
	for (size_t i = 0; i < count; i++) {
		const struct part *p = &b->parts[i];
		uint64_t ticket = p->waiter != NULL ? p->waiter->ticket : 0;
		int64_t token = p->grant != NULL ? p->grant->token : 0;

		progress_fields(r, &ticket, &token);
	}
	claim_fields(r, &b->lock);
	record_end(r);
}

void
state_save_mlocks(struct core *core, struct record *r)
{
	const struct conn *conn;

	for (const struct session *s = core->sessions->all; s != NULL; s = s->hh.next) {
		TAILQ_FOREACH (conn, &s->conns, in_session) {
			if (conn->mlock != NULL)
				save_mlock(core, r, conn->mlock);
		}
	}
}

static struct waiter *
waiter_of(const struct state_loader *l, const struct part *p, uint64_t ticket)
{
	struct waiter *w;

	assert(ticket != 0);
	w = map_find(&l->parts, ticket);
	return w != NULL && w->conn == p->mlock->conn && w->part == NULL && !w->async &&
			       slice_equal(resource_name(w->resource), p->name)
		       ? w
		       : NULL;
}

static struct grant *
grant_of(const struct core *core, const struct part *p, int64_t token)
{
	struct grant *g = grant_any(core, names_find(&core->leases->names, p->name), p->mlock->conn->session,
		p->mlock->lock.owner);

	assert(token != 0);
	return g != NULL && g->token == token && g->bounded && g->terms->part == NULL &&
			       !timer_is_armed(&g->terms->timer) && !g->unannounced
		       ? g
		       : NULL;
}

/* Links the part with its waiter and its hold. */
static void
load_part(struct state_loader *l, struct part *p)
{
	uint64_t ticket = 0;
	int64_t token = 0;

	progress_fields(l->r, &ticket, &token);
	if (ticket != 0)
		p->waiter = waiter_of(l, p, ticket);
	if (token != 0)
		p->grant = grant_of(l->core, p, token);
	if ((ticket != 0) != (p->waiter != NULL) || (token != 0) != (p->grant != NULL)) {
		record_fail(l->r, "a part of an MLOCK has no such waiter or hold");
		return;
	}
	assert(p->waiter == NULL || p->waiter->conn == p->mlock->conn);
	if (p->waiter != NULL || p->grant != NULL)
		part_leave(p);
	if (p->waiter != NULL)
		p->waiter->part = p;
	if (p->grant != NULL)
		part_hold(p, p->grant);
}

/* What is asked for, and on which connection. NULL: it cannot be. */
static struct conn *
load_asked(struct state_loader *l, struct command *c, struct slice names[COMMAND_NAMES_MAX])
{
	struct conn *conn;
	conn_id id = 0;

	record_unsigned(l->r, &id);
	asked_fields(l->r, c);
	c->name_count = (size_t)record_range(l->r, 1, 1, COMMAND_NAMES_MAX);
	c->names = names;
	for (size_t i = 0; i < c->name_count; i++) {
		names[i] = (struct slice){0};
		state_name(l->r, &names[i]);
		for (size_t j = 0; j < i; j++) {
			if (slice_equal(names[i], names[j]))
				record_fail(l->r, "an MLOCK has a name twice");
		}
		if (names[i].n == 0)
			record_fail(l->r, "an MLOCK lacks names");
	}
	conn = conn_speaking(l->core, id);
	if (conn == NULL || conn->mlock != NULL || conn->blocked != NULL)
		record_fail(l->r, "an MLOCK has no connection of its own");
	return l->r->failed ? NULL : conn;
}

void
state_load_mlock(struct state_loader *l)
{
	struct slice names[COMMAND_NAMES_MAX];
	struct command c = {.verb = VERB_MLOCK, .retries = COMMAND_RETRIES_ANY};
	struct conn *conn = load_asked(l, &c, names);
	struct mlock *b;

	if (conn == NULL)
		return;
	b = mlock_new(l->core, conn, &c);
	if (b == NULL) {
		record_no_memory(l->r);
		return;
	}
	mlock_fields(l->r, l->core, b);
	starts_add(&l->core->families->mlock_starts, b->since_ms);
	for (size_t i = 0; i < b->count && !l->r->failed; i++)
		load_part(l, &b->parts[i]);
	claim_fields(l->r, &b->lock);
}
