/*
 * mlock: see mlock.h. The verbs begin an MLOCK, scheduler.c takes it further, and session.c, attach.c and
 * verbs.c end it. Only mlock_go_on() decides what follows.
 */
#include "daemon/core/families/mlock.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/starts.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/deadlock.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/guest.h"
#include "daemon/core/families/parts.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/leasing/renew.h"
#include "daemon/core/liveness/attach.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/key.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/mode.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/refusal.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/notes.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/escape.h"
#include "proto/name.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const struct reply null = {.type = REPLY_NULL, .code = CODE_COUNT};

static struct reply
no_memory(void)
{
	struct reply reply;

	reply_error(&reply, CODE_LIMIT, "out of memory: try again later");
	return reply;
}

/* ---- its parts ---- */

static void
part_give_back(struct core *core, struct part *p)
{
	struct grant *g = p->grant;

	assert(p->waiter == NULL || g == NULL);
	if (p->waiter != NULL) {
		queue_remove(core, p->waiter);
		p->waiter = NULL;
		part_join(p);
	}
	if (g == NULL)
		return;
	part_release(p);
	part_join(p);
	grant_release(core, g);
}

/* Makes a waiter for the name. False: *why is the answer. */
static bool
part_wait(struct core *core, struct part *p, bool once, struct reply *why)
{
	struct mlock *b = p->mlock;
	struct resource *r = resource_get(core, p->name);
	struct command lock = b->lock;

	assert(p->waiter == NULL && p->grant == NULL);
	*why = no_memory();
	if (r == NULL)
		return false;
	dirty_add(&core->dirty, &r->item);
	if (mode_refuses(r, &lock, why))
		return false;
	mode_join(core, r, &lock);
	lock.name = p->name;
	p->waiter = queue_add(core, r, b->conn, &lock, once ? queue_once_until(core) : TIMER_NEVER, once);
	if (p->waiter == NULL) {
		*why = no_memory();
		return false;
	}
	p->waiter->part = p;
	part_leave(p);
	b->conn->blocked = NULL;
	return true;
}

/* The smallest name that is not held yet. */
static struct part *
mlock_next(struct mlock *b)
{
	for (size_t i = 0; i < b->count; i++) {
		if (b->parts[i].grant == NULL)
			return &b->parts[i];
	}
	return NULL;
}

/* A session here holds it, or waits for it without success. */
static bool
part_is_shut(const struct core *core, const struct part *p)
{
	const struct resource *r = names_find(&core->leases->names, p->name);

	return r != NULL && family_of_name(core, r)->hopeless(r, p->mlock->lock.kind);
}

/* ---- its end ---- */

static void
mlock_end(struct core *core, struct mlock *b)
{
	assert(b->conn->mlock == b && core->counts.mlocks > 0);
	timer_cancel(&core->timers, &b->timer);
	if (b->dirty)
		TAILQ_REMOVE(&core->families->mlocks, b, in_dirty);
	b->conn->mlock = NULL;
	attach_answered(core, b->conn);
	if (b->apart > 0)
		user_give(b->conn->session, (int64_t)b->apart);
	core->counts.mlocks--;
	starts_remove(&core->families->mlock_starts, b->since_ms);
	freelist_retire(core, &b->freed);
}

static void
mlock_drop(struct core *core, struct mlock *b)
{
	for (size_t i = 0; i < b->count; i++)
		part_give_back(core, &b->parts[i]);
	assert(b->apart == b->count);
	mlock_end(core, b);
}

void
mlock_fail(struct core *core, struct mlock *b, const struct reply *reply)
{
	const struct part *next = mlock_next(b);

	assert(reply->type == REPLY_NULL || reply->type == REPLY_ERROR);
	if (reply->type == REPLY_NULL && next != NULL)
		emit_note(core, NOTE_TIMEOUT, names_find(&core->leases->names, next->name), b->conn->session,
			0, core->now.ms - b->since_ms, NULL);
	emit_reply(core, b->conn->id, reply);
	mlock_drop(core, b);
}

