/*
 * latch: see latch.h. core.c and verbs.c call it; it asks the master about a latch, latch_request.c answers.
 */
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
#include "daemon/core/families/latch_request.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
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

static unsigned
latch_hash(const struct core *core, struct slice name)
{
	return (unsigned)hash_secretly(core->secret, name);
}

struct latch *
latch_find(const struct core *core, struct slice name)
{
	unsigned hash = latch_hash(core, name);
	struct latch *found;

	HASH_FIND_BYHASHVALUE(hh, core->families->latches, name.p, name.n, hash, found);
	return found;
}

static bool
latch_add(struct core *core, struct latch *latch)
{
	unsigned hash = latch_hash(core, latch->name);

	HASH_ADD_KEYPTR_BYHASHVALUE(hh, core->families->latches, latch->name.p, latch->name.n, hash, latch);
	return latch->hh.tbl != NULL;
}

static void
latch_remove(struct core *core, struct latch *latch)
{
	HASH_DELETE(hh, core->families->latches, latch);
}

static struct master *
master_of(struct core *core)
{
	assert(core->settings.masters == 1);
	return &core->masters[0];
}

/* ---- keeping ---- */

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
	assert(latch_requests_none(l));
	latch_busy(core, l);
	timer_cancel(&core->timers, &l->timer);
	latch_remove(core, l);
	core->counts.latches--;
	freelist_retire(core, &l->freed);
}

void
latch_idle(struct core *core, struct latch *l)
{
	assert(latch_requests_none(l));
	assert(!l->idle);
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

	if (l == NULL)
		return NULL;
	memcpy(l->bytes, name.p, name.n);
	l->name = (struct slice){l->bytes, name.n};
	l->link = resource_link_of(core, name);
	for (int stage = 0; stage < LATCH_REQUEST_STAGE_COUNT; stage++)
		TAILQ_INIT(&l->requests[stage]);
	timer_init(&l->timer, TIMER_LATCH);
	if (!latch_add(core, l)) {
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
	struct latch *l, *next;

	HASH_ITER (hh, core->families->latches, l, next) {
		latch_requests_free(core, l);
		latch_remove(core, l);
		free(l);
	}
}

/* ---- asking the master ---- */

static void
call_set(struct core *core, struct latch *l, struct latch_request *a)
{
	struct master *m = master_of(core);
	int64_t deadline_us;

	if (!latch_request_deadline(core, m, a, &deadline_us)) {
		latch_request_answer_refusal(core, a);
		return;
	}
	if (!latch_request_send(core, a, m->incarnation))
		return;
	master_call(core, &(struct call){.op = CALL_LATCH,
				  .latch_op = LATCH_OP_SET,
				  .link = l->link,
				  .attempt = a->attempt,
				  .incarnation = m->incarnation,
				  .name = l->name,
				  .latch = a->id,
				  .steps = a->steps,
				  .ttl_ms = a->ends_ms == TIMER_NEVER ? 0 : a->ends_ms - core->now.ms,
				  .deadline_us = deadline_us});
}

static void
call_down(struct core *core, struct latch *l, struct latch_request *a)
{
	struct master *m = master_of(core);

	/* A DOWN that may have been carried out stays meant for the same latch. */
	if (!a->unsure)
		a->id = l->id;
	if (!latch_request_send(core, a, m->incarnation))
		return;
	master_call(core, &(struct call){.op = CALL_LATCH,
				  .latch_op = LATCH_OP_DOWN,
				  .link = l->link,
				  .attempt = a->attempt,
				  .incarnation = m->incarnation,
				  .name = l->name,
				  .latch = a->id,
				  .steps = a->steps,
				  .session = a->session,
				  .tag = a->tag});
}

static void
call_refresh(struct core *core, struct latch *l)
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
		if (a->kind == LATCH_REQUEST_SET)
			call_set(core, l, a);
		else if (a->kind == LATCH_REQUEST_DOWN && (a->unsure || known))
			call_down(core, l, a);
		else
			refresh = true;
	}
	if (refresh && l->refresh == 0)
		call_refresh(core, l);
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
	latch_requests_answer_all(core, l, &refusal, true);
	if (latch_requests_none(l))
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
		latch_requests_refuse(core, l);
	if (latch_requests_none(l))
		latch_rest(core, l);
	else
		latch_arm(core, l, usable);
}

/* ---- what the master said ---- */

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
	latch_requests_hear(core, l, vote->attempt, !known || (l->left == 0 && !was_open));
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
	latch_requests_hear_none(core, l, vote->attempt, forgotten);
}

static void
latch_hear(struct core *core, struct latch *l, const struct vote *vote, uint64_t memory)
{
	if (vote->outcome == OUTCOME_YES)
		latch_learn(core, l, vote, memory);
	else if (vote->outcome == OUTCOME_NO)
		latch_learn_none(core, l, vote, memory);
	else
		latch_requests_hear_wrong_kind(core, l);
}

