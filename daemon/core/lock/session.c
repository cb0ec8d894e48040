/*
 * session: see session.h. Connections and verbs change it; attach.c ends it.
 */
#include "daemon/core/lock/session.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lock/attach.h"
#include "daemon/core/lock/changes.h"
#include "daemon/core/lock/ending.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/holds.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/named_session.h"
#include "daemon/core/lock/notes.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/user.h"
#include "proto/command.h"
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

/* A secret is the session's id and 128 unpredictable bits, each word in 16 hexadecimal digits. */
#define SECRET_WORDS 3
#define SECRET_BYTES ((size_t)SECRET_WORDS * 16)

#define SLACK_MOST_MS 1000

struct session *
session_find(const struct core *core, session_id id)
{
	struct session *found;

	HASH_FIND(hh, core->locks->sessions, &id, sizeof(id), found);
	return found;
}

static bool
session_add(struct core *core, struct session *session)
{
	HASH_ADD(hh, core->locks->sessions, id, sizeof(session->id), session);
	return session->hh.tbl != NULL;
}

void
session_remove(struct core *core, struct session *session)
{
	HASH_DELETE(hh, core->locks->sessions, session);
}

static uint64_t
process_key(const struct process *process)
{
	return hash_text((struct slice){(const char *)process, sizeof(*process)});
}

static bool
session_is_bound_to(const void *entry, const void *process)
{
	const struct session *s = entry;

	return memcmp(&s->process, process, sizeof(s->process)) == 0;
}

struct session *
session_bound(const struct core *core, const struct process *process)
{
	return map_search(&core->locks->bound, process_key(process), session_is_bound_to, process);
}

bool
session_bind(struct core *core, struct session *s, const struct process *process)
{
	assert(session_bound(core, process) == NULL);
	assert(s->process.pid == 0 && process->pid != 0);
	s->orphaned = false;
	if (map_add(&core->locks->bound, process_key(process), s) != 0)
		return false;
	s->process = *process;
	session_changed(core, s);
	return true;
}

static void
session_remove_bound(struct core *core, struct session *session)
{
	assert(session->process.pid != 0);
	map_remove(&core->locks->bound, process_key(&session->process), session);
}

struct session *
session_make(struct core *core, session_id id, const struct peer *peer)
{
	struct session *s = freelist_new(core, sizeof(*s));

	assert(id != 0 && session_find(core, id) == NULL);
	if (s == NULL)
		return NULL;
	s->id = id;
	s->peer = *peer;
	s->opened_ms = core->now.ms;
	s->alive_ms = core->now.ms;
	s->onloss = ONLOSS_CLOSE;
	TAILQ_INIT(&s->conns);
	LIST_INIT(&s->grants);
	LIST_INIT(&s->waiters);
	timer_init(&s->grace_timer, TIMER_GRACE);
	timer_init(&s->heartbeat_timer, TIMER_HEARTBEAT);
	if (!user_join(core, s)) {
		free(s);
		return NULL;
	}
	if (!session_add(core, s)) {
		user_quit(core, s);
		free(s);
		return NULL;
	}
	core->counts.sessions++;
	return s;
}

struct session *
session_new(struct core *core, const struct peer *peer)
{
	struct session *s = session_make(core, core->locks->session_ids + 1, peer);

	if (s != NULL)
		core->locks->session_ids++;
	return s;
}

void
session_peer(struct core *core, struct session *s, const struct peer *peer)
{
	struct peer before = s->peer;

	s->peer = *peer;
	/* If another user has no room for it, the session stays with its user. */
	if (!user_change(core, s))
		s->peer.user = before.user;
	assert(s->user->id == s->peer.user);
	session_changed(core, s);
}

bool
session_looks_again(struct core *core, struct timer *timer, int64_t *look_at_ms, int64_t ms)
{
	int64_t slack = ms / 8 + 1 < SLACK_MOST_MS ? ms / 8 + 1 : SLACK_MOST_MS;

	assert(ms >= 0 && !timer_is_armed(timer));
	if (*look_at_ms != 0 && core->now.ms > core->unread_until_ms && core->now.ms <= *look_at_ms + slack)
		return false;
	*look_at_ms = core->now.ms + slack;
	timer_arm(&core->timers, timer, *look_at_ms);
	return true;
}

void
session_free_all(struct core *core)
{
	struct session *s, *next;
	struct conn *c;

	HASH_ITER (hh, core->locks->sessions, s, next) {
		loss_forget_all(core, s);
		if (s->process.pid != 0)
			session_remove_bound(core, s);
		session_remove(core, s);
		holds_done(s);
		asyncs_done(s);
		free(s->named);
		while ((c = TAILQ_FIRST(&s->conns)) != NULL) {
			TAILQ_REMOVE(&s->conns, c, in_session);
			free(c->mlock);
			free(c);
		}
		free(s);
	}
	map_done(&core->locks->conns);
	map_done(&core->locks->ids);
	map_done(&core->locks->bound);
}

void
session_unbind(struct core *core, struct session *s)
{
	if (s->process.pid == 0)
		return;
	session_remove_bound(core, s);
	memset(&s->process, 0, sizeof(s->process));
	s->unseen = false;
	session_changed(core, s);
}

