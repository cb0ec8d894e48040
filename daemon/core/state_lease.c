/*
 * state_lease: see state.h. Names in the order of their hashes, so that a state does not show in which order they came;
 * and releases. A lease is at rest: nothing is asked of the masters about it.
 */
#include "daemon/core/state.h"

#include "daemon/core/core_inner.h"
#include "daemon/core/grant.h"
#include "daemon/core/lease.h"
#include "daemon/core/master.h"
#include "daemon/core/mlock.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/semaphore.h"
#include "daemon/core/user.h"
#include "proto/command.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define TOKEN_MAX (INT64_C(1) << 60)             /* of all tokens: sums of a few do not overflow */
#define SLOTS_MAX (6 * (size_t)COMMAND_LIMIT_MAX) /* bytes of a text of slots */
#define FOREIGN_MAX 64                           /* as in acquire.c */

static int64_t
token_field(struct record *r, int64_t token)
{
	return record_range(r, token, 0, TOKEN_MAX);
}

static int64_t
command_ms(struct record *r, int64_t ms)
{
	return record_range(r, ms, 0, COMMAND_MS_MAX);
}

/* A template of a key: the configuration's has to be the state's, because what is at the masters is at that key. False:
 * it is not. */
static bool
key_fields(struct record *r, const struct rule *rule)
{
	struct slice ours = rule->key == NULL ? (struct slice){NULL, 0} : slice_of(rule->key), its = ours;
	int64_t interop = record_range(r, rule->interop, 0, INTEROP_REDISSON);

	record_bytes(r, &its, RULE_KEY_MAX);
	return interop == (int64_t)rule->interop && slice_equal(ours, its);
}

void
state_timer(struct core *core, struct record *r, struct timer *timer)
{
	int64_t at_ms = state_ms_or_never(r, timer_at(&core->timers, timer));

	if (record_loads(r) && !r->failed)
		timer_arm(&core->timers, timer, at_ms);
}

/* ---- a round ---- */

static void
question_fields(struct record *r, struct question *q)
{
	assert(record_loads(r) || !q->asking);
	record_unsigned(r, &q->incarnation);
	q->unsure_us = state_us(r, q->unsure_us);
	record_unsigned(r, &q->holder);
	record_unsigned(r, &q->slots);
	q->token_first = token_field(r, q->token_first);
	q->token_last = record_range(r, q->token_last, q->token_first, TOKEN_MAX);
}

static void
round_held_fields(struct record *r, struct round_held *t)
{
	t->spare_first = token_field(r, t->spare_first);
	t->spare_last = record_range(r, t->spare_last, t->spare_first, TOKEN_MAX);
	t->wanted_ms = state_ms(r, t->wanted_ms);
	t->heard_ms = state_ms(r, t->heard_ms);
	t->streak = record_range(r, t->streak, 0, TOKEN_MAX);
	t->line_ms = state_ms(r, t->line_ms);
	t->told_ms = state_ms(r, t->told_ms);
}

static void
foreign_field(struct record *r, struct round_acquiring *t)
{
	struct slice text = t->foreign == NULL ? (struct slice){NULL, 0} : slice_of(t->foreign);

	record_bytes(r, &text, FOREIGN_MAX);
	if (!record_loads(r) || text.n == 0)
		return;
	/* Without memory it is not shown. */
	t->foreign = calloc(1, text.n + 1);
	if (t->foreign != NULL)
		memcpy(t->foreign, text.p, text.n);
}

/* What a round that ended says for the next one. Its seats and questions are cleared when that begins. */
static void
round_acquiring_fields(const struct core *core, struct record *r, struct round_acquiring *t)
{
	t->split = (unsigned char)record_range(r, t->split, 0, ACQUIRE_SPLIT_MOST);
	t->deferred = (unsigned char)record_range(r, t->deferred, 0, ACQUIRE_DEFER_MOST);
	record_flag(r, &t->doubted);
	t->error_at = (uint8_t)record_range(r, t->error_at, 0, core->settings.masters - 1);
	t->error = (enum lease_error)record_range(r, t->error, 0, LEASE_ERROR_LIMIT);
	record_number(r, &t->limit_there);
	record_number(r, &t->position);
	foreign_field(r, t);
}

