#include "daemon/core/bid.h"

#include "daemon/core/emit.h"
#include "daemon/core/lease.h"
#include "daemon/core/master.h"
#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/seat.h"
#include "daemon/core/tokens.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MS     3000 /* lifetime of our place in the queue; each retry refreshes it */
#define WAIT_MOST_MS 1000 /* every wait looks again after this, should all wake-ups be lost */
#define RETRY_MS     200  /* after an error of the master */
#define AGAIN_MS     40   /* after a call that did not leave, or found no scripts */
#define FOREIGN_MAX  64   /* owner text kept for INSPECT */
#define SPLIT_MS     4 /* after a round that nobody won: at most so long at first, then twice as long, ... */
#define SPLIT_MOST   6 /* ... so often; then it counts as a refusal */

/* An answer that takes longer than this would leave a lease that is hardly good for anything. */
static int64_t
bid_patience_ms(const struct core *core, const struct resource *r)
{
	int64_t third = r->rule->lease_ms / 3, patience = master_patience_ms(core);

	return third < patience ? third : patience;
}

static void
bid_ask(struct core *core, struct resource *r, unsigned i, int64_t patience_ms)
{
	int64_t queue_ms = CALL_QUEUELESS;

	if (i == r->lease.home)
		queue_ms = queue_patient(r) ? QUEUE_MS : 0;
	seat_ask(core, r, i, CALL_ACQUIRE, patience_ms, queue_ms);
}

void
bid_begin(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	int64_t patience = bid_patience_ms(core, r);
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
	lease_round(core, r, r->rule->lease_ms, tokens_first());
	timer_arm(&core->timers, &l->timer, core->now.ms + patience);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (master_usable(&core->masters[i], r->link))
			bid_ask(core, r, i, patience);
	}
}

/* Not now: look again when something may have changed, at the latest after ms. */
static void
bid_wait(struct core *core, struct resource *r, int64_t ms)
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
bid_refused(struct core *core, struct resource *r, enum lease_trouble trouble, int64_t ms)
{
	r->lease.refused = true;
	r->lease.trouble = trouble;
	bid_wait(core, r, ms);
}

/* What was granted, or may have been, is given up. */
static void
bid_missed(struct core *core, struct resource *r, enum lease_trouble trouble, int64_t ms)
{
	seats_undo(core, r);
	bid_refused(core, r, trouble, ms);
}

/* Granted by a memory before a change that we have seen meanwhile: to be asserted at the new one. */
static bool
bid_of_old_memory(const struct core *core, const struct resource *r)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (r->seats[i].ours && r->seats[i].incarnation != core->masters[i].incarnation)
			return true;
	}
	return false;
}

