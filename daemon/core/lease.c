#include "daemon/core/lease.h"

#include "daemon/core/drift.h"
#include "daemon/core/emit.h"
#include "daemon/core/grant.h"
#include "daemon/core/master.h"
#include "daemon/core/queue.h"
#include "daemon/core/resource.h"
#include "daemon/core/undo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_FIRST 10 /* come with a lease: most end before they need more */
#define TOKEN_BLOCK                                                                                          \
	1000 /* reserved at once where they run short: hand-offs take the next one without asking */
#define TOKEN_FEW    32   /* while tokens run ahead of the clock */
#define TOKEN_LEAST  8    /* with fewer the next block is fetched, however small this one was */
#define QUEUE_MS     3000 /* lifetime of our place in the master's queue; each retry refreshes it */
#define WAIT_MOST_MS 1000 /* every wait looks again after this, should all wake-ups be lost */
#define RETRY_MS     200  /* after an error of the master, or a call that did not leave */
#define FOREIGN_MAX  64   /* owner text kept for INSPECT */

#define TO(state) (1U << (state))

static const unsigned lease_allowed[LEASE_STATE_COUNT] = {
	[LEASE_NONE] = TO(LEASE_ACQUIRING),
	[LEASE_ACQUIRING] = TO(LEASE_NONE) | TO(LEASE_WAITING) | TO(LEASE_HELD) | TO(LEASE_ACQUIRING),
	[LEASE_WAITING] = TO(LEASE_NONE) | TO(LEASE_ACQUIRING),
	[LEASE_HELD] = TO(LEASE_NONE),
};

static void
lease_move(struct core *core, struct lease *l, enum lease_state next)
{
	assert(lease_allowed[l->state] & TO(next));
	core->counts.leases += (size_t)(next == LEASE_HELD) - (size_t)(l->state == LEASE_HELD);
	l->state = next;
}

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
lease_ttl_ms(const struct core *core, const struct resource *r)
{
	return r->lease.term_ms + core->settings.margin_ms;
}

static int64_t
lease_valid_from(const struct resource *r, int64_t sent_ms)
{
	return sent_ms + r->lease.term_ms - drift_ms(r->lease.term_ms);
}

/* Rounded down, so that leases taken at about the same time are renewed in one script call. */
static int64_t
lease_refresh_at(const struct resource *r, int64_t sent_ms)
{
	int64_t term = smaller(r->lease.term_ms, r->rule->lease_ms);
	int64_t step = term / 64 + 1;
	int64_t at = sent_ms + term / 3;

	return at - at % step;
}

/* Until a refresh that failed is tried again: often, while a short lease lasts. */
static int64_t
lease_soon_ms(const struct resource *r)
{
	return smaller(r->rule->lease_ms / 20 + 1, RETRY_MS);
}

static void
lease_arm(struct core *core, struct lease *l)
{
	int64_t at = l->valid_ms;

	/* An answer that took longer than a third of the lease is followed by the next question at once, but
	 * not within this turn. */
	if (!l->refreshing && l->refresh_ms < at)
		at = l->refresh_ms > core->now.ms ? l->refresh_ms : core->now.ms + 1;
	timer_arm(&core->timers, &l->timer, at);
}

static void
lease_no_foreign(struct lease *l)
{
	free(l->foreign);
	l->foreign = NULL;
	l->position = 0;
}

/* Forgets all that belonged to the last lease. */
static void
lease_clear(struct core *core, struct lease *l)
{
	timer_cancel(&core->timers, &l->timer);
	lease_no_foreign(l);
	l->refreshing = false;
	l->again = false;
	l->queued = false;
	l->wanted = false;
	l->served = false;
	l->refused = false;
	l->late_once = false;
	l->streak = 0;
	l->token = 1;
	l->token_last = 0;
	l->spare_first = 0;
	l->valid_ms = 0;
}

/* An answer that takes longer than this would leave a lease that is hardly good for anything. */
static int64_t
lease_patience_ms(const struct core *core, const struct resource *r)
{
	int64_t third = r->rule->lease_ms / 3, patience = master_patience_ms(core);

	return third < patience ? third : patience;
}

/* What every call about this lease says. */
static struct call
lease_call(const struct core *core, const struct resource *r, enum call_op op)
{
	return (struct call){.op = op,
		.link = r->link,
		.attempt = r->lease.attempt,
		.incarnation = core->master.incarnation,
		.name = r->name,
		.key = r->rule->key};
}