static void
refresh_vote(struct core *core, struct latch *l, const struct vote *vote)
{
	l->refresh = 0;
	if (!latch_error(core, l, vote->outcome))
		latch_hear(core, l, vote, l->refresh_memory);
	else if (vote->outcome == OUTCOME_ERROR)
		latch_requests_refuse(core, l);
}

/* The latch is as the vote says after the call, which was carried out if it is the latch that was meant. */
static void
latch_request_done(struct core *core, struct latch_request *a, const struct vote *vote)
{
	struct latch *l = a->latch;
	bool meant = vote->latch.id == a->id;

	if (a->kind == LATCH_REQUEST_SET && meant)
		latch_quota_seen(core, a->id, ends_at(core, vote->latch.ttl_ms));
	else if (a->kind == LATCH_REQUEST_SET)
		latch_quota_drop(core, a->id);
	if (a->kind == LATCH_REQUEST_SET && meant)
		emit_latch_note(core, NOTE_LATCH_SET, l, a->session, vote->latch.ttl_ms, NULL);
	if (a->conn == NULL)
		return;
	if (a->kind == LATCH_REQUEST_SET)
		latch_request_answer_int(core, a, meant);
	else if (meant)
		latch_request_answer_int(core, a, vote->latch.left);
	else if (a->unsure)
		latch_request_answer_lost(core, a, l->memory != a->memory);
	/* Else nothing was done, because the latch that was meant had ended: the request is sent again, for
	 * this one. */
}

static void
latch_request_vote(struct core *core, struct latch_request *a, const struct vote *vote)
{
	struct latch *l = a->latch;
	bool orphan = a->conn == NULL;

	assert(a->attempt == vote->attempt && a->stage == LATCH_REQUEST_DUE);
	a->unsure |= vote->outcome == OUTCOME_UNKNOWN;
	if (!latch_error(core, l, vote->outcome)) {
		if (vote->outcome == OUTCOME_YES)
			latch_request_done(core, a, vote);
		latch_hear(core, l, vote, a->memory);
	} else if (vote->outcome == OUTCOME_ERROR && a->conn != NULL) {
		latch_request_answer_refusal(core, a);
	}
	if (orphan)
		latch_request_forgo(core, a);
}

/* ---- events ---- */

/* Why the request cannot be accepted. True: answered. */
static bool
latch_refused(struct core *core, const struct conn *conn, const struct command *c)
{
	const struct core_settings *set = &core->settings;
	struct reply refusal;

	if (set->masters > 1) {
		latch_say_single(core, &refusal);
		emit_reply(core, conn->id, &refusal);
	} else if (core->drain == DRAIN_ENDS) {
		emit_error(core, conn->id, CODE_DRAINING, EMIT_DRAINING);
	} else if (c->name.n > set->name_bytes) {
		emit_error(core, conn->id, CODE_LIMIT, "bad name: %zu bytes, name-bytes allows %zu",
			c->name.n, set->name_bytes);
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
	if (l == NULL || latch_request_add(core, l, conn, c, wait_ms) == NULL)
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
	if (conn->latch_request == NULL)
		return;
	latch_request_make_once(core, conn->latch_request);
	latch_schedule(core, conn->latch_request->latch);
}

void
latch_close(struct core *core, struct conn *conn)
{
	struct latch_request *a = conn->latch_request;

	if (a == NULL)
		return;
	latch_request_leave(core, a);
	latch_schedule(core, a->latch);
}

void
latch_vote(struct core *core, const struct vote *vote)
{
	struct latch *l = latch_find(core, vote->name);
	struct latch_request *a = latch_request_take(core, vote->attempt);

	if (l == NULL)
		return; /* the answer to a refresh that is no longer needed */
	if (a != NULL)
		latch_request_vote(core, a, vote);
	else if (l->refresh == vote->attempt)
		refresh_vote(core, l, vote);
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
latch_refuse_all(struct core *core)
{
	struct latch *l, *next;

	assert(core->settings.masters > 1);
	HASH_ITER (hh, core->families->latches, l, next)
		latch_schedule(core, l);
}

void
latch_drain(struct core *core, const struct reply *refusal)
{
	struct latch *l, *next;

	assert(core->drain == DRAIN_ENDS && refusal->type == REPLY_ERROR);
	HASH_ITER (hh, core->families->latches, l, next) {
		latch_requests_answer_all(core, l, refusal, false);
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

	latch_request_refusal(core, a, &why);
	if (quorum_puts_off(core, &a->timer, &why))
		return;
	latch_request_answer(core, a, &why);
	latch_schedule(core, l);
}

const struct lock_family latches_family = {.finish = latch_finish, .close = latch_close};
