/*
 * state_latch: see state_latch.h. Latches with the requests about them, and what they count for users.
 */
#include "daemon/core/persist/state_latch.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/guest.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/latch_quota.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/persist/state.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/record.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- fields ---- */

static void
latch_fields(struct record *r, struct core *core, struct latch *l)
{
	state_timer(r, core, &l->timer);
	record_unsigned(r, &l->id);
	record_unsigned(r, &l->memory);
	record_number(r, &l->set);
	record_number(r, &l->left);
	l->ends_ms = state_time(r, l->ends_ms);
	record_flag(r, &l->lost);
	record_flag(r, &l->stale);
	l->again_at_ms = state_time(r, l->again_at_ms);
	l->error = (enum lease_error)record_range(r, l->error, LEASE_ERROR_NONE, LEASE_ERROR_LIMIT);
}

static void
request_fields(struct record *r, struct latch_request *a)
{
	a->kind = (enum latch_request_kind)record_range(r, a->kind, 0, LATCH_REQUEST_COUNT);
	a->stage = (enum latch_request_stage)record_range(r, a->stage, 0, LATCH_REQUEST_STAGE_COUNT - 1);
	record_flag(r, &a->once);
	record_flag(r, &a->unsure);
	record_unsigned(r, &a->since);
	record_unsigned(r, &a->memory);
	record_unsigned(r, &a->id);
	record_unsigned(r, &a->session);
	a->steps = record_range(r, a->steps, 1, COMMAND_STEPS_MAX);
	a->since_ms = state_time(r, a->since_ms);
	a->ends_ms = state_time(r, a->ends_ms);
	state_tag(r, &a->tag);
}

static void
quota_fields(struct record *r, uint64_t *latch, uint64_t *user, int64_t *cost)
{
	record_unsigned(r, latch);
	record_unsigned(r, user);
	*cost = record_range(r, *cost, 1, COMMAND_STEPS_MAX);
}

/* ---- saving ---- */

static void
save_latch(struct core *core, struct record *r, struct latch *l)
{
	struct latch_request *a;

	assert(l->idle == latch_unused(l));
	assert(l->refresh == 0 && TAILQ_EMPTY(&l->requests[LATCH_REQUEST_SENT]));
	record_begin(r, RECORD_LATCH);
	state_name(r, &l->name);
	record_flag(r, &l->idle);
	latch_fields(r, core, l);
	record_end(r);
	for (int stage = 0; stage < LATCH_REQUEST_STAGE_COUNT; stage++) {
		TAILQ_FOREACH (a, &l->requests[stage], in_stage) {
			assert(a->conn != NULL && a->latch == l);
			record_begin(r, RECORD_LATCH_REQUEST);
			record_unsigned(r, &a->conn->id);
			request_fields(r, a);
			state_timer(r, core, &a->timer);
			a->until_us = record_range(r, a->until_us, 0, INT64_MAX);
			record_end(r);
		}
	}
}

static void
save_quota(struct core *core, struct record *r, struct latch_quota *m)
{
	assert(timer_is_armed(&m->timer) && m->cost > 0);
	record_begin(r, RECORD_LATCH_QUOTA);
	quota_fields(r, &m->latch, &m->user->id, &m->cost);
	record_flag(r, &m->seen);
	state_timer(r, core, &m->timer);
	record_end(r);
}

/* The idle ones first, in their order. */
void
state_save_latches(struct core *core, struct record *r)
{
	struct latch *l;

	TAILQ_FOREACH (l, &core->families->idle, in_idle)
		save_latch(core, r, l);
	for (l = core->families->latches; l != NULL; l = l->hh.next) {
		if (!l->idle)
			save_latch(core, r, l);
	}
	for (struct latch_quota *m = core->families->latch_quotas; m != NULL; m = m->hh.next)
		save_quota(core, r, m);
}

/* ---- loading ---- */

void
state_load_latch(struct state_loader *l)
{
	struct slice name = {0};
	struct latch *latch;
	bool idle = false;

	state_name(l->r, &name);
	record_flag(l->r, &idle);
	if (name.n == 0 || latch_find(l->core, name) != NULL)
		record_fail(l->r, "a latch has no name, or that of another one");
	if (l->r->failed)
		return;
	latch = latch_new(l->core, name);
	if (latch == NULL) {
		record_no_memory(l->r);
		return;
	}
	l->latch = latch;
	latch_fields(l->r, l->core, latch);
	if (idle)
		latch_idle(l->core, latch);
}

void
state_load_latch_request(struct state_loader *l)
{
	struct latch_request what = {.steps = 1, .ends_ms = TIMER_NEVER}, *a;
	struct conn *conn;
	conn_id id = 0;

	record_unsigned(l->r, &id);
	request_fields(l->r, &what);
	conn = conn_speaking(l->core, id);
	if (l->latch == NULL || conn == NULL || conn->blocked != NULL || conn->mlock != NULL ||
		conn->latch_request != NULL)
		record_fail(l->r, "a request about a latch has no latch, or no connection of its own");
	if (what.stage == LATCH_REQUEST_SENT || (!what.once && what.kind != LATCH_REQUEST_AWAIT))
		record_fail(l->r, "a request about a latch waits for what does not come");
	if (l->r->failed)
		return;
	a = latch_request_put(l->core, l->latch, conn, &what);
	if (a == NULL) {
		record_no_memory(l->r);
		return;
	}
	state_timer(l->r, l->core, &a->timer);
	a->until_us = record_range(l->r, a->until_us, 0, INT64_MAX);
}

void
state_load_latch_quota(struct state_loader *l)
{
	uint64_t latch = 0, id = 0;
	int64_t cost = 1;
	struct user *user;
	struct latch_quota *m;

	quota_fields(l->r, &latch, &id, &cost);
	if (latch_quota_find(l->core, latch) != NULL)
		record_fail(l->r, "a latch is counted twice");
	if (l->r->failed)
		return;
	user = user_get(l->core, id);
	m = user == NULL ? NULL : latch_quota_new(l->core, user, latch, cost);
	if (m == NULL) {
		record_no_memory(l->r);
		return;
	}
	record_flag(l->r, &m->seen);
	state_timer(l->r, l->core, &m->timer);
	if (!timer_is_armed(&m->timer))
		record_fail(l->r, "a latch is counted for ever");
}
