/*
 * renew: see renew.h. acquire.c brings a lease to HELD, this file keeps it there; core.c brings it answers
 * and timers.
 */
#include "daemon/core/leasing/renew.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/ration.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/leasing/retain.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/tokens.h"
#include "daemon/core/masters/usable.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOON_MS        200 /* at most until a failed refresh is tried again */
#define TOKEN_LEAST    8   /* with fewer tokens left the next block is fetched, however small this one was */
#define RENEW_TOGETHER 500 /* renewals of short names that begin in one millisecond: about 1.5 ms of work */

/* How soon a failed refresh is tried again: often, if the lease is short. */
static int64_t
renew_soon_ms(const struct lease *l)
{
	int64_t soon = l->resource->rule->lease_ms / 20 + 1;

	assert(soon > 0);
	return soon < SOON_MS ? soon : SOON_MS;
}

/* As above; but less often while answers are to come, or while no majority of the votes can prolong the
 * lease: a master that comes back is reported (renew_catch_up()). Otherwise all leases together would keep
 * daemon and masters busy for nothing. */
static int64_t
renew_again_ms(const struct core *core, const struct lease *l)
{
	int64_t soon = renew_soon_ms(l), patient = (lease_held(l)->valid_until_ms - core->now.ms) / 8;
	bool waits = patient > soon && (lease_votes_asking(core, l) > 0 || !lease_votes_can_prolong(core, l));

	return waits ? patient : soon;
}

static bool
renew_short_of_tokens(const struct lease *l)
{
	const struct lease_held *held = lease_held(l);
	int64_t left = held->token_last - held->token + 1;

	assert(left >= 0 && held->block >= 0);
	return round_spare(l) == 0 && (left < TOKEN_LEAST || left < held->block / 2);
}

void
renew_tokens(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);
	int64_t soon_ms;

	if (!renew_short_of_tokens(l))
		return;
	soon_ms = core->now.ms + renew_soon_ms(l);
	if (held->renewal != RENEWAL_DRY) {
		renew_begin(core, l);
	} else if (held->token > held->token_last && held->refresh_at_ms > soon_ms) {
		/* The last round brought none, and now none is left. */
		held->refresh_at_ms = soon_ms;
		lease_arm(core, l);
	}
}

/* Until when a vote may be valid: as its last answer says, or as one that is under way may say. */
static int64_t
renew_vote_until_ms(const struct lease *l, unsigned i)
{
	const struct question *asked = l->round != NULL ? &l->round->questions[i] : NULL;
	int64_t valid_until_ms = lease_vote_of(l, i)->valid_until_ms;

	assert(lease_held(l)->renewal != RENEWAL_ASKING);
	return asked != NULL && asked->asking && asked->yes_until_ms > valid_until_ms ? asked->yes_until_ms
										      : valid_until_ms;
}

/* What the rule says now, but no less than what the lease is valid for already, which may have been
 * announced to its holders; and no less than any vote is, or will be by an answer that is under way: its key
 * must not end sooner, as another vote may later make a majority with it. */
static int64_t
renew_next_term_ms(const struct core *core, const struct lease *l)
{
	int64_t ruled = terms_lease_ms(core, l->resource->rule);
	int64_t promised, left = lease_announced_until_ms(l) - core->now.ms;

	/* A lease that is over is lost before anything is asked for it (R3). */
	assert(left > 0);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		int64_t vote_ms = renew_vote_until_ms(l, i) - core->now.ms;

		if (vote_ms > left)
			left = vote_ms;
	}
	promised = left + drift_ms(left);
	return promised > ruled ? promised : ruled;
}

/* Asks for the votes of a held lease: all, or those that this round has not renewed yet. */
static void
renew_ask(struct core *core, struct lease *l, bool all)
{
	int64_t promised_ms = lease_valid_from(l, l->round->sent_ms);
	enum call_op op;

	assert(l->round->sent_ms <= core->now.ms);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if ((all || lease_vote_of(l, i)->valid_until_ms < promised_ms) &&
			lease_vote_question(core, l, i, &op))
			lease_vote_ask(
				core, l, i, op, lease_held(l)->valid_until_ms - core->now.ms, CALL_QUEUELESS);
	}
}

