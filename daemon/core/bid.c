#include "daemon/core/bid.h"

#include "daemon/core/emit.h"
#include "daemon/core/lease.h"
#include "daemon/core/master.h"
#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/seat.h"
#include "daemon/core/slots.h"
#include "daemon/core/terms.h"
#include "daemon/core/tokens.h"
#include "daemon/core/touched.h"
#include "daemon/core/traffic.h"
#include "daemon/core/undo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MOST_MS 1000 /* every wait looks again after this, should all wake-ups be lost */
#define RETRY_MS     200  /* after an error of the master */
#define AGAIN_MS     40   /* after a call that did not leave, or found no scripts */
#define FOREIGN_MAX  64   /* owner text kept for INSPECT */
#define POLL_MS      40   /* where who has the lock tells nobody of its end */
#define REST_MS      30   /* after a yield to somebody who does not stand in our queue */
#define SPLIT_MS     4 /* after a round that nobody won: at most so long at first, then twice as long, ... */
#define SPLIT_MOST   6 /* ... so often; then it counts as a refusal */
#define HOME_MOST_MS 500 /* for the word of home alone */
#define DEFER_MOST   2   /* rounds in a row that are left to the daemon to which home gave the lease */

/* An answer that takes longer than this would leave a lease that is hardly good for anything. */
static int64_t
bid_patience_ms(const struct core *core, const struct lease *l)
{
	int64_t third = terms_lease_ms(core, l->resource->rule) / 3, patience = master_patience_ms(core);

	return third < patience ? third : patience;
}

/* The word of home is advice: waited for, but not for as long as a vote. */
static int64_t
bid_home_patience_ms(const struct core *core, const struct lease *l)
{
	int64_t half = bid_patience_ms(core, l) / 2;

	return half < HOME_MOST_MS ? half : HOME_MOST_MS;
}

static void
bid_ask(struct core *core, struct lease *l, unsigned i, int64_t patience_ms)
{
	int64_t queue_ms = CALL_QUEUELESS;

	/* Redisson knows no queue, and who stood in ours would not be called when its lock ends. */
	if (i == l->home && l->resource->rule->interop != INTEROP_REDISSON)
		queue_ms = l->patient ? LEASE_PLACE_MS : 0;
	/* Before home says so: its answer may come too late, and then we have a place there. */
	l->queued |= queue_ms > 0;
	seat_ask(core, l, i, CALL_ACQUIRE, patience_ms, queue_ms);
}

/* What the first waiter wants; everybody comes after him. */
static void
bid_terms(struct core *core, struct lease *l)
{
	const struct waiter *first = TAILQ_FIRST(&l->resource->queue->waiters);

	if (l->permits != first->permits)
		slots_forget(core, l);
	slots_forget_offer(core, l);
	l->kind = first->kind;
	l->permits = (int16_t)first->permits;
	if (l->kind != KIND_PERMITS)
		return;
	/* Not all daemons should try for the same ones, nor look through all that are taken before they find
	 * some. */
	stake_of(l)->hint = core_jitter(core, 0, l->resource->limit - 1);
}

void
bid_begin(struct core *core, struct lease *l)
{
	const struct resource *r = l->resource;
	int64_t patience = bid_patience_ms(core, l);
	unsigned home = quorum_home(core, resource_name(r), r->link);
	struct traffic *t;

	assert(quorum_usable(core, r->link));
	if (l->state == LEASE_NONE)
		lease_clear(core, l);
	t = traffic_of(core, l);
	if (home != l->home)
		lease_leave_queue(core, l);
	l->knocking = core->settings.masters > 1 && (l->yielded || t->position > 1);
	l->yielded = false;
	lease_move(core, l, LEASE_ACQUIRING);
	seats_clear(core, l);
	bid_terms(core, l);
	l->home = home & LEASE_MASTERS;
	l->patient = queue_patient(r);
	l->again = false;
	t->called = false;
	l->wanted = false;
	t->contended = false;
	t->change_ms = 0;
	l->attempt = core_attempt(core);
	lease_round(core, l, terms_lease_ms(core, r->rule), tokens_first());
	timer_arm(&core->timers, &l->timer,
		core->now.ms + (l->knocking ? bid_home_patience_ms(core, l) : patience));
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (master_usable(&core->masters[i], r->link) && (i == home || !l->knocking))
			bid_ask(core, l, i, patience);
	}
}

