/*
 * semaphore: see semaphore.h. scheduler.c calls it for names with a LIMIT, share.c serves the others.
 */
#include "daemon/core/families/semaphore.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/leasing/acquire.h"
#include "daemon/core/leasing/renew.h"
#include "daemon/core/leasing/retain.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/refusal.h"
#include "daemon/core/masterset/majority.h"
#include "daemon/core/masterset/masterset.h"
#include "proto/name.h"
#include "proto/reply.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The lease that the first waiter may get. */
static const struct lease *
permits_asked(const struct resource *r)
{
	const struct lease *first = resource_next_lease(r, NULL), *acquiring = permit_lease_acquiring(r);

	return acquiring == NULL && first != NULL && first->grants == NULL ? first : acquiring;
}

static void
permits_refusal(const struct core *core, const struct waiter *w, struct reply *out)
{
	const struct resource *r = w->resource;

	assert(r->limit > 0);
	/* A waiter behind others is kept back by them. */
	if (w == TAILQ_FIRST(&queue_of(r)->waiters) || !majority_usable(core, r->link))
		refusal_masters(core, r, permits_asked(r), out);
	else
		refusal_null(out);
}

/* The permit lease being acquired has been won. */
static void
permits_arrive(struct core *core, struct resource *r)
{
	struct permit_lease *s = r->permit_leases.acquiring;

	if (s == NULL || s->lease.state != LEASE_HELD)
		return;
	if (!permit_lease_add(core, s)) {
		permit_lease_end(core, s);
		return;
	}
	r->permit_leases.acquiring = NULL;
	permit_lease_first(s);
	assert(permit_lease_find(core, r, s->lease.attempt) == &s->lease);
}

/* Whether this lease is not owed to another daemon. While the masters refuse this daemon, it has none to give
 * (share.c says why). */
static bool
permits_open(const struct core *core, const struct lease *l)
{
	const struct lease_held *held = l->state == LEASE_HELD ? lease_held(l) : NULL;

	return held != NULL && !(held->wanted && held->served) && masterset_usable(core);
}

/* This lease suits the waiter, after a refresh if one is due. */
static bool
permits_fits(const struct core *core, const struct lease *l, const struct waiter *w)
{
	return w->permits == l->permits && permits_open(core, l);
}

/* False: not yet, the lease has to be refreshed first. */
static bool
permits_grant(struct core *core, struct permit_lease *s, struct waiter *w)
{
	struct permit_lease_list *all = &s->lease.resource->permit_leases.list;
	struct lease *l = &s->lease;
	int64_t token;

	assert(l->grants == NULL && l->permits == w->permits);
	token = lease_take(core, l);
	if (token == 0)
		return false;
	grant_give(core, l, w, token);
	if (l->grants != NULL) {
		TAILQ_REMOVE(all, s, in_resource);
		TAILQ_INSERT_TAIL(all, s, in_resource);
	}
	renew_tokens(core, l);
	return true;
}

/* The first waiter. Waiters whose session was granted meanwhile what they wait for are answered. */
static struct waiter *
permits_first(struct core *core, struct resource *r)
{
	struct waiter *w = TAILQ_FIRST(&queue_of(r)->waiters);

	while (w != NULL && reenter_waiter(core, w))
		w = TAILQ_FIRST(&queue_of(r)->waiters);
	return w;
}

/* Grants the first waiter an idle permit lease, those that were used last before others. False: none can be
 * granted now; *refreshed: one that suits the waiter is refreshed. */
static bool
permits_serve(struct core *core, struct resource *r, struct waiter *w, bool *refreshed)
{
	struct permit_lease *s;

	assert(w == TAILQ_FIRST(&queue_of(r)->waiters));
	*refreshed = false;
	TAILQ_FOREACH (s, &r->permit_leases.list, in_resource) {
		if (s->lease.grants != NULL)
			break;
		if (!permits_fits(core, &s->lease, w))
			continue;
		if (permits_grant(core, s, w))
			return true;
		*refreshed = true;
	}
	return false;
}

/* Without a waiter, keeps the idle permit leases for a while. A waiter for whom none is refreshed may lack
 * them: then all are given back. */
static void
permits_settle(struct core *core, struct resource *r, bool waits, bool refreshed)
{
	struct permit_leases *all = &r->permit_leases;
	struct permit_lease *s, *next;

	TAILQ_FOREACH_SAFE (s, &all->list, in_resource, next) {
		struct lease *l = &s->lease;
		bool idle_before, stays;

		if (l->grants != NULL)
			break;
		if (s == all->acquiring)
			continue;
		/* All but the one that is acquired are held, or were lost in this step. */
		assert(l->state == LEASE_HELD || l->state == LEASE_NONE);
		idle_before = l->state == LEASE_HELD && lease_held(l)->idle_until_ms != 0;
		if (waits)
			stays = refreshed && permits_open(core, l);
		else
			stays = l->state == LEASE_HELD && lease_retain(core, l);
		if (!stays)
			permit_lease_end(core, s);
		else if (idle_before && !waits && !all->changed)
			break; /* and so were those behind it */
	}
	all->changed = waits;
}

