/* attach: see attach.h. core.c and verbs.c call it; it must never leave a connection without a session. */
#include "daemon/core/liveness/attach.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/liveness/ending.h"
#include "daemon/core/liveness/grace.h"
#include "daemon/core/liveness/heartbeat.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/session.h"
#include "proto/command.h"
#include "proto/escape.h"
#include "proto/reply.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static void
attach_attach(struct core *core, struct conn *conn, struct session *s)
{
	assert(conn->session == NULL);
	conn->session = s;
	s->closes = false;
	TAILQ_INSERT_TAIL(&s->conns, conn, in_session);
	s->conn_count++;
	s->anchors += conn->anchor;
	grace_attach(core, s);
	heartbeat_begin(core, s);
	conn_set_durable(core, conn);
}

/* The first wait of the connection from this one on, in the list of its session; NULL: there is none. A
 * session may have thousands of connections and waits, and most connections wait once. */
static struct waiter *
attach_wait(const struct conn *conn, struct waiter *from)
{
	if (conn->waiters == 0)
		return NULL;
	if (conn->waiters == 1 && conn->blocked != NULL)
		return conn->blocked;
	while (from != NULL && from->conn != conn)
		from = LIST_NEXT(from, in_session);
	return from;
}

/* Ends the connection's waits; with orphan, they go on without it. MLOCK and LATCH end with their connection
 * in any case. */
static void
attach_drop_waits(struct core *core, struct conn *conn, bool orphan)
{
	struct waiter *w, *next;

	families_close(core, conn);
	for (w = attach_wait(conn, LIST_FIRST(&conn->session->waiters)); w != NULL;
		w = attach_wait(conn, next)) {
		next = LIST_NEXT(w, in_session);
		if (orphan && (!w->once || w->halved))
			queue_orphan(core, w);
		else
			queue_remove(core, w);
	}
	assert(conn->waiters == 0);
	assert(conn->blocked == NULL && conn->mlock == NULL && conn->latch_request == NULL);
}

/* The connection is lost. A wait of its guest keeps its position. */
static void
attach_drop_guest(struct core *core, struct conn *conn)
{
	if (conn->guest == NULL)
		return;
	attach_drop_waits(core, conn->guest, true);
	assert(conn->guest == NULL);
}

/* If only its process keeps the session, show that, and not the client that is gone. */
static void
attach_show(struct core *core, struct session *s)
{
	if (s->process.pid == 0 || s->unseen || s->conn_count > s->anchors || s->peer.pid == s->process.pid)
		return;
	s->peer.pid = s->process.pid;
	session_changed(core, s);
}

static void
attach_leave(struct conn *conn)
{
	struct session *s = conn->session;

	assert(s->conn_count > 0);
	TAILQ_REMOVE(&s->conns, conn, in_session);
	s->conn_count--;
	s->anchors -= conn->anchor;
	conn->session = NULL;
	conn->anchor = false;
	if (s->onloss == ONLOSS_PUSH && s->push_conn == conn->id)
		s->onloss = ONLOSS_CLOSE;
}

void
attach_end(struct core *core, struct session *s, enum end end)
{
	struct conn *conn;

	if (s->conn_count == 0) {
		session_end(core, s, end);
		return;
	}
	session_clear(core, s, end);
	session_unbind(core, s);
	s->orphaned = false;
	grace_drop(core, s);
	TAILQ_FOREACH (conn, &s->conns, in_session)
		emit_close(core, conn->id);
}

void
attach_answered(struct core *core, struct conn *conn)
{
	struct session *s = conn->session;
	bool guest = conn->host != NULL;

	conn_answered(core, conn);
	if (guest && core->drain == DRAIN_ENDS && s->conn_count == 0)
		session_end(core, s, END_ABANDONED);
}

/* Takes a connection from its session, which ends with its last connection unless something keeps it; one
 * whose process has ended ends with its last anchor. */