void
lease_acquire(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	int64_t patience = lease_patience_ms(core, r);
	struct call call;

	assert(master_usable(core, r->link));
	if (l->state == LEASE_NONE)
		lease_clear(core, l);
	lease_move(core, l, LEASE_ACQUIRING);
	l->again = false;
	l->wanted = false;
	l->attempt = ++core->attempts;
	l->incarnation = core->master.incarnation;
	l->sent_ms = core->now.ms;
	l->term_ms = r->rule->lease_ms;
	l->deadline_us = master_time_us(core, patience);
	timer_arm(&core->timers, &l->timer, core->now.ms + patience);
	call = lease_call(core, r, CALL_ACQUIRE);
	call.ttl_ms = lease_ttl_ms(core, r);
	call.deadline_us = l->deadline_us;
	call.token = master_propose(core);
	call.block = TOKEN_FIRST;
	call.queue_ms = queue_patient(r) ? QUEUE_MS : 0;
	emit_call(core, &call);
}

static bool
lease_short_of_tokens(const struct lease *l)
{
	int64_t left = l->token_last - l->token + 1;

	return l->spare_first == 0 && (left < TOKEN_LEAST || left < l->block / 2);
}

void
lease_refill(struct core *core, struct resource *r)
{
	if (lease_short_of_tokens(&r->lease) && !r->lease.dry)
		lease_refresh(core, r);
}

/* What the rule says now; never less than what the lease is good for already: the key must not end sooner. */
static int64_t
lease_next_term_ms(const struct core *core, const struct resource *r)
{
	int64_t left = r->lease.valid_ms - core->now.ms;
	int64_t kept = left + drift_ms(left);

	return kept > r->rule->lease_ms ? kept : r->rule->lease_ms;
}

void
lease_refresh(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	enum call_op op;
	struct call call;

	assert(l->state == LEASE_HELD);
	if (l->refreshing)
		return;
	if (!master_keeps(core, r->link, &op)) {
		l->refresh_ms = core->now.ms + lease_soon_ms(r);
		lease_arm(core, l);
		return;
	}
	l->refreshing = true;
	l->dry = false;
	l->sent_ms = core->now.ms;
	l->term_ms = lease_next_term_ms(core, r);
	l->deadline_us = master_time_us(core, l->valid_ms - core->now.ms);
	l->incarnation = core->master.incarnation;
	call = lease_call(core, r, op);
	call.ttl_ms = lease_ttl_ms(core, r);
	call.deadline_us = l->deadline_us;
	call.token = op == CALL_RECLAIM ? core->master.highest : master_propose(core);
	call.newest = l->spare_first > 0 ? l->spare_last : l->token_last;
	if (lease_short_of_tokens(l))
		call.block = master_tokens_ahead(core) ? TOKEN_FEW : TOKEN_BLOCK;
	emit_call(core, &call);
	lease_arm(core, l);
}

void
lease_catch_up(struct core *core, struct resource *r)
{
	const struct lease *l = &r->lease;
	enum call_op op;

	if (l->state == LEASE_HELD && l->valid_ms - core->now.ms < r->rule->lease_ms / 3 * 2 &&
		master_keeps(core, r->link, &op))
		lease_refresh(core, r);
}

void
lease_leave(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	struct call leave = lease_call(core, r, CALL_LEAVE);

	assert(l->state == LEASE_WAITING);
	/* Unheard, our place would end by itself; leaving just spares the others that time. */
	if (l->queued && master_releases(core, r->link))
		emit_call(core, &leave);
	lease_move(core, l, LEASE_NONE);
	lease_clear(core, l);
	resource_touch(core, r);
}

void
lease_give_back(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	assert(l->state == LEASE_HELD && r->hold == NULL);
	emit_note(core, NOTE_UNLEASED, r, NULL, 0, -1, NULL);
	undo_start(core, r, l->attempt, 0);
	lease_move(core, l, LEASE_NONE);
	lease_clear(core, l);
	resource_touch(core, r);
}

/* The lease is gone, and the hold that stood on it with it. */
static void
lease_lost(struct core *core, struct resource *r, enum loss_reason reason)
{
	struct lease *l = &r->lease;

	if (r->hold != NULL)
		grant_lose(core, r->hold, reason);
	/* Our key may outlive our certainty of it: nobody should have to wait for its end. */
	if (reason == LOSS_EXPIRED)
		undo_start(core, r, l->attempt, l->deadline_us);
	lease_move(core, l, LEASE_NONE);
	lease_clear(core, l);
	resource_touch(core, r);
}