/* Home does not keep us from asking the others. */
static void
bid_go_on(struct core *core, struct lease *l)
{
	int64_t patience = bid_patience_ms(core, l);

	l->knocking = false;
	timer_arm(&core->timers, &l->timer, core->now.ms + patience);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (master_usable(&core->masters[i], l->resource->link) && i != l->home)
			bid_ask(core, l, i, patience);
	}
}

/* Not now: look again when something may have changed, at the latest after ms. */
static void
bid_wait(struct core *core, struct lease *l, int64_t ms)
{
	int64_t third = l->resource->rule->lease_ms / 3;
	int64_t most = third < WAIT_MOST_MS ? third : WAIT_MOST_MS;

	if (l->resource->rule->interop == INTEROP_STRING && most > POLL_MS)
		most = POLL_MS;
	if (l->resource->rule->interop == INTEROP_REDISSON)
		resource_listen(core, l->resource);
	if (ms > most)
		ms = most;
	if (ms < 1)
		ms = 1;
	lease_move(core, l, LEASE_WAITING);
	timer_arm(&core->timers, &l->timer, core->now.ms + 1 + core_jitter(core, ms - ms / 4, ms));
	touched_add(core, l->resource);
}

void
bid_rest(struct core *core, struct lease *l)
{
	bool told = l->resource->rule->interop == INTEROP_REDISSON;

	assert(l->state == LEASE_NONE && l->rests);
	lease_clear(core, l);
	l->rests = true;
	bid_wait(core, l, told ? REST_MS / 6 : REST_MS);
}

/* A verdict: who waits for just one has it now. */
static void
bid_refused(struct core *core, struct lease *l, enum lease_trouble trouble, int64_t ms)
{
	l->refused = true;
	l->fresh = true;
	l->trouble = trouble;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (l->traffic->questions[i].trouble == trouble)
			l->trouble_at = i & LEASE_MASTERS;
	}
	bid_wait(core, l, ms);
}

/* What was granted, or may have been, is given up. Where home was about to call it our turn it stays that. */
static void
bid_missed(struct core *core, struct lease *l, enum lease_trouble trouble, int64_t ms)
{
	bool open = l->traffic->questions[l->home].asking && queue_patient(l->resource);

	undo_seats(core, l, open ? LEASE_PLACE_MS : 0);
	bid_refused(core, l, trouble, ms);
}

/* Granted by a memory before a change that we have seen meanwhile: to be asserted at the new one. Or other
 * slots were granted than elsewhere: to be asked for those. */
static bool
bid_is_patchy(const struct core *core, const struct lease *l)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (seat_is_odd(l, i) || (seat_is_ours(l, i) && l->traffic->questions[i].incarnation !=
									core->masters[i].incarnation))
			return true;
	}
	return false;
}

static void
bid_won(struct core *core, struct lease *l)
{
	bool known = l->kind != KIND_PERMITS || slots_won(core, l);
	struct traffic *t = l->traffic;

	l->valid_ms = seats_valid_ms(core, l);
	if (!known || l->valid_ms <= core->now.ms) {
		bid_missed(core, l, TROUBLE_SILENT, RETRY_MS);
		return;
	}
	lease_move(core, l, LEASE_HELD);
	traffic_no_foreign(l->traffic);
	l->trouble = TROUBLE_NONE;
	/* Home did not grant it, and so it still has our place. */
	if (l->queued && !seat_is_ours(l, l->home))
		lease_leave_queue(core, l);
	l->queued = false;
	t->split = 0;
	t->deferred = 0;
	t->doubted = false;
	l->refreshing = false;
	l->served = false;
	l->dry = false;
	l->wanted |= l->resource->rule->interop != INTEROP_NONE;
	l->told = l->asked;
	t->wanted_ms = core->now.ms;
	t->heard_ms = core->now.ms;
	t->streak = 0;
	l->token = 1;
	l->token_last = 0;
	l->block = 0;
	t->spare_first = 0;
	lease_take_tokens(core, l);
	l->refresh_ms = bid_is_patchy(core, l) ? core->now.ms : lease_refresh_at(l, t->sent_ms);
	lease_arm(core, l);
	emit_note(core, NOTE_LEASED, l->resource, NULL, t->spare_first, l->valid_ms - core->now.ms, NULL);
	touched_add(core, l->resource);
}