static void
attach_detach(struct core *core, struct conn *conn, enum end end)
{
	struct session *s = conn->session;
	bool last = s->conn_count == 1;
	bool over = s->orphaned && conn->anchor && s->anchors == 1;
	bool survives = last && !over && end != END_CLEAN && grace_applies(core, s);

	assert(!last || TAILQ_FIRST(&s->conns) == conn);
	attach_drop_guest(core, conn);
	attach_drop_waits(core, conn, survives);
	attach_leave(conn);
	if (over) {
		attach_end(core, s, end);
		return;
	}
	if (!last) {
		attach_show(core, s);
		core->locks->watch->check(core, s);
		return;
	}
	if (survives)
		grace_begin(core, s);
	/* When this daemon ends, the process is no longer watched. */
	if (s->process.pid != 0 && !s->unseen && core->drain != DRAIN_ENDS) {
		attach_show(core, s);
	} else if (!survives) {
		session_end(core, s, s->process.pid != 0 ? END_ABANDONED : end);
	} else if (s->unseen) {
		session_unbind(core, s);
	}
}

static void
attach_free(struct core *core, struct conn *conn)
{
	/* No session lists it any more. */
	assert(conn->session == NULL);
	assert(conn->guest == NULL && conn->host == NULL);
	conn_remove(core, conn);
	freelist_retire(core, &conn->freed);
}

/* Another connection speaks for the session now: what still comes from this one, or about it, is void. */
static void
attach_take_over(struct core *core, struct conn *conn)
{
	assert(conn->session->conn_count > 1);
	emit_close(core, conn->id);
	attach_drop_guest(core, conn);
	attach_drop_waits(core, conn, conn->session->grace_ms > 0);
	attach_leave(conn);
	attach_free(core, conn);
}

void
attach_open(struct core *core, conn_id id, const struct peer *peer)
{
	struct conn *conn = conn_new(core, id);
	struct session *s;

	if (conn == NULL) {
		emit_close(core, id);
		return;
	}
	s = session_new(core, peer);
	if (s == NULL) {
		conn_remove(core, conn);
		free(conn);
		emit_close(core, id);
		return;
	}
	attach_attach(core, conn, s);
}

void
attach_return(struct core *core, conn_id id, const struct keep_view *keep, bool no_push)
{
	struct session *s = session_find(core, keep->session);
	struct conn *conn = s != NULL && s->durable ? conn_new(core, id) : NULL;

	if (conn == NULL) {
		emit_close(core, id);
		return;
	}
	conn->no_push = no_push;
	if (keep->pushed) {
		s->onloss = ONLOSS_PUSH;
		s->push_conn = id;
	}
	conn->anchor = keep->anchor;
	attach_attach(core, conn, s);
	loss_report(core, s, conn);
}

void
attach_peer(struct core *core, struct conn *conn, const struct peer *peer)
{
	session_peer(core, conn->session, peer);
}

void
attach_finish(struct core *core, struct conn *conn)
{
	struct waiter *w;

	if (conn->guest != NULL)
		attach_finish(core, conn->guest);
	families_finish(core, conn);
	if (conn->waiters == 1 && conn->blocked != NULL) {
		queue_halve(core, conn->blocked);
		return;
	}
	LIST_FOREACH (w, &conn->session->waiters, in_session) {
		if (w->conn == conn)
			queue_halve(core, w);
	}
}

void
attach_close(struct core *core, struct conn *conn, enum end end)
{
	attach_detach(core, conn, end);
	attach_free(core, conn);
}

void
attach_exit(struct core *core, const struct process *process)
{
	struct session *s = session_bound(core, process);

	if (s == NULL)
		return;
	assert(s->process.pid == process->pid && s->process.started == process->started);
	if (s->anchors == 0) {
		attach_end(core, s, END_CLEAN);
		return;
	}
	s->orphaned = true;
	session_unbind(core, s);
}