/* All names are held. LEASE, MAXHOLD and CLAIM begin when the session is answered. */
static void
mlock_answer(struct core *core, struct mlock *b)
{
	struct reply reply = {
		.type = REPLY_TOKENS, .code = CODE_COUNT, .tokens = b->tokens, .count = b->count};

	for (size_t i = 0; i < b->count; i++) {
		struct part *p = &b->parts[i];
		struct grant *g = p->grant;

		assert(p->index < b->count && g->session == b->conn->session);
		b->tokens[p->index] = g->token;
		part_release(p);
		grant_begin(core, g, b->lock.lease_ms, b->lock.max_hold_ms,
			named_session_offer_ms(g->session, b->lock.lease_ms, b->lock.claim_ms));
	}
	emit_reply(core, b->conn->id, &reply);
	assert(b->apart == 0);
	mlock_end(core, b);
}

/* ---- its steps ---- */

/* Why a name is not held yet. */
static void
mlock_refusal(const struct core *core, const struct part *p, struct reply *out)
{
	const struct resource *r = p == NULL ? NULL : names_find(&core->leases->names, p->name);

	if (r != NULL)
		refusal_name(core, r, out);
	else if (p == NULL)
		reply_error(out, CODE_NOMASTER, "the master did not answer in time");
	else
		*out = null;
}

/* A grant has to be valid for a while when it is answered. The names taken first may have to be renewed by
 * now. */
static void
mlock_finish(struct core *core, struct mlock *b)
{
	bool good = true;

	for (size_t i = 0; i < b->count; i++) {
		struct lease *l = b->parts[i].grant->lease;

		assert(l->state == LEASE_HELD && l->kind != KIND_PERMITS);
		if (lease_good(core, l))
			continue;
		good = false;
		renew_now(core, l);
	}
	if (good)
		mlock_answer(core, b);
}

static void
mlock_give_back(struct core *core, struct mlock *b, struct part *from)
{
	assert(from >= b->parts && from <= b->parts + b->count);
	for (struct part *p = from; p < b->parts + b->count; p++)
		part_give_back(core, p);
}

/* Waits for one name, with no larger one held meanwhile. */
static void
mlock_wait_for(struct core *core, struct mlock *b, struct part *p)
{
	struct reply refusal;

	assert(p >= b->parts && p < b->parts + b->count);
	b->ordered = true;
	mlock_give_back(core, b, p + 1);
	if (p->waiter != NULL && p->waiter->once == b->once)
		return;
	part_give_back(core, p);
	if (!part_wait(core, p, b->once, &refusal) || deadlock_closes(core, p->waiter, &refusal))
		mlock_fail(core, b, &refusal);
}

/* Tries the missing names at once, so that their calls leave together, up to the first one that is shut here:
 * trying that one would fail. */
static void
mlock_try(struct core *core, struct mlock *b, struct part *from)
{
	struct part *p = from;
	struct reply refusal;

	assert(from >= b->parts && from < b->parts + b->count);
	b->ordered = false;
	mlock_give_back(core, b, from);
	for (; p < b->parts + b->count && !part_is_shut(core, p); p++) {
		if (part_wait(core, p, true, &refusal))
			continue;
		mlock_fail(core, b, &refusal);
		return;
	}
	if (p == from)
		mlock_wait_for(core, b, from);
}

static bool
mlock_has_failed(const struct mlock *b)
{
	assert(!b->refused || b->refusal.type == REPLY_NULL || b->refusal.type == REPLY_ERROR);
	return b->refused &&
	       (b->ordered || b->once || b->lock.retries == 0 || !refusal_may_pass(&b->refusal));
}

/* No client relies yet on what this MLOCK holds: while the masters refuse this daemon it is given back. */
static bool
mlock_must_yield(const struct core *core, const struct mlock *b)
{
	bool holds = false;

	for (size_t i = 0; i < b->count; i++)
		holds |= b->parts[i].grant != NULL;
	return holds && !masterset_usable(core);
}