/* Refused by somebody; what home says of it counts. */
static void
bid_busy(struct lease *l, const struct vote *vote)
{
	size_t n = vote->holder.n < FOREIGN_MAX ? vote->holder.n : FOREIGN_MAX;
	struct traffic *t = l->traffic;

	t->contended = true;
	if (vote->master == l->home) {
		t->lasts = t->foreign != NULL && slice_equal(vote->holder, slice_of(t->foreign));
		traffic_no_foreign(l->traffic);
		l->queued = vote->position > 0;
		t->position = vote->position;
		/* Others are free than those that were asked for: no reason to wait. */
		if (vote->slots.n == 0)
			t->change_ms = vote->change_ms > 0 ? vote->change_ms : 1;
		/* One daemon has it: contention is over. Daemons before us in the queue contend as we do. */
		if (vote->slots.n == 0 && n > 0)
			t->split = 0;
	}
	if (n > 0 && t->foreign == NULL && (t->foreign = malloc(n + 1)) != NULL) {
		memcpy(t->foreign, vote->holder.p, n);
		t->foreign[n] = '\0';
	}
}

/*
 * Each of several daemons got some masters, and nobody enough; or somebody has enough without home: soon
 * again, but not all at the same time. Where home said that it is our turn it stays that, so that those who
 * came between do not put us behind all who wait; but unless nobody can have it now, not for ever: others may
 * be able to make something of the turn.
 */
static void
bid_split(struct core *core, struct lease *l, bool taken)
{
	struct traffic *t = l->traffic;
	int64_t ms = SPLIT_MS << t->split;
	bool ours =
		seat_is_ours(l, l->home) && queue_patient(l->resource) && (taken || t->split < SPLIT_MOST);

	if (ours) {
		l->queued = true;
		t->position = 1;
	}
	undo_seats(core, l, ours ? LEASE_PLACE_MS : 0);
	l->refused = taken || t->split == SPLIT_MOST;
	l->fresh = l->refused;
	l->trouble = TROUBLE_NONE;
	bid_wait(core, l, core_jitter(core, t->split == SPLIT_MOST ? ms / 2 : 1, ms));
	if (t->split < SPLIT_MOST)
		t->split++;
}

/*
 * Home has given it to another daemon, and the others to us. It is that one's turn, and now it can have the
 * rest: we come back in the time that this takes. If it goes on, or home names the same attempt again, home
 * remembers somebody who is gone.
 */
static bool
bid_defers(const struct lease *l)
{
	const struct traffic *t = l->traffic;

	return t->change_ms > 0 && (t->deferred == 0 || (t->deferred < DEFER_MOST && !t->lasts));
}

static void
bid_defer(struct core *core, struct lease *l)
{
	int64_t took_ms = core->now.ms - l->traffic->sent_ms + SPLIT_MS;

	undo_seats(core, l, 0);
	l->traffic->deferred++;
	l->refused = false;
	l->trouble = TROUBLE_NONE;
	bid_wait(core, l, core_jitter(core, took_ms, 2 * took_ms));
}

/* The trouble that most masters tell. What one of several tells is not the reason why nothing was granted. */
static enum lease_trouble
bid_trouble(const struct core *core, const struct lease *l)
{
	unsigned said[TROUBLE_LIMIT + 1] = {0};
	enum lease_trouble most = TROUBLE_NONE;

	for (unsigned i = 0; i < core->settings.masters; i++)
		said[l->traffic->questions[i].trouble]++;
	for (unsigned i = TROUBLE_NONE + 1; i <= TROUBLE_LIMIT; i++) {
		if (said[i] > 0 && (most == TROUBLE_NONE || said[i] >= said[most]))
			most = (enum lease_trouble)i;
	}
	return most;
}

/* Another kind of lock is there. Where permits are wanted it may be a lease that nobody uses any more, and
 * that its daemon only keeps for a while: it has been told, and gives it back. */
