/*
 * acquire: see acquire.h. core.c brings answers and timers; share.c and semaphore.c begin a round. It never
 * keeps a minority: votes of a round that was not won are released in the same step.
 */
#include "daemon/core/leasing/acquire.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/tokens.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/majority.h"
#include "proto/name.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MOST_MS 1000 /* a waiting lease asks again after this, in case all wake-ups are lost */
#define RETRY_MS     200  /* after an error of the master */
#define AGAIN_MS     40   /* after a call that did not leave, or found no scripts */
#define LATER_MS     160  /* ... of a daemon that may have to release what it keeps, and is slow */
#define POLL_MS      40   /* for a foreign lock whose end is not announced */
#define PAUSE_MS                                                                                             \
	30 /* after the lease was released for a foreign client, which has no position in our queue */
#define SPLIT_MS             4 /* after a round without a winner: first at most so long, then twice as long, ... */
#define QUEUE_MASTER_MOST_MS 500 /* for the answer of the queue master alone */

/* If an answer took longer than this, little of a lease of so many ms would be left. */
static int64_t
patience_ms(const struct core *core, int64_t lease_ms)
{
	int64_t third = lease_ms / 3, patience = master_patience_ms(core);

	return third < patience ? third : patience;
}

static int64_t
acquire_patience_ms(const struct core *core, const struct lease *l)
{
	return patience_ms(core, terms_lease_ms(core, l->resource->rule));
}

/* The answer of the queue master is advice: it is waited for, but not as long as a vote. */
static int64_t
acquire_queue_master_patience_ms(const struct core *core, const struct lease *l)
{
	int64_t half = acquire_patience_ms(core, l) / 2;

	return half < QUEUE_MASTER_MOST_MS ? half : QUEUE_MASTER_MOST_MS;
}

static void
acquire_ask(struct core *core, struct lease *l, unsigned i, int64_t patience_ms)
{
	int64_t queue_ms = CALL_QUEUELESS;

	assert(l->state == LEASE_ACQUIRING);
	/* Redisson does not know our queue: a daemon that waits there would not be called when a Redisson
	 * lock ends. */
	if (i == l->queue_master && l->resource->rule->interop != INTEROP_REDISSON)
		queue_ms = round_acquiring(l)->patient ? LEASE_QUEUE_MS : 0;
	/* Set before the answer: it may come too late, and then we have a position there. */
	if (queue_ms > 0 && !lease_queued(l))
		round_acquiring(l)->position = POSITION_ASKED;
	lease_vote_ask(core, l, i, CALL_ACQUIRE, patience_ms, queue_ms);
}

/* Asks for what the first waiter wants; all others come after it. */
static void
acquire_terms(struct core *core, struct lease *l)
{
	const struct demand *first = l->resource->demand;

	/* A lease is asked for only if somebody waits for it. */
	assert(first->count > 0);
	assert((first->kind == KIND_PERMITS) == (l->resource->limit > 0));
	assert(first->permits >= 0 && first->permits <= l->resource->limit);
	if (l->permits != first->permits)
		slots_forget(core, l);
	slots_forget_offer(core, l);
	l->kind = first->kind;
	l->permits = first->permits;
	if (l->kind != KIND_PERMITS)
		return;
	/* Each daemon begins at another number: daemons should not all try for the same permits, nor search
	 * all taken ones before they find free ones. */
	permit_lease_of(l)->hint = core_jitter(core, 0, l->resource->limit - 1);
}

