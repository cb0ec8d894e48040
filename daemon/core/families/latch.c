/* latch: see latch.h. core.c and verbs.c call it. */
#include "daemon/core/families/latch.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/latch_quota.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/liveness/attach.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/refusal.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/majority.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/reply.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WATCH_MS     3000 /* for so long after a refresh the master sends messages about a latch */
#define WAIT_MOST_MS 1000 /* a waiting AWAIT refreshes after this, in case all messages are lost */
#define RETRY_MS     200  /* after an error of the master */
#define AGAIN_MS     40   /* after a call that did not leave, or was not answered */
/* Latches remembered without a request; the oldest are forgotten first. After that a DOWN needs a refresh
 * before it, and what would be LOST is "no such latch". */
#define IDLE_MOST    1000

static void
emit_latch_note(struct core *core, enum note_type type, const struct latch *l, session_id session, int64_t ms,
	const char *text)
{
	struct note *note = emit_note_of(core, type, 0, ms, text);

	assert(type == NOTE_LATCH_SET || type == NOTE_LATCH_OPENED || type == NOTE_LATCH_LOST);
	note->name = l->name;
	note->session = session;
}

static struct master *
master_of(struct core *core)
{
	assert(core->settings.masters == 1);
	return &core->masters[0];
}

/* ---- latches ---- */

struct latch *
latch_find(const struct core *core, struct slice name)
{
	unsigned hash = (unsigned)hash_secretly(core->secret, name);
	struct latch *found;

	HASH_FIND_BYHASHVALUE(hh, core->families->latches, name.p, name.n, hash, found);
	return found;
}

bool
latch_known(const struct core *core)
{
	return core->families->latches != NULL || core->families->latch_quotas != NULL;
}

bool
latch_unused(const struct latch *l)
{
	return TAILQ_EMPTY(&l->requests[LATCH_REQUEST_DUE]) &&
	       TAILQ_EMPTY(&l->requests[LATCH_REQUEST_SENT]) &&
	       TAILQ_EMPTY(&l->requests[LATCH_REQUEST_WAITS]);
}

static void
latch_busy(struct core *core, struct latch *l)
{
	if (!l->idle)
		return;
	assert(core->families->idle_count > 0);
	TAILQ_REMOVE(&core->families->idle, l, in_idle);
	core->families->idle_count--;
	l->idle = false;
	timer_cancel(&core->timers, &l->timer);
}

static void
latch_forget(struct core *core, struct latch *l)
{
	assert(latch_unused(l));
	latch_busy(core, l);
	timer_cancel(&core->timers, &l->timer);
	HASH_DELETE(hh, core->families->latches, l);
	core->counts.latches--;
	freelist_retire(core, &l->freed);
}

void
latch_idle(struct core *core, struct latch *l)
{
	assert(latch_unused(l) && !l->idle);
	TAILQ_INSERT_TAIL(&core->families->idle, l, in_idle);
	core->families->idle_count++;
	l->idle = true;
}

/* No request is about the latch. What was learned is remembered for as long as it may be of use. */
static void
latch_rest(struct core *core, struct latch *l)
{
	if (l->id == 0 || core->now.ms >= l->ends_ms) {
		latch_forget(core, l);
		return;
	}
	timer_arm(&core->timers, &l->timer, l->ends_ms);
	if (!l->idle)
		latch_idle(core, l);
}

struct latch *
latch_new(struct core *core, struct slice name)
{
	struct latch *l = freelist_new(core, sizeof(*l) + name.n);
	unsigned hash = (unsigned)hash_secretly(core->secret, name);

	if (l == NULL)
		return NULL;
	memcpy(l->bytes, name.p, name.n);
	l->name = (struct slice){l->bytes, name.n};
	l->link = resource_link_of(core, name);
	for (int stage = 0; stage < LATCH_REQUEST_STAGE_COUNT; stage++)
		TAILQ_INIT(&l->requests[stage]);
	timer_init(&l->timer, TIMER_LATCH);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, core->families->latches, l->name.p, l->name.n, hash, l);
	if (l->hh.tbl == NULL) {
		free(l);
		return NULL;
	}
	core->counts.latches++;
	return l;
}

