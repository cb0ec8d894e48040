/*
 * slots: see slots.h.
 */
#include "daemon/core/slots.h"

#include "daemon/core/alloc.h"
#include "daemon/core/map.h"
#include "daemon/core/quorum.h"
#include "daemon/core/state.h"

#include <stdlib.h>
#include <string.h>

bool
slots_are_offered(const struct lease *l)
{
	return l->kind == KIND_PERMITS && permit_lease_of(l)->offer != NULL;
}

static struct slots *
slots_new(struct core *core, struct slice text)
{
	struct slots *slots = freelist_new(core, sizeof(*slots) + text.n);

	if (slots == NULL)
		return NULL;
	memcpy(slots->bytes, text.p, text.n);
	slots->n = text.n;
	slots->hash = hash_text(text);
	return slots;
}

/* Calls of this step may point into it. */
static void
slots_end(struct core *core, struct slots **slots)
{
	if (*slots != NULL)
		freelist_retire(core, &(*slots)->freed);
	*slots = NULL;
}

void
slots_forget_offer(struct core *core, struct lease *l)
{
	if (l->kind == KIND_PERMITS)
		slots_end(core, &permit_lease_of(l)->offer);
}

void
slots_forget(struct core *core, struct lease *l)
{
	if (l->kind != KIND_PERMITS)
		return;
	slots_end(core, &permit_lease_of(l)->slots);
	slots_end(core, &permit_lease_of(l)->offer);
}

/* Masters that gave these count above any number that offered them. */
static unsigned
slots_weight(const struct core *core, const struct lease *l, uint64_t hash)
{
	unsigned weight = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (l->round->questions[i].slots == hash)
			weight += seat_is_ours(l, i) ? CORE_MASTERS_MAX + 1 : 1;
	}
	return weight;
}

void
slots_offered(struct core *core, struct lease *l, struct slice text)
{
	struct permit_lease *s = permit_lease_of(l);
	uint64_t hash = hash_text(text);

	if (s->offer != NULL && (s->offer->hash == hash ||
					slots_weight(core, l, s->offer->hash) >= slots_weight(core, l, hash)))
		return;
	slots_end(core, &s->offer);
	s->offer = slots_new(core, text);
}

void
slots_ask_offer(struct core *core, struct lease *l)
{
	struct permit_lease *s = permit_lease_of(l);

	slots_end(core, &s->slots);
	s->slots = s->offer;
	s->offer = NULL;
}

void
slots_heard(struct lease *l, const struct vote *vote)
{
	if (l->kind == KIND_PERMITS && l->state == LEASE_HELD && vote->op == CALL_ACQUIRE &&
		vote->outcome == OUTCOME_YES && hash_text(vote->slots) != permit_lease_of(l)->slots->hash)
		seat_set_odd(l, vote->master);
}

bool
slots_won(struct core *core, struct lease *l)
{
	if (!slots_are_offered(l))
		return false;
	slots_ask_offer(core, l);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (seat_is_ours(l, i) && l->round->questions[i].slots != permit_lease_of(l)->slots->hash)
			seat_set_odd(l, i);
	}
	return true;
}