/* Not now: look again when something may have changed, at the latest after ms. */
static void
lease_wait(struct core *core, struct resource *r, int64_t ms)
{
	struct lease *l = &r->lease;
	int64_t most = r->rule->lease_ms / 3 < WAIT_MOST_MS ? r->rule->lease_ms / 3 : WAIT_MOST_MS;

	if (ms > most)
		ms = most;
	if (ms < 1)
		ms = 1;
	lease_move(core, l, LEASE_WAITING);
	timer_arm(&core->timers, &l->timer, core->now.ms + 1 + core_jitter(core, ms - ms / 4, ms));
	resource_touch(core, r);
}

/* A verdict: who waits for just one has it now. */
static void
lease_refused(struct core *core, struct resource *r, enum lease_trouble trouble, int64_t ms)
{
	r->lease.refused = true;
	r->lease.trouble = trouble;
	lease_wait(core, r, ms);
}

/* Unknown: it may have been granted, or may still be. */
static void
lease_unknown(struct core *core, struct resource *r)
{
	undo_start(core, r, r->lease.attempt, r->lease.deadline_us);
	lease_refused(core, r, TROUBLE_SILENT, RETRY_MS);
}

static void
lease_granted(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;

	l->valid_ms = lease_valid_from(r, l->sent_ms);
	if (vote->token_first <= 0 || vote->token_last < vote->token_first || l->valid_ms <= core->now.ms) {
		lease_unknown(core, r);
		return;
	}
	lease_move(core, l, LEASE_HELD);
	lease_no_foreign(l);
	l->trouble = TROUBLE_NONE;
	l->queued = false;
	l->late_once = false;
	l->refreshing = false;
	l->served = false;
	l->dry = false;
	l->wanted |= vote->position > 0;
	l->wanted_ms = core->now.ms;
	l->streak = 0;
	l->token = vote->token_first;
	l->token_last = vote->token_last;
	l->block = l->token_last - l->token + 1;
	l->spare_first = 0;
	/* Granted by the memory before a change that we have seen meanwhile: re-assert it at once. */
	l->refresh_ms =
		l->incarnation == core->master.incarnation ? lease_refresh_at(r, l->sent_ms) : core->now.ms;
	lease_arm(core, l);
	master_saw_token(core, vote->token_last);
	emit_note(core, NOTE_LEASED, r, NULL, l->token, l->valid_ms - core->now.ms, NULL);
	resource_touch(core, r);
}

static void
lease_busy(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;
	size_t n = vote->holder.n < FOREIGN_MAX ? vote->holder.n : FOREIGN_MAX;

	l->late_once = false;
	l->queued = vote->position > 0;
	lease_no_foreign(l);
	l->position = vote->position;
	if (n > 0 && (l->foreign = malloc(n + 1)) != NULL) {
		memcpy(l->foreign, vote->holder.p, n);
		l->foreign[n] = '\0';
	}
	lease_refused(core, r, TROUBLE_NONE, l->again ? 1 : vote->change_ms);
}

static void
lease_late(struct core *core, struct resource *r)
{
	/* Our idea of the master's time was old: it has just been renewed, one more try is fair. */
	bool again = !r->lease.late_once;

	r->lease.late_once = true;
	if (again && master_usable(core, r->link))
		lease_acquire(core, r);
	else
		lease_wait(core, r, RETRY_MS);
}

static void
lease_acquire_vote(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;

	if (l->state != LEASE_ACQUIRING || l->attempt != vote->attempt)
		return; /* given up meanwhile: its undo is on its way */
	switch (vote->outcome) {
	case OUTCOME_YES:
		lease_granted(core, r, vote);
		return;
	case OUTCOME_BUSY:
	case OUTCOME_NO:
		lease_busy(core, r, vote);
		return;
	case OUTCOME_LATE:
		lease_late(core, r);
		return;
	case OUTCOME_WRONGKIND:
		lease_refused(core, r, TROUBLE_KIND, WAIT_MOST_MS);
		return;
	case OUTCOME_ERROR:
		lease_refused(core, r, TROUBLE_ERROR, RETRY_MS);
		return;
	case OUTCOME_UNKNOWN:
		lease_unknown(core, r);
		return;
	default: /* FORGOTTEN, DEMOTED, UNSENT: nothing was done, no verdict */
		l->refused = false;
		lease_wait(core, r, RETRY_MS);
		return;
	}
}