static struct latch *
latch_get(struct core *core, struct slice name)
{
	struct latch *l = latch_find(core, name);

	if (l != NULL)
		return l;
	if (core->families->idle_count >= IDLE_MOST)
		latch_forget(core, TAILQ_FIRST(&core->families->idle));
	return latch_new(core, name);
}

void
latch_free_all(struct core *core)
{
	struct latch_request *a;
	struct latch *l, *next;

	HASH_CLEAR(hh, core->families->requests);
	HASH_ITER (hh, core->families->latches, l, next) {
		for (int stage = 0; stage < LATCH_REQUEST_STAGE_COUNT; stage++) {
			while ((a = TAILQ_FIRST(&l->requests[stage])) != NULL) {
				TAILQ_REMOVE(&l->requests[stage], a, in_stage);
				free(a);
			}
		}
		HASH_DELETE(hh, core->families->latches, l);
		free(l);
	}
}

/* ---- requests ---- */

struct latch_request *
latch_request_put(struct core *core, struct latch *l, struct conn *conn, const struct latch_request *what)
{
	struct latch_request *a = freelist_new(core, sizeof(*a) + what->tag.n);
	struct freelist_link freed;

	assert(conn->latch_request == NULL && conn->blocked == NULL && conn->mlock == NULL);
	/* A call of a request that is put anew would have no attempt. */
	assert(what->stage != LATCH_REQUEST_SENT);
	if (a == NULL)
		return NULL;
	freed = a->freed;
	*a = *what;
	a->freed = freed;
	a->latch = l;
	a->conn = conn;
	if (what->tag.n > 0)
		memcpy(a->bytes, what->tag.p, what->tag.n);
	a->tag.p = a->bytes;
	timer_init(&a->timer, TIMER_LATCH_REQUEST);
	TAILQ_INSERT_TAIL(&l->requests[a->stage], a, in_stage);
	l->patient += !a->once;
	core->counts.requests++;
	conn->latch_request = a;
	return a;
}

/* Makes a request of this command, due. wait_ms: for AWAIT, -1: for ever. False: out of memory. */
static bool
request_add(struct core *core, struct latch *l, struct conn *conn, const struct command *c, int64_t wait_ms)
{
	static const enum latch_request_kind kinds[] = {[VERB_LATCH_SET] = LATCH_REQUEST_SET,
		[VERB_LATCH_DOWN] = LATCH_REQUEST_DOWN,
		[VERB_LATCH_AWAIT] = LATCH_REQUEST_AWAIT,
		[VERB_LATCH_COUNT] = LATCH_REQUEST_COUNT};
	enum latch_request_kind kind = kinds[c->verb];
	struct latch_request *a,
		what = {.kind = kind,
			.stage = LATCH_REQUEST_DUE,
			.once = kind != LATCH_REQUEST_AWAIT || wait_ms == 0,
			.since = core->attempts,
			.id = kind == LATCH_REQUEST_SET ? core_random(core) | 1 : 0,
			.session = conn->session->id,
			.steps = c->steps > 0 ? c->steps : 1,
			.since_ms = core->now.ms,
			.ends_ms = c->lease_ms > 0 ? core->now.ms + c->lease_ms : TIMER_NEVER,
			.tag = c->owner};

	if (what.id != 0 && !latch_quota_begin(core, conn->session->user, what.id, c->steps, what.ends_ms))
		return false;
	a = latch_request_put(core, l, conn, &what);
	if (a == NULL) {
		latch_quota_drop(core, what.id);
		return false;
	}
	if (a->once)
		timer_arm(&core->timers, &a->timer, queue_once_until(core));
	else if (wait_ms >= 0)
		timer_arm(&core->timers, &a->timer, core->now.ms + wait_ms);
	return true;
}

static void
request_move(struct latch_request *a, enum latch_request_stage stage)
{
	TAILQ_REMOVE(&a->latch->requests[a->stage], a, in_stage);
	a->stage = stage;
	TAILQ_INSERT_TAIL(&a->latch->requests[stage], a, in_stage);
}

/* Nothing more is sent for it: a latch that surely was not made no longer counts for its user. */
static void
request_end(struct core *core, struct latch_request *a)
{
	assert(a->conn == NULL && !timer_is_armed(&a->timer));
	if (a->kind == LATCH_REQUEST_SET && !a->unsure)
		latch_quota_drop(core, a->id);
	TAILQ_REMOVE(&a->latch->requests[a->stage], a, in_stage);
	freelist_retire(core, &a->freed);
}

