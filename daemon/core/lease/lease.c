/*
 * lease: see lease.h. acquire.c, renew.c and the schedulers of names call it; a lease changes its state only
 * by lease_move().
 */
#include "daemon/core/lease/lease.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/tokens.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/masterset.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ENQUEUE_MS 1000 /* how often the position for a writer that waits for readers here is refreshed */

#define TO(state) (1U << (state))

static const unsigned lease_allowed[LEASE_STATE_COUNT] = {
	[LEASE_NONE] = TO(LEASE_ACQUIRING) | TO(LEASE_WAITING) | TO(LEASE_HELD),
	[LEASE_ACQUIRING] = TO(LEASE_NONE) | TO(LEASE_WAITING) | TO(LEASE_HELD),
	[LEASE_WAITING] = TO(LEASE_NONE) | TO(LEASE_ACQUIRING),
	[LEASE_HELD] = TO(LEASE_NONE),
};

void
lease_init(struct lease *l, struct resource *r, unsigned votes)
{
	assert(l->state == LEASE_NONE && lease_none(l)->pause == PAUSE_NONE && l->attempt == 0);
	assert(votes >= 1 && votes <= CORE_MASTERS_MAX);
	l->resource = r;
	l->votes = votes & LEASE_MASTER_BITS;
	timer_init(&l->timer, TIMER_LEASE);
}

/* With several masters the round stays: each is asked again on its own, on the terms of the last round. */
void
lease_quiet(struct core *core, struct lease *l)
{
	const struct lease_held *held = lease_held(l);
	const struct round *t = l->round;

	if (t == NULL || core->settings.masters > 1 || held->renewal == RENEWAL_ASKING || held->wanted ||
		held->writer != WRITER_NONE)
		return;
	if (lease_announced_until_ms(l) > held->valid_until_ms || lease_previous(l) != NULL)
		return;
	if (t->questions[0].asking || t->questions[0].unsure_us > 0 || round_spare(l) > 0 ||
		t->reached > held->token_last)
		return;
	round_end(core, l);
}

void
lease_done(struct core *core, struct lease *l)
{
	assert(l->state == LEASE_NONE && l->round == NULL && l->grants == NULL);
	timer_cancel(&core->timers, &l->timer);
	dirty_remove(&core->lease_changes, &l->changed);
	slots_forget(core, l);
	lease_votes_free(l);
}

void
lease_changed(struct core *core, struct lease *l)
{
	/* Without a hold there is no entry, and the lease may have ended when the step does. */
	if (l->grants == NULL)
		return;
	core_changed(core, CHANGE_LISTED);
	dirty_add(&core->lease_changes, &l->changed);
}

void
lease_move(struct core *core, struct lease *l, enum lease_state next, const union lease_data *data)
{
	assert(lease_allowed[l->state] & TO(next));
	/* Holds stand on a held lease. A lease that is at rest has no round. */
	assert(l->grants == NULL);
	assert(next != LEASE_NONE || l->round == NULL);
	assert((next != LEASE_ACQUIRING && next != LEASE_HELD) || l->round != NULL);
	assert(next != LEASE_HELD || data->held.valid_until_ms > core->now.ms);
	assert(next != LEASE_HELD || data->held.confirmed == l->kind);
	/* A daemon without a round behind it waits only for a foreign client. */
	assert(next != LEASE_WAITING || l->round != NULL || data->waiting.why == WAIT_FOREIGN);
	assert(l->state != LEASE_HELD || core->counts.leases > 0);
	assert(l->state != LEASE_ACQUIRING || core->acquires > 0);
	core->counts.leases += (size_t)(next == LEASE_HELD) - (size_t)(l->state == LEASE_HELD);
	core->acquires += (size_t)(next == LEASE_ACQUIRING) - (size_t)(l->state == LEASE_ACQUIRING);
	if (l->state == LEASE_HELD)
		permit_lease_changed(l);
	l->state = next;
	l->data = *data;
}

int64_t
lease_valid_from(const struct lease *l, int64_t sent_ms)
{
	assert(l->term_ms > 0);
	return sent_ms + l->term_ms - drift_ms(l->term_ms);
}

/* Rounded down, so that leases taken at about the same time are renewed in one script call. */
int64_t
lease_refresh_at(const struct lease *l, int64_t sent_ms)
{
	int64_t asked = l->term_ms, ruled = l->resource->rule->lease_ms;
	int64_t term = asked < ruled ? asked : ruled;
	int64_t step = term / 64 + 1;
	int64_t at = sent_ms + term / 3;

	assert(at - at % step < lease_valid_from(l, sent_ms));
	return at - at % step;
}

