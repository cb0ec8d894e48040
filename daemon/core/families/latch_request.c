/* latch_request: see latch_request.h. Only latch.c calls it, with what the master said. */
#include "daemon/core/families/latch_request.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/latch_quota.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/liveness/attach.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/majority.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "proto/command.h"
#include "proto/reply.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool
latch_known(const struct core *core)
{
	return core->families->latches != NULL || core->families->latch_quotas != NULL;
}

/* ---- requests ---- */

struct latch_request *
latch_request_find(const struct core *core, uint64_t attempt)
{
	struct latch_request *found;

	HASH_FIND(hh, core->families->requests, &attempt, sizeof(attempt), found);
	return found;
}

static bool
latch_request_enter(struct core *core, struct latch_request *latch_request)
{
	assert(latch_request->attempt != 0);
	HASH_ADD(hh, core->families->requests, attempt, sizeof(latch_request->attempt), latch_request);
	return latch_request->hh.tbl != NULL;
}

static void
latch_request_remove(struct core *core, struct latch_request *latch_request)
{
	assert(core->families->requests != NULL);
	HASH_DELETE(hh, core->families->requests, latch_request);
}

static enum latch_request_kind
kind_of(enum verb verb)
{
	switch (verb) {
	case VERB_LATCH_SET:
		return LATCH_REQUEST_SET;
	case VERB_LATCH_DOWN:
		return LATCH_REQUEST_DOWN;
	case VERB_LATCH_AWAIT:
		return LATCH_REQUEST_AWAIT;
	default:
		assert(verb == VERB_LATCH_COUNT);
		return LATCH_REQUEST_COUNT;
	}
}

static bool
is_patient(const struct latch_request *a)
{
	return a->conn != NULL && !a->once;
}

static int64_t
until_ms(const struct core *core, const struct latch_request *a, int64_t wait_ms)
{
	if (a->once)
		return queue_once_until(core);
	return wait_ms < 0 ? TIMER_NEVER : core->now.ms + wait_ms;
}

struct latch_request *
latch_request_put(struct core *core, struct latch *l, struct conn *conn, const struct latch_request *what)
{
	struct latch_request *a = freelist_new(core, sizeof(*a) + what->tag.n);

	assert(conn->latch_request == NULL && conn->blocked == NULL && conn->mlock == NULL);
	/* A call of a request that is put anew would have no attempt. */
	assert(what->stage != LATCH_REQUEST_SENT);
	if (a == NULL)
		return NULL;
	a->latch = l;
	a->conn = conn;
	a->kind = what->kind;
	a->stage = what->stage;
	a->once = what->once;
	a->unsure = what->unsure;
	a->since = what->since;
	a->memory = what->memory;
	a->id = what->id;
	a->session = what->session;
	a->steps = what->steps;
	a->since_ms = what->since_ms;
	a->ends_ms = what->ends_ms;
	if (what->tag.n > 0)
		memcpy(a->bytes, what->tag.p, what->tag.n);
	a->tag = (struct slice){a->bytes, what->tag.n};
	timer_init(&a->timer, TIMER_LATCH_REQUEST);
	TAILQ_INSERT_TAIL(&l->requests[a->stage], a, in_stage);
	l->patient += is_patient(a);
	core->counts.requests++;
	conn->latch_request = a;
	return a;
}

struct latch_request *
latch_request_add(
	struct core *core, struct latch *l, struct conn *conn, const struct command *c, int64_t wait_ms)
{
	enum latch_request_kind kind = kind_of(c->verb);
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
		return NULL;
	a = latch_request_put(core, l, conn, &what);
	if (a == NULL) {
		latch_quota_drop(core, what.id);
		return NULL;
	}
	timer_arm(&core->timers, &a->timer, until_ms(core, a, wait_ms));
	return a;
}

static void
latch_request_move(struct latch_request *a, enum latch_request_stage stage)
{
	assert(stage < LATCH_REQUEST_STAGE_COUNT);
	TAILQ_REMOVE(&a->latch->requests[a->stage], a, in_stage);
	a->stage = stage;
	TAILQ_INSERT_TAIL(&a->latch->requests[stage], a, in_stage);
}

static void
latch_request_end(struct core *core, struct latch_request *a)
{
	assert(a->conn == NULL && !timer_is_armed(&a->timer));
	TAILQ_REMOVE(&a->latch->requests[a->stage], a, in_stage);
	freelist_retire(core, &a->freed);
}

