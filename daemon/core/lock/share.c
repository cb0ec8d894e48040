/*
 * share: see share.h. scheduler.c calls it for names without a LIMIT, semaphore.c serves the others.
 */
#include "daemon/core/lock/share.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
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

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

bool
lease_written(const struct lease *l)
{
	bool written = l->grants != NULL && l->grants->kind == KIND_EXCLUSIVE;

	/* A writer is alone, and never on a lease that other daemons have, too. */
	assert(!written || (l->grants->after == NULL && l->kind == KIND_EXCLUSIVE));
	return written;
}

bool
lease_open(const struct core *core, const struct lease *l, const struct waiter *w)
{
	assert(l->kind != KIND_PERMITS && w->resource == l->resource);
	/* A lease that readers hold and others want becomes shared in this very step. */
	bool wanted = lease_held(l)->wanted;
	bool shared = l->kind == KIND_SHARED || (wanted && l->grants != NULL && !lease_written(l));

	if (shared)
		return w->kind == KIND_SHARED && (!wanted || w->since_ms <= round_held(l)->wanted_since_ms);
	if (lease_must_yield(core, l))
		return false;
	return l->grants == NULL || (w->kind == KIND_SHARED && !lease_written(l));
}

/* The lease is ours, and this waiter's turn has come. While the masters refuse this daemon no turn comes: as
 * long as there are waiters, its leases would keep it registered, and the old set with it. */
static bool
share_open(const struct core *core, const struct waiter *w)
{
	return masterset_usable(core) && lease_open(core, &w->resource->lease, w);
}

static void
share_refusal(const struct core *core, const struct waiter *w, struct reply *out)
{
	const struct resource *r = w->resource;
	bool first = w == TAILQ_FIRST(&queue_of(r)->waiters);

	assert(r->limit == 0);
	if (refusal_taken(core, r) && !(first && share_open(core, w)))
		refusal_shut(core, r, out);
	else
		refusal_masters(core, r, &r->lease, out);
}

/* False: not yet, the lease has to be refreshed first. */
static bool
share_grant(struct core *core, struct lease *l, struct waiter *w)
{
	struct lease_held *held = lease_held(l);
	int64_t token;

	assert(w == TAILQ_FIRST(&queue_of(l->resource)->waiters));
	if (reenter_waiter(core, w))
		return true;
	token = lease_take(core, l);
	if (token == 0)
		return false;
	if (held->wanted)
		round_held(l)->streak++;
	grant_give(core, l, w, token);
	renew_tokens(core, l);
	return true;
}

/* Readers elsewhere need not wait for readers here. */
static void
share_downgrade(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;

	if (l->kind == KIND_EXCLUSIVE && lease_held(l)->wanted && l->grants != NULL && !lease_written(l))
		renew_shared(core, l);
}

/* A waiter that tries once and finds another one in the way has its answer. */
static void
share_answer_once(struct core *core, struct resource *r)
{
	struct waiter *w, *next;
	struct reply refusal;
	bool behind = false; /* a waiter in front stays, and lets none past */

	assert(r->lease.state == LEASE_HELD);
	if (r->demand->once == 0)
		return;
	refusal_name(core, r, &refusal);
	TAILQ_FOREACH_SAFE (w, &queue_of(r)->waiters, in_resource, next) {
		bool shut = behind || !share_open(core, w);

		if (shut && w->once)
			queue_answer(core, w, &refusal);
		else
			behind |= shut;
	}
}

/* A writer that waits here for readers has a position in the queue of the masters meanwhile, so that later
 * readers elsewhere come after it. While the masters refuse this daemon, it cannot take its turn and has no
 * position. */
static void
share_queue_writer(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	const struct waiter *first = TAILQ_FIRST(&queue_of(r)->waiters);
	bool usable = masterset_usable(core);
	bool queues = usable && l->kind == KIND_SHARED && l->grants != NULL && first != NULL &&
		      first->kind == KIND_EXCLUSIVE && !first->once;

	assert(l->kind != KIND_PERMITS && l->resource == r);
	if (queues && lease_held(l)->writer == WRITER_NONE)
		lease_enqueue_writer(core, l);
	else if (!queues && lease_held(l)->writer != WRITER_NONE &&
		 (!usable || first == NULL || first->kind == KIND_SHARED))
		lease_dequeue_writer(core, l);
}

/* The lease is ours. */
static void
share_held(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	struct waiter *w = TAILQ_FIRST(&queue_of(r)->waiters);
	bool dirty = r->item.dirty;

	share_downgrade(core, r);
	r->item.dirty = true; /* what a grant changes is dealt with right here */
	while (w != NULL && share_open(core, w) && share_grant(core, l, w)) {
		share_downgrade(core, r);
		w = TAILQ_FIRST(&queue_of(r)->waiters);
	}
	r->item.dirty = dirty;
	share_queue_writer(core, r);
	if (l->grants == NULL && (w == NULL ? !lease_retain(core, l) : !share_open(core, w)))
		lease_give_back(core, l);
	else
		share_answer_once(core, r);
}