static void
round_fields(struct core *core, struct record *r, struct lease *l)
{
	bool any = l->round != NULL;
	struct round *t;

	record_flag(r, &any);
	if (r->failed || !any)
		return;
	t = round_of(core, l);
	t->asked = (enum kind)record_range(r, t->asked, 0, KIND_COUNT - 1);
	t->sent_ms = state_ms(r, t->sent_ms);
	t->proposal = token_field(r, t->proposal);
	t->asked_block = token_field(r, t->asked_block);
	t->reached = token_field(r, t->reached);
	if (l->state == LEASE_WAITING) {
		round_acquiring_fields(core, r, round_acquiring(l));
		return;
	}
	round_held_fields(r, round_held(l));
	for (unsigned i = 0; i < core->settings.masters; i++)
		question_fields(r, &t->questions[i]);
}

/* ---- a lease ---- */

static void
held_fields(struct record *r, struct lease_held *held)
{
	bool served = held->served, wanted = held->wanted, lines = held->lines;

	/* An answer ends it, and each call has its answer. */
	assert(record_loads(r) || held->renewal != RENEWAL_ASKING);
	held->valid_ms = state_ms(r, held->valid_ms);
	held->refresh_ms = state_ms(r, held->refresh_ms);
	held->idle_ms = state_ms(r, held->idle_ms);
	held->token = token_field(r, held->token);
	held->token_last = token_field(r, held->token_last);
	held->block = (int32_t)record_range(r, held->block, 0, INT32_MAX);
	held->vain = (uint8_t)record_range(r, held->vain, 0, UINT8_MAX);
	held->noted = (uint8_t)record_range(r, held->noted, 0, UINT8_MAX);
	held->renewal = record_range(r, held->renewal == RENEWAL_DRY, 0, 1) != 0 ? RENEWAL_DRY : RENEWAL_DONE;
	record_flag(r, &served);
	record_flag(r, &wanted);
	record_flag(r, &lines);
	held->served = served;
	held->wanted = wanted;
	held->lines = lines;
	held->told = (enum kind)record_range(r, held->told, 0, KIND_COUNT - 1);
}

static void
seats_fields(const struct core *core, struct record *r, struct lease *l)
{
	uint8_t all = (uint8_t)((1U << core->settings.masters) - 1);

	l->ours = (uint8_t)record_range(r, l->ours & all, 0, all);
	l->odd = (uint8_t)record_range(r, l->odd & all, 0, all);
	for (unsigned i = 0; i < core->settings.masters; i++)
		seat_of(l, i)->valid_ms = state_ms(r, seat_of(l, i)->valid_ms);
}

/* The data of its state. A state that is loaded begins with none. */
static void
lease_data_fields(struct core *core, struct record *r, struct lease *l)
{
	switch (l->state) {
	case LEASE_NONE:
		lease_none(l)->rest = (enum lease_rest)record_range(r, lease_none(l)->rest, 0, REST_FOREIGN);
		return;
	case LEASE_WAITING:
		lease_waiting(l)->why =
			(enum lease_wait)record_range(r, lease_waiting(l)->why, 0, WAIT_COUNTED);
		round_fields(core, r, l);
		return;
	case LEASE_HELD:
		held_fields(r, lease_held(l));
		seats_fields(core, r, l);
		round_fields(core, r, l);
		return;
	default:
		record_fail(r, "a lease of it is being acquired");
	}
}

static void
lease_fields(struct core *core, struct record *r, struct lease *l)
{
	bool queued = l->queued, patient = l->patient;

	assert(l->state != LEASE_ACQUIRING);
	l->state = (enum lease_state)record_range(r, l->state, 0, LEASE_STATE_COUNT - 1);
	l->kind = (enum kind)record_range(r, l->kind, 0, KIND_COUNT - 1);
	record_unsigned(r, &l->attempt);
	l->term_ms = (int32_t)record_range(r, l->term_ms, 0, INT32_MAX);
	l->permits = (int16_t)record_range(r, l->permits, 0, COMMAND_LIMIT_MAX);
	l->queue_master = (unsigned)record_range(r, l->queue_master, 0, core->settings.masters - 1) & LEASE_MASTERS;
	record_flag(r, &queued);
	record_flag(r, &patient);
	l->queued = queued;
	l->patient = patient;
	if (record_loads(r))
		l->data = (union lease_data){0};
	lease_data_fields(core, r, l);
	state_timer(core, r, &l->timer);
}