void
renew_begin(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);

	if (held->renewal == RENEWAL_ASKING)
		return;
	lease_round(core, l, renew_next_term_ms(core, l), renew_short_of_tokens(l) ? tokens_block(core) : 0);
	renew_ask(core, l, true);
	held->renewal = lease_votes_asking(core, l) > 0 ? RENEWAL_ASKING : RENEWAL_DONE;
	held->refresh_at_ms = held->renewal == RENEWAL_ASKING ? held->valid_until_ms
							      : core->now.ms + renew_again_ms(core, l);
	/* Otherwise the timer would come back in this very turn. */
	assert(held->refresh_at_ms > core->now.ms);
	lease_arm(core, l);
}

/* A round is under way and lacks some votes: asks for them again where that is possible by now. */
static void
renew_go_on(struct core *core, struct lease *l)
{
	assert(lease_held(l)->renewal == RENEWAL_ASKING);
	renew_ask(core, l, false);
	lease_held(l)->refresh_at_ms = core->now.ms + renew_again_ms(core, l);
	lease_arm(core, l);
}

void
renew_reclaim(struct core *core, struct lease *l, unsigned master)
{
	struct lease_held *held = lease_held(l);
	enum call_op op;

	assert(master < core->settings.masters);
	held->noted &= (uint8_t) ~(1U << master);
	/* A single master decides about the lease, one of several about its vote only. */
	if (core->settings.masters == 1)
		renew_begin(core, l);
	else if (lease_vote_question(core, l, master, &op))
		lease_vote_ask(core, l, master, op, held->valid_until_ms - core->now.ms, CALL_QUEUELESS);
}

void
renew_now(struct core *core, struct lease *l)
{
	/* If a round has just failed, the timer tries again; sooner would not help. */
	if (lease_held(l)->refresh_at_ms > core->now.ms + renew_again_ms(core, l))
		renew_begin(core, l);
}

void
renew_shared(struct core *core, struct lease *l)
{
	/* The caller sees to it that readers alone hold it: a writer would not be alone any more. */
	assert(l->kind == KIND_EXCLUSIVE && l->grants != NULL);
	l->kind = KIND_SHARED;
	lease_held(l)->wanted = false;
	lease_changed(core, l);
	renew_begin(core, l);
}

/* Whether a master can be asked now that has not adopted the lease. */
static bool
renew_can_adopt(const struct core *core, const struct lease *l)
{
	enum call_op op;
	bool any = false;

	for (unsigned i = 0; i < core->settings.masters && lease_previous(l) != NULL; i++)
		any |= lease_vote_is_unadopted(l, i) && lease_vote_question(core, l, i, &op);
	return any;
}

void
renew_catch_up(struct core *core, struct lease *l)
{
	const struct lease_held *held = lease_held(l);

	/* A recovered lease is adopted at once: meanwhile other daemons tell the previous owner that they
	 * wait, and the name has no tokens for the next hold. */
	if (held->valid_until_ms - core->now.ms >= terms_lease_ms(core, l->resource->rule) / 3 * 2 &&
		!renew_can_adopt(core, l))
		return;
	if (held->renewal == RENEWAL_ASKING)
		renew_go_on(core, l);
	else
		renew_begin(core, l);
}

/* After each answer: takes what the round has brought, and decides when to ask again. */
static void
renew_settle_round(struct core *core, struct lease *l, bool yes)
{
	int64_t valid_until_ms = lease_votes_valid_until_ms(core, l), soon = renew_again_ms(core, l);
	struct lease_held *held = lease_held(l);
	const struct round *t = l->round;
	bool asking = false;

	assert(lease_votes_ours(core, l) > 0);
	if (valid_until_ms > held->valid_until_ms)
		held->valid_until_ms = valid_until_ms;
	assert(held->valid_until_ms > core->now.ms);
	if (held->renewal != RENEWAL_ASKING)
		return;
	if (lease_votes_until(core, l, lease_valid_from(l, t->sent_ms)) >= quorum_majority(core)) {
		held->confirmed = t->asked;
		held->refresh_at_ms =
			held->confirmed == l->kind ? lease_refresh_at(l, t->sent_ms) : core->now.ms;
	} else {
		asking = lease_votes_asking(core, l) > 0;
		if (!yes || !asking)
			held->refresh_at_ms = core->now.ms + core_jitter(core, soon / 2, soon);
		/* A master that was asked may stay silent, while another one is back. */
		else if (held->refresh_at_ms > core->now.ms + soon)
			held->refresh_at_ms = core->now.ms + soon;
	}
	if (asking)
		return;
	held->renewal = RENEWAL_DONE;
	if (t->asked_block == 0 || !renew_short_of_tokens(l))
		return;
	/* No tokens came: a guarded master has none, a full one has no room for the counter, or several
	 * disagree. They are asked again after a while. */
	held->renewal = RENEWAL_DRY;
	if (held->dry_rounds < UINT8_MAX)
		held->dry_rounds++;
	if (held->token > held->token_last && held->refresh_at_ms > core->now.ms + soon)
		held->refresh_at_ms = core->now.ms + soon;
}