static void
mlock_go_on(struct core *core, struct mlock *b)
{
	struct part *next = mlock_next(b);
	struct reply refusal = b->refusal;
	bool failed = mlock_has_failed(b), refused = b->refused;

	assert(!b->dirty);
	b->refused = false;
	if (failed) {
		mlock_fail(core, b, &refusal);
	} else if (mlock_must_yield(core, b)) {
		mlock_wait_for(core, b, b->parts);
	} else if (next == NULL) {
		mlock_finish(core, b);
	} else if (refused) {
		b->lock.retries -= b->lock.retries > 0;
		mlock_wait_for(core, b, next);
	} else if (next->waiter == NULL && b->ordered) {
		mlock_try(core, b, next);
	} else if (next->waiter == NULL) {
		mlock_wait_for(core, b, next);
	}
}

bool
mlock_schedule(struct core *core)
{
	struct mlock *b = TAILQ_FIRST(&core->families->mlocks);

	if (b == NULL)
		return false;
	assert(b->dirty);
	TAILQ_REMOVE(&core->families->mlocks, b, in_dirty);
	b->dirty = false;
	mlock_go_on(core, b);
	return true;
}

/* ---- what happens to it ---- */

void
mlock_timer(struct core *core, struct mlock *b)
{
	struct reply refusal;

	mlock_refusal(core, mlock_next(b), &refusal);
	if (!quorum_puts_off(core, &b->timer, &refusal))
		mlock_fail(core, b, &refusal);
}

static void
mlock_make_once(struct core *core, struct mlock *b)
{
	int64_t until_ms = queue_once_until(core);

	b->once = true;
	if (until_ms < timer_at(&core->timers, &b->timer))
		timer_arm(&core->timers, &b->timer, until_ms);
	for (size_t i = 0; i < b->count; i++) {
		if (b->parts[i].waiter != NULL)
			queue_make_once(core, b->parts[i].waiter);
	}
}

void
mlock_conn_finish(struct core *core, struct conn *conn)
{
	if (conn->mlock != NULL)
		mlock_make_once(core, conn->mlock);
}

void
mlock_conn_close(struct core *core, struct conn *conn)
{
	if (conn->mlock != NULL)
		mlock_drop(core, conn->mlock);
}

void
mlock_answer_all(struct core *core, const struct reply *reply)
{
	struct conn *conn, *next;

	for (const struct session *s = core->sessions->all; s != NULL; s = s->hh.next)
		TAILQ_FOREACH_SAFE (conn, &s->conns, in_session, next)
			if (conn->mlock != NULL)
				mlock_fail(core, conn->mlock, reply);
}

/* ---- MLOCK ---- */

static struct slice
keep(char **at, struct slice from)
{
	struct slice kept = {*at, from.n};

	if (from.n > 0)
		memcpy(*at, from.p, from.n);
	*at += from.n;
	return kept;
}

