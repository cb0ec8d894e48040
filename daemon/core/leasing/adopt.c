/*
 * adopt: see adopt.h. recover.c and the state of a hand-over bring the leases; lease_vote.c and renew.c ask
 * the masters to adopt them.
 */
#include "daemon/core/leasing/adopt.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/random.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/previous_owners.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/leasing/renew.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The owner in the ledger, and then its previous owners. A process that died before it asked any master left
 * nothing under its name; if it counted, a daemon that dies again and again while it starts would forget who
 * has the lease.
 */
static size_t
past_owners(const struct lease_past *past, char out[PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE])
{
	char latest[CALL_OWNER_SIZE];
	size_t n;

	if (!past->asked) {
		memcpy(out, past->previous.p, past->previous.n);
		return past->previous.n;
	}
	n = call_owner(past->daemon_id, past->attempt, latest);
	return previous_owners_write((struct slice){latest, n}, past->previous, out);
}

/* The lease of the name, or a new one of permits. */
static struct lease *
past_lease(struct core *core, struct resource *r, const struct lease_past *past)
{
	struct permit_lease *s;

	if (r->limit == 0)
		return &r->lease;
	s = permit_lease_new(core, r);
	if (s == NULL)
		return NULL;
	s->slots = slots_new(core, past->slots);
	if (s->slots != NULL)
		return &s->lease;
	permit_lease_discard(core, s);
	return NULL;
}

/* All masters count as having given it, until the deadline that the ledger says. */
static void
past_hold(struct core *core, struct lease *l, const struct lease_past *past, struct previous_owners *previous)
{
	struct lease_held held = {.valid_until_ms = past->valid_until_ms,
		.refresh_at_ms = past->valid_until_ms,
		.token = past->token + 1,
		.token_last = past->token,
		.served = true,
		.wanted = l->resource->rule->interop != INTEROP_NONE,
		.confirmed = past->kind};

	assert(l->attempt != 0 && previous->masters != 0);
	l->kind = past->kind;
	l->permits = past->permits;
	l->term_ms = past->term_ms;
	(void)round_new(core, l);
	l->round->asked = past->kind;
	l->round->reached = past->token;
	l->ours = previous->masters;
	for (unsigned i = 0; i < core->settings.masters; i++)
		lease_vote_of(l, i)->valid_until_ms = past->valid_until_ms;
	lease_move(core, l, LEASE_HELD, &(union lease_data){.held = held});
	*round_held(l) = (struct round_held){
		.wanted_since_ms = core->now.ms, .contended_ms = core->now.ms, .previous = previous};
	renew_begin(core, l);
}

struct lease *
lease_recover(struct core *core, struct resource *r, const struct lease_past *past)
{
	char owners[PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE];
	uint8_t all = (uint8_t)((1U << core->settings.masters) - 1);
	struct lease *l = past_lease(core, r, past);
	struct previous_owners *previous;

	assert(past->asked || past->previous.n > 0);
	assert(previous_owners_fit(past->previous) && past->token > 0 && past->term_ms > 0);
	assert(past->valid_until_ms > core->now.ms && past->valid_until_ms <= core->now.ms + past->term_ms);
	assert((past->kind == KIND_PERMITS) == (r->limit > 0) && past->permits <= r->limit);
	if (l == NULL)
		return NULL;
	assert(l->state == LEASE_NONE && l->round == NULL);
	previous = previous_owners_new(core, (struct slice){owners, past_owners(past, owners)}, all);
	l->attempt = core_attempt(core);
	if (previous == NULL || (r->limit > 0 && !permit_lease_add(core, permit_lease_of(l)))) {
		if (previous != NULL)
			freelist_retire(core, &previous->freed);
		if (r->limit > 0)
			permit_lease_discard(core, permit_lease_of(l));
		return NULL;
	}
	past_hold(core, l, past, previous);
	return l;
}
