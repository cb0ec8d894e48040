/* permit_lease: see permit_lease.h. */
#include "daemon/core/lease/permit_lease.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/resource.h"
#include "proto/name.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- which slots ---- */

bool
slots_are_offered(const struct lease *l)
{
	return l->kind == KIND_PERMITS && permit_lease_of(l)->offer != NULL;
}

struct slots *
slots_new(struct core *core, struct slice text)
{
	struct slots *slots = freelist_new(core, sizeof(*slots) + text.n);

	assert(text.n > 0);
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
			weight += lease_vote_is_ours(l, i) ? CORE_MASTERS_MAX + 1 : 1;
	}
	return weight;
}

void
slots_offered(struct core *core, struct lease *l, struct slice text)
{
	struct permit_lease *s = permit_lease_of(l);
	uint64_t hash = hash_text(text);

	assert(l->state == LEASE_ACQUIRING && text.n > 0);
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

	assert(l->state == LEASE_ACQUIRING);
	slots_end(core, &s->slots);
	s->slots = s->offer;
	s->offer = NULL;
}

void
slots_answered(struct lease *l, const struct vote *vote)
{
	if (l->kind == KIND_PERMITS && l->state == LEASE_HELD && vote->op == CALL_ACQUIRE &&
		vote->outcome == OUTCOME_YES && hash_text(vote->slots) != permit_lease_of(l)->slots->hash)
		lease_vote_set_odd(l, vote->master);
}

bool
slots_won(struct core *core, struct lease *l)
{
	if (!slots_are_offered(l))
		return false;
	slots_ask_offer(core, l);
	assert(permit_lease_of(l)->slots != NULL && permit_lease_of(l)->offer == NULL);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (lease_vote_is_ours(l, i) &&
			l->round->questions[i].slots != permit_lease_of(l)->slots->hash)
			lease_vote_set_odd(l, i);
	}
	return true;
}

/* ---- the permit leases of a name ---- */

static struct permit_lease *
permit_lease_by_attempt(const struct core *core, uint64_t attempt)
{
	struct permit_lease *found;

	HASH_FIND(hh, core->leases->permit_leases, &attempt, sizeof(attempt), found);
	return found;
}

bool
permit_lease_add(struct core *core, struct permit_lease *permit_lease)
{
	assert(permit_lease->lease.attempt != 0);
	HASH_ADD(hh, core->leases->permit_leases, lease.attempt, sizeof(permit_lease->lease.attempt),
		permit_lease);
	return permit_lease->hh.tbl != NULL;
}

static void
permit_lease_remove(struct core *core, struct permit_lease *permit_lease)
{
	/* It is in the table, which so is not empty. */
	assert(core->leases->permit_leases != NULL);
	HASH_DELETE(hh, core->leases->permit_leases, permit_lease);
}

void
permit_lease_first(struct permit_lease *s)
{
	struct permit_lease_list *list = &s->lease.resource->permit_leases.list;

	assert(s->lease.grants == NULL);
	TAILQ_REMOVE(list, s, in_resource);
	TAILQ_INSERT_HEAD(list, s, in_resource);
}

void
permit_leases_init(struct resource *r)
{
	assert(r->limit > 0);
	/* What is loaded is checked as a whole. */
	r->permit_leases = (struct permit_leases){.acquiring = NULL, .changed = true};
	TAILQ_INIT(&r->permit_leases.list);
}

struct lease *
permit_lease_acquiring(const struct resource *r)
{
	return r->limit == 0 || r->permit_leases.acquiring == NULL ? NULL
								   : &r->permit_leases.acquiring->lease;
}

struct permit_lease *
permit_lease_new(struct core *core, struct resource *r)
{
	struct permit_lease *s =
		freelist_new(core, sizeof(*s) + core->settings.masters * sizeof(struct lease_vote));

	assert(r->limit > 0);
	if (s == NULL)
		return NULL;
	lease_init(&s->lease, r, core->settings.masters);
	s->lease.kind = KIND_PERMITS;
	TAILQ_INSERT_HEAD(&r->permit_leases.list, s, in_resource);
	return s;
}

void
permit_lease_end(struct core *core, struct permit_lease *s)
{
	struct permit_leases *all = &s->lease.resource->permit_leases;

	lease_drop(core, &s->lease);
	assert(s->lease.state == LEASE_NONE && s->lease.grants == NULL);
	lease_done(core, &s->lease);
	TAILQ_REMOVE(&all->list, s, in_resource);
	if (s == all->acquiring)
		all->acquiring = NULL;
	else
		permit_lease_remove(core, s);
	freelist_retire(core, &s->freed);
}

void
permit_lease_discard(struct core *core, struct permit_lease *s)
{
	assert(s != s->lease.resource->permit_leases.acquiring);
	assert(s->lease.state == LEASE_NONE && s->lease.round == NULL);
	lease_done(core, &s->lease);
	TAILQ_REMOVE(&s->lease.resource->permit_leases.list, s, in_resource);
	freelist_retire(core, &s->freed);
}

void
permit_leases_drop(struct core *core, struct resource *r)
{
	assert(r->grant_count == 0 && r->permit_leases.taken == 0);
	while (!TAILQ_EMPTY(&r->permit_leases.list))
		permit_lease_end(core, TAILQ_FIRST(&r->permit_leases.list));
}

void
permit_leases_free(struct core *core, struct resource *r)
{
	struct permit_lease *s, *next;

	TAILQ_FOREACH_SAFE (s, &r->permit_leases.list, in_resource, next) {
		lease_free(&s->lease);
		free(s->slots);
		free(s->offer);
		if (s != r->permit_leases.acquiring)
			permit_lease_remove(core, s);
		free(s);
	}
}

void
permit_lease_changed(const struct lease *l)
{
	if (l->kind == KIND_PERMITS)
		l->resource->permit_leases.changed = true;
}

void
permit_lease_held(struct lease *l)
{
	l->resource->permit_leases.taken += l->permits;
}

void
permit_lease_released(struct lease *l)
{
	struct permit_leases *all = &l->resource->permit_leases;
	struct permit_lease *s = permit_lease_of(l);

	assert(l->grants == NULL && all->taken >= l->permits);
	/* A permit lease that was granted is acquired no more. */
	assert(s != all->acquiring);
	all->taken -= l->permits;
	permit_lease_first(s);
}

struct lease *
permit_lease_find(const struct core *core, const struct resource *r, uint64_t attempt)
{
	struct lease *acquiring = permit_lease_acquiring(r);
	struct permit_lease *s;

	assert(r->limit > 0);
	if (acquiring != NULL && acquiring->attempt == attempt)
		return acquiring;
	s = permit_lease_by_attempt(core, attempt);
	return s != NULL && s->lease.resource == r ? &s->lease : NULL;
}