void
session_secret(struct core *core, struct conn *conn)
{
	struct session *s = conn->session;
	struct reply reply = {.type = REPLY_TEXT, .code = CODE_COUNT};

	if (!s->has_secret) {
		s->secret[0] = core->now.random[0];
		s->secret[1] = core->now.random[1];
		core->drew = 2;
		s->has_secret = true;
		session_changed(core, s);
	}
	(void)snprintf(reply.text, sizeof(reply.text), "%016llx%016llx%016llx", (unsigned long long)s->id,
		(unsigned long long)s->secret[0], (unsigned long long)s->secret[1]);
	emit_reply(core, conn->id, &reply);
}

static bool
secret_parse(struct slice text, uint64_t words[SECRET_WORDS])
{
	if (text.n != SECRET_BYTES)
		return false;
	for (size_t i = 0; i < SECRET_BYTES; i++) {
		int digit = number_hex(text.p[i]);

		if (digit < 0)
			return false;
		words[i / 16] = words[i / 16] << 4 | (uint64_t)digit;
	}
	return true;
}

struct session *
session_by_secret(struct core *core, const struct conn *conn, struct slice secret)
{
	uint64_t words[SECRET_WORDS] = {0};
	struct session *s = NULL;

	if (secret_parse(secret, words))
		s = session_find(core, words[0]);
	/* Both words are compared at once, so that the time it takes says nothing about either. */
	if (s == NULL || !s->has_secret || s->ends ||
		((s->secret[0] ^ words[1]) | (s->secret[1] ^ words[2])) != 0) {
		emit_error(core, conn->id, CODE_ERR, "no session has this secret: it may have ended");
		return NULL;
	}
	return s;
}

void
session_onloss(struct core *core, struct conn *conn, enum onloss onloss)
{
	struct session *s = conn->session;
	struct conn *before = s->onloss == ONLOSS_PUSH ? conn_find(core, s->push_conn) : NULL;

	assert(onloss >= ONLOSS_CLOSE && onloss <= ONLOSS_NEXT);
	if (onloss == ONLOSS_CLOSE && s->named != NULL) {
		emit_error(core, conn->id, CODE_ERR,
			"the session of an id has no connection to close: use ONLOSS NEXT or PUSH");
		return;
	}
	s->onloss = onloss;
	s->push_conn = onloss == ONLOSS_PUSH ? conn->id : 0;
	session_changed(core, s);
	attach_kept(core, conn);
	if (before != NULL && before != conn)
		attach_kept(core, before);
	emit_ok(core, conn->id);
}

/* ---- grace ---- */

static void
grace_arm(struct core *core, struct session *s)
{
	assert(s->grace_ms > 0);
	s->grace_look_at_ms = 0;
	timer_arm(&core->timers, &s->grace_timer, core->now.ms + s->grace_ms);
}

void
grace_set(struct core *core, struct conn *conn, int64_t ms)
{
	struct session *s = conn->session;
	int64_t most_ms = core->settings.grace.most_ms;

	assert(ms >= 0);
	if (ms > most_ms) {
		emit_error(core, conn->id, CODE_LIMIT, "grace-time: a session survives at most %lld ms",
			(long long)most_ms);
		return;
	}
	if (ms > 0 && s->grace_ms == 0) {
		if (!user_grace_enter(core, conn))
			return;
	}
	if (ms > 0) {
		s->grace_ms = ms;
		session_changed(core, s);
	} else {
		grace_drop(core, s);
	}
	session_secret(core, conn);
}

bool
grace_keeps(const struct core *core, const struct session *s)
{
	return s->grace_ms > 0 && core->drain != DRAIN_ENDS;
}

void
grace_drop(struct core *core, struct session *s)
{
	if (s->grace_ms > 0)
		user_grace_leave(core, s->user);
	s->grace_ms = 0;
	session_changed(core, s);
}

/* The client cannot be told more than it was told by now. */
static void
grace_detach(struct core *core, struct session *s)
{
	struct grant *g;

	assert(s->conn_count == 0 && s->grace_ms > 0);
	LIST_FOREACH (g, &s->grants, in_session)
		grant_tell_no_more(core, g);
	grace_arm(core, s);
}

void
grace_begin(struct core *core, struct session *s)
{
	grace_detach(core, s);
	emit_note(core, NOTE_DETACHED, NULL, s, 0, s->grace_ms, NULL);
}

void
session_recover(struct core *core, struct session *s)
{
	assert(s->conn_count == 0 && session_find(core, s->id) == s);
	if (s->grace_ms > 0)
		grace_detach(core, s);
	heartbeat_begin(core, s);
}

void
grace_attach(struct core *core, struct session *s)
{
	struct grant *g;

	assert(s->conn_count > 0);
	if (s->conn_count > 1 || s->grace_ms == 0)
		return;
	/* Also if no grace runs: the process may have kept the session for longer. */
	LIST_FOREACH (g, &s->grants, in_session)
		grant_tell_on(g);
	if (!timer_is_armed(&s->grace_timer))
		return;
	emit_note(core, NOTE_RESUMED, NULL, s, 0, timer_at(&core->timers, &s->grace_timer) - core->now.ms,
		NULL);
}