/* It is answered, or its connection is gone. */
static void
request_leave(struct core *core, struct latch_request *a)
{
	assert(a->conn->latch_request == a && core->counts.requests > 0);
	assert(a->once || a->latch->patient > 0);
	timer_cancel(&core->timers, &a->timer);
	a->latch->patient -= !a->once;
	a->conn->latch_request = NULL;
	attach_answered(core, a->conn);
	a->conn = NULL;
	core->counts.requests--;
	if (a->stage != LATCH_REQUEST_SENT)
		request_end(core, a);
}

/* ---- answers ---- */

static void
answer(struct core *core, struct latch_request *a, const struct reply *reply)
{
	assert(a->conn != NULL);
	emit_reply(core, a->conn->id, reply);
	request_leave(core, a);
}

static void
answer_int(struct core *core, struct latch_request *a, int64_t n)
{
	answer(core, a, &(struct reply){.type = REPLY_INT, .code = CODE_COUNT, .n = n});
}

static void
answer_null(struct core *core, struct latch_request *a)
{
	answer(core, a, &(struct reply){.type = REPLY_NULL, .code = CODE_COUNT});
}

static void
answer_error(struct core *core, struct latch_request *a, enum code code, const char *text)
{
	struct reply reply;

	reply_error(&reply, code, "%s", text);
	answer(core, a, &reply);
}

/* The latch that it is about has ended. */
static void
answer_lost(struct core *core, struct latch_request *a, bool forgotten)
{
	if (forgotten)
		answer_error(core, a, CODE_LOST,
			"forgotten the master restarted or was replaced, and may lack what was counted: "
			"set the latch again");
	else
		answer_error(core, a, CODE_LOST, "lease the time of the latch was over, open or not");
}

/* What keeps it from an answer; null if it waits for steps. */
static void
request_refusal(const struct core *core, const struct latch_request *a, struct reply *why)
{
	const struct latch *l = a->latch;

	if (!majority_usable(core, l->link))
		majority_refusal(core, l->link, why);
	else if (l->error == LEASE_ERROR_ERROR)
		reply_error(why, CODE_MASTERERR, "the master said: %s", core->masters[0].error);
	else if (a->stage == LATCH_REQUEST_WAITS && l->error == LEASE_ERROR_NONE)
		*why = (struct reply){.type = REPLY_NULL, .code = CODE_COUNT};
	else if (a->stage == LATCH_REQUEST_SENT || a->unsure)
		reply_error(why, CODE_NOMASTER,
			"the master did not answer in time: it may have been done, and may be said again");
	else
		reply_error(why, CODE_NOMASTER, "the master did not answer in time");
}

static void
answer_refusal(struct core *core, struct latch_request *a)
{
	struct reply why;

	request_refusal(core, a, &why);
	answer(core, a, &why);
}

/* An error: refuses requests that need just one answer, unless they may have been carried out. */
static void
refuse_due(struct core *core, struct latch *l)
{
	struct latch_request *a, *next;

	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_DUE], in_stage, next) {
		if (a->once && !a->unsure)
			answer_refusal(core, a);
	}
}

/* Gives this answer to all requests that are not SENT; only with unsure also to those that may have been
 * carried out. */
static void
answer_all(struct core *core, struct latch *l, const struct reply *reply, bool unsure)
{
	struct latch_request *a, *next;

	assert(reply->type == REPLY_ERROR);
	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_DUE], in_stage, next) {
		if (unsure || !a->unsure)
			answer(core, a, reply);
	}
	while ((a = TAILQ_FIRST(&l->requests[LATCH_REQUEST_WAITS])) != NULL)
		answer(core, a, reply);
}

/* ---- asking the master ---- */

/* Until when the master may carry out this SET, µs by its clock. A latch that was set and has ended must not
 * come back: this is never after the end of the LEASE, by either clock. False: the LEASE is over here. */
