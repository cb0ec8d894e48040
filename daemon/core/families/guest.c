/* guest: see the header. verbs.c begins a request AS id; what a verb does is no different from here on. */
#include "daemon/core/families/guest.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/mlock.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/liveness/attach.h"
#include "daemon/core/liveness/ending.h"
#include "daemon/core/liveness/heartbeat.h"
#include "daemon/core/liveness/liveness.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/notes.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "daemon/core/view.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_TRIES 64 /* sessions that a new one examines to find one that can be forgotten */

/* ---- ids, as others see them ---- */

void
named_session_hash(const struct core *core, const struct session *s, char out[VIEW_AS])
{
	out[0] = '\0';
	if (s != NULL && s->named != NULL)
		(void)snprintf(
			out, VIEW_AS, "%08x", (unsigned)hash_secretly(core->secret, named_session_id(s)));
}

bool
core_knows_id(const struct core *core, uint64_t user, struct slice id)
{
	return named_session_find(core, user, id) != NULL;
}

uint64_t
core_id_digest(uint64_t number, uint64_t user, struct slice id)
{
	const uint64_t key[2] = {number, user};

	return hash_secretly(key, id);
}

bool
core_holds_by_digest(const struct core *core, struct slice name, uint64_t number, uint64_t digest)
{
	const struct resource *r = names_find(&core->leases->names, name);
	const struct grant *g = NULL;

	while (r != NULL && (g = resource_next_grant(r, g)) != NULL) {
		const struct session *s = g->session;

		if (s != NULL && named_session_is_found(s) && !g->unannounced &&
			core_id_digest(number, s->user->id, named_session_id(s)) == digest)
			return true;
	}
	return false;
}

/* ---- a new session ---- */

/* Forgets a session that holds nothing, if there is no room for one more of this user. */
static void
named_session_make_room(struct core *core, const struct user *u)
{
	struct named_session *d;

	for (unsigned tries = 0; tries < ROOM_TRIES && user_grace_full(core, u); tries++) {
		d = TAILQ_FIRST(&core->sessions->named);
		if (d == NULL)
			return;
		if (d->session->user == u && named_session_is_idle(d->session)) {
			session_end(core, d->session, END_CLEAN);
			continue;
		}
		/* The next one examines others. */
		TAILQ_REMOVE(&core->sessions->named, d, in_core);
		TAILQ_INSERT_TAIL(&core->sessions->named, d, in_core);
	}
}

/* NULL: conn has its answer. */
static struct session *
named_session_new(struct core *core, const struct conn *conn, struct slice id)
{
	int64_t most_ms = core->settings.grace.ttl_ms;
	struct session *s;

	assert(core->drain != DRAIN_ENDS);
	named_session_make_room(core, conn->session->user);
	if (user_full(core, conn, 0) || !user_grace_enter(core, conn))
		return NULL;
	s = session_new(core, &conn->session->peer);
	if (s != NULL && named_session_give(core, s, id)) {
		s->onloss = ONLOSS_NEXT;
		s->heartbeat_ms = most_ms < NAMED_SESSION_TTL_MS ? most_ms : NAMED_SESSION_TTL_MS;
		core->liveness->heartbeats++;
		heartbeat_begin(core, s);
		session_changed(core, s);
		return s;
	}
	user_grace_leave(core, conn->session->user);
	if (s != NULL)
		session_end(core, s, END_CLEAN);
	emit_error(core, conn->id, CODE_LIMIT, "out of memory: try again later");
	return NULL;
}

/* Whether the verb begins something, so that it makes the session of its id. */
static bool
verb_makes(enum verb verb)
{
	return verb == VERB_LOCK || verb == VERB_MLOCK || verb == VERB_LATCH_DOWN ||
	       verb == VERB_SESSION_ID || verb == VERB_SESSION_ONLOSS || verb == VERB_SESSION_TTL;
}

/* The answer of another verb, whose id has no session here. If another daemon is known to have the lock, it
 * may have the session, too. */
static void
answer_unknown(struct core *core, const struct conn *conn, const struct command *c)
{
	const struct resource *r = names_find(&core->leases->names, c->name);
	bool elsewhere = r != NULL && resource_foreign(r).n > 0;

	if (c->verb == VERB_CHECK)
		emit_null(core, conn->id);
	else if (c->verb == VERB_MUNLOCK || c->verb == VERB_SESSION_END)
		emit_int(core, conn->id, 0);
	else
		emit_error(core, conn->id, CODE_NOTHELD,
			"this daemon knows no session of this id: it has ended, or another host's daemon has "
			"it%s",
			elsewhere ? ": ask the daemon that INSPECT names" : "");
}

/* ---- guests ---- */