static int
name_order(struct slice a, struct slice b)
{
	int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

/* Sorts by the bytes of the names, an order that all daemons share. */
static void
mlock_put(struct mlock *b, struct slice name, size_t index)
{
	size_t i = b->count++;

	for (; i > 0 && name_order(b->parts[i - 1].name, name) > 0; i--)
		b->parts[i] = b->parts[i - 1];
	/* Two that are equal would wait for each other. */
	assert(i == 0 || name_order(b->parts[i - 1].name, name) < 0);
	b->parts[i] = (struct part){.mlock = b, .name = name, .index = index};
}

struct mlock *
mlock_new(struct core *core, struct conn *conn, const struct command *c)
{
	size_t bytes = c->owner.n + c->why.n;
	struct mlock *b;
	char *at;

	assert(c->name_count >= 1 && c->name_count <= COMMAND_NAMES_MAX);
	assert(conn->mlock == NULL && conn->blocked == NULL && conn->latch_request == NULL);
	for (size_t i = 0; i < c->name_count; i++)
		bytes += c->names[i].n;
	b = freelist_new(
		core, sizeof(*b) + c->name_count * (sizeof(b->parts[0]) + sizeof(b->tokens[0])) + bytes);
	if (b == NULL)
		return NULL;
	b->tokens = (int64_t *)(void *)(b->parts + c->name_count);
	at = (char *)(b->tokens + c->name_count);
	b->conn = conn;
	b->since_ms = core->now.ms;
	b->lock = (struct command){.verb = VERB_LOCK,
		.owner = keep(&at, c->owner),
		.why = keep(&at, c->why),
		.lease_ms = c->lease_ms,
		.max_hold_ms = c->max_hold_ms,
		.claim_ms = c->claim_ms,
		.kind = c->kind,
		.retries = c->retries};
	for (size_t i = 0; i < c->name_count; i++)
		mlock_put(b, keep(&at, c->names[i]), i);
	timer_init(&b->timer, TIMER_MLOCK);
	conn->mlock = b;
	b->apart = b->count;
	user_take(conn->session, (int64_t)b->apart);
	core->counts.mlocks++;
	return b;
}

/* If the names have several rules, the longest wait counts. */
static int64_t
mlock_wait_ms(struct core *core, const struct command *c)
{
	int64_t most = 0;

	for (size_t i = 0; i < c->name_count; i++) {
		int64_t ms = rules_find(&core->leases->rules, c->names[i])->wait_ms;

		if (ms < 0)
			return ms;
		most = ms > most ? ms : most;
	}
	return most;
}

/* Why the session may not have this name. True: answered. */
static bool
name_refused(struct core *core, const struct conn *conn, const struct command *c, struct slice name)
{
	const struct resource *r = names_find(&core->leases->names, name);
	const struct grant *g = grant_any(core, r, conn->session, c->owner);
	struct reply why;
	char text[REPLY_TEXT_MAX / 2];

	if (refusal_long(core, name, &why) ||
		(r == NULL && key_refuses(core, name, rules_find(&core->leases->rules, name), &why))) {
		emit_reply(core, conn->id, &why);
		return true;
	}
	if (g == NULL)
		return false;
	(void)escape_text(text, sizeof(text), name, ESCAPE_PLAIN);
	emit_error(core, conn->id, CODE_HELD,
		"this session holds %s already, token %lld: MLOCK never re-enters", text,
		(long long)g->token);
	return true;
}

/* Why this MLOCK may not even be tried. True: answered. */
static bool
mlock_denied(struct core *core, const struct conn *conn, const struct command *c)
{
	const struct core_settings *set = &core->settings;
	const struct session *s = conn->session;

	if (core->drain != DRAIN_NONE) {
		emit_error(core, conn->id, CODE_DRAINING, EMIT_DRAINING);
		return true;
	}
	if ((int64_t)(s->grant_count + c->name_count) > set->grants_per_session) {
		emit_error(core, conn->id, CODE_LIMIT,
			"grants-per-session: this session holds %zu names, %zu more are too many: UNLOCK "
			"some",
			s->grant_count, c->name_count);
		return true;
	}
	if ((int64_t)s->waiter_count >= set->waiters_per_session) {
		emit_error(core, conn->id, CODE_LIMIT,
			"waiters-per-session: this session waits %zu times, as often as it may",
			s->waiter_count);
		return true;
	}
	if (user_full(core, conn, (int64_t)c->name_count))
		return true;
	for (size_t i = 0; i < c->name_count; i++) {
		if (name_refused(core, conn, c, c->names[i]))
			return true;
	}
	return false;
}

/* Checks all names before one is asked for. False: *out is the answer. */
static bool
mlock_may_begin(struct core *core, struct mlock *b, struct reply *out)
{
	bool shut = false;

	for (size_t i = 0; i < b->count; i++) {
		struct resource *r = resource_get(core, b->parts[i].name);

		if (r == NULL) {
			*out = no_memory();
			return false;
		}
		dirty_add(&core->dirty, &r->item);
		if (mode_refuses(r, &b->lock, out))
			return false;
		if (!b->once || !family_of_name(core, r)->hopeless(r, b->lock.kind))
			continue;
		shut = true;
		refusal_name(core, r, out);
	}
	return !shut;
}

/* Reminds the session of a loss among the names that was not reported to it yet. True: answered. */
static bool
mlock_reminds(struct core *core, const struct conn *conn, const struct command *c)
{
	for (size_t i = 0; i < c->name_count; i++) {
		struct loss *loss = loss_find(core, conn->session, c->names[i], c->owner);

		if (loss == NULL || loss->reported)
			continue;
		loss_answer(core, conn, loss, c->names[i]);
		return true;
	}
	return false;
}

void
mlock_begin(struct core *core, struct conn *conn, const struct command *c)
{
	struct session *s = conn->session;
	struct mlock *b;
	struct loss *loss;
	struct reply refusal;
	int64_t wait_ms = c->wait_ms == COMMAND_WAIT_RULE ? mlock_wait_ms(core, c) : c->wait_ms;
	int64_t until_ms;

	assert(c->kind != KIND_PERMITS && c->id.n == 0);
	if (s->named != NULL && named_session_mlock(core, conn, c))
		return;
	if (mlock_reminds(core, conn, c) || mlock_denied(core, conn, c))
		return;
	b = mlock_new(core, conn, c);
	if (b == NULL) {
		emit_error(core, conn->id, CODE_LIMIT, "out of memory: try again later");
		return;
	}
	starts_add(&core->families->mlock_starts, b->since_ms);
	for (size_t i = 0; i < c->name_count; i++) {
		loss = loss_find(core, s, c->names[i], c->owner);
		if (loss != NULL)
			loss_forget(core, s, loss);
	}
	b->once = wait_ms == 0 || c->retries == 0;
	until_ms = wait_ms > 0 ? core->now.ms + wait_ms : TIMER_NEVER;
	if (b->once && (wait_ms == 0 || until_ms > queue_once_until(core)))
		until_ms = queue_once_until(core);
	timer_arm(&core->timers, &b->timer, until_ms);
	if (mlock_may_begin(core, b, &refusal))
		mlock_try(core, b, b->parts);
	else
		mlock_fail(core, b, &refusal);
}

/* ---- MUNLOCK: gives back names one by one; that they came by one MLOCK means nothing by then ---- */

/* The token that MUNLOCK gives for its i-th name; 0: none. */
static int64_t
munlock_token(const struct command *c, size_t i)
{
	int64_t token = 0;

	if (c->tokens != NULL && !number_parse(c->tokens[i], 1, COMMAND_TOKEN_MAX, &token))
		assert(false && "proto/option.c has read it");
	return token;
}

/* It comes for the session of an id, and may be a late copy of one about earlier holds. True: answered. */
static bool
munlock_is_vague(struct core *core, const struct conn *conn, const struct command *c)
{
	struct session *s = conn->session;

	for (size_t i = 0; s->named != NULL && c->tokens == NULL && i < c->name_count; i++) {
		if (grant_find(core, names_find(&core->leases->names, c->names[i]), s, c->owner) == NULL)
			continue;
		emit_error(
			core, conn->id, CODE_ERR, EMIT_VAGUE "TOKENS token [token ...], one for each name");
		return true;
	}
	return false;
}

/* True: the name was held, or had been given back already by the session of an id. */
static bool
munlock_one(struct core *core, struct session *s, const struct command *c, size_t i)
{
	int64_t token = munlock_token(c, i);
	struct grant *g = grant_find(core, names_find(&core->leases->names, c->names[i]), s, c->owner);
	struct loss *loss = loss_find(core, s, c->names[i], c->owner);
	bool returned = loss != NULL && loss->reason == LOSS_RETURNED && (token == 0 || token == loss->token);

	if (loss != NULL)
		loss_renounce(core, s, loss, token);
	if (loss != NULL && s->named == NULL)
		loss_forget(core, s, loss);
	if (g == NULL || (token != 0 && token != g->token))
		return returned;
	(void)grant_claim(core, g);
	grant_give_back(core, g);
	return true;
}

void
mlock_munlock(struct core *core, struct conn *conn, const struct command *c)
{
	int64_t given = 0;

	if (munlock_is_vague(core, conn, c))
		return;
	for (size_t i = 0; i < c->name_count; i++)
		given += munlock_one(core, conn->session, c, i);
	emit_int(core, conn->id, given);
}