/*
 * Another daemon has a majority, or no vote is left. As long as some votes are ours, they keep others from a
 * majority, and the announced deadline holds: the missing ones are acquired again.
 */
static bool
renew_hopeless(const struct core *core, const struct lease *l)
{
	return lease_votes_ours(core, l) == 0 || lease_votes_holder(core, l) >= quorum_majority(core);
}

/* The lease is reclaimed at every renewal while the master is guarded: noted once. */
static void
renew_note_reclaimed(struct core *core, struct lease *l, const struct vote *vote)
{
	uint8_t bit = (uint8_t)(1U << vote->master);
	struct lease_held *held = lease_held(l);

	assert(vote->outcome == OUTCOME_YES && vote->master < core->settings.masters);
	if (vote->op != CALL_RECLAIM) {
		held->noted &= (uint8_t)~bit;
		return;
	}
	if ((held->noted & bit) == 0)
		lease_note(core, NOTE_RECLAIMED, l, held->token,
			l->round->questions[vote->master].yes_until_ms - core->now.ms, NULL);
	held->noted |= bit;
}

enum lease_loss
renew_vote(struct core *core, struct lease *l, const struct vote *vote)
{
	struct lease_held *held = lease_held(l);
	const struct round *t = l->round;
	int64_t valid_until_ms = held->valid_until_ms, newest = round_newest(l);
	bool yes = vote->outcome == OUTCOME_YES;

	assert(vote->op == CALL_RENEW || vote->op == CALL_RECLAIM || vote->op == CALL_ACQUIRE ||
		vote->op == CALL_ADOPT);
	assert(!l->round->questions[vote->master].asking);
	if (yes)
		renew_note_reclaimed(core, l, vote);
	if (vote->outcome == OUTCOME_ERROR)
		lease_note(core, NOTE_RENEW_FAILED, l, 0, held->valid_until_ms - core->now.ms,
			core->masters[vote->master].error);
	/* Another daemon waits; the message that said so may have been lost. */
	if (yes && vote->position > (held->writer != WRITER_NONE && vote->master == l->queue_master))
		lease_want(core, l);
	else if (yes && l->kind == KIND_SHARED && core->now.ms - round_held(l)->contended_ms >= LEASE_WANT_MS)
		held->wanted = false;
	if (renew_hopeless(core, l))
		return vote->op == CALL_RECLAIM ? LEASE_REFUSED : LEASE_TAKEN;
	lease_take_tokens(core, l);
	renew_settle_round(core, l, yes);
	/* Given by an earlier memory, or other permits than the majority gave: asked for once more. */
	if (yes && (!lease_vote_is_ours(l, vote->master) ||
			   t->questions[vote->master].incarnation != core->masters[vote->master].incarnation))
		held->refresh_at_ms = core->now.ms;
	if (held->valid_until_ms != valid_until_ms || round_newest(l) != newest)
		lease_changed(core, l);
	lease_arm(core, l);
	lease_quiet(core, l);
	dirty_add(&core->dirty, &l->resource->item);
	return LEASE_KEPT;
}