static void
bid_wrong(struct core *core, struct lease *l, enum lease_trouble trouble)
{
	struct traffic *t = l->traffic;

	if (trouble == TROUBLE_LIMIT || l->kind != KIND_PERMITS || t->doubted) {
		bid_missed(core, l, trouble, WAIT_MOST_MS);
		return;
	}
	undo_seats(core, l, 0);
	t->doubted = true;
	l->refused = false;
	l->trouble = TROUBLE_NONE;
	bid_wait(core, l, AGAIN_MS);
}

/* Masters in use that have not told a trouble: another round may be granted by these. */
static unsigned
bid_open(const struct core *core, const struct lease *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += master_usable(&core->masters[i], l->resource->link) &&
		     l->traffic->questions[i].trouble == TROUBLE_NONE;
	return n;
}

/* One verdict for the whole round. */
static void
bid_not_won(struct core *core, struct lease *l)
{
	bool taken = seats_holder(core, l) >= quorum_majority(core);
	struct traffic *t = l->traffic;
	bool contended = t->contended || (slots_are_offered(l) && bid_open(core, l) >= quorum_majority(core));
	enum lease_trouble trouble = bid_trouble(core, l);

	if (l->kind == KIND_PERMITS)
		slots_ask_offer(core, l);
	/* Meanwhile the head was called, whatever home had said before. */
	if (t->called && t->position > 1)
		t->position = 1;
	if (t->change_ms > 0) {
		bid_missed(core, l, TROUBLE_NONE, l->again ? 1 : t->change_ms);
	} else if (taken && seat_is_ours(l, l->home)) {
		bid_split(core, l, true);
	} else if (taken) {
		bid_missed(core, l, TROUBLE_NONE, RETRY_MS);
	} else if (trouble == TROUBLE_KIND || trouble == TROUBLE_LIMIT) {
		bid_wrong(core, l, trouble);
	} else if (contended) {
		bid_split(core, l, false);
	} else if (trouble != TROUBLE_NONE) {
		bid_missed(core, l, trouble, RETRY_MS);
	} else { /* nothing was done, no verdict */
		undo_seats(core, l, 0);
		l->refused = false;
		bid_wait(core, l, AGAIN_MS);
	}
}

/* Only the word of home is missing; or what we have got so far is kept from others who contend. */
static void
bid_hurry(struct core *core, struct lease *l)
{
	int64_t at = core->now.ms + bid_home_patience_ms(core, l);

	if (at < timer_at(&core->timers, &l->timer))
		timer_arm(&core->timers, &l->timer, at);
}

/* Won, lost, or open. Home is waited for: it may say that it is not our turn, and when that may be. */
static void
bid_count(struct core *core, struct lease *l, bool patient)
{
	const struct traffic *t = l->traffic;
	unsigned ours = seats_ours(core, l), asking = patient ? seats_asking(core, l) : 0;
	bool home_open = patient && t->questions[l->home].asking;
	/* A trouble at one master may be contention at the others, and then that is the verdict; but nobody
	 * should wait for it. */
	bool unclear = ours == 0 && asking > 0 && bid_trouble(core, l) != TROUBLE_NONE && t->change_ms == 0;
	bool won = ours >= quorum_majority(core);

	if (!won && (ours + asking >= quorum_majority(core) || unclear)) {
		if (ours > 0 && t->contended)
			bid_hurry(core, l);
		return;
	}
	if (home_open)
		bid_hurry(core, l);
	else if (won && bid_defers(l))
		bid_defer(core, l);
	else if (won)
		bid_won(core, l);
	else
		bid_not_won(core, l);
}

/* Of what cannot be had we keep no place at home: it would be called, and others would wait for it. */
static void
bid_hitch(struct core *core, struct lease *l, unsigned master, enum lease_trouble trouble)
{
	if (master == l->home && (trouble == TROUBLE_KIND || trouble == TROUBLE_LIMIT))
		lease_leave_queue(core, l);
	l->traffic->questions[master].trouble = trouble;
}

/* Our idea of the master's time was old: it has just been renewed, one more try is fair. */
static void
bid_late(struct core *core, struct lease *l, unsigned i)
{
	int64_t patience = bid_patience_ms(core, l);
	struct question *asked = &l->traffic->questions[i];

	if (asked->late || !master_usable(&core->masters[i], l->resource->link))
		return;
	asked->late = true;
	timer_arm(&core->timers, &l->timer, core->now.ms + patience);
	bid_ask(core, l, i, patience);
}