static struct conn *
guest_new(struct core *core, struct conn *host, struct session *s)
{
	struct conn *guest = freelist_new(core, sizeof(*guest));

	assert(host->guest == NULL && host->host == NULL);
	assert(s->named != NULL && host->session != s);
	if (guest == NULL)
		return NULL;
	guest->id = host->id;
	guest->session = s;
	guest->host = host;
	host->guest = guest;
	TAILQ_INSERT_TAIL(&s->conns, guest, in_session);
	s->conn_count++;
	return guest;
}

bool
guest_load(struct core *core, struct conn *conn, struct session *s)
{
	return guest_new(core, conn, s) != NULL;
}

struct conn *
conn_speaking(const struct core *core, conn_id id)
{
	struct conn *conn = conn_find(core, id);

	return conn != NULL && conn->guest != NULL ? conn->guest : conn;
}

struct conn *
guest_begin(struct core *core, struct conn *conn, const struct command *c)
{
	struct session *s = named_session_find(core, conn->session->user->id, c->as);
	struct conn *guest;

	assert(c->as.n > 0);
	/* It has ended with the daemon. That its client never had it, or gave it back, would be wrong. */
	if (core->drain == DRAIN_ENDS) {
		emit_error(core, conn->id, CODE_DRAINING, EMIT_DRAINING);
		return NULL;
	}
	if (s == NULL && !verb_makes(c->verb)) {
		answer_unknown(core, conn, c);
		return NULL;
	}
	if (s == NULL)
		s = named_session_new(core, conn, c->as);
	if (s == NULL)
		return NULL;
	guest = guest_new(core, conn, s);
	if (guest == NULL) {
		emit_error(core, conn->id, CODE_LIMIT, "out of memory: try again later");
		return NULL;
	}
	s->alive_ms = core->now.ms;
	TAILQ_REMOVE(&core->sessions->named, s->named, in_core);
	TAILQ_INSERT_TAIL(&core->sessions->named, s->named, in_core);
	return guest;
}

void
guest_carried_out(struct core *core, struct conn *conn, bool made)
{
	struct conn *guest = conn->guest;
	struct session *s;

	if (guest == NULL || guest->blocked != NULL || guest->mlock != NULL || guest->latch_request != NULL)
		return;
	s = guest->session;
	guest_end(core, guest);
	assert(s->named != NULL);
	if (made && s->losses == NULL && named_session_is_idle(s))
		session_end(core, s, END_CLEAN);
}

/* ---- an MLOCK that is repeated ---- */

/* The tokens of an answer, which is sent after the step. */
struct tokens_reply {
	struct freelist_link freed;
	int64_t tokens[COMMAND_NAMES_MAX];
};

/* The session of an id holds all names. */
static void
mlock_answer_again(
	struct core *core, const struct conn *conn, const struct command *c, struct grant *const *holds)
{
	struct tokens_reply *list = freelist_must(core, sizeof(*list));
	size_t n = c->name_count;
	struct reply reply = {.type = REPLY_TOKENS, .code = CODE_COUNT, .tokens = list->tokens, .count = n};

	assert(n > 0 && n <= COMMAND_NAMES_MAX);
	for (size_t i = 0; i < n; i++) {
		assert(holds[i]->session == conn->session);
		list->tokens[i] = holds[i]->token;
		grant_repeated(core, holds[i], c->claim_ms);
	}
	emit_reply(core, conn->id, &reply);
	/* It can be read until the next step. */
	freelist_retire(core, &list->freed);
}

/* The session of an id holds all names: the MLOCK is repeated, because its answer was lost. True: answered.
 */
static bool
mlock_is_held(struct core *core, const struct conn *conn, const struct command *c)
{
	struct grant *holds[COMMAND_NAMES_MAX];

	assert(c->name_count <= COMMAND_NAMES_MAX);
	for (size_t i = 0; i < c->name_count; i++) {
		struct grant *g = grant_find(
			core, names_find(&core->leases->names, c->names[i]), conn->session, c->owner);

		if (g == NULL || g->unannounced || (g->kind == KIND_SHARED && c->kind != KIND_SHARED))
			return false;
		holds[i] = g;
	}
	mlock_answer_again(core, conn, c, holds);
	return true;
}

/* Whether this unanswered MLOCK has a name and the tag of this request. */
static bool
mlock_overlaps(const struct mlock *b, const struct command *c)
{
	if (!slice_equal(b->lock.owner, c->owner))
		return false;
	for (size_t i = 0; i < b->count; i++) {
		for (size_t k = 0; k < c->name_count; k++) {
			if (slice_equal(b->parts[i].name, c->names[k]))
				return true;
		}
	}
	return false;
}

/* Ends what this MLOCK of the session of an id repeats, over other connections. True: it is itself refused,
 * since its client has half-closed (see the header). */
