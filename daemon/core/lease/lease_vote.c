/*
 * lease_vote: see lease_vote.h. acquire.c and renew.c decide what to ask; this file asks, and counts the
 * answers.
 */
#include "daemon/core/lease/lease_vote.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/previous_owners.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"
#include "proto/name.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- rounds ---- */

struct round *
round_new(struct core *core, struct lease *l)
{
	struct round *t = freelist_must(core, sizeof(*t) + core->settings.masters * sizeof(*t->questions));

	assert(l->round == NULL);
	/* reconfigure() comes before any round with more masters. */
	assert(core->quorum->votes == core->settings.masters);
	t->reached = l->state == LEASE_HELD ? lease_held(l)->token_last : 0;
	l->round = t;
	return t;
}

void
round_grow(struct core *core, struct lease *l, unsigned from, unsigned to)
{
	struct round *before = l->round;
	struct round *t = freelist_must(core, sizeof(*t) + to * sizeof(*t->questions));
	struct freelist_link freed;

	assert(from < to && to <= CORE_MASTERS_MAX);
	freed = t->freed;
	memcpy(t, before, sizeof(*t) + from * sizeof(*t->questions));
	t->freed = freed;
	freelist_retire(core, &before->freed);
	l->round = t;
}

void
round_no_foreign(struct lease *l)
{
	struct round_acquiring *rounds = round_acquiring(l);

	free(rounds->foreign);
	rounds->foreign = NULL;
	rounds->position = 0;
}

void
lease_forget_position(struct lease *l)
{
	if (l->state == LEASE_HELD && lease_queued(l))
		lease_held(l)->writer = WRITER_DUE;
	else if (round_is_acquiring(l))
		round_acquiring(l)->position = 0;
	assert(!lease_queued(l));
}

void
round_end(struct core *core, struct lease *l)
{
	if (l->round == NULL)
		return;
	if (round_is_acquiring(l))
		round_no_foreign(l);
	previous_owners_end(core, l);
	freelist_retire(core, &l->round->freed);
	l->round = NULL;
}

struct slice
round_foreign(const struct lease *l)
{
	const char *text = round_is_acquiring(l) ? round_acquiring(l)->foreign : NULL;

	return text == NULL ? (struct slice){NULL, 0} : slice_of(text);
}

/* ---- votes ---- */

_Static_assert(CORE_MASTERS_MAX <= 8, "a lease has a bit for each vote");

static void
lease_vote_set_ours(struct lease *l, unsigned i, bool ours)
{
	assert(i < CORE_MASTERS_MAX);
	l->ours = (uint8_t)((l->ours & ~(1U << i)) | (unsigned)ours << i);
}

/* What the master confirmed before counts no more. */
static void
lease_vote_lost(struct lease *l, unsigned i)
{
	lease_vote_set_ours(l, i, false);
	lease_vote_of(l, i)->valid_until_ms = 0;
}

void
lease_vote_set_odd(struct lease *l, unsigned i)
{
	/* Permits that are not those of the lease are given back there. */
	assert(l->kind == KIND_PERMITS);
	lease_vote_lost(l, i);
	l->odd = (uint8_t)(l->odd | 1U << i);
}

/* The first vote has room for the pointer to the grown ones. */
_Static_assert(sizeof(struct lease_vote) >= sizeof(struct lease_vote *), "a vote has room for a pointer");

void
lease_votes_grow(struct core *core, struct lease *l, unsigned from, unsigned to)
{
	struct lease_vote *votes = reserve_resize(&core->reserve, NULL, to * sizeof(*votes));

	assert(core->quorum->votes == to && to <= CORE_MASTERS_MAX);
	assert(from < to);
	for (unsigned i = 0; i < to; i++) {
		if (i < from)
			votes[i] = *lease_vote_of(l, i);
		else
			votes[i] = (struct lease_vote){
				{l->state == LEASE_HELD ? lease_held(l)->valid_until_ms - 1 : 0}};
	}
	lease_votes_free(l);
	l->within[0].grown = votes;
	l->votes = 0;
}

void
lease_votes_free(struct lease *l)
{
	if (l->votes > 0)
		return;
	free(l->within[0].grown);
	l->within[0].grown = NULL;
}

