#include "daemon/core/lease.h"

#include "daemon/core/drift.h"
#include "daemon/core/emit.h"
#include "daemon/core/grant.h"
#include "daemon/core/master.h"
#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/seat.h"
#include "daemon/core/tokens.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_LEAST  8    /* with fewer the next block is fetched, however small this one was */
#define QUEUE_MS     3000 /* lifetime of our place in the master's queue; each retry refreshes it */
#define WAIT_MOST_MS 1000 /* every wait looks again after this, should all wake-ups be lost */
#define RETRY_MS     200  /* after an error of the master, or a call that did not leave */
#define FOREIGN_MAX  64   /* owner text kept for INSPECT */
#define SPLIT_MS     4 /* after a round that nobody won: at most so long at first, then twice as long, ... */
#define SPLIT_MOST   5 /* ... so often; then it counts as a refusal */

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
	if (l->refresh_ms < at)
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
lease_clear(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	timer_cancel(&core->timers, &l->timer);
	seats_clear(core, r);
	lease_no_foreign(l);
	l->refreshing = false;
	l->again = false;
	l->queued = false;
	l->wanted = false;
	l->served = false;
	l->refused = false;
	l->split = 0;
	l->reached = 0;
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

static void
lease_round(struct core *core, struct resource *r, int64_t term_ms, int64_t block)
{
	struct lease *l = &r->lease;

	l->sent_ms = core->now.ms;
	l->term_ms = term_ms;
	l->proposal = tokens_propose(core, l->reached);
	l->asked_block = block;
	for (unsigned i = 0; i < core->settings.masters; i++)
		r->seats[i].token_first = 0;
}

static void
lease_leave_queue(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	const struct master *m = &core->masters[l->home];

	/* Unheard, our place would end by itself; leaving just spares the others that time. */
	if (l->queued && master_releases(m, r->link))
		master_call(core, &(struct call){.op = CALL_LEAVE,
					  .master = m->index,
					  .link = r->link,
					  .attempt = l->attempt,
					  .incarnation = m->incarnation,
					  .name = r->name,
					  .key = r->rule->key});
	l->queued = false;
	l->position = 0;
}

static void
lease_ask_new(struct core *core, struct resource *r, unsigned i, int64_t patience_ms)
{
	int64_t queue_ms = CALL_QUEUELESS;

	if (i == r->lease.home)
		queue_ms = queue_patient(r) ? QUEUE_MS : 0;
	seat_ask(core, r, i, CALL_ACQUIRE, patience_ms, queue_ms);
}

void
lease_acquire(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	int64_t patience = lease_patience_ms(core, r);
	unsigned home = quorum_home(core, r->name, r->link);

	assert(quorum_usable(core, r->link));
	if (l->state == LEASE_NONE)
		lease_clear(core, r);
	if (home != l->home)
		lease_leave_queue(core, r);
	lease_move(core, l, LEASE_ACQUIRING);
	seats_clear(core, r);
	l->home = (unsigned char)home;
	l->again = false;
	l->wanted = false;
	l->contended = false;
	l->hitch = TROUBLE_NONE;
	l->change_ms = 0;
	l->attempt = ++core->attempts;
	lease_round(core, r, r->rule->lease_ms, tokens_block(core));
	timer_arm(&core->timers, &l->timer, core->now.ms + patience);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (master_usable(&core->masters[i], r->link))
			lease_ask_new(core, r, i, patience);
	}
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

/* Asks the seats of a lease that is held: all, or those that this round has not kept yet. */
static void
lease_ask(struct core *core, struct resource *r, bool all)
{
	struct lease *l = &r->lease;
	int64_t kept_ms = lease_valid_from(r, l->sent_ms);
	enum call_op op;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		if ((all || r->seats[i].valid_ms < kept_ms) && seat_question(core, r, i, &op))
			seat_ask(core, r, i, op, l->valid_ms - core->now.ms, CALL_QUEUELESS);
	}
}

