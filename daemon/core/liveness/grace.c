/* grace: see grace.h. */
#include "daemon/core/liveness/grace.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/liveness/ending.h"
#include "daemon/core/liveness/heartbeat.h"
#include "daemon/core/liveness/liveness.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/notes.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/reply.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static void
grace_arm(struct core *core, struct session *s)
{
	assert(s->grace_ms > 0);
	s->grace_check_at_ms = 0;
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
grace_applies(const struct core *core, const struct session *s)
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

/* No more can be announced to the client than was by now. */
static void
grace_detach(struct core *core, struct session *s)
{
	struct grant *g;

	assert(s->conn_count == 0 && s->grace_ms > 0);
	LIST_FOREACH (g, &s->grants, in_session)
		grant_cut_off(core, g);
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
	/* Also if no grace runs: the process may have held the session for longer. */
	LIST_FOREACH (g, &s->grants, in_session)
		grant_reconnected(g);
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

static bool
grace_finds(const struct session *s, const struct waiter *w, const struct command *c)
{
	return w->session == s && (w->conn == NULL || s->named != NULL) && queue_is_repeated(w, c);
}

struct waiter *
grace_find(const struct core *core, const struct session *s, const struct command *c)
{
	struct waiter *w, *found = NULL;
	const struct resource *r;

	/* Orphaned waiters of other sessions exist only as long as this timer runs. */
	if (LIST_EMPTY(&s->waiters) || (s->named == NULL && !timer_is_armed(&s->grace_timer)))
		return NULL;
	r = names_find(&core->leases->names, c->name);
	if (r == NULL)
		return NULL;
	/* The shorter list: a hot name has a long one, and so has a session that waits for many names. */
	if (r->demand->count < s->waiter_count) {
		TAILQ_FOREACH (w, &queue_of(r)->waiters, in_resource) {
			if (grace_finds(s, w, c))
				return w;
		}
		return NULL;
	}
	/* The latest is first in this one. */
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (grace_finds(s, w, c))
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
	HASH_ITER (hh, core->sessions->all, s, next) {
		if (s->conn_count == 0 && !session_outlives_conns(s) && !s->ends)
			grace_end(core, s);
		else if (s->conn_count == 0)
			session_end(core, s, END_ABANDONED);
	}
}

void
grace_timer(struct core *core, struct session *s)
{
	if (liveness_checks_again(core, &s->grace_timer, &s->grace_check_at_ms, s->grace_ms))
		return;
	if (s->conn_count == 0 && s->process.pid == 0)
		grace_end(core, s);
	else
		grace_drop_orphans(core, s);
}
