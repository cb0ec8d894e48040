/*
 * verbs: see verbs.h. core.c calls it for each request, and when the daemon stops. A drain tells
 * holders, and must never release what they rely on.
 */
#include "daemon/core/verbs.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/core.h"
#include "daemon/core/families/deadlock.h"
#include "daemon/core/families/guest.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/mlock.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/liveness/attach.h"
#include "daemon/core/liveness/ending.h"
#include "daemon/core/liveness/grace.h"
#include "daemon/core/liveness/heartbeat.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/key.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/mode.h"
#include "daemon/core/lock/part.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/refusal.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/masterset_request.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "daemon/core/turn.h"
#include "daemon/core/view.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- verbs ---- */

static int64_t
lock_wait_ms(const struct resource *r, const struct command *c)
{
	return c->wait_ms == COMMAND_WAIT_RULE ? r->rule->wait_ms : c->wait_ms;
}

/* Why this LOCK may not even wait. True: answered. */
static bool
lock_refused(struct core *core, const struct conn *conn, const struct command *c)
{
	struct reply refusal;

	if (core->drain != DRAIN_NONE) {
		emit_error(core, conn->id, CODE_DRAINING, EMIT_DRAINING);
	} else if (refusal_long(core, c->name, &refusal)) {
		emit_reply(core, conn->id, &refusal);
	} else {
		return false;
	}
	return true;
}

/* Why this session may not wait for more. True: answered. */
static bool
lock_limited(struct core *core, const struct conn *conn, const struct command *c)
{
	const struct core_settings *set = &core->settings;
	const struct session *s = conn->session;

	if ((int64_t)s->grant_count >= set->grants_per_session) {
		emit_error(core, conn->id, CODE_LIMIT,
			"grants-per-session: this session holds %zu names, as many as it may: UNLOCK some",
			s->grant_count);
	} else if ((int64_t)s->waiter_count >= set->waiters_per_session) {
		emit_error(core, conn->id, CODE_LIMIT,
			"waiters-per-session: this session waits %zu times, as often as it may",
			s->waiter_count);
	} else {
		return user_full(core, conn, user_locks(c->permits));
	}
	return true;
}

/* The id is in use by a LOCK that this one does not repeat. */
static bool
async_id_taken(const struct core *core, struct session *s, const struct command *c)
{
	const struct waiter *w = asyncs_find(core, s, c->id);

	return w != NULL && !(w->conn == NULL && queue_is_repeated(w, c));
}

/* again: the wait that it takes over; NULL: none */
static void
lock_wait(struct core *core, struct conn *conn, struct resource *r, struct waiter *again,
	const struct command *c)
{
	int64_t wait_ms = lock_wait_ms(r, c);
	int64_t until_ms = wait_ms < 0 ? TIMER_NEVER : core->now.ms + wait_ms;
	bool once = wait_ms == 0 || c->retries == 0;
	struct waiter *w = again;
	struct reply refusal;

	/* A wait is taken over from a connection that is gone. */
	assert(again == NULL || (again->conn == NULL && again->session == conn->session));
	if (w == NULL && once && c->id.n == 0 && family_of_name(core, r)->hopeless(r, c->kind)) {
		refusal_name(core, r, &refusal);
		emit_reply(core, conn->id, &refusal);
		return;
	}
	if (wait_ms == 0 || (once && until_ms > queue_once_until(core)))
		until_ms = queue_once_until(core);
	if (w == NULL)
		w = queue_add(core, r, conn, c, until_ms, once);
	else
		queue_adopt(core, w, conn, c, until_ms, once);
	/* A LOCK with an id is answered by a push, and lets its connection go on. */
	assert(w == NULL || (conn->blocked == w) == (c->id.n == 0));
	if (w == NULL)
		emit_error(core, conn->id, CODE_LIMIT, "out of memory: try again later");
	else if (c->id.n > 0)
		emit_reply(core, conn->id, &(struct reply){.type = REPLY_QUEUED, .code = CODE_COUNT});
	else if (deadlock_closes(core, w, &refusal))
		queue_answer(core, w, &refusal);
}