void
acquire_begin(struct core *core, struct lease *l)
{
	const struct resource *r = l->resource;
	int64_t lease_ms = terms_lease_ms(core, r->rule), patience = patience_ms(core, lease_ms);
	unsigned queue_master = quorum_queue_master(core, resource_name(r), r->link);
	bool yielded = l->state == LEASE_NONE && lease_none(l)->pause == PAUSE_YIELDED;
	struct lease_acquiring acquiring = {.refused = lease_refused(l)};
	unsigned asked = 0;

	assert(l->state == LEASE_NONE || lease_waiting(l)->why != WAIT_FOREIGN);
	if (queue_master != l->queue_master)
		lease_leave_queue(core, l);
	if (core->settings.masters > 1 && (yielded || round_position(l) > 1))
		acquiring.scope = ACQUIRE_QUEUE_MASTER;
	(void)round_of(core, l);
	lease_move(core, l, LEASE_ACQUIRING, &(union lease_data){.acquiring = acquiring});
	lease_votes_clear(core, l);
	acquire_terms(core, l);
	l->queue_master = queue_master & LEASE_MASTER_BITS;
	round_acquiring(l)->patient = resource_patient(r);
	l->attempt = core_attempt(core);
	lease_round(core, l, lease_ms, tokens_first());
	timer_arm(&core->timers, &l->timer,
		core->now.ms + (acquiring.scope == ACQUIRE_ALL ? patience
							       : acquire_queue_master_patience_ms(core, l)));
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (!master_usable(&core->masters[i], r->link) ||
			(i != queue_master && acquiring.scope != ACQUIRE_ALL))
			continue;
		acquire_ask(core, l, i, patience);
		asked++;
	}
	/* A majority can be used. */
	assert(asked >= (acquiring.scope == ACQUIRE_ALL ? quorum_majority(core) : 1));
}

/* The queue master does not keep us from asking the others. */
static void
acquire_go_on(struct core *core, struct lease *l)
{
	int64_t patience = acquire_patience_ms(core, l);

	/* With one master, that one is the queue master, and there are no others. */
	assert(core->settings.masters > 1 && lease_acquiring(l)->scope == ACQUIRE_QUEUE_MASTER);
	lease_acquiring(l)->scope = ACQUIRE_ALL;
	timer_arm(&core->timers, &l->timer, core->now.ms + patience);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (master_usable(&core->masters[i], l->resource->link) && i != l->queue_master)
			acquire_ask(core, l, i, patience);
	}
}

/* Not now: asks again when something may have changed, at the latest after ms. */
static void
acquire_wait(struct core *core, struct lease *l, enum lease_wait why, int64_t ms)
{
	int64_t third = l->resource->rule->lease_ms / 3;
	int64_t most = third < WAIT_MOST_MS ? third : WAIT_MOST_MS;
	enum interop interop = l->resource->rule->interop;

	assert(l->state == (why == WAIT_FOREIGN ? LEASE_NONE : LEASE_ACQUIRING) && why != WAIT_COUNTED);
	if (interop == INTEROP_REDISSON)
		resource_listen(core, l->resource);
	else if (interop != INTEROP_NONE && most > POLL_MS)
		most = POLL_MS;
	if (ms > most)
		ms = most;
	if (ms < 1)
		ms = 1;
	lease_move(core, l, LEASE_WAITING, &(union lease_data){.waiting = {why}});
	timer_arm(&core->timers, &l->timer, core->now.ms + 1 + core_jitter(core, ms - ms / 4, ms));
	dirty_add(&core->dirty, &l->resource->item);
}

void
acquire_pause(struct core *core, struct lease *l)
{
	bool announced = l->resource->rule->interop == INTEROP_REDISSON;

	assert(lease_none(l)->pause == PAUSE_FOREIGN);
	acquire_wait(core, l, WAIT_FOREIGN, announced ? PAUSE_MS / 6 : PAUSE_MS);
}

/* The round ended with a refusal. It is the final answer for a WAIT 0 waiter. */
static void
acquire_refused(struct core *core, struct lease *l, enum lease_error error, int64_t ms)
{
	struct round_acquiring *rounds = round_acquiring(l);

	assert(l->state == LEASE_ACQUIRING && error <= LEASE_ERROR_LIMIT);
	rounds->error = error;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (l->round->questions[i].error == error)
			rounds->error_at = (uint8_t)i;
	}
	acquire_wait(core, l, WAIT_REFUSED, ms);
}

/* Gives up what was granted or may have been. If the queue master may have called it our turn, it stays our
 * turn. */
static void
acquire_missed(struct core *core, struct lease *l, enum lease_error error, int64_t ms)
{
	bool open = l->round->questions[l->queue_master].asking && resource_patient(l->resource);

	assert(l->state == LEASE_ACQUIRING && ms > 0);
	release_lease(core, l, open ? LEASE_QUEUE_MS : 0);
	acquire_refused(core, l, error, ms);
}

/* Whether a master has to be asked again at once: a memory that has changed since granted it, and the new one
 * has to know it; or other permits were granted there, and it has to be asked for the same as elsewhere. */