void
grace_take_over(struct core *core, struct session *s)
{
	assert(s->conn_count > 1);
	emit_note(core, NOTE_RESUMED, NULL, s, 0, s->grace_ms, NULL);
	if (s->grace_ms > 0)
		grace_arm(core, s);
}

struct waiter *
grace_find(const struct session *s, const struct command *c)
{
	struct waiter *w, *found = NULL;

	/* Orphaned waiters of other sessions exist only as long as this timer runs. */
	if (s->named == NULL && !timer_is_armed(&s->grace_timer))
		return NULL;
	/* The latest is first in the list. */
	LIST_FOREACH (w, &s->waiters, in_session) {
		if ((w->conn == NULL || s->named != NULL) && queue_is_repeated(w, c))
			found = w;
	}
	return found;
}

/* The client did not ask for these in time. */
static void
grace_drop_orphans(struct core *core, struct session *s)
{
	struct waiter *w, *w_next;
	struct grant *g, *g_next;

	LIST_FOREACH_SAFE (w, &s->waiters, in_session, w_next) {
		if (w->conn == NULL)
			queue_remove(core, w);
	}
	LIST_FOREACH_SAFE (g, &s->grants, in_session, g_next) {
		if (g->unannounced)
			grant_release(core, g);
	}
}

static void
grace_end(struct core *core, struct session *s)
{
	assert(s->conn_count == 0 && s->process.pid == 0);
	emit_note(core, NOTE_EXPIRED, NULL, s, 0, -1, NULL);
	grace_drop_orphans(core, s);
	session_end(core, s, END_ABANDONED);
}

void
grace_drain(struct core *core)
{
	struct session *s, *next;

	assert(core->drain == DRAIN_ENDS);
	HASH_ITER (hh, core->locks->sessions, s, next) {
		if (s->conn_count == 0 && !session_is_kept(s) && !s->ends)
			grace_end(core, s);
		else if (s->conn_count == 0)
			session_end(core, s, END_ABANDONED);
	}
}

void
grace_timer(struct core *core, struct session *s)
{
	if (session_looks_again(core, &s->grace_timer, &s->grace_look_at_ms, s->grace_ms))
		return;
	if (s->conn_count == 0 && s->process.pid == 0)
		grace_end(core, s);
	else
		grace_drop_orphans(core, s);
}

/* ---- heartbeat ---- */

static void
heartbeat_arm(struct core *core, struct session *s)
{
	timer_arm(&core->timers, &s->heartbeat_timer,
		s->heartbeat_ms > 0 ? s->alive_ms + s->heartbeat_ms : TIMER_NEVER);
}

void
heartbeat_set(struct core *core, struct conn *conn, int64_t ms)
{
	struct session *s = conn->session;

	assert(ms >= 0);
	core->locks->heartbeats += ms > 0;
	core->locks->heartbeats -= s->heartbeat_ms > 0;
	s->heartbeat_ms = ms;
	s->heartbeat_look_at_ms = 0;
	heartbeat_arm(core, s);
	session_changed(core, s);
	emit_ok(core, conn->id);
}

void
heartbeat_begin(struct core *core, struct session *s)
{
	s->alive_ms = core->now.ms;
	s->heartbeat_look_at_ms = 0;
	heartbeat_arm(core, s);
}

static bool
heartbeat_blocked(const struct session *s)
{
	const struct conn *conn;

	TAILQ_FOREACH (conn, &s->conns, in_session) {
		if (conn->blocked != NULL || conn->mlock != NULL || conn->latch_request != NULL ||
			conn->drains || conn->guest != NULL)
			return true;
	}
	return false;
}

static void
heartbeat_missed(struct core *core, struct session *s)
{
	struct conn *conn;

	if (s->named != NULL) {
		named_session_silent(core, s);
		return;
	}
	emit_note(core, NOTE_SILENT, NULL, s, 0, core->now.ms - s->alive_ms, NULL);
	session_unbind(core, s);
	if (!grace_keeps(core, s))
		session_clear(core, s, END_ABANDONED);
	TAILQ_FOREACH (conn, &s->conns, in_session)
		emit_close(core, conn->id);
	if (s->conn_count > 0)
		return;
	if (grace_keeps(core, s))
		grace_begin(core, s);
	else
		session_end(core, s, END_ABANDONED);
}

void
heartbeat_timer(struct core *core, struct session *s)
{
	/* The session is detached: its grace runs instead. */
	if (s->conn_count == 0 && !session_is_kept(s))
		return;
	if (heartbeat_blocked(s))
		s->alive_ms = core->now.ms;
	if (s->alive_ms + s->heartbeat_ms > core->now.ms) {
		s->heartbeat_look_at_ms = 0;
		heartbeat_arm(core, s);
	} else if (!session_looks_again(
			   core, &s->heartbeat_timer, &s->heartbeat_look_at_ms, s->heartbeat_ms)) {
		heartbeat_missed(core, s);
	}
}