static void
verb_lock(struct core *core, struct conn *conn, const struct command *c)
{
	uint32_t hash = names_hash(&core->leases->names, c->name);
	struct resource *r = names_find_hashed(&core->leases->names, c->name, hash);
	const struct rule *rule = r != NULL ? r->rule : rules_find(&core->leases->rules, c->name);
	struct grant *g = grant_any(core, r, conn->session, c->owner);
	struct loss *loss = loss_find(core, conn->session, c->name, c->owner);
	struct waiter *again;
	struct reply refusal;

	if (g != NULL && part_of(g) != NULL) {
		emit_error(core, conn->id, CODE_HELD,
			"an MLOCK of this session is taking it: wait for its answer");
		return;
	}
	if (g != NULL) {
		reenter_lock(core, g, c, &refusal);
		emit_reply(core, conn->id, &refusal);
		return;
	}
	/* The loss was not reported to the client yet, which may still act as the holder. */
	if (loss != NULL && !loss->reported) {
		loss_answer(core, conn, loss, (struct slice){0});
		return;
	}
	again = grace_find(core, conn->session, c);
	if (again != NULL && again->conn != NULL && c->last) {
		named_session_refusal(&refusal, false);
		emit_reply(core, conn->id, &refusal);
		return;
	}
	if (lock_refused(core, conn, c) || (again == NULL && lock_limited(core, conn, c)))
		return;
	if (r == NULL && key_refuses(core, c->name, rule, &refusal)) {
		emit_reply(core, conn->id, &refusal);
		return;
	}
	if (c->id.n > 0 && async_id_taken(core, conn->session, c)) {
		emit_error(core, conn->id, CODE_ERR, "ASYNC id is in use: CANCEL it or take another");
		return;
	}
	if (loss != NULL)
		loss_forget(core, conn->session, loss);
	if (r == NULL)
		r = resource_make(core, c->name, hash, rule);
	if (r == NULL) {
		emit_error(core, conn->id, CODE_LIMIT, "out of memory: try again later");
		return;
	}
	dirty_add(&core->dirty, &r->item);
	if (mode_refuses(r, c, &refusal)) {
		emit_reply(core, conn->id, &refusal);
		return;
	}
	mode_join(core, r, c);
	assert((r->limit > 0) == (c->kind == KIND_PERMITS));
	if (again != NULL && again->conn != NULL)
		queue_supersede(core, again);
	lock_wait(core, conn, r, again, c);
}

/* The session does not hold it, but may have held it. */
static void
answer_not_held(struct core *core, const struct conn *conn, const struct command *c, struct loss *loss)
{
	if (loss != NULL && loss->reason != LOSS_RETURNED)
		loss_answer(core, conn, loss, (struct slice){0});
	else
		emit_error(core, conn->id, CODE_NOTHELD, "this session does not hold it%s",
			c->owner.n > 0 ? " with this OWNER" : "");
}

/* Answers with the loss, if there was one, and forgets the loss. A named session remembers it: the request
 * may be repeated. */
static void
answer_released(struct core *core, const struct conn *conn, const struct command *c)
{
	struct loss *loss = loss_find(core, conn->session, c->name, c->owner);

	if (loss != NULL && c->verb == VERB_UNLOCK)
		loss_renounce(core, conn->session, loss, c->token);
	answer_not_held(core, conn, c, loss);
	if (loss != NULL && conn->session->named == NULL)
		loss_forget(core, conn->session, loss);
}

/* The session of an id has given it back already, and its client may not have had the answer. */
static bool
unlock_is_repeated(const struct core *core, const struct conn *conn, const struct command *c)
{
	const struct loss *loss = loss_find(core, conn->session, c->name, c->owner);

	return loss != NULL && loss->reason == LOSS_RETURNED && (c->token == 0 || c->token == loss->token);
}

/* The hold that a verb is about. A session that names its token knows of it. A session that names another
 * token does not know of it, and a named session that names no token may not know of it. */