/* Serves the waiters with the idle permit leases, which are at the head of the list. True: one is refreshed
 * for the first waiter. */
static bool
permits_serve_idle(struct core *core, struct resource *r)
{
	struct waiter *w;
	bool refreshed = false;

	while ((w = permits_first(core, r)) != NULL && permits_serve(core, r, w, &refreshed))
		continue;
	permits_settle(core, r, w != NULL, w != NULL && refreshed);
	return w != NULL && refreshed;
}

/* An acquire was refused, or the masters cannot be asked: the answer of all waiters that try once, except for
 * those that may get their turn with fewer permits. */
static void
permits_refuse_once(struct core *core, struct resource *r, bool usable)
{
	const struct lease *acquiring = permit_lease_acquiring(r);
	struct waiter *w, *next;
	struct reply refusal;
	bool behind = !usable;

	if (r->demand->once == 0)
		return;
	/* Where a majority is usable, it was the acquire that was refused. */
	assert(behind || acquiring != NULL);
	refusal_masters(core, r, acquiring, &refusal);
	TAILQ_FOREACH_SAFE (w, &queue_of(r)->waiters, in_resource, next) {
		if (w->once && (behind || w->permits >= acquiring->permits))
			queue_answer(core, w, &refusal);
		else
			behind |= !w->once;
	}
}

/* The last acquire was for another number of permits, or it was a single try and took no position in the
 * queue, which the waiters now need. */
static bool
permits_acquire_was_other(const struct lease *l, const struct waiter *first)
{
	assert(l->state == LEASE_WAITING);
	return l->permits != first->permits || (resource_patient(l->resource) && !round_patient(l));
}

/* There is no permit lease for the first waiter: acquires one. */
static void
permits_acquire(struct core *core, struct resource *r, bool usable)
{
	const struct waiter *first = TAILQ_FIRST(&queue_of(r)->waiters);
	struct permit_leases *all = &r->permit_leases;
	struct lease *l = permit_lease_acquiring(r);
	struct reply full;

	assert(first != NULL);
	if (!usable) {
		/* Other daemons should not wait for a daemon that cannot take its turn. */
		if (l != NULL)
			acquire_step_back(core, l);
		return;
	}
	if (l == NULL) {
		all->acquiring = permit_lease_new(core, r);
		if (all->acquiring == NULL) {
			reply_error(&full, CODE_LIMIT, "out of memory: try again later");
			queue_answer_all(core, r, &full);
			return;
		}
		l = &all->acquiring->lease;
	}
	if (l->state == LEASE_NONE || (l->state == LEASE_WAITING && permits_acquire_was_other(l, first)))
		acquire_begin(core, l);
}

static void
permits_schedule(struct core *core, struct resource *r)
{
	bool usable = majority_usable(core, r->link);
	struct lease *l;
	struct reply refusal;
	bool refused;

	assert(r->limit > 0);
	permits_arrive(core, r);
	if (permits_serve_idle(core, r))
		return;
	l = permit_lease_acquiring(r);
	refused = l != NULL && l->state == LEASE_WAITING && lease_refused(l);
	if (usable && refused &&
		(round_error(l) == LEASE_ERROR_KIND || round_error(l) == LEASE_ERROR_LIMIT)) {
		refusal_masters(core, r, l, &refusal);
		queue_answer_all(core, r, &refusal);
	}
	/* If a master has yet to answer HELLO, it may be usable in a moment: no refusal yet. */
	if (refused || (!usable && !majority_near(core, r->link)))
		permits_refuse_once(core, r, usable);
	if (refused && lease_waiting(l)->why == WAIT_REFUSED) {
		refusal_masters(core, r, l, &refusal);
		queue_refused(core, r, &refusal);
		lease_waiting(l)->why = WAIT_COUNTED;
	}
	if (r->demand->count > 0)
		permits_acquire(core, r, usable);
	else if (l != NULL && l->state != LEASE_ACQUIRING)
		permit_lease_end(core, r->permit_leases.acquiring);
}

static void
permits_begin(struct core *core, struct resource *r)
{
	(void)core;
	permit_leases_init(r);
}

static bool
permits_hopeless(const struct resource *r, enum kind kind)
{
	return r->grant_count > 0 && kind == KIND_EXCLUSIVE;
}

const struct lock_family permits_family = {
	.begin = permits_begin,
	.end = permit_leases_drop,
	.free = permit_leases_free,
	.schedule = permits_schedule,
	.refusal = permits_refusal,
	.hopeless = permits_hopeless,
	.held = permit_lease_held,
	.released = permit_lease_released,
};