static bool
set_deadline(const struct core *core, const struct master *m, struct latch_request *a, int64_t *deadline_us)
{
	int64_t most_ms = master_patience_ms(core), left_ms = a->ends_ms - core->now.ms;

	if (a->ends_ms != TIMER_NEVER && left_ms < most_ms)
		most_ms = left_ms;
	if (most_ms <= 0)
		return false;
	/* The clock of the master may be set forward between two calls. */
	if (a->ends_ms != TIMER_NEVER && (a->until_us == 0 || a->memory != m->incarnation))
		a->until_us = master_time_us(core, m, left_ms);
	*deadline_us = master_time_us(core, m, most_ms);
	if (a->until_us != 0 && a->until_us < *deadline_us)
		*deadline_us = a->until_us;
	return true;
}

/* The call of a SET or DOWN leaves. */
static void
request_send(struct core *core, struct latch_request *a)
{
	struct master *m = master_of(core);
	bool set = a->kind == LATCH_REQUEST_SET;
	int64_t deadline_us = 0;

	if (set && !set_deadline(core, m, a, &deadline_us)) {
		answer_refusal(core, a);
		return;
	}
	/* A DOWN that may have been carried out stays meant for the same latch. */
	if (!set && !a->unsure)
		a->id = a->latch->id;
	a->attempt = core_attempt(core);
	a->memory = m->incarnation;
	HASH_ADD(hh, core->families->requests, attempt, sizeof(a->attempt), a);
	if (a->hh.tbl == NULL)
		return; /* out of memory: the vote would find no request */
	request_move(a, LATCH_REQUEST_SENT);
	master_call(core, &(struct call){.op = CALL_LATCH,
				  .latch_op = set ? LATCH_OP_SET : LATCH_OP_DOWN,
				  .link = a->latch->link,
				  .attempt = a->attempt,
				  .incarnation = m->incarnation,
				  .name = a->latch->name,
				  .latch = a->id,
				  .steps = a->steps,
				  .ttl_ms = a->ends_ms == TIMER_NEVER ? 0 : a->ends_ms - core->now.ms,
				  .deadline_us = deadline_us,
				  .session = set ? 0 : a->session,
				  .tag = a->tag});
}

static void
latch_refresh(struct core *core, struct latch *l)
{
	struct master *m = master_of(core);

	assert(l->refresh == 0);
	l->refresh = core_attempt(core);
	l->refresh_memory = m->incarnation;
	l->stale = false;
	timer_cancel(&core->timers, &l->timer);
	master_call(core, &(struct call){.op = CALL_LATCH,
				  .latch_op = LATCH_OP_LOOK,
				  .link = l->link,
				  .attempt = l->refresh,
				  .incarnation = m->incarnation,
				  .name = l->name,
				  .queue_ms = l->patient > 0 ? WATCH_MS : 0});
}

/* Sends the calls of due requests; those that need a refresh share one. */
static void
latch_send(struct core *core, struct latch *l)
{
	bool known = l->id != 0 && !l->lost;
	bool refresh = l->stale && !TAILQ_EMPTY(&l->requests[LATCH_REQUEST_WAITS]);
	struct latch_request *a, *next;

	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_DUE], in_stage, next) {
		if (a->kind == LATCH_REQUEST_SET || (a->kind == LATCH_REQUEST_DOWN && (a->unsure || known)))
			request_send(core, a);
		else
			refresh = true;
	}
	if (refresh && l->refresh == 0)
		latch_refresh(core, l);
}

/* After an error: when to try again. False: there was no error. */
static bool
latch_error(struct core *core, struct latch *l, enum outcome outcome)
{
	int64_t ms = outcome == OUTCOME_ERROR ? RETRY_MS : AGAIN_MS;

	l->error = LEASE_ERROR_NONE;
	if (outcome == OUTCOME_YES || outcome == OUTCOME_NO || outcome == OUTCOME_WRONGKIND)
		return false;
	if (outcome == OUTCOME_ERROR)
		l->error = LEASE_ERROR_ERROR;
	else if (outcome == OUTCOME_UNKNOWN)
		l->error = LEASE_ERROR_SILENT;
	l->again_at_ms = core->now.ms + core_jitter(core, ms / 2, ms);
	return true;
}