static void
lease_kept(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;
	int64_t valid_ms = lease_valid_from(r, l->sent_ms);

	if (vote->op == CALL_RECLAIM)
		emit_note(core, NOTE_RECLAIMED, r, NULL, l->token, valid_ms - core->now.ms, NULL);
	if (valid_ms > l->valid_ms)
		l->valid_ms = valid_ms;
	if (vote->token_first > 0 && vote->token_last >= vote->token_first && l->spare_first == 0) {
		l->spare_first = vote->token_first;
		l->spare_last = vote->token_last;
		master_saw_token(core, vote->token_last);
	}
	/* In case the message that said so was lost. */
	if (vote->position > 0)
		lease_want(core, r);
	l->refresh_ms = lease_refresh_at(r, l->sent_ms);
	/* A guarded master has no tokens to give, a full one no room for the counter: asked again after a
	 * while. */
	l->dry = lease_short_of_tokens(l);
	if (l->dry && l->token > l->token_last)
		l->refresh_ms = core->now.ms + lease_soon_ms(r);
	if (l->incarnation != core->master.incarnation)
		l->refresh_ms = core->now.ms;
}

static void
lease_refresh_vote(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;
	int64_t soon = lease_soon_ms(r);

	if (l->state != LEASE_HELD || l->attempt != vote->attempt || !l->refreshing)
		return;
	l->refreshing = false;
	switch (vote->outcome) {
	case OUTCOME_YES:
		lease_kept(core, r, vote);
		break;
	case OUTCOME_NO:
	case OUTCOME_WRONGKIND:
		lease_lost(core, r, vote->op == CALL_RECLAIM ? LOSS_REFUSED : LOSS_TAKEN);
		return;
	default: /* failed, for now: tried again while it is valid */
		l->refresh_ms = core->now.ms + core_jitter(core, soon / 2, soon);
		if (vote->outcome == OUTCOME_ERROR)
			emit_note(core, NOTE_RENEW_FAILED, r, NULL, 0, l->valid_ms - core->now.ms,
				core->master.error);
		break;
	}
	lease_arm(core, l);
	resource_touch(core, r);
}

void
lease_vote(struct core *core, struct resource *r, const struct vote *vote)
{
	if (vote->op == CALL_ACQUIRE)
		lease_acquire_vote(core, r, vote);
	else if (vote->op == CALL_RENEW || vote->op == CALL_RECLAIM)
		lease_refresh_vote(core, r, vote);
}

void
lease_timer(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	switch (l->state) {
	case LEASE_ACQUIRING:
		/* Unanswered: the release goes down the same link, behind the acquire (rule 2). */
		master_suspect(core, r->link);
		lease_unknown(core, r);
		return;
	case LEASE_WAITING:
		lease_wake(core, r);
		return;
	case LEASE_HELD:
		if (core->now.ms >= l->valid_ms)
			lease_lost(core, r, LOSS_EXPIRED);
		else
			lease_refresh(core, r);
		return;
	default:
		return;
	}
}

void
lease_wake(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	if (l->state == LEASE_ACQUIRING) {
		l->again = true;
		return;
	}
	if (l->state != LEASE_WAITING)
		return;
	if (r->waiter_count > 0 && master_usable(core, r->link))
		lease_acquire(core, r);
	else
		timer_arm(&core->timers, &l->timer, core->now.ms + WAIT_MOST_MS);
}

void
lease_want(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	/* While our acquire is under way it may have been granted already, and this is about that lease. */
	if (l->wanted || (l->state != LEASE_HELD && l->state != LEASE_ACQUIRING))
		return;
	l->wanted = true;
	l->wanted_ms = core->now.ms;
	l->streak = 0;
	resource_touch(core, r);
}

bool
lease_good(const struct core *core, const struct resource *r)
{
	return r->lease.state == LEASE_HELD && r->lease.valid_ms - core->now.ms >= r->rule->lease_ms / 2;
}

bool
lease_must_yield(const struct core *core, const struct resource *r)
{
	const struct lease *l = &r->lease;

	return l->wanted && l->served &&
	       (l->streak >= core->settings.streak ||
		       core->now.ms - l->wanted_ms >= core->settings.streak_ms);
}

int64_t
lease_token(struct lease *l)
{
	if (l->token > l->token_last && l->spare_first > 0) {
		l->token = l->spare_first;
		l->token_last = l->spare_last;
		l->block = l->token_last - l->token + 1;
		l->spare_first = 0;
	}
	return l->token <= l->token_last ? l->token++ : 0;
}