void
latch_request_forgo(struct core *core, const struct latch_request *a)
{
	if (a->kind == LATCH_REQUEST_SET && !a->unsure)
		latch_quota_forgo(core, a->id);
}

void
latch_request_leave(struct core *core, struct latch_request *a)
{
	assert(a->conn->latch_request == a && core->counts.requests > 0);
	assert(!is_patient(a) || a->latch->patient > 0);
	timer_cancel(&core->timers, &a->timer);
	a->latch->patient -= is_patient(a);
	a->conn->latch_request = NULL;
	attach_answered(core, a->conn);
	a->conn = NULL;
	core->counts.requests--;
	if (a->stage == LATCH_REQUEST_SENT)
		return;
	latch_request_forgo(core, a);
	latch_request_end(core, a);
}

void
latch_request_make_once(struct core *core, struct latch_request *a)
{
	int64_t once_ms = queue_once_until(core);

	if (a->once)
		return;
	assert(a->kind == LATCH_REQUEST_AWAIT && a->latch->patient > 0);
	a->latch->patient--;
	a->once = true;
	a->since = core->attempts;
	latch_request_move(a, LATCH_REQUEST_DUE);
	if (once_ms < timer_at(&core->timers, &a->timer))
		timer_arm(&core->timers, &a->timer, once_ms);
}

bool
latch_request_deadline(
	const struct core *core, const struct master *m, struct latch_request *a, int64_t *deadline_us)
{
	int64_t most_ms = master_patience_ms(core), left_ms = a->ends_ms - core->now.ms;

	assert(a->kind == LATCH_REQUEST_SET);
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

bool
latch_request_send(struct core *core, struct latch_request *a, uint64_t memory)
{
	assert(a->stage == LATCH_REQUEST_DUE && a->conn != NULL);
	assert(a->kind == LATCH_REQUEST_SET || a->kind == LATCH_REQUEST_DOWN);
	a->attempt = core_attempt(core);
	a->memory = memory;
	if (!latch_request_enter(core, a))
		return false;
	latch_request_move(a, LATCH_REQUEST_SENT);
	return true;
}

struct latch_request *
latch_request_take(struct core *core, uint64_t attempt)
{
	struct latch_request *a = latch_request_find(core, attempt);

	if (a == NULL)
		return NULL;
	assert(a->stage == LATCH_REQUEST_SENT);
	latch_request_remove(core, a);
	latch_request_move(a, LATCH_REQUEST_DUE);
	if (a->conn == NULL)
		latch_request_end(core, a);
	return a;
}

bool
latch_requests_none(const struct latch *l)
{
	return TAILQ_EMPTY(&l->requests[LATCH_REQUEST_DUE]) &&
	       TAILQ_EMPTY(&l->requests[LATCH_REQUEST_SENT]) &&
	       TAILQ_EMPTY(&l->requests[LATCH_REQUEST_WAITS]);
}

void
latch_requests_free(struct core *core, struct latch *l)
{
	struct latch_request *a;

	for (int stage = 0; stage < LATCH_REQUEST_STAGE_COUNT; stage++) {
		while ((a = TAILQ_FIRST(&l->requests[stage])) != NULL) {
			TAILQ_REMOVE(&l->requests[stage], a, in_stage);
			if (stage == LATCH_REQUEST_SENT)
				latch_request_remove(core, a);
			free(a);
		}
	}
}

/* ---- answers ---- */

void
latch_request_answer(struct core *core, struct latch_request *a, const struct reply *reply)
{
	assert(a->conn != NULL);
	emit_reply(core, a->conn->id, reply);
	latch_request_leave(core, a);
}

void
latch_request_answer_int(struct core *core, struct latch_request *a, int64_t n)
{
	latch_request_answer(core, a, &(struct reply){.type = REPLY_INT, .code = CODE_COUNT, .n = n});
}

static void
latch_request_answer_null(struct core *core, struct latch_request *a)
{
	latch_request_answer(core, a, &(struct reply){.type = REPLY_NULL, .code = CODE_COUNT});
}

static void latch_request_answer_error(struct core *core, struct latch_request *a, enum code code,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

static void
latch_request_answer_error(
	struct core *core, struct latch_request *a, enum code code, const char *format, ...)
{
	struct reply reply;
	va_list args;

	va_start(args, format);
	reply_verror(&reply, code, format, args);
	va_end(args);
	latch_request_answer(core, a, &reply);
}

void
latch_request_answer_lost(struct core *core, struct latch_request *a, bool forgotten)
{
	if (forgotten)
		latch_request_answer_error(core, a, CODE_LOST,
			"forgotten the master restarted or was replaced, and may lack what was counted: "
			"set the latch again");
	else
		latch_request_answer_error(
			core, a, CODE_LOST, "lease the time of the latch was over, open or not");
}

void
latch_request_refusal(const struct core *core, const struct latch_request *a, struct reply *why)
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

void
latch_request_answer_refusal(struct core *core, struct latch_request *a)
{
	struct reply why;

	latch_request_refusal(core, a, &why);
	latch_request_answer(core, a, &why);
}

/* ---- what is heard ---- */

static void
await_hear(struct core *core, struct latch_request *a)
{
	const struct latch *l = a->latch;

	assert(a->kind == LATCH_REQUEST_AWAIT);
	if (a->id != 0 && a->id != l->id) {
		latch_request_answer_lost(core, a, a->memory != l->memory);
	} else if (l->left == 0) {
		latch_request_answer_int(core, a, 0);
	} else if (a->once) {
		latch_request_answer_null(core, a);
	} else {
		a->id = l->id;
		a->memory = l->memory;
		if (a->stage != LATCH_REQUEST_WAITS)
			latch_request_move(a, LATCH_REQUEST_WAITS);
	}
}

void
latch_requests_hear(struct core *core, struct latch *l, uint64_t attempt, bool news)
{
	struct latch_request *a, *next;

	/* Waiting requests first: due ones join them below. */
	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_WAITS], in_stage, next) {
		if (!news)
			break;
		await_hear(core, a);
	}
	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_DUE], in_stage, next) {
		if (a->since >= attempt)
			continue;
		if (a->kind == LATCH_REQUEST_AWAIT)
			await_hear(core, a);
		else if (a->kind == LATCH_REQUEST_COUNT)
			latch_request_answer_int(core, a, l->left);
	}
}