/* Arms the timer for the requests that are not answered yet. */
static void
latch_arm(struct core *core, struct latch *l, bool usable)
{
	int64_t third = core->settings.lease_max_ms / 3;
	int64_t most = third < WAIT_MOST_MS ? third : WAIT_MOST_MS;

	assert(!l->idle);
	/* The return of the master is announced, and so is the answer to a refresh. */
	if (!usable || l->refresh != 0)
		timer_cancel(&core->timers, &l->timer);
	else if (core->now.ms < l->again_at_ms)
		timer_arm(&core->timers, &l->timer, l->again_at_ms);
	else if (l->patient > 0 && !timer_is_armed(&l->timer))
		timer_arm(&core->timers, &l->timer, core->now.ms + core_jitter(core, most - most / 4, most));
}

static void
latch_say_single(const struct core *core, struct reply *refusal)
{
	reply_error(refusal, CODE_ERR,
		"LATCH needs a single master, and this daemon has %u: use one that has one",
		core->settings.masters);
}

/* There are several masters by now: only calls under way are waited for. */
static void
latch_end(struct core *core, struct latch *l)
{
	struct reply refusal;

	latch_say_single(core, &refusal);
	answer_all(core, l, &refusal, true);
	if (latch_unused(l))
		latch_forget(core, l);
	else
		timer_cancel(&core->timers, &l->timer);
}

/* Something has changed: does what follows from it. */
static void
latch_schedule(struct core *core, struct latch *l)
{
	bool usable = majority_usable(core, l->link);

	if (core->settings.masters > 1) {
		latch_end(core, l);
		return;
	}
	if (usable && core->now.ms >= l->again_at_ms)
		latch_send(core, l);
	else if (!usable && !majority_near(core, l->link))
		refuse_due(core, l);
	if (latch_unused(l))
		latch_rest(core, l);
	else
		latch_arm(core, l, usable);
}

/* ---- what the master said ---- */

/* What the latch says is the answer of a request that came before, unless this waits on, or is to be sent. */
static void
request_hear(struct core *core, struct latch_request *a)
{
	const struct latch *l = a->latch;
	bool there = l->id != 0 && !l->lost, await = a->kind == LATCH_REQUEST_AWAIT;
	bool ended = a->id != 0 && a->id != l->id && (await || a->unsure);

	if (a->kind == LATCH_REQUEST_SET || (a->kind == LATCH_REQUEST_DOWN && there))
		return;
	if (l->lost || ended) {
		answer_lost(core, a, l->lost || a->memory != l->memory);
	} else if (a->kind == LATCH_REQUEST_DOWN) {
		answer_error(core, a, CODE_ERR, "no such latch: LATCH name SET n first");
	} else if (there && (l->left == 0 || !await)) {
		answer_int(core, a, l->left);
	} else if (a->once) {
		answer_null(core, a);
	} else {
		a->id = l->id;
		a->memory = l->memory;
		if (a->stage != LATCH_REQUEST_WAITS)
			request_move(a, LATCH_REQUEST_WAITS);
	}
}

/* The latch is as *l says, and was so at a moment after the call with this attempt number left. Answers each
 * request that came before that call, if this is an answer to it. news: the latch has opened, has ended, or
 * is another latch than before. */
static void
requests_hear(struct core *core, struct latch *l, uint64_t attempt, bool news)
{
	struct latch_request *a, *next;

	/* Waiting requests first: due ones join them below. */
	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_WAITS], in_stage, next) {
		if (!news)
			break;
		request_hear(core, a);
	}
	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_DUE], in_stage, next) {
		if (a->since < attempt)
			request_hear(core, a);
	}
}

/* When the latch has ended there, by our clock, a little late. A foreign key may live longer than any LEASE
 * may be; then this is soon enough to refresh again. */
static int64_t
ends_at(const struct core *core, int64_t ttl_ms)
{
	if (ttl_ms > COMMAND_MS_MAX)
		ttl_ms = COMMAND_MS_MAX;
	return core->now.ms + ttl_ms + drift_ms(ttl_ms) + binding_margin_ms(core);
}