void
lease_refresh(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	assert(l->state == LEASE_HELD);
	if (l->refreshing)
		return;
	l->dry = false;
	lease_round(core, r, lease_next_term_ms(core, r), lease_short_of_tokens(l) ? tokens_block(core) : 0);
	lease_ask(core, r, true);
	l->refreshing = seats_asking(core, r) > 0;
	l->refresh_ms = l->refreshing ? l->valid_ms : core->now.ms + lease_soon_ms(r);
	lease_arm(core, l);
}

/* The round that runs lacks some seats: asks them again, where that can be done by now. */
static void
lease_refresh_on(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	lease_ask(core, r, false);
	l->refresh_ms = core->now.ms + lease_soon_ms(r);
	lease_arm(core, l);
}

void
lease_reclaim(struct core *core, struct resource *r, unsigned i)
{
	enum call_op op;

	if (r->lease.state != LEASE_HELD)
		return;
	/* The only master decides about the lease, one of several about its seat. */
	if (core->settings.masters == 1)
		lease_refresh(core, r);
	else if (seat_question(core, r, i, &op))
		seat_ask(core, r, i, op, r->lease.valid_ms - core->now.ms, CALL_QUEUELESS);
}

void
lease_catch_up(struct core *core, struct resource *r)
{
	const struct lease *l = &r->lease;

	if (l->state != LEASE_HELD || l->valid_ms - core->now.ms >= r->rule->lease_ms / 3 * 2)
		return;
	if (l->refreshing)
		lease_refresh_on(core, r);
	else
		lease_refresh(core, r);
}

void
lease_leave(struct core *core, struct resource *r)
{
	assert(r->lease.state == LEASE_WAITING);
	lease_leave_queue(core, r);
	lease_move(core, &r->lease, LEASE_NONE);
	lease_clear(core, r);
	resource_touch(core, r);
}

void
lease_step_back(struct core *core, struct resource *r)
{
	if (r->lease.state == LEASE_WAITING && core->settings.masters > 1)
		lease_leave_queue(core, r);
}

void
lease_give_back(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	assert(l->state == LEASE_HELD && r->hold == NULL);
	emit_note(core, NOTE_UNLEASED, r, NULL, 0, -1, NULL);
	seats_undo(core, r);
	lease_move(core, l, LEASE_NONE);
	lease_clear(core, r);
	resource_touch(core, r);
}

/* The lease is gone, and the hold that stood on it with it. */
static void
lease_lost(struct core *core, struct resource *r, enum loss_reason reason)
{
	struct lease *l = &r->lease;

	if (r->hold != NULL)
		grant_lose(core, r->hold, reason);
	/* Our keys may outlive our certainty of them: nobody should have to wait for their end. */
	seats_undo(core, r);
	lease_move(core, l, LEASE_NONE);
	lease_clear(core, r);
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

static void
lease_take_tokens(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	int64_t first, last;

	if (l->spare_first != 0 || !seats_tokens(core, r, &first, &last) || first <= l->token_last)
		return;
	l->spare_first = first;
	l->spare_last = last;
}

/* Granted by a memory before a change that we have seen meanwhile: to be asserted at the new one. */
static bool
lease_of_old_memory(const struct core *core, const struct resource *r)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (r->seats[i].ours && r->seats[i].incarnation != core->masters[i].incarnation)
			return true;
	}
	return false;
}

/* What was granted, or may have been, is given up. */
static void
lease_missed(struct core *core, struct resource *r, enum lease_trouble trouble, int64_t ms)
{
	seats_undo(core, r);
	lease_refused(core, r, trouble, ms);
}

static void
lease_won(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	l->valid_ms = seats_valid_ms(core, r);
	if (l->valid_ms <= core->now.ms) {
		lease_missed(core, r, TROUBLE_SILENT, RETRY_MS);
		return;
	}
	lease_move(core, l, LEASE_HELD);
	lease_no_foreign(l);
	l->trouble = TROUBLE_NONE;
	l->queued = false;
	l->split = 0;
	l->refreshing = false;
	l->served = false;
	l->dry = false;
	l->wanted_ms = core->now.ms;
	l->streak = 0;
	l->token = 1;
	l->token_last = 0;
	l->block = 0;
	l->spare_first = 0;
	lease_take_tokens(core, r);
	l->refresh_ms = lease_of_old_memory(core, r) ? core->now.ms : lease_refresh_at(r, l->sent_ms);
	lease_arm(core, l);
	emit_note(core, NOTE_LEASED, r, NULL, l->spare_first, l->valid_ms - core->now.ms, NULL);
	resource_touch(core, r);
}