void
lease_vote_drop(struct core *core, struct lease *l, unsigned i)
{
	static const struct question unasked;
	struct lease_vote *given = lease_vote_of(l, i);
	uint8_t others = (uint8_t) ~(1U << i);
	int64_t most_ms = l->state == LEASE_HELD ? lease_held(l)->valid_until_ms - 1 : 0;

	assert(i < CORE_MASTERS_MAX);
	if (given->valid_until_ms > most_ms)
		given->valid_until_ms = most_ms;
	l->ours &= others;
	l->odd &= others;
	if (l->state == LEASE_HELD)
		lease_held(l)->noted &= others;
	/* Another server has no key of a previous owner: what is missing there is acquired, or reclaimed. */
	lease_vote_adopted(core, l, i);
	if (l->round != NULL)
		l->round->questions[i] = unasked;
}

static bool
lease_vote_is_asking(const struct lease *l, unsigned i)
{
	return l->round != NULL && l->round->questions[i].asking;
}

void
lease_votes_clear(const struct core *core, struct lease *l)
{
	static const struct question unasked;

	/* The votes of a held lease are its validity. */
	assert(l->state != LEASE_HELD);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		lease_vote_of(l, i)->valid_until_ms = 0;
		if (l->round != NULL)
			l->round->questions[i] = unasked;
	}
	l->ours = 0;
	l->odd = 0;
}

bool
lease_vote_question(const struct core *core, const struct lease *l, unsigned i, enum call_op *op)
{
	const struct master *m = &core->masters[i];

	assert(l->state == LEASE_HELD && i < core->settings.masters);
	if (lease_vote_is_asking(l, i) || !master_keeps(m, l->resource->link, op))
		return false;
	/* A renewal never re-creates a vote: a missing one is acquired, with a deadline of its own (R6). */
	if (*op == CALL_RENEW && !lease_vote_is_ours(l, i)) {
		*op = CALL_ACQUIRE;
		return master_usable(m, l->resource->link);
	}
	/* Before the master knows our set of masters it would answer FORGOTTEN. A master whose clock jumped
	 * adopts as it renews: what is still the previous owner's has been ours all the time. */
	if (*op == CALL_RENEW && lease_vote_is_unadopted(l, i)) {
		*op = CALL_ADOPT;
		return m->enrolled;
	}
	return true;
}

void
lease_vote_ask(struct core *core, struct lease *l, unsigned i, enum call_op op, int64_t patience_ms,
	int64_t queue_ms)
{
	const struct master *m = &core->masters[i];
	const struct resource *r = l->resource;
	struct round *t = round_of(core, l);
	struct question *asked = &t->questions[i];
	int64_t term_ms = terms_at_ms(m, l->term_ms);
	struct call call = {.op = op,
		.master = i,
		.link = r->link,
		.attempt = l->attempt,
		.incarnation = m->incarnation,
		.name = resource_name(r),
		.hash = r->hash,
		.kind = l->kind,
		.interop = r->rule->interop,
		.limit = r->limit,
		.permits = l->permits,
		.key = r->rule->key};

	if (l->kind == KIND_PERMITS) {
		call.hint = permit_lease_of(l)->hint;
		call.slots = permit_lease_slots(l);
	}
	assert(l->state == LEASE_HELD || (l->state == LEASE_ACQUIRING && op == CALL_ACQUIRE));
	assert(i < core->settings.masters && l->attempt != 0 && term_ms > 0);
	/* Only a vote that is ours can be renewed (R6), and only under our name. */
	assert(op != CALL_RENEW || (lease_vote_is_ours(l, i) && !lease_vote_is_unadopted(l, i)));
	assert(op != CALL_ADOPT || lease_vote_is_unadopted(l, i));
	/* Only a lease that is not held yet waits in the queue. */
	assert(queue_ms == CALL_QUEUELESS || (op == CALL_ACQUIRE && queue_ms >= 0));
	if (lease_vote_is_unadopted(l, i)) {
		lease_vote_adopts(core, l);
		call.previous = lease_previous(l)->owners;
	}
	assert(!asked->asking);
	asked->asking = true;
	/* Tokens that another memory gave in this round no longer count (token_counts()). */
	if (asked->incarnation != m->incarnation)
		asked->token_first = 0;
	asked->incarnation = m->incarnation;
	asked->yes_until_ms = core->now.ms + term_ms - drift_ms(term_ms);
	asked->deadline_us = op == CALL_RENEW ? 0 : master_time_us(core, m, patience_ms);
	call.ttl_ms = term_ms + core->settings.margin_ms;
	call.deadline_us = asked->deadline_us;
	call.token = op == CALL_RECLAIM ? core->quorum->highest : t->proposal;
	call.newest = round_newest(l);
	call.block = op == CALL_ACQUIRE && t->asked_block == 0 ? 1 : t->asked_block;
	call.queue_ms = queue_ms;
	master_call(core, &call);
}

