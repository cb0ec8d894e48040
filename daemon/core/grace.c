/* grace: see grace.h. attach.c, heartbeat.c, drain.c and verbs.c call it. */
#include "daemon/core/grace.h"

#include "daemon/core/emit.h"
#include "daemon/core/grant.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/session.h"
#include "daemon/core/state.h"
#include "daemon/core/user.h"

#include <assert.h>

static void
grace_arm(struct core *core, struct session *s)
{
	s->grace_look_ms = 0;
	timer_arm(&core->timers, &s->grace_timer, core->now.ms + s->grace_ms);
}

void
grace_ask(struct core *core, struct conn *conn, int64_t ms)
{
	struct session *s = conn->session;
	int64_t most_ms = core->settings.grace.most_ms;

	if (ms > most_ms) {
		emit_error(core, conn->id, CODE_LIMIT, "grace-time: a session survives at most %lld ms",
			(long long)most_ms);
		return;
	}
	if (ms > 0 && s->grace_ms == 0) {
		if (!user_grace_enter(core, conn))
			return;
	}
	if (ms > 0)
		s->grace_ms = ms;
	else
		grace_drop(core, s);
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
		user_grace_leave(core, s);
	s->grace_ms = 0;
}

void
grace_begin(struct core *core, struct session *s)
{
	struct grant *g;

	assert(s->conn_count == 0 && s->grace_ms > 0);
	/* The client cannot be told more than it was told by now. */
	LIST_FOREACH (g, &s->grants, in_session)
		grant_tell_no_more(core, g);
	emit_note(core, NOTE_DETACHED, NULL, s, 0, s->grace_ms, NULL);
	grace_arm(core, s);
}

void
grace_attach(struct core *core, struct session *s)
{
	struct grant *g;

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
	emit_note(core, NOTE_RESUMED, NULL, s, 0, s->grace_ms, NULL);
	if (s->grace_ms > 0)
		grace_arm(core, s);
}

struct waiter *
grace_find(const struct session *s, const struct command *c)
{
	struct waiter *w, *found = NULL;

	/* Orphaned waiters exist only as long as this timer runs. */
	if (!timer_is_armed(&s->grace_timer))
		return NULL;
	/* The latest is first in the list. */
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (queue_is_repeated(w, c))
			found = w;
	}
	return found;
}

/* The client did not ask for these in time. */
static void
grace_drop_strays(struct core *core, struct session *s)
{
	struct waiter *w, *w_next;
	struct grant *g, *g_next;

	LIST_FOREACH_SAFE (w, &s->waiters, in_session, w_next) {
		if (w->conn == NULL)
			queue_remove(core, w);
	}
	LIST_FOREACH_SAFE (g, &s->grants, in_session, g_next) {
		if (g->untold)
			grant_release(core, g);
	}
}

static void
grace_end(struct core *core, struct session *s)
{
	emit_note(core, NOTE_EXPIRED, NULL, s, 0, -1, NULL);
	grace_drop_strays(core, s);
	session_end(core, s, END_ABANDONED);
}

void
grace_drain(struct core *core)
{
	struct session *s, *next;

	HASH_ITER (hh, core->sessions, s, next) {
		if (s->conn_count == 0 && s->process.pid == 0)
			grace_end(core, s);
		else if (s->conn_count == 0)
			session_end(core, s, END_ABANDONED);
	}
}

void
grace_timer(struct core *core, struct session *s)
{
	if (session_looks_again(core, &s->grace_timer, &s->grace_look_ms, s->grace_ms))
		return;
	if (s->conn_count == 0 && s->process.pid == 0)
		grace_end(core, s);
	else
		grace_drop_strays(core, s);
}
