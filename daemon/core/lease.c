#include "daemon/core/lease.h"

#include "daemon/core/drift.h"
#include "daemon/core/emit.h"
#include "daemon/core/grant.h"
#include "daemon/core/master.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/seat.h"
#include "daemon/core/tokens.h"

#include <assert.h>
#include <stdlib.h>

#define TO(state) (1U << (state))

static const unsigned lease_allowed[LEASE_STATE_COUNT] = {
	[LEASE_NONE] = TO(LEASE_ACQUIRING),
	[LEASE_ACQUIRING] = TO(LEASE_NONE) | TO(LEASE_WAITING) | TO(LEASE_HELD) | TO(LEASE_ACQUIRING),
	[LEASE_WAITING] = TO(LEASE_NONE) | TO(LEASE_ACQUIRING),
	[LEASE_HELD] = TO(LEASE_NONE),
};

void
lease_move(struct core *core, struct lease *l, enum lease_state next)
{
	assert(lease_allowed[l->state] & TO(next));
	core->counts.leases += (size_t)(next == LEASE_HELD) - (size_t)(l->state == LEASE_HELD);
	l->state = next;
}

int64_t
lease_valid_from(const struct resource *r, int64_t sent_ms)
{
	return sent_ms + r->lease.term_ms - drift_ms(r->lease.term_ms);
}

/* Rounded down, so that leases taken at about the same time are renewed in one script call. */
int64_t
lease_refresh_at(const struct resource *r, int64_t sent_ms)
{
	int64_t asked = r->lease.term_ms, ruled = r->rule->lease_ms;
	int64_t term = asked < ruled ? asked : ruled;
	int64_t step = term / 64 + 1;
	int64_t at = sent_ms + term / 3;

	return at - at % step;
}

void
lease_arm(struct core *core, struct lease *l)
{
	int64_t at = l->valid_ms;

	/* An answer that took longer than a third of the lease is followed by the next question at once, but
	 * not within this turn. */
	if (l->refresh_ms < at)
		at = l->refresh_ms > core->now.ms ? l->refresh_ms : core->now.ms + 1;
	timer_arm(&core->timers, &l->timer, at);
}

void
lease_no_foreign(struct lease *l)
{
	free(l->foreign);
	l->foreign = NULL;
	l->position = 0;
}

/* Forgets all that belonged to the last lease. */
void
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

void
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

void
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

void
lease_leave(struct core *core, struct resource *r)
{
	assert(r->lease.state == LEASE_WAITING);
	lease_leave_queue(core, r);
	lease_move(core, &r->lease, LEASE_NONE);
	lease_clear(core, r);
	resource_touch(core, r);
}

bool
lease_heard(struct core *core, struct resource *r, const struct vote *vote)
{
	struct lease *l = &r->lease;

	tokens_saw(core, vote->token_last);
	if (l->attempt != vote->attempt || !r->seats[vote->master].asking)
		return false;
	seat_heard(core, r, vote);
	if (vote->token_last > l->reached)
		l->reached = vote->token_last;
	return true;
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
void
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

void
lease_take_tokens(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	int64_t first, last;

	if (l->spare_first != 0 || !seats_tokens(core, r, &first, &last) || first <= l->token_last)
		return;
	l->spare_first = first;
	l->spare_last = last;
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
	return r->lease.state == LEASE_HELD && seats_ours(core, r) >= quorum_majority(core) &&
	       r->lease.valid_ms - core->now.ms >= r->rule->lease_ms / 2;
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