static bool
acquire_is_patchy(const struct core *core, const struct lease *l)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (lease_vote_is_odd(l, i) ||
			(lease_vote_is_ours(l, i) &&
				l->round->questions[i].incarnation != core->masters[i].incarnation))
			return true;
	}
	return false;
}

static void
acquire_won(struct core *core, struct lease *l)
{
	bool known = l->kind != KIND_PERMITS || slots_won(core, l);
	bool foreign = l->resource->rule->interop != INTEROP_NONE;
	struct round *t = l->round;
	struct lease_held held = {
		.valid_until_ms = lease_votes_valid_until_ms(core, l), .token = 1, .confirmed = t->asked};

	if (!known || held.valid_until_ms <= core->now.ms) {
		acquire_missed(core, l, LEASE_ERROR_SILENT, RETRY_MS);
		return;
	}
	assert(lease_votes_ours(core, l) >= quorum_majority(core));
	held.wanted = foreign || lease_acquiring(l)->wanted;
	held.refresh_at_ms = acquire_is_patchy(core, l) ? core->now.ms : lease_refresh_at(l, t->sent_ms);
	/* The queue master did not grant it, so it still has our position. */
	if (!lease_vote_is_ours(l, l->queue_master))
		lease_leave_queue(core, l);
	round_no_foreign(l);
	lease_move(core, l, LEASE_HELD, &(union lease_data){.held = held});
	*round_held(l) = (struct round_held){.wanted_since_ms = core->now.ms, .contended_ms = core->now.ms};
	lease_take_tokens(core, l);
	lease_arm(core, l);
	lease_note(
		core, NOTE_LEASED, l, round_held(l)->spare_first, held.valid_until_ms - core->now.ms, NULL);
	dirty_add(&core->dirty, &l->resource->item);
}

/* A master refused; what the queue master says about it counts. */
static void
acquire_busy(struct lease *l, const struct vote *vote)
{
	size_t n = vote->holder.n < FOREIGN_MAX ? vote->holder.n : FOREIGN_MAX;
	struct lease_acquiring *acquiring = lease_acquiring(l);
	struct round_acquiring *rounds = round_acquiring(l);

	acquiring->contended = true;
	if (vote->master == l->queue_master) {
		acquiring->lasts =
			rounds->foreign != NULL && slice_equal(vote->holder, slice_of(rounds->foreign));
		round_no_foreign(l);
		rounds->position = vote->position > 0 ? vote->position : 0;
		/* Permits are free, though not those that were asked for: no reason to wait. */
		if (vote->slots.n == 0)
			acquiring->change_ms = vote->change_ms > 0 ? vote->change_ms : 1;
		/* One daemon has the lease: contention is over. Daemons before us in the queue still contend
		 * as we do. */
		if (vote->slots.n == 0 && n > 0)
			rounds->split = 0;
	}
	if (n > 0 && rounds->foreign == NULL && (rounds->foreign = malloc(n + 1)) != NULL) {
		memcpy(rounds->foreign, vote->holder.p, n);
		rounds->foreign[n] = '\0';
	}
}

/*
 * Each of several daemons got some masters, and none got a majority; or another daemon has a majority without
 * the queue master. The next round comes soon, but not at the same time at all daemons. If the queue master
 * said that it is our turn, it stays our turn: daemons that came meanwhile do not put us behind all waiting
 * ones. This ends after SPLIT_MOST rounds unless the lease is taken: others may be able to use the turn.
 */
static void
acquire_split(struct core *core, struct lease *l, bool taken)
{
	struct round_acquiring *rounds = round_acquiring(l);
	int64_t ms = SPLIT_MS << rounds->split;
	bool refused = taken || rounds->split == SPLIT_MOST;
	bool ours = lease_vote_is_ours(l, l->queue_master) && resource_patient(l->resource) &&
		    (taken || rounds->split < SPLIT_MOST);

	if (ours)
		rounds->position = 1;
	assert(rounds->split <= SPLIT_MOST);
	release_lease(core, l, ours ? LEASE_QUEUE_MS : 0);
	rounds->error = LEASE_ERROR_NONE;
	acquire_wait(core, l, refused ? WAIT_REFUSED : WAIT_OPEN,
		core_jitter(core, rounds->split == SPLIT_MOST ? ms / 2 : 1, ms));
	if (rounds->split < SPLIT_MOST)
		rounds->split++;
}