static void
bid_won(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	l->valid_ms = seats_valid_ms(core, r);
	if (l->valid_ms <= core->now.ms) {
		bid_missed(core, r, TROUBLE_SILENT, RETRY_MS);
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
	l->refresh_ms = bid_of_old_memory(core, r) ? core->now.ms : lease_refresh_at(r, l->sent_ms);
	lease_arm(core, l);
	emit_note(core, NOTE_LEASED, r, NULL, l->spare_first, l->valid_ms - core->now.ms, NULL);
	resource_touch(core, r);
}

/* Refused by somebody; what home says of it counts. */
static void
bid_busy(struct resource *r, const struct vote *vote)
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
bid_split(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	int64_t ms = SPLIT_MS << l->split;

	seats_undo(core, r);
	l->refused = l->split == SPLIT_MOST;
	l->trouble = TROUBLE_NONE;
	bid_wait(core, r, core_jitter(core, l->refused ? ms / 2 : 1, ms));
	l->split += !l->refused;
}

/* One verdict for the whole round. */
static void
bid_not_won(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	if (l->change_ms > 0) {
		bid_missed(core, r, TROUBLE_NONE, l->again ? 1 : l->change_ms);
	} else if (seats_holder(core, r) >= quorum_majority(core)) {
		bid_missed(core, r, TROUBLE_NONE, RETRY_MS);
	} else if (l->hitch == TROUBLE_KIND) {
		bid_missed(core, r, TROUBLE_KIND, WAIT_MOST_MS);
	} else if (l->contended) {
		bid_split(core, r);
	} else if (l->hitch != TROUBLE_NONE) {
		bid_missed(core, r, l->hitch, RETRY_MS);
	} else { /* nothing was done, no verdict */
		seats_undo(core, r);
		l->refused = false;
		bid_wait(core, r, AGAIN_MS);
	}
}

/* Only the word of home is missing, which is advice: waited for, but not for as long as a vote. */
static void
bid_hurry(struct core *core, struct resource *r)
{
	struct timer *timer = &r->lease.timer;
	int64_t at = core->now.ms + bid_patience_ms(core, r) / 4;

	if (at < timer->at_ms)
		timer_arm(&core->timers, timer, at);
}

/* Won, lost, or open. Home is waited for: it may say that it is not our turn, and when that may be. */
static void
bid_count(struct core *core, struct resource *r, bool patient)
{
	unsigned ours = seats_ours(core, r), asking = patient ? seats_asking(core, r) : 0;
	bool home_open = patient && r->seats[r->lease.home].asking;
	/* A trouble at one master may be contention at the others, and then that is the verdict; but nobody
	 * should wait for it. */
	bool unclear = ours == 0 && asking > 0 && r->lease.hitch != TROUBLE_NONE && r->lease.change_ms == 0;
	bool won = ours >= quorum_majority(core);

	if (!won && (ours + asking >= quorum_majority(core) || unclear))
		return;
	if (home_open)
		bid_hurry(core, r);
	else if (won)
		bid_won(core, r);
	else
		bid_not_won(core, r);
}

static void
bid_hitch(struct lease *l, unsigned master, enum lease_trouble trouble)
{
	l->hitch = trouble;
	l->trouble_at = (unsigned char)master;
}

/* Our idea of the master's time was old: it has just been renewed, one more try is fair. */
static void
bid_late(struct core *core, struct resource *r, unsigned i)
{
	int64_t patience = bid_patience_ms(core, r);

	if (r->seats[i].late || !master_usable(&core->masters[i], r->link))
		return;
	r->seats[i].late = true;
	timer_arm(&core->timers, &r->lease.timer, core->now.ms + patience);
	bid_ask(core, r, i, patience);
}

void
bid_vote(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;

	switch (vote->outcome) {
	case OUTCOME_YES:
		l->wanted |= vote->position > 0;
		break;
	case OUTCOME_BUSY:
	case OUTCOME_NO:
		bid_busy(r, vote);
		/* Not our turn, whatever the others say. */
		if (vote->holder.n == 0 && vote->master == l->home) {
			bid_not_won(core, r);
			return;
		}
		break;
	case OUTCOME_LATE:
		bid_late(core, r, vote->master);
		break;
	case OUTCOME_WRONGKIND:
		bid_hitch(l, vote->master, TROUBLE_KIND);
		break;
	case OUTCOME_ERROR:
		bid_hitch(l, vote->master, TROUBLE_ERROR);
		break;
	case OUTCOME_UNKNOWN:
		bid_hitch(l, vote->master, TROUBLE_SILENT);
		break;
	default: /* FORGOTTEN, DEMOTED, UNSENT: nothing was done, no verdict */
		break;
	}
	bid_count(core, r, true);
}

void
bid_wake(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	if (l->state == LEASE_ACQUIRING) {
		l->again = true;
		return;
	}
	if (l->state != LEASE_WAITING)
		return;
	if (r->waiter_count > 0 && quorum_usable(core, r->link))
		bid_begin(core, r);
	else
		timer_arm(&core->timers, &l->timer, core->now.ms + WAIT_MOST_MS);
}

/* Who has not answered is not waited for: the releases go down the same links, behind the acquires (rule 2).
 */
static void
bid_patience_over(struct core *core, struct resource *r)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (!r->seats[i].asking || core->now.ms < r->lease.sent_ms + bid_patience_ms(core, r))
			continue;
		master_suspect(core, &core->masters[i], r->link);
		if (r->lease.hitch == TROUBLE_NONE)
			bid_hitch(&r->lease, i, TROUBLE_SILENT);
	}
	bid_count(core, r, false);
}

void
bid_step_back(struct core *core, struct resource *r)
{
	if (r->lease.state == LEASE_WAITING && core->settings.masters > 1)
		lease_leave_queue(core, r);
}

void
bid_timer(struct core *core, struct resource *r)
{
	if (r->lease.state == LEASE_ACQUIRING)
		bid_patience_over(core, r);
	else
		bid_wake(core, r);
}
