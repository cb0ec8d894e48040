#include "daemon/core/session.h"

#include "daemon/core/deadlock.h"
#include "daemon/core/emit.h"
#include "daemon/core/grant.h"
#include "daemon/core/grave.h"
#include "daemon/core/loss.h"
#include "daemon/core/queue.h"
#include "daemon/core/table.h"
#include "proto/number.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A secret is the session's id and 128 unpredictable bits, each word in 16 hexadecimal digits. */
#define SECRET_WORDS 3
#define SECRET_BYTES ((size_t)SECRET_WORDS * 16)

static struct session *
session_new(struct core *core, const struct peer *peer)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->id = core->session_ids + 1;
	s->peer = *peer;
	s->opened_ms = core->now.ms;
	s->onloss = ONLOSS_CLOSE;
	TAILQ_INIT(&s->conns);
	LIST_INIT(&s->grants);
	LIST_INIT(&s->waiters);
	TAILQ_INIT(&s->losses);
	if (!table_add_session(core, s)) {
		free(s);
		return NULL;
	}
	core->session_ids++;
	core->counts.sessions++;
	return s;
}

static void
session_attach(struct session *s, struct conn *conn)
{
	conn->session = s;
	TAILQ_INSERT_TAIL(&s->conns, conn, in_session);
	s->conn_count++;
}

static void
session_unbind(struct core *core, struct session *s)
{
	if (s->process.pid == 0)
		return;
	table_remove_bound(core, s);
	memset(&s->process, 0, sizeof(s->process));
}

/* Ends what it holds and waits for; the session itself stays. */
static void
session_clear(struct core *core, struct session *s, enum end end)
{
	while (!LIST_EMPTY(&s->waiters))
		queue_remove(core, LIST_FIRST(&s->waiters));
	while (!LIST_EMPTY(&s->grants)) {
		struct grant *g = LIST_FIRST(&s->grants);

		if (end == END_CLEAN)
			grant_release(core, g);
		else
			grant_abandon(core, g);
	}
	loss_forget_all(core, s);
}

static void
session_end(struct core *core, struct session *s, enum end end)
{
	session_clear(core, s, end);
	session_unbind(core, s);
	table_remove_session(core, s);
	core->counts.sessions--;
	grave_bury(core, &s->grave);
}

/* Takes a connection away; the session ends with its last one. */
static void
session_detach(struct core *core, struct conn *conn, enum end end)
{
	struct session *s = conn->session;

	TAILQ_REMOVE(&s->conns, conn, in_session);
	s->conn_count--;
	conn->session = NULL;
	if (s->onloss == ONLOSS_PUSH && s->push_conn == conn->id)
		s->onloss = ONLOSS_CLOSE;
	if (s->conn_count > 0) {
		deadlock_look(core, s);
		return;
	}
	if (s->process.pid == 0)
		session_end(core, s, end);
	else
		/* Whoever looks wants the process that keeps it, not the one that is gone. */
		s->peer.pid = s->process.pid;
}

void
session_open(struct core *core, conn_id id, const struct peer *peer)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	struct session *s;

	assert(id != 0 && table_conn(core, id) == NULL);
	if (conn == NULL) {
		emit_close(core, id);
		return;
	}
	conn->id = id;
	if (!table_add_conn(core, conn)) {
		free(conn);
		emit_close(core, id);
		return;
	}
	s = session_new(core, peer);
	if (s == NULL) {
		table_remove_conn(core, conn);
		free(conn);
		emit_close(core, id);
		return;
	}
	session_attach(s, conn);
}

void
session_peer(struct conn *conn, const struct peer *peer)
{
	conn->session->peer = *peer;
}

void
session_finish(struct core *core, struct conn *conn)
{
	struct waiter *w;

	LIST_FOREACH (w, &conn->session->waiters, in_session) {
		if (w->conn == conn)
			queue_make_once(core, w);
	}
}

void
session_close(struct core *core, struct conn *conn, enum end end)
{
	struct waiter *w, *next;

	LIST_FOREACH_SAFE (w, &conn->session->waiters, in_session, next) {
		if (w->conn == conn)
			queue_remove(core, w);
	}
	session_detach(core, conn, end);
	table_remove_conn(core, conn);
	grave_bury(core, &conn->grave);
}

void
session_exit(struct core *core, const struct process *process)
{
	struct session *s = table_bound(core, process);
	struct conn *conn;

	if (s == NULL)
		return;
	if (s->conn_count == 0) {
		session_end(core, s, END_CLEAN);
		return;
	}
	session_clear(core, s, END_CLEAN);
	session_unbind(core, s);
	TAILQ_FOREACH (conn, &s->conns, in_session)
		emit_close(core, conn->id);
}

/* Makes conn speak for s instead. False, and answered, when its own session has something to lose. */
static bool
session_move(struct core *core, struct conn *conn, struct session *s)
{
	if (conn->session == s)
		return true;
	if (conn->session->grant_count + conn->session->waiter_count > 0 || conn->session->process.pid != 0) {
		emit_error(core, conn->id, CODE_ERR,
			"this connection has a session of its own that holds, waits or is bound: join first");
		return false;
	}
	session_detach(core, conn, END_CLEAN);
	session_attach(s, conn);
	return true;
}

void
session_bind(struct core *core, struct conn *conn, const struct process *process)
{
	struct session *s = table_bound(core, process);

	if (s == NULL) {
		s = conn->session;
		if (s->process.pid != 0) {
			emit_error(core, conn->id, CODE_ERR, "this session is bound to process %lld already",
				(long long)s->process.pid);
			return;
		}
		s->process = *process;
		if (!table_add_bound(core, s)) {
			memset(&s->process, 0, sizeof(s->process));
			emit_error(core, conn->id, CODE_LIMIT, "out of memory: try again later");
			return;
		}
		emit_watch(core, process);
	} else if (!session_move(core, conn, s)) {
		return;
	}
	emit_int(core, conn->id, (int64_t)s->grant_count);
}

void
session_secret(struct core *core, struct conn *conn)
{
	struct session *s = conn->session;
	struct reply reply = {.type = REPLY_TEXT, .code = CODE_COUNT};

	if (!s->has_secret) {
		s->secret[0] = core->now.random[0];
		s->secret[1] = core->now.random[1];
		s->has_secret = true;
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

void
session_join(struct core *core, struct conn *conn, struct slice secret)
{
	uint64_t words[SECRET_WORDS] = {0};
	struct session *s = NULL;

	if (secret_parse(secret, words))
		s = table_session(core, words[0]);
	/* One comparison of both words: how long it takes says nothing about either. */
	if (s == NULL || !s->has_secret || ((s->secret[0] ^ words[1]) | (s->secret[1] ^ words[2])) != 0) {
		emit_error(core, conn->id, CODE_ERR, "no session has this secret: it may have ended");
		return;
	}
	if (session_move(core, conn, s))
		emit_int(core, conn->id, (int64_t)s->grant_count);
}

void
session_onloss(struct core *core, struct conn *conn, enum onloss onloss)
{
	conn->session->onloss = onloss;
	conn->session->push_conn = onloss == ONLOSS_PUSH ? conn->id : 0;
	emit_ok(core, conn->id);
}