/*
 * The queue master has granted the lease to another daemon, and the other masters to us. It is that daemon's
 * turn, and once we release our votes it can have them. So we come back after the time that this takes. If
 * this goes on, or the queue master names the same attempt again, that daemon is gone and the queue master
 * still remembers it.
 */
static bool
acquire_defers(const struct lease *l)
{
	const struct lease_acquiring *acquiring = lease_acquiring(l);
	const struct round_acquiring *rounds = round_acquiring(l);

	return acquiring->change_ms > 0 &&
	       (rounds->deferred == 0 || (rounds->deferred < DEFER_MOST && !acquiring->lasts));
}

static void
acquire_defer(struct core *core, struct lease *l)
{
	int64_t took_ms = core->now.ms - l->round->sent_ms + SPLIT_MS;

	assert(took_ms >= SPLIT_MS && round_acquiring(l)->deferred < DEFER_MOST);
	release_lease(core, l, 0);
	round_acquiring(l)->deferred++;
	round_acquiring(l)->error = LEASE_ERROR_NONE;
	acquire_wait(core, l, WAIT_OPEN, core_jitter(core, took_ms, 2 * took_ms));
}

/* The error that most masters answered. An error that only one of several answered is not why nothing was
 * granted. */
static enum lease_error
acquire_error(const struct core *core, const struct lease *l)
{
	unsigned said[LEASE_ERROR_LIMIT + 1] = {0};
	enum lease_error most = LEASE_ERROR_NONE;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		assert(l->round->questions[i].error <= LEASE_ERROR_LIMIT);
		said[l->round->questions[i].error]++;
	}
	for (unsigned i = LEASE_ERROR_NONE + 1; i <= LEASE_ERROR_LIMIT; i++) {
		if (said[i] > 0 && (most == LEASE_ERROR_NONE || said[i] >= said[most]))
			most = (enum lease_error)i;
	}
	return most;
}

/* A lock of another kind or LIMIT is there. It may be an unused lease that its daemon keeps for a while: that
 * daemon has been called, and releases it. */
static void
acquire_wrong(struct core *core, struct lease *l, enum lease_error error)
{
	struct round_acquiring *rounds = round_acquiring(l);

	assert(error == LEASE_ERROR_KIND || error == LEASE_ERROR_LIMIT);
	if (rounds->doubts == DOUBTS_MOST) {
		acquire_missed(core, l, error, WAIT_MOST_MS);
		return;
	}
	release_lease(core, l, 0);
	rounds->error = LEASE_ERROR_NONE;
	acquire_wait(core, l, WAIT_OPEN, rounds->doubts++ == 0 ? AGAIN_MS : LATER_MS);
}

/* How many masters in use have answered no error: these may grant another round. */
static unsigned
acquire_open(const struct core *core, const struct lease *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += master_usable(&core->masters[i], l->resource->link) &&
		     l->round->questions[i].error == LEASE_ERROR_NONE;
	return n;
}

/* The whole round counts as one refusal. */
static void
acquire_not_won(struct core *core, struct lease *l)
{
	const struct lease_acquiring *acquiring = lease_acquiring(l);
	bool taken = lease_votes_holder(core, l) >= quorum_majority(core);
	struct round_acquiring *rounds = round_acquiring(l);
	bool contended = acquiring->contended ||
			 (slots_are_offered(l) && acquire_open(core, l) >= quorum_majority(core));
	enum lease_error error = acquire_error(core, l);

	/* What was not won is released here, and asked for anew. */
	assert(l->state == LEASE_ACQUIRING && l->grants == NULL);
	if (l->kind == KIND_PERMITS)
		slots_ask_offer(core, l);
	/* The head of the queue was called meanwhile, whatever the queue master had said before. */
	if (acquiring->hint == HINT_CALL && rounds->position > 1)
		rounds->position = 1;
	if (acquiring->change_ms > 0) {
		acquire_missed(
			core, l, LEASE_ERROR_NONE, acquiring->hint == HINT_NONE ? acquiring->change_ms : 1);
	} else if (taken && lease_vote_is_ours(l, l->queue_master)) {
		acquire_split(core, l, true);
	} else if (taken) {
		acquire_missed(core, l, LEASE_ERROR_NONE, RETRY_MS);
	} else if (error == LEASE_ERROR_KIND || error == LEASE_ERROR_LIMIT) {
		acquire_wrong(core, l, error);
	} else if (contended) {
		acquire_split(core, l, false);
	} else if (error != LEASE_ERROR_NONE) {
		acquire_missed(core, l, error, RETRY_MS);
	} else { /* nothing was done, and nothing was refused */
		release_lease(core, l, 0);
		acquire_wait(core, l, WAIT_OPEN, AGAIN_MS);
	}
}

