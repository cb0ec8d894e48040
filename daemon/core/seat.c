#include "daemon/core/seat.h"

#include "daemon/core/drift.h"
#include "daemon/core/hash.h"
#include "daemon/core/master.h"
#include "daemon/core/quorum.h"
#include "daemon/core/slots.h"
#include "daemon/core/undo.h"

#include <assert.h>
#include <string.h>

void
seats_clear(const struct core *core, struct lease *l)
{
	memset(l->seats, 0, core->settings.masters * sizeof(*l->seats));
}

bool
seat_question(const struct core *core, const struct lease *l, unsigned i, enum call_op *op)
{
	const struct master *m = &core->masters[i];

	if (l->seats[i].asking || !master_keeps(m, l->resource->link, op))
		return false;
	/* Never re-created by renewing: what is missing is acquired, with a deadline of its own (rule 6). */
	if (*op == CALL_RENEW && !l->seats[i].ours) {
		*op = CALL_ACQUIRE;
		return master_usable(m, l->resource->link);
	}
	return true;
}

void
seat_ask(struct core *core, struct lease *l, unsigned i, enum call_op op, int64_t patience_ms,
	int64_t queue_ms)
{
	const struct master *m = &core->masters[i];
	const struct resource *r = l->resource;
	struct seat *seat = &l->seats[i];
	struct call call = {.op = op,
		.master = i,
		.link = r->link,
		.attempt = l->attempt,
		.incarnation = m->incarnation,
		.name = r->name,
		.kind = l->kind,
		.interop = r->rule->interop,
		.limit = r->limit,
		.permits = l->permits,
		.hint = l->hint,
		.slots = slots_text(l->slots),
		.key = r->rule->key};

	assert(!seat->asking);
	seat->asking = true;
	seat->incarnation = m->incarnation;
	seat->asked_ms = core->now.ms + l->term_ms - drift_ms(l->term_ms);
	seat->deadline_us = op == CALL_RENEW ? 0 : master_time_us(core, m, patience_ms);
	call.ttl_ms = l->term_ms + core->settings.margin_ms;
	call.deadline_us = seat->deadline_us;
	call.token = op == CALL_RECLAIM ? core->highest : l->proposal;
	call.newest = l->spare_first > 0 ? l->spare_last : l->token_last;
	call.block = op == CALL_ACQUIRE && l->asked_block == 0 ? 1 : l->asked_block;
	call.queue_ms = queue_ms;
	master_call(core, &call);
}

void
seat_heard(const struct core *core, struct lease *l, const struct vote *vote)
{
	struct seat *seat = &l->seats[vote->master];

	seat->asking = false;
	switch (vote->outcome) {
	case OUTCOME_YES:
		seat->ours = true;
		seat->holder = 0;
		seat->slots = vote->slots.n > 0 ? hash_text(vote->slots) : seat->slots;
		/* A reclaim among several masters is no vote: its master has none until it is admitted. */
		if ((vote->op != CALL_RECLAIM || core->settings.masters == 1) &&
			seat->asked_ms > seat->valid_ms)
			seat->valid_ms = seat->asked_ms;
		seat->token_first = vote->token_last >= vote->token_first ? vote->token_first : 0;
		seat->token_last = vote->token_last;
		break;
	case OUTCOME_UNKNOWN:
		if (seat->deadline_us > seat->unsure_us)
			seat->unsure_us = seat->deadline_us;
		break;
	case OUTCOME_NO:
	case OUTCOME_BUSY:
	case OUTCOME_WRONGKIND:
	case OUTCOME_LIMIT:
		seat->ours = false;
		seat->valid_ms = 0;
		seat->slots = vote->slots.n > 0 ? hash_text(vote->slots) : 0;
		/* Who has one slot is not in the way where others are free. */
		seat->holder = vote->holder.n > 0 && seat->slots == 0 ? hash_text(vote->holder) : 0;
		break;
	default: /* nothing was done, nothing is known */
		break;
	}
	seat->deadline_us = 0;
	if (vote->time_us > seat->unsure_us)
		seat->unsure_us = 0;
}

/* How many gave the same slots, where that is the most. */
static unsigned
seats_alike(const struct core *core, const struct lease *l)
{
	unsigned most = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < core->settings.masters; k++)
			same += l->seats[i].ours && l->seats[k].ours &&
				l->seats[k].slots == l->seats[i].slots;
		most = same > most ? same : most;
	}
	return most;
}

unsigned
seats_ours(const struct core *core, const struct lease *l)
{
	unsigned n = 0;

	if (l->kind == KIND_PERMITS && l->state != LEASE_HELD)
		return seats_alike(core, l);
	for (unsigned i = 0; i < core->settings.masters; i++)
		n += l->seats[i].ours;
	return n;
}

unsigned
seats_asking(const struct core *core, const struct lease *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += l->seats[i].asking;
	return n;
}

unsigned
seats_until(const struct core *core, const struct lease *l, int64_t ms)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += l->seats[i].valid_ms >= ms;
	return n;
}

unsigned
seats_holder(const struct core *core, const struct lease *l)
{
	unsigned most = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < core->settings.masters; k++)
			same += l->seats[i].holder != 0 && l->seats[k].holder == l->seats[i].holder;
		most = same > most ? same : most;
	}
	return most;
}

int64_t
seats_valid_ms(const struct core *core, const struct lease *l)
{
	int64_t valid_ms = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		int64_t ms = l->seats[i].valid_ms;

		if (ms > valid_ms && seats_until(core, l, ms) >= quorum_majority(core))
			valid_ms = ms;
	}
	return valid_ms;
}

/* A majority that was raised to a token keeps every later one above it, unless one of these masters forgot
 * and was admitted again meanwhile: then the round is older than its guard, or its memory another by now. The
 * only master decides alone, and its floor stands above all that it gave before. */
static bool
token_counts(const struct core *core, const struct lease *l, unsigned i)
{
	const struct seat *seat = &l->seats[i];

	return seat->token_first > 0 &&
	       (core->settings.masters == 1 || (seat->incarnation == core->masters[i].incarnation &&
						       core->now.ms - l->sent_ms < master_guard_ms(core)));
}

bool
seats_tokens(const struct core *core, struct lease *l, int64_t *first, int64_t *last)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct seat *seat = &l->seats[i];
		unsigned same = 0;

		for (unsigned k = 0; k < core->settings.masters; k++)
			same += token_counts(core, l, k) && l->seats[k].token_first == seat->token_first &&
				l->seats[k].token_last == seat->token_last;
		if (same < quorum_majority(core))
			continue;
		*first = seat->token_first;
		*last = seat->token_last;
		for (unsigned k = 0; k < core->settings.masters; k++)
			l->seats[k].token_first = 0;
		return true;
	}
	return false;
}

void
seats_undo(struct core *core, const struct lease *l, int64_t place_ms)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct seat *seat = &l->seats[i];
		int64_t after_us = seat->asking ? seat->deadline_us : 0;

		if (seat->unsure_us > after_us)
			after_us = seat->unsure_us;
		if (seat->ours || seat->odd || seat->asking || after_us > 0)
			undo_start(core, l, i, after_us, i == l->home ? place_ms : 0);
	}
}