static struct grant *
verb_hold(struct core *core, const struct conn *conn, const struct command *c)
{
	struct grant *g =
		grant_find(core, names_find(&core->leases->names, c->name), conn->session, c->owner);

	if (g != NULL && c->token == 0 && conn->session->named != NULL)
		grant_defer_claim(core, g, conn->session->heartbeat_ms);
	else if (g != NULL && (c->token == 0 || c->token == g->token))
		(void)grant_claim(core, g);
	assert(g == NULL || g->session == conn->session);
	return g;
}

/* The request would change or end this hold, and may mean another one: it names another token, or comes for
 * the session of an id without any. True: answered. */
static bool
hold_is_another(struct core *core, const struct conn *conn, const struct command *c, const struct grant *g)
{
	if (c->token == g->token)
		return false;
	if (c->token != 0)
		emit_error(core, conn->id, CODE_NOTHELD, "this session holds it with token %lld, not %lld",
			(long long)g->token, (long long)c->token);
	else if (conn->session->named != NULL)
		emit_error(core, conn->id, CODE_ERR, EMIT_VAGUE "TOKEN n, as LOCK answers it");
	else
		return false;
	return true;
}

static void
verb_unlock(struct core *core, struct conn *conn, const struct command *c)
{
	struct grant *g = verb_hold(core, conn, c);

	if (g == NULL && unlock_is_repeated(core, conn, c)) {
		emit_int(core, conn->id, 0);
		return;
	}
	if (g == NULL) {
		answer_released(core, conn, c);
		return;
	}
	if (hold_is_another(core, conn, c, g))
		return;
	emit_int(core, conn->id, g->count - 1);
	grant_give_back(core, g);
}

static void
verb_downgrade(struct core *core, struct conn *conn, const struct command *c)
{
	struct grant *g = verb_hold(core, conn, c);
	struct command shared = *c;
	struct reply why;

	if (g == NULL) {
		answer_released(core, conn, c);
		return;
	}
	if (hold_is_another(core, conn, c, g))
		return;
	shared.kind = KIND_SHARED;
	if (g->kind == KIND_EXCLUSIVE && mode_refuses(g->lease->resource, &shared, &why)) {
		emit_reply(core, conn->id, &why);
		return;
	}
	if (g->kind == KIND_PERMITS) {
		emit_error(core, conn->id, CODE_WRONGKIND,
			"permits are not shared: UNLOCK, and LOCK fewer PERMITS");
		return;
	}
	grant_share(core, g);
	assert(g->kind == KIND_SHARED);
	emit_int(core, conn->id, g->token);
}

static void
verb_check(struct core *core, struct conn *conn, const struct command *c)
{
	const struct grant *g = verb_hold(core, conn, c);
	struct loss *loss = loss_find(core, conn->session, c->name, c->owner);

	if (g != NULL && (c->token == 0 || c->token == g->token))
		emit_int(core, conn->id, grant_announced_ms(core, g));
	else if (g == NULL && loss != NULL && loss->reason != LOSS_RETURNED)
		answer_not_held(core, conn, c, loss);
	else
		emit_null(core, conn->id);
}

static void
verb_extend(struct core *core, struct conn *conn, const struct command *c)
{
	struct grant *g = verb_hold(core, conn, c);

	if (g == NULL)
		answer_not_held(core, conn, c, loss_find(core, conn->session, c->name, c->owner));
	else if (hold_is_another(core, conn, c, g))
		return;
	else if (grant_terms(g) == NULL || !g->terms->leased)
		emit_error(core, conn->id, CODE_ERR,
			"this hold has no LEASE: it lasts until UNLOCK, there is nothing to extend");
	else {
		grant_extend(core, g, c->extend_ms);
		emit_int(core, conn->id, grant_announced_ms(core, g));
	}
}

static void
verb_cancel(struct core *core, struct conn *conn, const struct command *c)
{
	struct waiter *w = asyncs_find(core, conn->session, c->id);

	assert(w == NULL || w->session == conn->session);
	if (w != NULL)
		queue_remove(core, w);
	emit_int(core, conn->id, w != NULL);
}

