/*
 * permits: see permits.h. scheduler.c calls it for names with a LIMIT, share.c serves the others.
 */
#include "daemon/core/permits.h"

#include "daemon/core/grant.h"
#include "daemon/core/lease.h"
#include "daemon/core/masterset.h"
#include "daemon/core/permit_lease.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/state.h"
#include "daemon/core/table.h"

/* The lease that the first waiter may get. */
static const struct lease *
permits_asked(const struct resource *r)
{
	const struct lease *first = resource_next_lease(r, NULL), *acquiring = permit_lease_acquiring(r);

	return acquiring == NULL && first != NULL && first->grants == NULL ? first : acquiring;
}

void
permits_refusal(const struct core *core, const struct waiter *w, struct reply *out)
{
	const struct resource *r = w->resource;

	/* A waiter behind others is kept back by them. */
	if (w == TAILQ_FIRST(&r->queue->waiters) || !quorum_usable(core, r->link))
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
	if (!table_add_permit_lease(core, s)) {
		permit_lease_end(core, s);
		return;
	}
	r->permit_leases.acquiring = NULL;
}

/* This lease suits the waiter, after a refresh if one is due. While the masters refuse this daemon, it suits
 * none (share.c says why). */
static bool
permits_fits(const struct core *core, const struct lease *l, const struct waiter *w)
{
	return l->state == LEASE_HELD && w != NULL && w->permits == l->permits && !(l->wanted && l->served) &&
	       masterset_usable(core);
}

static void
permits_grant(struct core *core, struct permit_lease *s, struct waiter *w)
{
	struct permit_lease_list *all = &s->lease.resource->permit_leases.list;
	struct lease *l = &s->lease;
	int64_t token;

	if (!lease_good(core, l)) {
		renew_now(core, l);
		return;
	}
	token = lease_token(core, l);
	if (token == 0) {
		renew_tokens(core, l);
		return;
	}
	l->served = true;
	grant_give(core, l, w, token);
	if (l->grants != NULL) {
		TAILQ_REMOVE(all, s, in_resource);
		TAILQ_INSERT_TAIL(all, s, in_resource);
	}
	renew_tokens(core, l);
}

/* The first waiter. Waiters whose session was granted meanwhile what they wait for are answered. */
static struct waiter *
permits_first(struct core *core, struct resource *r)
{
	struct waiter *w = TAILQ_FIRST(&r->queue->waiters);

	while (w != NULL && reenter_waiter(core, w))
		w = TAILQ_FIRST(&r->queue->waiters);
	return w;
}

/* Serves the idle permit leases, which are at the head of the list. True: one is kept for the first
 * waiter. */
static bool
permits_serve_idle(struct core *core, struct resource *r)
{
	struct permit_leases *all = &r->permit_leases;
	struct permit_lease *s, *next;
	bool kept = false;

	(void)permits_first(core, r);
	TAILQ_FOREACH_SAFE (s, &all->list, in_resource, next) {
		struct waiter *w = permits_first(core, r);

		if (s->lease.grants != NULL)
			break;
		if (s == all->acquiring)
			continue;
		if (!permits_fits(core, &s->lease, w))
			permit_lease_end(core, s);
		else
			permits_grant(core, s, w);
	}
	(void)permits_first(core, r);
	TAILQ_FOREACH (s, &all->list, in_resource) {
		if (s->lease.grants != NULL)
			break;
		kept |= s != all->acquiring;
	}
	return kept;
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

	if (r->queue->once == 0)
		return;
	refusal_masters(core, r, acquiring, &refusal);
	TAILQ_FOREACH_SAFE (w, &r->queue->waiters, in_resource, next) {
		if (w->once && (behind || w->permits >= acquiring->permits))
			queue_answer(core, w, &refusal);
		else
			behind |= !w->once;
	}
}

/* The last acquire was for another number of permits, or it was a single try and took no place in the queue,
 * which the waiters now need. */
static bool
permits_bid_was_other(const struct lease *l, const struct waiter *first)
{
	return l->permits != first->permits || (queue_patient(l->resource) && !l->patient);
}

/* There is no permit lease for the first waiter: acquires one. */
static void
permits_bid(struct core *core, struct resource *r, bool usable)
{
	const struct waiter *first = TAILQ_FIRST(&r->queue->waiters);
	struct permit_leases *all = &r->permit_leases;
	struct lease *l = permit_lease_acquiring(r);
	struct reply full;

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
	if (l->state == LEASE_NONE || (l->state == LEASE_WAITING && permits_bid_was_other(l, first)))
		acquire_begin(core, l);
}

void
permits_schedule(struct core *core, struct resource *r)
{
	bool usable = quorum_usable(core, r->link);
	struct lease *l;
	struct reply refusal;
	bool refused;

	permits_arrive(core, r);
	if (permits_serve_idle(core, r))
		return;
	l = permit_lease_acquiring(r);
	refused = l != NULL && l->state == LEASE_WAITING && l->refused;
	if (usable && refused && (l->error == LEASE_ERROR_KIND || l->error == LEASE_ERROR_LIMIT)) {
		refusal_masters(core, r, l, &refusal);
		queue_answer_all(core, r, &refusal);
	}
	/* If a master is being greeted, it may be usable in a moment: no refusal yet. */
	if (refused || (!usable && !quorum_near(core, r->link)))
		permits_refuse_once(core, r, usable);
	if (refused && l->fresh) {
		refusal_masters(core, r, l, &refusal);
		queue_refused(core, r, &refusal);
		l->fresh = false;
	}
	if (r->queue->count > 0)
		permits_bid(core, r, usable);
	else if (l != NULL && l->state != LEASE_ACQUIRING)
		permit_lease_end(core, r->permit_leases.acquiring);
}