void
lease_arm(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);
	int64_t at = held->valid_until_ms;

	assert(held->writer == WRITER_NONE || l->kind == KIND_SHARED);
	/* While a writer elsewhere waits, no new readers join here. A renewal tells whether it still does. */
	if (l->kind == KIND_SHARED && held->wanted) {
		int64_t doubt = round_held(l)->contended_ms + LEASE_WANT_MS;

		if (doubt > core->now.ms && doubt < held->refresh_at_ms)
			held->refresh_at_ms = doubt;
	}
	/* If an answer took longer than a third of the lease, the next question follows at once, but not in
	 * the same turn. */
	if (held->refresh_at_ms < at)
		at = held->refresh_at_ms > core->now.ms ? held->refresh_at_ms : core->now.ms + 1;
	if (held->idle_until_ms > core->now.ms && held->idle_until_ms < at)
		at = held->idle_until_ms;
	if (held->writer != WRITER_NONE && round_held(l)->enqueue_at_ms < at)
		at = round_held(l)->enqueue_at_ms;
	timer_arm(&core->timers, &l->timer, at);
}

void
lease_end(struct core *core, struct lease *l, enum lease_pause pause)
{
	assert(l->grants == NULL);
	timer_cancel(&core->timers, &l->timer);
	round_end(core, l);
	lease_move(core, l, LEASE_NONE, &(union lease_data){.none = {pause}});
	lease_votes_clear(core, l);
	slots_forget(core, l);
}

void
lease_lose(struct core *core, struct lease *l, int64_t from_ms)
{
	assert(l->state == LEASE_HELD);
	/* Our keys may outlive our certainty of them: no daemon should have to wait for their expiry. */
	release_lease_from(core, l, from_ms);
	lease_end(core, l, PAUSE_NONE);
	dirty_add(&core->dirty, &l->resource->item);
}

bool
lease_refused(const struct lease *l)
{
	if (l->state == LEASE_ACQUIRING)
		return lease_acquiring(l)->refused;
	return l->state == LEASE_WAITING && lease_waiting(l)->why >= WAIT_REFUSED;
}

bool
lease_wanted(const struct lease *l)
{
	if (l->state == LEASE_ACQUIRING)
		return lease_acquiring(l)->wanted;
	return l->state == LEASE_HELD && lease_held(l)->wanted;
}

void
lease_round(struct core *core, struct lease *l, int64_t term_ms, int64_t block)
{
	struct round *t = round_of(core, l);
	unsigned dry_rounds = l->state == LEASE_HELD ? lease_held(l)->dry_rounds : 0;

	assert(l->state == LEASE_ACQUIRING || l->state == LEASE_HELD);
	assert(term_ms > 0 && term_ms <= INT32_MAX && block >= 0);
	l->term_ms = (int32_t)term_ms;
	t->asked = (enum kind)l->kind;
	t->sent_ms = core->now.ms;
	t->proposal = tokens_propose(core, t->reached, dry_rounds);
	t->asked_block = block;
	for (unsigned i = 0; i < core->settings.masters; i++)
		t->questions[i].token_first = 0;
}

/* If the call is not heard, our position ends by itself; LEAVE only spares the others that time. */
static void
leave(struct core *core, unsigned master, struct slice name, const struct rule *rule, uint64_t attempt)
{
	const struct master *m = &core->masters[master];
	unsigned link = resource_link_of(core, name);

	assert(master < core->settings.masters);
	if (master_releases(m, link))
		master_call(core, &(struct call){.op = CALL_LEAVE,
					  .master = m->index,
					  .link = link,
					  .attempt = attempt,
					  .incarnation = m->incarnation,
					  .name = name,
					  .interop = rule->interop,
					  .key = rule->key});
}

void
lease_leave_queue_at(struct core *core, const struct lease *l, unsigned master)
{
	leave(core, master, resource_name(l->resource), l->resource->rule, l->attempt);
}

void
lease_leave_stale_queue(struct core *core, struct slice name, unsigned master)
{
	leave(core, master, name, rules_find(&core->leases->rules, name), core->attempts);
}

void
lease_leave_queue(struct core *core, struct lease *l)
{
	if (lease_queued(l))
		lease_leave_queue_at(core, l, l->queue_master);
	lease_forget_position(l);
}

void
lease_enqueue_writer(struct core *core, struct lease *l)
{
	const struct resource *r = l->resource;
	const struct master *m = &core->masters[l->queue_master];
	struct lease_held *held = lease_held(l);

	assert(l->kind == KIND_SHARED);
	if (held->writer == WRITER_NONE)
		held->writer = WRITER_DUE;
	if (master_usable(m, r->link)) {
		held->writer = WRITER_QUEUED;
		master_call(core, &(struct call){.op = CALL_ENTER,
					  .master = m->index,
					  .link = r->link,
					  .attempt = l->attempt,
					  .incarnation = m->incarnation,
					  .name = resource_name(r),
					  .kind = l->kind,
					  .queue_ms = LEASE_QUEUE_MS});
	}
	(void)round_of(core, l);
	round_held(l)->enqueue_at_ms = core->now.ms + ENQUEUE_MS;
	lease_arm(core, l);
}

void
lease_dequeue_writer(struct core *core, struct lease *l)
{
	assert(lease_held(l)->writer != WRITER_NONE);
	lease_leave_queue(core, l);
	lease_held(l)->writer = WRITER_NONE;
}