/* Refused by somebody; what home says of it counts. */
static void
lease_busy(struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;
	size_t n = vote->holder.n < FOREIGN_MAX ? vote->holder.n : FOREIGN_MAX;

	l->contended = true;
	if (vote->master == l->home) {
		lease_no_foreign(l);
		l->queued = vote->position > 0;
		l->position = vote->position;
		l->change_ms = vote->change_ms > 0 ? vote->change_ms : 1;
	}
	if (n > 0 && l->foreign == NULL && (l->foreign = malloc(n + 1)) != NULL) {
		memcpy(l->foreign, vote->holder.p, n);
		l->foreign[n] = '\0';
	}
}

/* Each of several daemons got some masters, and nobody enough: soon again, but not all at the same time. */
static void
lease_split(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	int64_t ms = SPLIT_MS << l->split;

	seats_undo(core, r);
	if (l->split < SPLIT_MOST)
		l->split++;
	l->refused = l->split == SPLIT_MOST;
	l->trouble = TROUBLE_NONE;
	lease_wait(core, r, core_jitter(core, 1, ms));
}

/* One verdict for the whole round. */
static void
lease_not_won(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	if (l->change_ms > 0) {
		lease_missed(core, r, TROUBLE_NONE, l->again ? 1 : l->change_ms);
	} else if (l->hitch == TROUBLE_KIND) {
		lease_missed(core, r, TROUBLE_KIND, WAIT_MOST_MS);
	} else if (l->contended) {
		lease_split(core, r);
	} else if (l->hitch != TROUBLE_NONE) {
		lease_missed(core, r, l->hitch, RETRY_MS);
	} else { /* nothing was done, no verdict */
		seats_undo(core, r);
		l->refused = false;
		lease_wait(core, r, RETRY_MS);
	}
}

/* Won, lost, or open. Home is waited for: it may say that it is not our turn. */
static void
lease_count(struct core *core, struct resource *r, bool patient)
{
	unsigned ours = seats_ours(core, r), asking = patient ? seats_asking(core, r) : 0;
	bool home_open = patient && r->seats[r->lease.home].asking;

	if (ours + asking < quorum_majority(core))
		lease_not_won(core, r);
	else if (ours >= quorum_majority(core) && !home_open)
		lease_won(core, r);
}

static void
lease_hitch(struct lease *l, unsigned master, enum lease_trouble trouble)
{
	l->hitch = trouble;
	l->trouble_at = (unsigned char)master;
}

/* Our idea of the master's time was old: it has just been renewed, one more try is fair. */
static void
lease_late(struct core *core, struct resource *r, unsigned i)
{
	int64_t patience = lease_patience_ms(core, r);

	if (r->seats[i].late || !master_usable(&core->masters[i], r->link))
		return;
	r->seats[i].late = true;
	timer_arm(&core->timers, &r->lease.timer, core->now.ms + patience);
	lease_ask_new(core, r, i, patience);
}

static void
lease_acquire_vote(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;

	switch (vote->outcome) {
	case OUTCOME_YES:
		l->wanted |= vote->position > 0;
		break;
	case OUTCOME_BUSY:
	case OUTCOME_NO:
		lease_busy(r, vote);
		/* Not our turn, whatever the others say. */
		if (vote->holder.n == 0 && vote->master == l->home) {
			lease_not_won(core, r);
			return;
		}
		break;
	case OUTCOME_LATE:
		lease_late(core, r, vote->master);
		break;
	case OUTCOME_WRONGKIND:
		lease_hitch(l, vote->master, TROUBLE_KIND);
		break;
	case OUTCOME_ERROR:
		lease_hitch(l, vote->master, TROUBLE_ERROR);
		break;
	case OUTCOME_UNKNOWN:
		lease_hitch(l, vote->master, TROUBLE_SILENT);
		break;
	default: /* FORGOTTEN, DEMOTED, UNSENT: nothing was done, no verdict */
		break;
	}
	lease_count(core, r, true);
}

