/* heartbeat: see heartbeat.h. The verbs and attach.c call it. */
#include "daemon/core/heartbeat.h"

#include "daemon/core/emit.h"
#include "daemon/core/grace.h"
#include "daemon/core/session.h"
#include "daemon/core/state.h"

static void
heartbeat_arm(struct core *core, struct session *s)
{
	timer_arm(&core->timers, &s->heartbeat_timer,
		s->heartbeat_ms > 0 ? s->heard_ms + s->heartbeat_ms : TIMER_NEVER);
}

void
heartbeat_set(struct core *core, struct conn *conn, int64_t ms)
{
	struct session *s = conn->session;

	core->heartbeats += ms > 0;
	core->heartbeats -= s->heartbeat_ms > 0;
	s->heartbeat_ms = ms;
	s->heartbeat_look_ms = 0;
	heartbeat_arm(core, s);
	emit_ok(core, conn->id);
}

void
heartbeat_begin(struct core *core, struct session *s)
{
	s->heard_ms = core->now.ms;
	s->heartbeat_look_ms = 0;
	heartbeat_arm(core, s);
}

static bool
heartbeat_blocked(const struct session *s)
{
	const struct conn *conn;

	TAILQ_FOREACH (conn, &s->conns, in_session) {
		if (conn->blocked != NULL || conn->mlock != NULL || conn->latch_request != NULL ||
			conn->drains)
			return true;
	}
	return false;
}

static void
heartbeat_missed(struct core *core, struct session *s)
{
	struct conn *conn;

	emit_note(core, NOTE_SILENT, NULL, s, 0, core->now.ms - s->heard_ms, NULL);
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
	if (s->conn_count == 0 && s->process.pid == 0)
		return;
	if (heartbeat_blocked(s))
		s->heard_ms = core->now.ms;
	if (s->heard_ms + s->heartbeat_ms > core->now.ms) {
		s->heartbeat_look_ms = 0;
		heartbeat_arm(core, s);
	} else if (!session_looks_again(core, &s->heartbeat_timer, &s->heartbeat_look_ms, s->heartbeat_ms)) {
		heartbeat_missed(core, s);
	}
}