static void
verb_break(struct core *core, struct conn *conn, const struct command *c)
{
	struct resource *r = names_find(&core->leases->names, c->name);
	const struct grant *first = r == NULL ? NULL : resource_next_grant(r, NULL);
	struct grant *g = r == NULL ? NULL : grant_with(r, c->token);

	if (g != NULL)
		emit_int(core, conn->id, grant_break(core, g));
	else if (first != NULL)
		emit_error(core, conn->id, CODE_NOTHELD,
			"it is held with token %lld, not %lld: INSPECT it again", (long long)first->token,
			(long long)c->token);
	else
		emit_error(core, conn->id, CODE_NOTHELD, "no client holds it through this daemon%s",
			r != NULL && resource_foreign(r).n > 0
				? ": with FLEET it is broken wherever it is held"
				: "");
}

void
break_event(struct core *core, const struct command *c)
{
	struct resource *r = names_find(&core->leases->names, c->name);
	struct grant *g = r == NULL ? NULL : grant_with(r, c->token);

	if (g != NULL)
		(void)grant_break(core, g);
}

/* Refuses what a daemon about to end cannot promise. */
static void
verb_grace(struct core *core, struct conn *conn, const struct command *c)
{
	if (core->drain == DRAIN_ENDS)
		emit_error(core, conn->id, CODE_DRAINING, EMIT_DRAINING);
	else if (c->verb == VERB_SESSION_RESUME)
		attach_resume(core, conn, c->secret);
	else
		grace_set(core, conn, c->grace_ms);
}

/* What a session says of itself, and SESSION KILL. */
static void
verb_session(struct core *core, struct conn *conn, const struct command *command)
{
	switch (command->verb) {
	case VERB_SESSION_ID:
		emit_int(core, conn->id, (int64_t)conn->session->id);
		return;
	case VERB_SESSION_SECRET:
		session_secret(core, conn);
		return;
	case VERB_SESSION_JOIN:
		attach_join(core, conn, command->secret);
		return;
	case VERB_SESSION_ANCHOR:
		attach_anchor(core, conn);
		return;
	case VERB_SESSION_RESUME:
	case VERB_SESSION_GRACE:
		verb_grace(core, conn, command);
		return;
	case VERB_SESSION_HEARTBEAT:
		heartbeat_set(core, conn, command->heartbeat_ms);
		return;
	case VERB_SESSION_TTL:
		named_session_ttl(core, conn, command->ttl_ms);
		return;
	case VERB_SESSION_END:
		named_session_end(core, conn, command->session);
		return;
	case VERB_SESSION_KILL:
		session_kill(core, conn, command->session);
		return;
	case VERB_SESSION_ONLOSS:
		session_onloss(core, conn, command->onloss);
		return;
	default:
		assert(false && "not a verb of the core");
	}
}

static void
verb_carry_out(struct core *core, struct conn *conn, const struct command *command)
{
	assert(conn->session != NULL);
	/* While a LOCK waits, the adapter holds back the later requests of its connection. */
	assert(conn->blocked == NULL && conn->mlock == NULL && conn->latch_request == NULL);
	switch (command->verb) {
	case VERB_LOCK:
		verb_lock(core, conn, command);
		return;
	case VERB_MLOCK:
		mlock_begin(core, conn, command);
		return;
	case VERB_MUNLOCK:
		mlock_munlock(core, conn, command);
		return;
	case VERB_UNLOCK:
		verb_unlock(core, conn, command);
		return;
	case VERB_DOWNGRADE:
		verb_downgrade(core, conn, command);
		return;
	case VERB_CHECK:
		verb_check(core, conn, command);
		return;
	case VERB_EXTEND:
		verb_extend(core, conn, command);
		return;
	case VERB_CANCEL:
		verb_cancel(core, conn, command);
		return;
	case VERB_BREAK:
		verb_break(core, conn, command);
		return;
	case VERB_LATCH_SET:
	case VERB_LATCH_DOWN:
	case VERB_LATCH_AWAIT:
	case VERB_LATCH_COUNT:
		latch_begin(core, conn, command);
		return;
	default:
		verb_session(core, conn, command);
	}
}