static void
latch_learn(struct core *core, struct latch *l, const struct vote *vote, uint64_t memory)
{
	const struct latch_state *s = &vote->latch;
	bool known = l->id == s->id && !l->lost, was_open = known && l->left == 0;

	if (l->id != 0 && l->id != s->id)
		latch_quota_drop(core, l->id);
	l->id = s->id;
	l->memory = memory;
	l->set = s->set;
	/* A greater number cannot be right: a client was answered the smaller one. */
	l->left = known && l->left < s->left ? l->left : s->left;
	l->ends_ms = ends_at(core, s->ttl_ms);
	latch_quota_seen(core, l->id, l->ends_ms);
	l->lost = false;
	if (l->left == 0 && !was_open)
		emit_latch_note(core, NOTE_LATCH_OPENED, l, 0, -1, NULL);
	requests_hear(core, l, vote->attempt, !known || (l->left == 0 && !was_open));
}

/* There is no latch that counts. There was one before the memory changed if the master, or this daemon, still
 * remembers it. */
static void
latch_learn_none(struct core *core, struct latch *l, const struct vote *vote, uint64_t memory)
{
	const struct latch_state *s = &vote->latch;
	bool known = l->id != 0 && core->now.ms < l->ends_ms && (l->lost || l->memory != memory);
	bool forgotten = known || s->id != 0;

	if (s->id != 0)
		l->ends_ms = ends_at(core, s->ttl_ms);
	else if (l->id != 0)
		latch_quota_drop(core, l->id);
	if (s->id != 0 || !forgotten)
		l->id = s->id;
	if (forgotten && !l->lost)
		emit_latch_note(core, NOTE_LATCH_LOST, l, 0, -1,
			"the master restarted or was replaced, and may lack what was counted");
	l->lost = forgotten;
	requests_hear(core, l, vote->attempt, true);
}

static void
latch_hear(struct core *core, struct latch *l, const struct vote *vote, uint64_t memory)
{
	struct reply wrong;

	if (vote->outcome == OUTCOME_YES) {
		latch_learn(core, l, vote, memory);
	} else if (vote->outcome == OUTCOME_NO) {
		latch_learn_none(core, l, vote, memory);
	} else {
		reply_error(&wrong, CODE_WRONGKIND,
			"the key of this latch at the master holds something that is no latch");
		answer_all(core, l, &wrong, true);
	}
}

static void
refresh_vote(struct core *core, struct latch *l, const struct vote *vote)
{
	l->refresh = 0;
	if (!latch_error(core, l, vote->outcome))
		latch_hear(core, l, vote, l->refresh_memory);
	else if (vote->outcome == OUTCOME_ERROR)
		refuse_due(core, l);
}

/* The latch is as the vote says after the call, which was carried out if it is the latch that was meant. */
static void
request_done(struct core *core, struct latch_request *a, const struct vote *vote)
{
	const struct latch *l = a->latch;
	bool set = a->kind == LATCH_REQUEST_SET, meant = vote->latch.id == a->id;

	if (set)
		a->unsure = meant;
	if (set && meant)
		emit_latch_note(core, NOTE_LATCH_SET, l, a->session, vote->latch.ttl_ms, NULL);
	if (a->conn == NULL)
		return;
	if (set || meant)
		answer_int(core, a, set ? meant : vote->latch.left);
	else if (a->unsure)
		answer_lost(core, a, l->memory != a->memory);
	/* Else nothing was done, because the latch that was meant had ended: the request is sent again, for
	 * this one. */
}

/* The vote for its call. The request is due again; one without a connection ends. */
static void
request_vote(struct core *core, struct latch_request *a, const struct vote *vote)
{
	struct latch *l = a->latch;
	bool failed = latch_error(core, l, vote->outcome), orphan = a->conn == NULL;

	a->unsure |= vote->outcome == OUTCOME_UNKNOWN;
	HASH_DELETE(hh, core->families->requests, a);
	request_move(a, LATCH_REQUEST_DUE);
	if (vote->outcome == OUTCOME_YES)
		request_done(core, a, vote);
	else if (vote->outcome == OUTCOME_ERROR && !orphan)
		answer_refusal(core, a);
	if (orphan)
		request_end(core, a);
	if (!failed)
		latch_hear(core, l, vote, a->memory);
}

/* ---- events ---- */

/* Why the request cannot be accepted. True: answered. */
static bool
latch_refused(struct core *core, const struct conn *conn, const struct command *c)
{
	struct reply refusal;

	if (core->settings.masters > 1) {
		latch_say_single(core, &refusal);
		emit_reply(core, conn->id, &refusal);
	} else if (core->drain == DRAIN_ENDS) {
		emit_error(core, conn->id, CODE_DRAINING, EMIT_DRAINING);
	} else if (refusal_long(core, c->name, &refusal)) {
		emit_reply(core, conn->id, &refusal);
	} else {
		return false;
	}
	return true;
}