/* A round has brought enough, or can no longer: when to ask again. */
static void
lease_settle_round(struct core *core, struct resource *r, bool yes)
{
	struct lease *l = &r->lease;
	int64_t valid_ms = seats_valid_ms(core, r), soon = lease_soon_ms(r);

	if (valid_ms > l->valid_ms)
		l->valid_ms = valid_ms;
	if (!l->refreshing)
		return;
	if (seats_until(core, r, lease_valid_from(r, l->sent_ms)) >= quorum_majority(core)) {
		l->refreshing = false;
		l->refresh_ms = lease_refresh_at(r, l->sent_ms);
	} else {
		l->refreshing = seats_asking(core, r) > 0;
		if (!yes || !l->refreshing)
			l->refresh_ms = core->now.ms + core_jitter(core, soon / 2, soon);
	}
	/* A guarded master has no tokens to give, a full one no room for the counter, and several may
	 * disagree: asked again after a while. */
	l->dry = !l->refreshing && l->asked_block > 0 && lease_short_of_tokens(l);
	if (l->dry && l->token > l->token_last && l->refresh_ms > core->now.ms + soon)
		l->refresh_ms = core->now.ms + soon;
}

static void
lease_refresh_vote(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;
	const struct seat *seat = &r->seats[vote->master];
	bool yes = vote->outcome == OUTCOME_YES;

	if (yes && vote->op == CALL_RECLAIM)
		emit_note(core, NOTE_RECLAIMED, r, NULL, l->token, seat->asked_ms - core->now.ms, NULL);
	if (vote->outcome == OUTCOME_ERROR)
		emit_note(core, NOTE_RENEW_FAILED, r, NULL, 0, l->valid_ms - core->now.ms,
			core->masters[vote->master].error);
	/* In case the message that said so was lost. */
	if (yes && vote->position > 0)
		lease_want(core, r);
	if (seats_ours(core, r) < quorum_majority(core)) {
		lease_lost(core, r, vote->op == CALL_RECLAIM ? LOSS_REFUSED : LOSS_TAKEN);
		return;
	}
	lease_take_tokens(core, r);
	lease_settle_round(core, r, yes);
	if (yes && seat->incarnation != core->masters[vote->master].incarnation)
		l->refresh_ms = core->now.ms;
	lease_arm(core, l);
	resource_touch(core, r);
}

void
lease_vote(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;

	tokens_saw(core, vote->token_last);
	if (vote->op == CALL_LEAVE || l->attempt != vote->attempt || !r->seats[vote->master].asking ||
		(l->state != LEASE_ACQUIRING && l->state != LEASE_HELD))
		return; /* given up meanwhile: its undo is on its way */
	seat_heard(core, r, vote);
	if (vote->token_last > l->reached)
		l->reached = vote->token_last;
	if (l->state == LEASE_ACQUIRING)
		lease_acquire_vote(core, r, vote);
	else
		lease_refresh_vote(core, r, vote);
}

/* Who has not answered is not waited for: the releases go down the same links, behind the acquires (rule 2).
 */
static void
lease_patience_over(struct core *core, struct resource *r)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (!r->seats[i].asking)
			continue;
		master_suspect(core, &core->masters[i], r->link);
		if (r->lease.hitch == TROUBLE_NONE)
			lease_hitch(&r->lease, i, TROUBLE_SILENT);
	}
	lease_count(core, r, false);
}

void
lease_timer(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	switch (l->state) {
	case LEASE_ACQUIRING:
		lease_patience_over(core, r);
		return;
	case LEASE_WAITING:
		lease_wake(core, r);
		return;
	case LEASE_HELD:
		if (core->now.ms >= l->valid_ms)
			lease_lost(core, r, LOSS_EXPIRED);
		else if (l->refreshing)
			lease_refresh_on(core, r);
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
	if (r->waiter_count > 0 && quorum_usable(core, r->link))
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
