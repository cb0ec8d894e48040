/*
 * session: see session.h.
 */
#include "daemon/core/session.h"

#include "daemon/core/alloc.h"
#include "daemon/core/deadlock.h"
#include "daemon/core/emit.h"
#include "daemon/core/grant.h"
#include "daemon/core/mlock.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/state.h"
#include "daemon/core/table.h"
#include "daemon/core/user.h"
#include "proto/number.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A secret is the session's id and 128 unpredictable bits, each word in 16 hexadecimal digits. */
#define SECRET_WORDS 3
#define SECRET_BYTES ((size_t)SECRET_WORDS * 16)

#define SLACK_MOST_MS 1000

struct session *
session_new(struct core *core, const struct peer *peer)
{
	struct session *s = freelist_new(core, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->id = core->session_ids + 1;
	s->peer = *peer;
	s->opened_ms = core->now.ms;
	s->heard_ms = core->now.ms;
	s->onloss = ONLOSS_CLOSE;
	TAILQ_INIT(&s->conns);
	LIST_INIT(&s->grants);
	LIST_INIT(&s->waiters);
	timer_init(&s->grace_timer, TIMER_GRACE);
	timer_init(&s->heartbeat_timer, TIMER_PULSE);
	if (!user_join(core, s)) {
		free(s);
		return NULL;
	}
	if (!table_add_session(core, s)) {
		user_quit(core, s);
		free(s);
		return NULL;
	}
	core->session_ids++;
	core->counts.sessions++;
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
}

bool
session_looks_again(struct core *core, struct timer *timer, int64_t *look_ms, int64_t ms)
{
	int64_t slack = ms / 8 + 1 < SLACK_MOST_MS ? ms / 8 + 1 : SLACK_MOST_MS;

	if (*look_ms != 0 && core->now.ms <= *look_ms + slack)
		return false;
	*look_ms = core->now.ms + slack;
	timer_arm(&core->timers, timer, *look_ms);
	return true;
}

void
session_unbind(struct core *core, struct session *s)
{
	if (s->process.pid == 0)
		return;
	table_remove_bound(core, s);
	memset(&s->process, 0, sizeof(s->process));
}

void
session_clear(struct core *core, struct session *s, enum end end)
{
	struct conn *conn;

	TAILQ_FOREACH (conn, &s->conns, in_session) {
		if (conn->mlock != NULL)
			mlock_drop(core, conn->mlock);
	}
	while (!LIST_EMPTY(&s->waiters))
		queue_remove(core, LIST_FIRST(&s->waiters));
	while (!LIST_EMPTY(&s->grants)) {
		struct grant *g = LIST_FIRST(&s->grants);

		if (end == END_ABANDONED)
			grant_abandon(core, g);
		else
			grant_release(core, g);
	}
	loss_forget_all(core, s);
}

void
session_end(struct core *core, struct session *s, enum end end)
{
	assert(s->conn_count == 0);
	session_clear(core, s, end);
	session_unbind(core, s);
	if (s->grace_ms > 0)
		user_grace_leave(core, s);
	user_quit(core, s);
	deadlock_forget(core, s);
	core->heartbeats -= s->heartbeat_ms > 0;
	timer_cancel(&core->timers, &s->grace_timer);
	timer_cancel(&core->timers, &s->heartbeat_timer);
	table_remove_session(core, s);
	core->counts.sessions--;
	holds_done(s);
	asyncs_done(s);
	freelist_retire(core, &s->freed);
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
		s = table_session(core, words[0]);
	/* Both words are compared at once, so that the time it takes says nothing about either. */
	if (s == NULL || !s->has_secret || ((s->secret[0] ^ words[1]) | (s->secret[1] ^ words[2])) != 0) {
		emit_error(core, conn->id, CODE_ERR, "no session has this secret: it may have ended");
		return NULL;
	}
	return s;
}

void
session_onloss(struct core *core, struct conn *conn, enum onloss onloss)
{
	conn->session->onloss = onloss;
	conn->session->push_conn = onloss == ONLOSS_PUSH ? conn->id : 0;
	emit_ok(core, conn->id);
}
