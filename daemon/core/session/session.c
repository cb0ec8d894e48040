/* session: see session.h. Connections and verbs change it; ending.c ends it. */
#include "daemon/core/session/session.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/change_list.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
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

struct session *
session_find(const struct core *core, session_id id)
{
	struct session *found;

	HASH_FIND(hh, core->sessions->all, &id, sizeof(id), found);
	return found;
}

static bool
session_add(struct core *core, struct session *session)
{
	HASH_ADD(hh, core->sessions->all, id, sizeof(session->id), session);
	return session->hh.tbl != NULL;
}

void
session_remove(struct core *core, struct session *session)
{
	HASH_DELETE(hh, core->sessions->all, session);
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
	return map_search(&core->sessions->bound, process_key(process), session_is_bound_to, process);
}

bool
session_bind(struct core *core, struct session *s, const struct process *process)
{
	assert(session_bound(core, process) == NULL);
	assert(s->process.pid == 0 && process->pid != 0);
	s->orphaned = false;
	if (map_add(&core->sessions->bound, process_key(process), s) != 0)
		return false;
	s->process = *process;
	session_changed(core, s);
	return true;
}

static void
session_remove_bound(struct core *core, struct session *session)
{
	assert(session->process.pid != 0);
	map_remove(&core->sessions->bound, process_key(&session->process), session);
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
	struct session *s = session_make(core, core->sessions->last_id + 1, peer);

	if (s != NULL)
		core->sessions->last_id++;
	return s;
}

static void
session_list(struct core *core, struct session *s)
{
	if (s->changed)
		return;
	core_changed(core, CHANGE_LISTED);
	s->changed = change_list_add(&core->sessions->changed, s);
}

void
session_changed(struct core *core, struct session *s)
{
	bool durable = s->durable;
	struct conn *conn;

	assert(!s->gone);
	session_list(core, s);
	s->durable = session_is_durable(s);
	if (s->durable == durable)
		return;
	TAILQ_FOREACH (conn, &s->conns, in_session)
		conn_set_durable(core, conn);
}

void
session_gone(struct core *core, struct session *s)
{
	assert(s->grant_count == 0 && s->losses == NULL);
	s->gone = true;
	s->durable = false;
	if (s->written)
		session_list(core, s);
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

void
session_free_all(struct core *core)
{
	struct session *s;
	struct conn *c;

	while ((s = core->sessions->all) != NULL) {
		assert(s->losses == NULL && s->holds == NULL && s->asyncs == NULL);
		if (s->process.pid != 0)
			session_remove_bound(core, s);
		session_remove(core, s);
		free(s->named);
		while ((c = TAILQ_FIRST(&s->conns)) != NULL) {
			TAILQ_REMOVE(&s->conns, c, in_session);
			free(c->mlock);
			free(c);
		}
		free(s);
	}
	map_done(&core->sessions->conns);
	map_done(&core->sessions->ids);
	map_done(&core->sessions->bound);
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
			"ONLOSS CLOSE closes connections, and a named session has none of its own: use "
			"ONLOSS NEXT or PUSH");
		return;
	}
	s->onloss = onloss;
	s->push_conn = onloss == ONLOSS_PUSH ? conn->id : 0;
	session_changed(core, s);
	conn_set_durable(core, conn);
	if (before != NULL && before != conn)
		conn_set_durable(core, before);
	emit_ok(core, conn->id);
}