void
lease_vote_shorten(struct lease *l, unsigned i, int64_t ms)
{
	struct lease_vote *given = lease_vote_of(l, i);

	assert(ms > 0);
	given->valid_until_ms = given->valid_until_ms > ms ? given->valid_until_ms - ms : 0;
	if (l->round != NULL)
		l->round->questions[i].yes_until_ms -= ms;
}

/*
 * A reclaim among several masters is no vote: its master has none until it is admitted. The exception is the
 * first newcomers beside a single master, for as long as none of them can have been admitted: the single
 * master gave us the lease, so no other daemon had its vote, and none can have had a newcomer's. A newcomer
 * that does not store our set is none yet: until the single master stores it, that one grants leases alone.
 */
static bool
lease_vote_prolongs(const struct core *core, unsigned i, enum call_op op)
{
	if (op != CALL_RECLAIM || core->settings.masters == 1)
		return true;
	return i > 0 && core->masters[i].enrolled && core->now.ms < core->quorum->newcomers_until_ms;
}

bool
lease_votes_can_prolong(const struct core *core, const struct lease *l)
{
	enum call_op op;
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += master_keeps(&core->masters[i], l->resource->link, &op) &&
		     lease_vote_prolongs(core, i, op);
	return n >= quorum_majority(core);
}

void
lease_vote_take(struct core *core, struct lease *l, const struct vote *vote)
{
	struct lease_vote *given = lease_vote_of(l, vote->master);
	struct question *asked = &l->round->questions[vote->master];
	/* Whether its memory is the one that was asked: what another one said holds no more. A newcomer
	 * begins a new memory with our set, so what it reclaimed before that is not under our set. */
	bool remembers = asked->incarnation == core->masters[vote->master].incarnation;

	assert(asked->asking && (l->state == LEASE_ACQUIRING || l->state == LEASE_HELD));
	asked->asking = false;
	switch (vote->outcome) {
	case OUTCOME_YES:
		lease_vote_set_ours(l, vote->master, true);
		if (remembers)
			lease_vote_adopted(core, l, vote->master);
		asked->holder = 0;
		asked->slots = vote->slots.n > 0 ? hash_text(vote->slots) : asked->slots;
		if ((remembers || vote->op != CALL_RECLAIM) &&
			lease_vote_prolongs(core, vote->master, vote->op) &&
			asked->yes_until_ms > given->valid_until_ms)
			given->valid_until_ms = asked->yes_until_ms;
		asked->token_first = vote->token_last >= vote->token_first ? vote->token_first : 0;
		asked->token_last = vote->token_last;
		break;
	case OUTCOME_UNKNOWN:
		/* The latest counts (R2). */
		if (asked->deadline_us > asked->unsure_us)
			asked->unsure_us = asked->deadline_us;
		break;
	case OUTCOME_NO:
	case OUTCOME_BUSY:
	case OUTCOME_WRONGKIND:
	case OUTCOME_LIMIT:
		lease_vote_lost(l, vote->master);
		lease_vote_adopted(core, l, vote->master);
		asked->slots = vote->slots.n > 0 ? hash_text(vote->slots) : 0;
		/* The holder of one slot is not in the way if others are free. */
		asked->holder = vote->holder.n > 0 && asked->slots == 0 ? hash_text(vote->holder) : 0;
		break;
	default: /* nothing was done, nothing is known */
		break;
	}
	asked->deadline_us = 0;
	if (vote->time_us > asked->unsure_us)
		asked->unsure_us = 0;
}