/* Only the answer of the queue master is missing; or the votes that we have got keep other contenders
 * waiting. */
static void
acquire_hurry(struct core *core, struct lease *l)
{
	int64_t at = core->now.ms + acquire_queue_master_patience_ms(core, l);

	if (at < timer_at(&core->timers, &l->timer))
		timer_arm(&core->timers, &l->timer, at);
}

/* Counts: won, not won, or still open. The queue master is waited for: it may say that it is not our turn,
 * and when something can change. */
static void
acquire_count(struct core *core, struct lease *l, bool patient)
{
	const struct lease_acquiring *acquiring = lease_acquiring(l);
	unsigned ours = lease_votes_ours(core, l), asking = patient ? lease_votes_asking(core, l) : 0;
	bool queue_master_open = patient && l->round->questions[l->queue_master].asking;
	/* An error at one master may be contention at the others, and then contention is the refusal; but no
	 * waiter should wait for it. */
	bool unclear = ours == 0 && asking > 0 && acquire_error(core, l) != LEASE_ERROR_NONE &&
		       acquiring->change_ms == 0;
	bool won = ours >= quorum_majority(core);

	if (!won && (ours + asking >= quorum_majority(core) || unclear)) {
		/* What is still open waits for an answer, and so ends. */
		assert(asking > 0);
		if (ours > 0 && acquiring->contended)
			acquire_hurry(core, l);
		return;
	}
	if (queue_master_open)
		acquire_hurry(core, l);
	else if (won && acquire_defers(l))
		acquire_defer(core, l);
	else if (won)
		acquire_won(core, l);
	else
		acquire_not_won(core, l);
}

/* If the lease cannot be had, we keep no position at the queue master: it would be called, and others would
 * wait for it. */
static void
acquire_note_error(struct core *core, struct lease *l, unsigned master, enum lease_error error)
{
	assert(l->state == LEASE_ACQUIRING && error != LEASE_ERROR_NONE);
	if (master == l->queue_master && (error == LEASE_ERROR_KIND || error == LEASE_ERROR_LIMIT))
		lease_leave_queue(core, l);
	l->round->questions[master].error = error;
}

/* We did not know the master's time well enough. This answer has it, so the question is sent again. */
static void
acquire_late(struct core *core, struct lease *l, unsigned i)
{
	int64_t patience = acquire_patience_ms(core, l);
	struct question *asked = &l->round->questions[i];

	/* It was answered. */
	assert(!asked->asking);
	if (asked->late || !master_usable(&core->masters[i], l->resource->link))
		return;
	asked->late = true;
	timer_arm(&core->timers, &l->timer, core->now.ms + patience);
	acquire_ask(core, l, i, patience);
}