void
bid_vote(struct core *core, struct lease *l, const struct vote *vote)
{
	struct traffic *t = l->traffic;
	bool behind = t->position > 1;

	if (vote->slots.n > 0 && l->kind == KIND_PERMITS)
		slots_offered(core, l, vote->slots);
	switch (vote->outcome) {
	case OUTCOME_YES:
		l->wanted |= vote->position > 0;
		break;
	case OUTCOME_BUSY:
	case OUTCOME_NO:
		bid_busy(l, vote);
		/* Not our turn, whatever the others say. */
		if (vote->holder.n == 0 && vote->master == l->home) {
			bid_not_won(core, l);
			return;
		}
		break;
	case OUTCOME_LATE:
		bid_late(core, l, vote->master);
		break;
	case OUTCOME_WRONGKIND:
		bid_hitch(core, l, vote->master, TROUBLE_KIND);
		break;
	case OUTCOME_LIMIT:
		bid_hitch(core, l, vote->master, TROUBLE_LIMIT);
		t->limit_there = vote->limit;
		break;
	case OUTCOME_ERROR:
		bid_hitch(core, l, vote->master, TROUBLE_ERROR);
		break;
	case OUTCOME_UNKNOWN:
		bid_hitch(core, l, vote->master, TROUBLE_SILENT);
		break;
	default: /* FORGOTTEN, DEMOTED, UNSENT: nothing was done, no verdict */
		break;
	}
	/* What home knows of may be there alone. The head looks for that at the others, and who stands behind
	 * it does when nothing has changed since it looked last: the head may not be able to. */
	if (l->knocking && !t->questions[l->home].asking &&
		(t->change_ms == 0 || (behind && (t->position <= 1 || t->lasts))))
		bid_go_on(core, l);
	bid_count(core, l, true);
}

void
bid_look(struct core *core, struct lease *l)
{
	const struct resource *r = l->resource;

	if (l->state == LEASE_ACQUIRING) {
		l->again = true;
		return;
	}
	if (l->state != LEASE_WAITING || l->rests)
		return;
	if (r->queue->count > 0 && quorum_usable(core, r->link))
		bid_begin(core, l);
	else
		timer_arm(&core->timers, &l->timer, core->now.ms + WAIT_MOST_MS);
}

void
bid_called(struct core *core, struct lease *l, unsigned master)
{
	/* A place from when that master was home: it is not our turn, and somebody there waits for us. */
	if (core->settings.masters > 1 && master != l->home) {
		lease_leave_at(core, l, master);
		return;
	}
	if (l->traffic != NULL) {
		l->traffic->called = true;
		if (l->traffic->position > 1)
			l->traffic->position = 1;
	}
	bid_look(core, l);
}

/* Who has not answered is not waited for: the releases go down the same links, behind the acquires (rule 2).
 */
static void
bid_patience_over(struct core *core, struct lease *l)
{
	const struct traffic *t = l->traffic;
	/* While this daemon stood still, no master was silent: answers may be there, unread. */
	int64_t since_ms = t->sent_ms > core->awake_ms ? t->sent_ms : core->awake_ms;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (!t->questions[i].asking || core->now.ms < since_ms + bid_patience_ms(core, l))
			continue;
		master_suspect(core, &core->masters[i], l->resource->link);
		bid_hitch(core, l, i, TROUBLE_SILENT);
	}
	bid_count(core, l, false);
}

void
bid_step_back(struct core *core, struct lease *l)
{
	if (l->state != LEASE_WAITING)
		return;
	/* What is there of another kind, or with another limit, may be gone by then: it is asked for anew. */
	if (l->trouble == TROUBLE_KIND || l->trouble == TROUBLE_LIMIT)
		lease_leave(core, l);
	else if (core->settings.masters > 1)
		lease_leave_queue(core, l);
}

void
bid_timer(struct core *core, struct lease *l)
{
	l->rests = false;
	if (l->state == LEASE_ACQUIRING && l->knocking)
		bid_go_on(core, l);
	else if (l->state == LEASE_ACQUIRING)
		bid_patience_over(core, l);
	else
		bid_look(core, l);
}