static bool
mlock_supersede(struct core *core, const struct conn *conn, const struct command *c)
{
	struct conn *other, *next;
	struct reply refusal;

	named_session_refusal(&refusal, false);
	TAILQ_FOREACH_SAFE (other, &conn->session->conns, in_session, next) {
		if (other->mlock == NULL || !mlock_overlaps(other->mlock, c))
			continue;
		if (c->last) {
			emit_reply(core, conn->id, &refusal);
			return true;
		}
		mlock_fail(core, other->mlock, &refusal);
	}
	return false;
}

bool
named_session_mlock(struct core *core, const struct conn *conn, const struct command *c)
{
	assert(conn->host != NULL && conn->mlock == NULL);
	return mlock_is_held(core, conn, c) || mlock_supersede(core, conn, c);
}

/* ---- an id that holds the name at another daemon ---- */

void
named_session_elsewhere(struct core *core, const struct whose *whose, struct slice text)
{
	struct session *s = named_session_find(core, whose->user, whose->as);
	struct waiter *w, *next;
	struct reply refusal;

	if (s == NULL)
		return;
	reply_error(&refusal, CODE_NOTHELD, "%.*s", (int)text.n, text.p);
	LIST_FOREACH_SAFE (w, &s->waiters, in_session, next) {
		/* One without a connection is asked about again when its client is back. */
		if (w->conn == NULL || !slice_equal(resource_name(w->resource), whose->name))
			continue;
		if (w->part == NULL) {
			queue_answer(core, w, &refusal);
			continue;
		}
		/* This ends the waiters of its other names, too. */
		mlock_fail(core, w->part->mlock, &refusal);
		next = LIST_FIRST(&s->waiters);
	}
	/* An UNLOCK that comes here finds no session, so that other daemons are asked what the id holds. */
	if (s->losses == NULL && named_session_is_idle(s))
		session_end(core, s, END_CLEAN);
}

/* ---- verbs ---- */

void
named_session_ttl(struct core *core, struct conn *conn, int64_t ms)
{
	int64_t most_ms = core->settings.grace.ttl_ms;

	assert(conn->host != NULL && ms > 0);
	if (ms <= most_ms)
		heartbeat_set(core, conn, ms);
	else
		emit_error(core, conn->id, CODE_LIMIT,
			"named-session-ttl: a session of an id is silent for at most %lld ms",
			(long long)most_ms);
}

/* It may be a copy that was sent for an earlier session of the id. True: answered. */
static bool
end_is_late(struct core *core, const struct conn *conn, int64_t number)
{
	const struct session *s = conn->session;

	if (number == (int64_t)s->id)
		return false;
	if (number != 0) {
		emit_int(core, conn->id, 0);
		return true;
	}
	if (s->grant_count == 0)
		return false;
	emit_error(core, conn->id, CODE_ERR,
		"the session of this id holds %zu names: a request may come late, so say which session is "
		"meant: NUMBER n, as SESSION ID answers it",
		s->grant_count);
	return true;
}

/* The session ends: its requests that wait are answered. */
static void
named_session_answer_all(struct core *core, struct session *s, const struct reply *refusal)
{
	struct conn *other, *next;

	TAILQ_FOREACH_SAFE (other, &s->conns, in_session, next) {
		if (other->mlock != NULL) {
			mlock_fail(core, other->mlock, refusal);
		} else if (other->blocked != NULL) {
			queue_answer(core, other->blocked, refusal);
		} else {
			emit_reply(core, other->id, refusal);
			latch_close(core, other);
		}
	}
}

/* Its requests that wait are answered, and what it holds is abandoned. */
static void
named_session_kill(struct core *core, struct session *s)
{
	struct reply refusal;

	reply_error(&refusal, CODE_ERR, "an administrator has ended the session of this id");
	named_session_answer_all(core, s, &refusal);
	session_end(core, s, END_ABANDONED);
}

void
session_kill(struct core *core, struct conn *conn, int64_t number)
{
	struct session *s = session_find(core, (session_id)number);

	if (s == NULL || s->ends) {
		emit_error(core, conn->id, CODE_ERR, "this daemon has no session %lld: SESSIONS lists them",
			(long long)number);
		return;
	}
	emit_int(core, conn->id, (int64_t)s->grant_count);
	emit_note(core, NOTE_KILLED, NULL, s, 0, -1, NULL);
	if (s->named != NULL)
		named_session_kill(core, s);
	else
		attach_end(core, s, END_ABANDONED);
}

void
named_session_end(struct core *core, struct conn *conn, int64_t number)
{
	struct session *s = conn->session;
	struct reply refusal;

	assert(conn->host != NULL && s->named != NULL);
	if (end_is_late(core, conn, number))
		return;
	emit_int(core, conn->id, (int64_t)s->grant_count);
	guest_end(core, conn);
	named_session_refusal(&refusal, true);
	named_session_answer_all(core, s, &refusal);
	session_end(core, s, END_CLEAN);
}