enum lease_loss
renew_shortened(struct core *core, struct lease *l)
{
	int64_t valid_until_ms = lease_votes_valid_until_ms(core, l);
	struct lease_held *held = lease_held(l);

	if (valid_until_ms >= held->valid_until_ms)
		return LEASE_KEPT;
	(void)round_of(core, l);
	round_held(l)->announced_until_ms = lease_announced_until_ms(l);
	held->valid_until_ms = valid_until_ms;
	assert(lease_announced_until_ms(l) > valid_until_ms);
	if (valid_until_ms <= core->now.ms)
		return LEASE_EXPIRED;
	lease_changed(core, l);
	lease_arm(core, l);
	return LEASE_KEPT;
}

/* A vote was dropped. The lease is lost if it has no vote left, and asked for again if no answer is to come.
 */
static enum lease_loss
renew_dropped(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);

	if (lease_votes_ours(core, l) == 0)
		return LEASE_TAKEN;
	if (held->renewal == RENEWAL_ASKING && lease_votes_asking(core, l) == 0) {
		held->renewal = RENEWAL_DONE;
		held->refresh_at_ms = core->now.ms + core_jitter(core, 1, renew_soon_ms(l));
		lease_arm(core, l);
	}
	return LEASE_KEPT;
}

enum lease_loss
renew_master_replaced(struct core *core, struct lease *l, unsigned master)
{
	assert(master < core->quorum->votes);
	lease_vote_drop(core, l, master);
	if (l->queue_master == master)
		lease_forget_position(l);
	if (l->state == LEASE_HELD)
		return renew_dropped(core, l);
	if (l->state == LEASE_ACQUIRING && lease_votes_asking(core, l) == 0)
		timer_arm(&core->timers, &l->timer, core->now.ms + 1);
	return LEASE_KEPT;
}

/* Whether a renewal is deferred: it begins after all renewals that have a turn. If the daemon is slower than
 * the turns, a lease that finds too many again goes to the end of the line: with a turn in the next
 * millisecond, which all such leases would share, most of them would be deferred in every step. The line may
 * last several times as long as its turns say. So a lease does not wait if the line would cost it more than a
 * quarter of the time that it has left: clients wait for its renewal, rather than lose it. */
static bool
renew_defer(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);
	int64_t next_ms = core->now.ms + 1, latest_ms = next_ms + (held->valid_until_ms - core->now.ms) / 4;
	struct ration turns = core->leases->turns;
	int64_t turn_ms = ration_turn(&turns, next_ms, RENEW_TOGETHER, resource_work(l->resource));

	assert(latest_ms >= next_ms && turn_ms >= next_ms);
	if (turn_ms > latest_ms)
		return false;
	core->leases->turns = turns;
	held->refresh_at_ms = turn_ms;
	lease_arm(core, l);
	return true;
}

/* A renewal is due: begins it. If clients would wait because many have begun in this millisecond, it is
 * deferred. */
static void
renew_due(struct core *core, struct lease *l)
{
	if (ration_take(&core->leases->renewals, core->now.ms, resource_work(l->resource)) < RENEW_TOGETHER ||
		!renew_defer(core, l))
		renew_begin(core, l);
}

enum lease_loss
renew_timer(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);

	assert(!timer_is_armed(&l->timer));
	if (l->resource->demand->count > 0)
		held->idle_until_ms = 0;
	/* The lease is given back before this step ends, unless a client that was waiting for something else
	 * wants it by then: in that case it goes on. */
	if (held->idle_until_ms != 0 && core->now.ms >= held->idle_until_ms && lease_idle_over(core, l)) {
		permit_lease_changed(l);
		dirty_add(&core->dirty, &l->resource->item);
	}
	if (core->now.ms >= held->valid_until_ms)
		return LEASE_EXPIRED;
	if (held->writer != WRITER_NONE && core->now.ms >= round_held(l)->enqueue_at_ms)
		lease_enqueue_writer(core, l);
	else if (core->now.ms < held->refresh_at_ms)
		lease_arm(core, l);
	else if (held->renewal == RENEWAL_ASKING)
		renew_go_on(core, l);
	else
		renew_due(core, l);
	return LEASE_KEPT;
}

int64_t
lease_take(struct core *core, struct lease *l)
{
	int64_t token;

	if (!lease_good(core, l)) {
		renew_now(core, l);
		return 0;
	}
	token = lease_token(core, l);
	if (token == 0)
		renew_tokens(core, l);
	else
		lease_serve(core, l);
	return token;
}
