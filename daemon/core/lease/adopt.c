/*
 * adopt: see adopt.h. ledger.c recovers leases; lease_vote.c and renew.c ask the masters to adopt them, and
 * tell this file what these have said.
 */
#include "daemon/core/lease/adopt.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/random.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/renew.h"
#include "daemon/core/lease/resource.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OWNER_MAX (CALL_OWNER_SIZE - 1)

/* ---- the text of the owners ---- */

/* "<32 hexadecimal digits>:<1 to 13 digits of base 32>", as call_owner() writes it. */
static bool
owner_fits(struct slice owner)
{
	size_t id = CALL_DAEMON_ID_SIZE - 1;

	if (owner.n < id + 2 || owner.n > OWNER_MAX || owner.p[id] != ':')
		return false;
	for (size_t i = 0; i < owner.n; i++) {
		const char *digits = i < id ? "0123456789abcdef" : "0123456789abcdefghijklmnopqrstuv";

		if (i != id && (owner.p[i] == '\0' || strchr(digits, owner.p[i]) == NULL))
			return false;
	}
	return true;
}

/* Cuts the first owner off the text. */
static struct slice
owner_cut(struct slice *owners)
{
	const char *blank = memchr(owners->p, ' ', owners->n);
	size_t n = blank == NULL ? owners->n : (size_t)(blank - owners->p), gone = n + (blank != NULL);
	struct slice owner = {owners->p, n};

	assert(owners->n > 0);
	owners->p += gone;
	owners->n -= gone;
	return owner;
}

bool
previous_owners_fit(struct slice owners)
{
	if (owners.n > 0 && owners.p[owners.n - 1] == ' ')
		return false;
	for (unsigned i = 0; i < PREVIOUS_OWNERS_MAX && owners.n > 0; i++) {
		if (!owner_fits(owner_cut(&owners)))
			return false;
	}
	return owners.n == 0;
}

/*
 * The owner in the ledger, and then its previous owners. Of too many the oldest are dropped: what belongs to
 * them runs out by itself. A process that died before it asked any master left nothing under its name; if it
 * counted, a daemon that dies again and again while it starts would forget who has the lease.
 */
static size_t
previous_owners_write(const struct lease_past *past, char out[PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE])
{
	struct slice owners = past->previous;
	size_t n;

	if (!past->asked) {
		memcpy(out, owners.p, owners.n);
		return owners.n;
	}
	n = call_owner(past->daemon_id, past->attempt, out);
	for (unsigned i = 1; i < PREVIOUS_OWNERS_MAX && owners.n > 0; i++) {
		struct slice owner = owner_cut(&owners);

		out[n++] = ' ';
		memcpy(out + n, owner.p, owner.n);
		n += owner.n;
	}
	assert(n <= PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE);
	return n;
}

struct previous_owners *
previous_owners_new(struct core *core, struct slice owners, uint8_t masters)
{
	struct previous_owners *previous = freelist_new(core, sizeof(*previous) + owners.n);

	assert(owners.n > 0 && masters != 0);
	if (previous == NULL)
		return NULL;
	memcpy(previous->bytes, owners.p, owners.n);
	previous->owners = (struct slice){previous->bytes, owners.n};
	previous->masters = masters;
	previous->asked = false;
	return previous;
}

/* ---- what the masters say ---- */

void
previous_owners_end(struct core *core, struct lease *l)
{
	struct previous_owners *previous = lease_previous(l);

	/* Calls of this step may point into it. */
	if (previous != NULL) {
		round_held(l)->previous = NULL;
		freelist_retire(core, &previous->freed);
		lease_changed(core, l);
	}
}

bool
lease_previous_asked(const struct lease *l)
{
	const struct previous_owners *previous = lease_previous(l);

	return previous == NULL || previous->asked;
}

void
lease_vote_adopts(struct core *core, struct lease *l)
{
	assert(l->state == LEASE_HELD);
	if (lease_previous_asked(l))
		return;
	lease_previous(l)->asked = true;
	lease_changed(core, l);
}

void
lease_vote_adopted(struct core *core, struct lease *l, unsigned master)
{
	struct previous_owners *previous = lease_previous(l);

	if (previous == NULL)
		return;
	previous->masters &= (uint8_t) ~(1U << master);
	/* A vote that a previous owner may have counts as ours. */
	assert((previous->masters & ~l->ours) == 0);
	if (previous->masters == 0)
		previous_owners_end(core, l);
}

struct slice
lease_previous_owners(const struct lease *l)
{
	const struct previous_owners *previous = lease_previous(l);

	return previous == NULL ? (struct slice){NULL, 0} : previous->owners;
}

/* ---- recovery ---- */

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
	previous =
		previous_owners_new(core, (struct slice){owners, previous_owners_write(past, owners)}, all);
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