static void
latch_request_hear_none(struct core *core, struct latch_request *a, bool forgotten)
{
	bool lost = forgotten || (a->id != 0 && (a->kind == LATCH_REQUEST_AWAIT || a->unsure));

	assert(a->stage == LATCH_REQUEST_DUE);
	if (a->kind == LATCH_REQUEST_SET)
		return;
	if (lost)
		latch_request_answer_lost(core, a, forgotten);
	else if (a->kind == LATCH_REQUEST_DOWN)
		latch_request_answer_error(core, a, CODE_ERR, "no such latch: LATCH name SET n first");
	else if (a->once)
		latch_request_answer_null(core, a);
	else
		latch_request_move(a, LATCH_REQUEST_WAITS);
}

void
latch_requests_hear_none(struct core *core, struct latch *l, uint64_t attempt, bool forgotten)
{
	struct latch_request *a, *next;

	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_DUE], in_stage, next) {
		if (a->since < attempt)
			latch_request_hear_none(core, a, forgotten);
	}
	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_WAITS], in_stage, next) {
		if (forgotten || a->id != 0)
			latch_request_answer_lost(core, a, forgotten);
	}
}

void
latch_requests_hear_wrong_kind(struct core *core, struct latch *l)
{
	static const char text[] = "the key of this latch at the master holds something that is no latch";
	struct reply reply;

	reply_error(&reply, CODE_WRONGKIND, "%s", text);
	latch_requests_answer_all(core, l, &reply, true);
}

void
latch_requests_refuse(struct core *core, struct latch *l)
{
	struct latch_request *a, *next;

	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_DUE], in_stage, next) {
		if (a->once && !a->unsure)
			latch_request_answer_refusal(core, a);
	}
}

void
latch_requests_answer_all(struct core *core, struct latch *l, const struct reply *reply, bool unsure)
{
	struct latch_request *a, *next;

	assert(reply->type == REPLY_ERROR);
	TAILQ_FOREACH_SAFE (a, &l->requests[LATCH_REQUEST_DUE], in_stage, next) {
		if (unsure || !a->unsure)
			latch_request_answer(core, a, reply);
	}
	while ((a = TAILQ_FIRST(&l->requests[LATCH_REQUEST_WAITS])) != NULL)
		latch_request_answer(core, a, reply);
}