void
lease_stop_waiting(struct core *core, struct lease *l)
{
	assert(l->state == LEASE_WAITING);
	lease_leave_queue(core, l);
	lease_end(core, l, PAUSE_NONE);
	dirty_add(&core->dirty, &l->resource->item);
}

void
lease_drop(struct core *core, struct lease *l)
{
	if (l->state == LEASE_HELD) {
		lease_give_back(core, l);
	} else if (l->state == LEASE_WAITING) {
		lease_stop_waiting(core, l);
	} else if (l->state == LEASE_ACQUIRING) {
		release_lease(core, l, 0);
		lease_leave_queue(core, l);
		lease_end(core, l, PAUSE_NONE);
	}
}

bool
lease_answered(struct core *core, struct lease *l, const struct vote *vote)
{
	struct round *t = l->round;

	/* No master ever leaves the set, and only members are asked about leases. */
	assert(vote->master < core->settings.masters);
	tokens_saw(core, vote->token_last);
	if (l->attempt != vote->attempt || t == NULL || !t->questions[vote->master].asking)
		return false;
	lease_vote_take(core, l, vote);
	slots_answered(l, vote);
	if (vote->token_last > t->reached)
		t->reached = vote->token_last;
	return true;
}

void
lease_give_back(struct core *core, struct lease *l)
{
	enum lease_pause pause = lease_held(l)->wanted ? PAUSE_YIELDED : PAUSE_NONE;

	assert(l->grants == NULL);
	if (l->resource->rule->interop != INTEROP_NONE && l->resource->demand->count > 0)
		pause = PAUSE_FOREIGN;
	lease_note(core, NOTE_UNLEASED, l, 0, -1, NULL);
	release_lease(core, l, 0);
	lease_end(core, l, pause);
	dirty_add(&core->dirty, &l->resource->item);
}

void
lease_take_tokens(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);
	struct round_held *t = round_held(l);
	int64_t first, last;

	if (t->spare_first != 0 || !lease_votes_tokens(core, l, &first, &last) || first <= held->token_last)
		return;
	assert(first > 0 && last >= first);
	t->spare_first = first;
	t->spare_last = last;
	if (held->renewal == RENEWAL_DRY)
		held->renewal = RENEWAL_DONE;
	held->dry_rounds = 0;
}

void
lease_want(struct core *core, struct lease *l)
{
	struct lease_held *held;
	struct round_held *t;

	/* An acquire under way may have been granted already, and this message may be about that lease. */
	if (l->state == LEASE_ACQUIRING && !lease_acquiring(l)->wanted) {
		lease_acquiring(l)->wanted = true;
		dirty_add(&core->dirty, &l->resource->item);
	}
	if (l->state != LEASE_HELD)
		return;
	held = lease_held(l);
	/* Until the masters know that the lease is shared, readers elsewhere ask for what they are about to
	 * get. */
	if (l->kind != held->confirmed)
		return;
	(void)round_of(core, l);
	t = round_held(l);
	t->contended_ms = core->now.ms;
	if (held->wanted)
		return;
	held->wanted = true;
	t->wanted_since_ms = core->now.ms;
	t->streak = 0;
	lease_arm(core, l);
	permit_lease_changed(l);
	dirty_add(&core->dirty, &l->resource->item);
}

bool
lease_good(const struct core *core, const struct lease *l)
{
	return l->state == LEASE_HELD && lease_votes_ours(core, l) >= quorum_majority(core) &&
	       lease_held(l)->valid_until_ms - core->now.ms >= terms_lease_ms(core, l->resource->rule) / 2;
}

bool
lease_must_yield(const struct core *core, const struct lease *l)
{
	const struct lease_held *held = lease_held(l);

	return held->wanted && held->served &&
	       (round_held(l)->streak >= core->settings.streak ||
		       core->now.ms - round_held(l)->wanted_since_ms >= core->settings.streak_ms);
}

int64_t
lease_announced_until_ms(const struct lease *l)
{
	int64_t valid_until_ms = lease_held(l)->valid_until_ms;
	int64_t announced_until_ms = l->round != NULL ? round_held(l)->announced_until_ms : 0;

	return announced_until_ms > valid_until_ms ? announced_until_ms : valid_until_ms;
}

int64_t
lease_token(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);

	if (held->token > held->token_last && round_spare(l) > 0) {
		struct round_held *t = round_held(l);
		int64_t block = t->spare_last - t->spare_first + 1;

		assert(block > 0 && t->spare_first > held->token_last);
		held->token = t->spare_first;
		held->token_last = t->spare_last;
		held->block = block < INT32_MAX ? (int32_t)block : INT32_MAX;
		t->spare_first = 0;
		lease_quiet(core, l);
	}
	return held->token <= held->token_last ? held->token++ : 0;
}

void
lease_free(struct lease *l)
{
	assert(l->grants == NULL);
	if (round_is_acquiring(l))
		round_no_foreign(l);
	free(lease_previous(l));
	free(l->round);
	lease_votes_free(l);
}

void
lease_note(struct core *core, enum note_type type, const struct lease *l, int64_t token, int64_t ms,
	const char *text)
{
	emit_note_of(core, type, token, ms, text)->name = resource_name(l->resource);
}