void
verb_run(struct core *core, struct conn *conn, const struct command *command)
{
	session_id before = core->sessions->last_id;
	bool locks = command->verb == VERB_LOCK || command->verb == VERB_MLOCK;
	struct conn *guest;

	/* While a LOCK waits, the adapter holds back the later requests of its connection. */
	assert(conn->blocked == NULL && conn->mlock == NULL && conn->latch_request == NULL &&
		conn->guest == NULL);
	if (ending_yield(core, conn, command))
		schedule(core);
	if (command->as.n == 0) {
		verb_carry_out(core, conn, command);
		return;
	}
	guest = guest_begin(core, conn, command);
	if (guest == NULL)
		return;
	verb_carry_out(core, guest, command);
	guest_carried_out(core, conn, locks && core->sessions->last_id != before);
}

/* ---- the daemon stops ---- */

/* Holds, and withheld holds of clients that are gone. */
static size_t
holds_left(const struct core *core)
{
	return core->counts.grants + core->counts.withheld;
}

/* Nothing new is taken from now on. */
static void
drain_begin(struct core *core, const struct reply *refusal)
{
	struct resource *r;

	assert(core->drain == DRAIN_NONE && refusal->type == REPLY_ERROR);
	core->drain = DRAIN_WAITS;
	mlock_answer_all(core, refusal);
	for (r = names_first(&core->leases->names); r != NULL; r = names_next(&core->leases->names, r)) {
		queue_answer_all(core, r, refusal);
		dirty_add(&core->dirty, &r->item);
	}
}

/* Holders notice by the end of their connections; their leases are left to run out, not released. */
static void
drain_end(struct core *core)
{
	int64_t left = (int64_t)holds_left(core);
	struct reply refusal;
	struct session *s, *s_next;
	struct conn *conn;

	assert(core->drain == DRAIN_WAITS);
	/* Since it began, each wait has had its answer, and none has come. */
	assert(core->counts.waiters == 0 && core->counts.mlocks == 0);
	core->drain = DRAIN_ENDS;
	reply_error(&refusal, CODE_DRAINING, EMIT_DRAINING);
	grace_drain(core);
	latch_drain(core, &refusal);
	masterset_drain(core, &refusal);
	HASH_ITER (hh, core->sessions->all, s, s_next) {
		TAILQ_FOREACH (conn, &s->conns, in_session) {
			if (conn->drains)
				emit_int(core, conn->id, left);
			conn->drains = false;
			if (s->grant_count > 0)
				emit_close(core, conn->id);
		}
	}
}

void
drain_event(struct core *core, conn_id id, bool waits)
{
	struct conn *conn = conn_find(core, id);
	struct reply refusal;

	reply_error(&refusal, CODE_DRAINING, EMIT_DRAINING);
	if (core->drain == DRAIN_ENDS) {
		if (conn != NULL)
			emit_reply(core, id, &refusal);
		return;
	}
	if (conn != NULL)
		conn->drains = true;
	if (core->drain == DRAIN_NONE)
		drain_begin(core, &refusal);
	if (!waits)
		drain_end(core);
}

bool
drain_goes_on(struct core *core)
{
	assert(core->drain == DRAIN_WAITS);
	if (holds_left(core) > 0)
		return false;
	drain_end(core);
	return true;
}

void
drain_leave(struct core *core)
{
	const struct core_counts *counts = &core->counts;

	assert(core->drain == DRAIN_ENDS);
	if (core->quorum->left || core->ended || counts->leases + counts->grants + counts->withheld > 0 ||
		core->leases->releases != NULL)
		return;
	assert(core->counts.releasing == 0);
	core->quorum->left = true;
	/* Guards have to wait for these clients: the registrations end by themselves. */
	if (core->locks->lost_until_ms > core->now.ms)
		return;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		/* On every link, behind all calls there: a HELLO would register the daemon anew. */
		for (unsigned k = 0; k < core->settings.links; k++) {
			if (m->links[k].up && (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED))
				master_call(core, &(struct call){.op = CALL_HELLO,
							  .master = i,
							  .link = k,
							  .attempt = ++m->serial,
							  .incarnation = m->incarnation,
							  .leaves = true});
		}
	}
}

bool
core_draining(const struct core *core)
{
	return core->drain != DRAIN_NONE;
}

bool
core_drained(const struct core *core)
{
	return core->drain == DRAIN_ENDS;
}