void
attach_anchor(struct core *core, struct conn *conn)
{
	if (!conn->anchor) {
		conn->anchor = true;
		conn->session->anchors++;
		attach_show(core, conn->session);
		if (conn->durable)
			emit_keep(core, conn->id);
	}
	emit_ok(core, conn->id);
}

/* Nobody will tell when it ends, and it may be working. So it keeps the session no longer; and whatever its
 * connections do, what it holds is left to the announced deadlines when the last one and the grace are over.
 */
void
attach_unseen(struct core *core, const struct process *process)
{
	struct session *s = session_bound(core, process);

	if (s == NULL)
		return;
	if (s->conn_count > 0) {
		s->unseen = true;
		return;
	}
	session_unbind(core, s);
	if (grace_applies(core, s))
		grace_begin(core, s);
	else
		session_end(core, s, END_ABANDONED);
}

/* Makes conn speak for s instead of its own session. False, and answered: its own session has something to
 * lose. */
static bool
attach_move(struct core *core, struct conn *conn, struct session *s)
{
	const struct session *own = conn->session;
	const struct loss *unreported;

	if (own == s)
		return true;
	if (own->grant_count + own->waiter_count > 0 || own->process.pid != 0) {
		emit_error(core, conn->id, CODE_ERR,
			"this connection has a session of its own that holds, waits or is bound: use another "
			"connection, or do this first");
		return false;
	}
	unreported = loss_unreported(own);
	if (unreported != NULL) {
		char name[2 * NAME_BYTES_MAX];

		(void)escape_text(name, sizeof(name), loss_name(unreported), ESCAPE_PLAIN);
		emit_error(core, conn->id, CODE_ERR,
			"this connection has a session of its own that lost %s and has not been told: CHECK "
			"%s first, or use another connection",
			name, name);
		return false;
	}
	/* Without a connection, only the one that comes now tells whose session it is. */
	if (s->conn_count == 0 && s->process.pid == 0)
		session_peer(core, s, &own->peer);
	/* Its session ends, but not its client, which may still use what BREAK took from it. */
	if (own->conn_count == 1)
		loss_forget_all(core, conn->session);
	attach_detach(core, conn, END_CLEAN);
	attach_attach(core, conn, s);
	assert(s->process.pid == 0 || session_bound(core, &s->process) == s);
	return true;
}

void
attach_bind(struct core *core, struct conn *conn, const struct process *process)
{
	struct session *s = session_bound(core, process);

	assert(process->pid != 0);
	if (s == NULL) {
		s = conn->session;
		if (s->process.pid != 0) {
			emit_error(core, conn->id, CODE_ERR, "this session is bound to process %lld already",
				(long long)s->process.pid);
			return;
		}
		if (!session_bind(core, s, process)) {
			emit_error(core, conn->id, CODE_LIMIT, "out of memory: try again later");
			return;
		}
		emit_watch(core, process);
	} else if (!attach_move(core, conn, s)) {
		return;
	}
	emit_int(core, conn->id, (int64_t)s->grant_count);
}

void
attach_join(struct core *core, struct conn *conn, struct slice secret)
{
	struct session *s = session_by_secret(core, conn, secret);

	if (s != NULL && attach_move(core, conn, s))
		emit_int(core, conn->id, (int64_t)s->grant_count);
}

void
attach_resume(struct core *core, struct conn *conn, struct slice secret)
{
	struct session *s = session_by_secret(core, conn, secret);
	const struct session *own = conn->session;
	struct conn *other, *next;

	if (s == NULL || !attach_move(core, conn, s))
		return;
	if (own != s)
		loss_doubt(core, s);
	if (s->conn_count > 1)
		grace_take_over(core, s);
	TAILQ_FOREACH_SAFE (other, &s->conns, in_session, next) {
		if (other != conn)
			attach_take_over(core, other);
	}
	assert(s->conn_count == 1 && conn->session == s);
	emit_int(core, conn->id, (int64_t)s->grant_count);
}