/* How many masters gave the same slots, for the slots that most gave. */
static unsigned
lease_votes_alike(const struct core *core, const struct lease *l)
{
	const struct question *asked = l->round->questions;
	unsigned most = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < core->settings.masters; k++)
			same += lease_vote_is_ours(l, i) && lease_vote_is_ours(l, k) &&
				asked[k].slots == asked[i].slots;
		most = same > most ? same : most;
	}
	return most;
}

unsigned
lease_votes_ours(const struct core *core, const struct lease *l)
{
	unsigned n = 0;

	assert(l->ours >> core->settings.masters == 0);
	if (l->kind == KIND_PERMITS && l->state != LEASE_HELD)
		return l->round == NULL ? 0 : lease_votes_alike(core, l);
	for (unsigned bits = l->ours; bits != 0; bits &= bits - 1)
		n++;
	return n;
}

unsigned
lease_votes_asking(const struct core *core, const struct lease *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += lease_vote_is_asking(l, i);
	return n;
}

unsigned
lease_votes_until(const struct core *core, const struct lease *l, int64_t ms)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += lease_vote_of(l, i)->valid_until_ms >= ms;
	return n;
}

unsigned
lease_votes_holder(const struct core *core, const struct lease *l)
{
	const struct question *asked = l->round->questions;
	unsigned most = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < core->settings.masters; k++)
			same += asked[i].holder != 0 && asked[k].holder == asked[i].holder;
		most = same > most ? same : most;
	}
	return most;
}

int64_t
lease_votes_valid_until_ms(const struct core *core, const struct lease *l)
{
	int64_t valid_until_ms = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		int64_t ms = lease_vote_of(l, i)->valid_until_ms;

		if (ms > valid_until_ms && lease_votes_until(core, l, ms) >= quorum_majority(core))
			valid_until_ms = ms;
	}
	return valid_until_ms;
}

/* A majority that was raised to a token keeps all later tokens above it, unless one of these masters forgot
 * and was admitted again meanwhile: then the round is older than its guard, or its memory is another by now.
 * A single master decides alone, and its floor is above all that it gave before. */
static bool
token_counts(const struct core *core, const struct lease *l, unsigned i)
{
	const struct round *t = l->round;

	assert(t->questions[i].token_first <= t->questions[i].token_last || t->questions[i].token_first == 0);
	return t->questions[i].token_first > 0 &&
	       (core->settings.masters == 1 || (t->questions[i].incarnation == core->masters[i].incarnation &&
						       core->now.ms - t->sent_ms < terms_guard_ms(core)));
}

bool
lease_votes_tokens(const struct core *core, struct lease *l, int64_t *first, int64_t *last)
{
	struct question *asked = l->round->questions;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < core->settings.masters; k++)
			same += token_counts(core, l, k) && asked[k].token_first == asked[i].token_first &&
				asked[k].token_last == asked[i].token_last;
		if (same < quorum_majority(core))
			continue;
		*first = asked[i].token_first;
		*last = asked[i].token_last;
		assert(*first > 0 && *last >= *first);
		for (unsigned k = 0; k < core->settings.masters; k++)
			asked[k].token_first = 0;
		return true;
	}
	return false;
}

/* ---- more masters ---- */

/* The process that crashed knew all masters, and this one begins with fewer: the lease may be at all. */
static void
previous_owners_grow(struct lease *l, unsigned from, unsigned to)
{
	struct previous_owners *previous = lease_previous(l);

	for (unsigned i = from; i < to && previous != NULL; i++) {
		previous->masters |= (uint8_t)(1U << i);
		lease_vote_set_ours(l, i, true);
	}
}

void
lease_grow(struct core *core, struct lease *l, unsigned from, unsigned to)
{
	lease_votes_grow(core, l, from, to);
	if (l->round != NULL)
		round_grow(core, l, from, to);
	previous_owners_grow(l, from, to);
}