void
acquire_vote(struct core *core, struct lease *l, const struct vote *vote)
{
	struct lease_acquiring *acquiring = lease_acquiring(l);
	struct round_acquiring *rounds = round_acquiring(l);
	bool behind = rounds->position > 1;

	assert(vote->op == CALL_ACQUIRE);
	if (vote->slots.n > 0 && l->kind == KIND_PERMITS)
		slots_offered(core, l, vote->slots);
	switch (vote->outcome) {
	case OUTCOME_YES:
		acquiring->wanted |= vote->position > 0;
		break;
	case OUTCOME_BUSY:
	case OUTCOME_NO:
		acquire_busy(l, vote);
		/* Not our turn, whatever the other masters say. */
		if (vote->holder.n == 0 && vote->master == l->queue_master) {
			acquire_not_won(core, l);
			return;
		}
		break;
	case OUTCOME_LATE:
		acquire_late(core, l, vote->master);
		break;
	case OUTCOME_WRONGKIND:
		acquire_note_error(core, l, vote->master, LEASE_ERROR_KIND);
		break;
	case OUTCOME_LIMIT:
		acquire_note_error(core, l, vote->master, LEASE_ERROR_LIMIT);
		rounds->limit_there = vote->limit;
		break;
	case OUTCOME_ERROR:
		acquire_note_error(core, l, vote->master, LEASE_ERROR_ERROR);
		break;
	case OUTCOME_UNKNOWN:
		acquire_note_error(
			core, l, vote->master, vote->spoken ? LEASE_ERROR_ERROR : LEASE_ERROR_SILENT);
		break;
	default: /* FORGOTTEN, DEMOTED, UNSENT: nothing was done, no refusal */
		break;
	}
	/* The lease that the queue master knows of may exist there alone. The head of the queue asks the
	 * other masters to find out. A daemon behind the head does so if nothing has changed since it asked
	 * last: the head may not be able to. */
	if (acquiring->scope == ACQUIRE_QUEUE_MASTER && !l->round->questions[l->queue_master].asking &&
		(acquiring->change_ms == 0 || (behind && (rounds->position <= 1 || acquiring->lasts))))
		acquire_go_on(core, l);
	acquire_count(core, l, true);
}

void
acquire_again(struct core *core, struct lease *l)
{
	const struct resource *r = l->resource;

	if (l->state == LEASE_ACQUIRING && lease_acquiring(l)->hint == HINT_NONE)
		lease_acquiring(l)->hint = HINT_CHANGE;
	if (l->state != LEASE_WAITING || lease_waiting(l)->why == WAIT_FOREIGN)
		return;
	if (r->demand->count > 0 && majority_usable(core, r->link))
		acquire_begin(core, l);
	else
		timer_arm(&core->timers, &l->timer, core->now.ms + WAIT_MOST_MS);
}

void
acquire_called(struct core *core, struct lease *l, unsigned master)
{
	assert(master < core->settings.masters);
	/* A position from when that master was the queue master: it is not our turn, and daemons there wait
	 * for us. */
	if (core->settings.masters > 1 && master != l->queue_master) {
		lease_leave_queue_at(core, l, master);
		return;
	}
	if (l->state == LEASE_ACQUIRING)
		lease_acquiring(l)->hint = HINT_CALL;
	if (round_position(l) > 1)
		round_acquiring(l)->position = 1;
	acquire_again(core, l);
}

/* Masters that have not answered are no longer waited for: the releases go down the same links, behind the
 * acquires (R2). */
static void
acquire_patience_over(struct core *core, struct lease *l)
{
	const struct round *t = l->round;
	/* While this daemon stood still, the masters were not silent: answers may have come, unread. */
	int64_t since_ms = t->sent_ms > core->awake_since_ms ? t->sent_ms : core->awake_since_ms;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (!t->questions[i].asking || core->now.ms < since_ms + acquire_patience_ms(core, l))
			continue;
		master_suspect(core, &core->masters[i], l->resource->link);
		acquire_note_error(core, l, i, LEASE_ERROR_SILENT);
	}
	acquire_count(core, l, false);
	assert(l->state != LEASE_ACQUIRING);
}

void
acquire_step_back(struct core *core, struct lease *l)
{
	if (l->state != LEASE_WAITING)
		return;
	/* The other kind or limit may be gone by the next round, so nothing of it is remembered. */
	if (round_error(l) == LEASE_ERROR_KIND || round_error(l) == LEASE_ERROR_LIMIT)
		lease_stop_waiting(core, l);
	else if (core->settings.masters > 1)
		lease_leave_queue(core, l);
}

void
acquire_timer(struct core *core, struct lease *l)
{
	assert(!timer_is_armed(&l->timer));
	if (l->state == LEASE_ACQUIRING) {
		if (lease_acquiring(l)->scope == ACQUIRE_QUEUE_MASTER)
			acquire_go_on(core, l);
		else
			acquire_patience_over(core, l);
		return;
	}
	/* The foreign client has had its time. */
	if (lease_waiting(l)->why == WAIT_FOREIGN)
		lease_waiting(l)->why = WAIT_OPEN;
	acquire_again(core, l);
}
