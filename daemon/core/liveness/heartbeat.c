/* heartbeat: see heartbeat.h. The timer finds silent sessions, and this file ends them. */
#include "daemon/core/liveness/heartbeat.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/liveness/ending.h"
#include "daemon/core/liveness/grace.h"
#include "daemon/core/liveness/liveness.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/notes.h"
#include "daemon/core/session/session.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	core->liveness->heartbeats += ms > 0;
	core->liveness->heartbeats -= s->heartbeat_ms > 0;
	s->heartbeat_ms = ms;
	s->heartbeat_check_at_ms = 0;
	heartbeat_arm(core, s);
	session_changed(core, s);
	emit_ok(core, conn->id);
}

void
heartbeat_begin(struct core *core, struct session *s)
{
	s->alive_ms = core->now.ms;
	s->heartbeat_check_at_ms = 0;
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

/* What was announced to a client was announced in an answer: of a lease that was no longer than any is. */
static void
named_session_abandon(struct core *core, struct session *s, struct grant *g)
{
	int64_t announced_ms = s->alive_ms + core->settings.lease_max_ms;

	assert(g->session == s);
	grant_cut_off(core, g);
	if (announced_ms < g->terms->announced_until_ms)
		g->terms->announced_until_ms = announced_ms;
	(void)grant_abandon(core, g);
}

/* Its TTL is over, and no connection waits for it. */
static void
named_session_silent(struct core *core, struct session *s)
{
	struct grant *g, *next;
	int64_t last_ms = core->now.ms;

	assert(s->conn_count == 0);
	assert(s->named != NULL);
	if (s->grant_count > 0)
		emit_note(core, NOTE_SILENT, NULL, s, 0, core->now.ms - s->alive_ms, NULL);
	while (!LIST_EMPTY(&s->waiters))
		queue_remove(core, LIST_FIRST(&s->waiters));
	LIST_FOREACH_SAFE (g, &s->grants, in_session, next) {
		const struct terms *t = grant_terms(g);

		if (g->unannounced || t == NULL || !t->leased)
			named_session_abandon(core, s, g);
		else if (t->ends_ms > last_ms)
			last_ms = t->ends_ms;
	}
	if (s->grant_count == 0)
		session_end(core, s, END_ABANDONED);
	else
		timer_arm(&core->timers, &s->heartbeat_timer, last_ms);
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
	if (!grace_applies(core, s))
		session_clear(core, s, END_ABANDONED);
	TAILQ_FOREACH (conn, &s->conns, in_session)
		emit_close(core, conn->id);
	if (s->conn_count > 0)
		return;
	if (grace_applies(core, s))
		grace_begin(core, s);
	else
		session_end(core, s, END_ABANDONED);
}

void
heartbeat_timer(struct core *core, struct session *s)
{
	/* The session is detached: its grace runs instead. */
	if (s->conn_count == 0 && !session_outlives_conns(s))
		return;
	if (heartbeat_blocked(s))
		s->alive_ms = core->now.ms;
	if (s->alive_ms + s->heartbeat_ms > core->now.ms) {
		s->heartbeat_check_at_ms = 0;
		heartbeat_arm(core, s);
	} else if (!liveness_checks_again(
			   core, &s->heartbeat_timer, &s->heartbeat_check_at_ms, s->heartbeat_ms)) {
		heartbeat_missed(core, s);
	}
}