/* Refused, or the masters cannot be asked: the answer of all waiters that try once, except for a reader whose
 * turn it may be when the writers have had theirs. */
static void
share_refuse_once(struct core *core, struct resource *r, bool usable)
{
	const struct lease *l = &r->lease;
	struct waiter *w, *next;
	struct reply refusal;
	bool behind = !usable || l->kind == KIND_SHARED;

	assert(l->state != LEASE_HELD);
	if (r->demand->once == 0)
		return;
	refusal_masters(core, r, l, &refusal);
	TAILQ_FOREACH_SAFE (w, &queue_of(r)->waiters, in_resource, next) {
		if (w->once && (behind || w->kind == KIND_EXCLUSIVE))
			queue_answer(core, w, &refusal);
		else
			behind |= w->kind == KIND_EXCLUSIVE;
	}
}

/* The last acquire was for readers and now a writer is first, or the reverse; or it was a single try and took
 * no position in the queue, which the waiters now need. */
static bool
share_acquire_was_other(const struct resource *r)
{
	const struct lease *l = &r->lease;

	assert(r->demand->count > 0);
	return l->kind != TAILQ_FIRST(&queue_of(r)->waiters)->kind ||
	       (resource_patient(r) && !round_patient(l));
}

/* This daemon has nothing at the masters, or was refused there. */
static void
share_without(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	bool usable = majority_usable(core, r->link);
	struct reply refusal;

	/* No hold stands on a lease that this daemon has not. */
	assert(r->grant_count == 0);
	/* Without a majority it may be a single master that says so: the waiters go on waiting. */
	if (usable && l->state == LEASE_WAITING && round_error(l) == LEASE_ERROR_KIND) {
		refusal_masters(core, r, l, &refusal);
		queue_answer_all(core, r, &refusal);
	}
	/* If a master has yet to answer HELLO, it may be usable in a moment: no refusal yet. */
	if (lease_refused(l) || (!usable && !majority_near(core, r->link)))
		share_refuse_once(core, r, usable);
	if (l->state == LEASE_WAITING && lease_waiting(l)->why == WAIT_REFUSED) {
		refusal_masters(core, r, l, &refusal);
		queue_refused(core, r, &refusal);
		lease_waiting(l)->why = WAIT_COUNTED;
	}
	if (r->demand->count == 0) {
		if (l->state == LEASE_WAITING)
			lease_stop_waiting(core, l);
		return;
	}
	/* Other daemons should not wait for a daemon that cannot take its turn. */
	if (!usable)
		acquire_step_back(core, l);
	else if (l->state == LEASE_NONE && lease_none(l)->pause == PAUSE_FOREIGN)
		acquire_pause(core, l);
	else if (l->state == LEASE_NONE ||
		 (lease_waiting(l)->why != WAIT_FOREIGN && share_acquire_was_other(r)))
		acquire_begin(core, l);
}

static void
share_schedule(struct core *core, struct resource *r)
{
	assert(r->limit == 0 && r->lease.resource == r);
	if (r->lease.state == LEASE_HELD)
		share_held(core, r);
	else if (r->lease.state != LEASE_ACQUIRING)
		share_without(core, r);
}

static void
share_begin(struct core *core, struct resource *r)
{
	assert(r->limit == 0);
	/* The lease and its votes end where the name begins. */
	memset(&r->lease, 0, r->name_at - offsetof(struct resource, lease));
	lease_init(&r->lease, r, resource_votes(r));
	assert(resource_votes(r) <= core->settings.masters);
	if (resource_votes(r) < core->settings.masters)
		lease_votes_grow(core, &r->lease, 0, core->settings.masters);
}

static void
share_end(struct core *core, struct resource *r)
{
	lease_drop(core, &r->lease);
	lease_done(core, &r->lease);
}

static void
share_free(struct core *core, struct resource *r)
{
	(void)core;
	lease_free(&r->lease);
}

static bool
share_hopeless(const struct resource *r, enum kind kind)
{
	return (r->grant_count > 0 && (kind == KIND_EXCLUSIVE || lease_written(&r->lease))) ||
	       (r->lease.state == LEASE_WAITING && lease_refused(&r->lease) && resource_patient(r));
}

const struct lock_family share_family = {
	.begin = share_begin,
	.end = share_end,
	.free = share_free,
	.schedule = share_schedule,
	.refusal = share_refusal,
	.hopeless = share_hopeless,
};