/* Whether a SET may make a latch. If there is one, SET only says so. */
static bool
latch_makes(const struct core *core, const struct command *c)
{
	const struct latch *l = latch_find(core, c->name);

	return c->verb == VERB_LATCH_SET &&
	       (l == NULL || l->id == 0 || l->lost || core->now.ms >= l->ends_ms);
}

void
latch_begin(struct core *core, struct conn *conn, const struct command *c)
{
	int64_t wait_ms = c->wait_ms;
	struct latch *l;

	if (latch_refused(core, conn, c))
		return;
	if (latch_makes(core, c) && user_latches_full(core, conn, latch_quota_cost(c->steps)))
		return;
	if (wait_ms == COMMAND_WAIT_RULE)
		wait_ms = rules_find(&core->leases->rules, c->name)->wait_ms;
	l = latch_get(core, c->name);
	if (l == NULL || !request_add(core, l, conn, c, wait_ms))
		emit_error(core, conn->id, CODE_LIMIT, "out of memory: try again later");
	else
		latch_busy(core, l);
	if (l != NULL)
		latch_schedule(core, l);
}

/* Its AWAIT becomes WAIT 0. */
static void
latch_finish(struct core *core, struct conn *conn)
{
	struct latch_request *a = conn->latch_request;
	int64_t once_ms = queue_once_until(core);

	if (a == NULL)
		return;
	if (!a->once) {
		assert(a->kind == LATCH_REQUEST_AWAIT && a->latch->patient > 0);
		a->latch->patient--;
		a->once = true;
		a->since = core->attempts;
		request_move(a, LATCH_REQUEST_DUE);
		if (once_ms < timer_at(&core->timers, &a->timer))
			timer_arm(&core->timers, &a->timer, once_ms);
	}
	latch_schedule(core, a->latch);
}

void
latch_close(struct core *core, struct conn *conn)
{
	struct latch_request *a = conn->latch_request;

	if (a == NULL)
		return;
	request_leave(core, a);
	latch_schedule(core, a->latch);
}

void
latch_vote(struct core *core, const struct vote *vote)
{
	struct latch *l = latch_find(core, vote->name);
	struct latch_request *a;

	if (l == NULL)
		return; /* the answer to a refresh that is no longer needed */
	if (l->refresh == vote->attempt) {
		refresh_vote(core, l, vote);
	} else {
		HASH_FIND(hh, core->families->requests, &vote->attempt, sizeof(vote->attempt), a);
		if (a != NULL)
			request_vote(core, a, vote);
	}
	latch_schedule(core, l);
}

void
latch_wake(struct core *core, struct slice name)
{
	struct latch *l = latch_find(core, name);

	if (l == NULL || l->idle)
		return; /* a hint about something that is over */
	l->stale = true;
	latch_schedule(core, l);
}

void
latch_retry_all(struct core *core)
{
	const struct master *m = &core->masters[0];
	struct latch *l, *next;

	if (m->known)
		latch_quota_remember(core, m->incarnation);
	HASH_ITER (hh, core->families->latches, l, next) {
		l->again_at_ms = 0;
		l->stale = true;
		latch_schedule(core, l);
	}
}

void
latch_drain(struct core *core, const struct reply *refusal)
{
	struct latch *l, *next;

	assert(core->drain == DRAIN_ENDS && refusal->type == REPLY_ERROR);
	HASH_ITER (hh, core->families->latches, l, next) {
		answer_all(core, l, refusal, false);
		latch_schedule(core, l);
	}
}

void
latch_timer(struct core *core, struct latch *l)
{
	l->stale = true;
	latch_schedule(core, l);
}

void
latch_request_timer(struct core *core, struct latch_request *a)
{
	struct latch *l = a->latch;
	struct reply why;

	request_refusal(core, a, &why);
	if (quorum_puts_off(core, &a->timer, &why))
		return;
	answer(core, a, &why);
	latch_schedule(core, l);
}

const struct lock_family latches_family = {.finish = latch_finish, .close = latch_close};
