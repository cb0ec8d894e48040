#include "daemon/core/permits.h"

#include "daemon/core/bid.h"
#include "daemon/core/grant.h"
#include "daemon/core/keep.h"
#include "daemon/core/lease.h"
#include "daemon/core/masterset.h"
#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"
#include "daemon/core/reenter.h"
#include "daemon/core/resource.h"
#include "daemon/core/stake.h"
#include "daemon/core/table.h"
#include "daemon/core/verdict.h"

/* What there is of it for the first waiter. */
static const struct lease *
permits_asked(const struct resource *r)
{
	const struct lease *first = resource_next_lease(r, NULL), *bidder = stake_bidder(r);

	return bidder == NULL && first != NULL && first->grants == NULL ? first : bidder;
}

void
permits_verdict(const struct core *core, const struct waiter *w, struct reply *out)
{
	const struct resource *r = w->resource;

	/* Behind others it is they who are in the way. */
	if (w == TAILQ_FIRST(&r->queue->waiters) || !quorum_usable(core, r->link))
		verdict_masters(core, r, permits_asked(r), out);
	else
		verdict_null(out);
}

/* The bidder has won. */
static void
permits_arrive(struct core *core, struct resource *r)
{
	struct stake *s = r->stakes.bidder;

	if (s == NULL || s->lease.state != LEASE_HELD)
		return;
	if (!table_add_stake(core, s)) {
		stake_end(core, s);
		return;
	}
	r->stakes.bidder = NULL;
}

/* It is good for this waiter, as soon as it has been refreshed where that is due. While the masters refuse
 * this daemon it is good for none (share.c says why). */
static bool
permits_fits(const struct core *core, const struct lease *l, const struct waiter *w)
{
	return l->state == LEASE_HELD && w != NULL && w->permits == l->permits && !(l->wanted && l->served) &&
	       masterset_usable(core);
}

static void
permits_grant(struct core *core, struct stake *s, struct waiter *w)
{
	struct stake_list *all = &s->lease.resource->stakes.list;
	struct lease *l = &s->lease;
	int64_t token;

	if (!lease_good(core, l)) {
		keep_mend(core, l);
		return;
	}
	token = lease_token(core, l);
	if (token == 0) {
		keep_refill(core, l);
		return;
	}
	l->served = true;
	grant_give(core, l, w, token);
	if (l->grants != NULL) {
		TAILQ_REMOVE(all, s, in_resource);
		TAILQ_INSERT_TAIL(all, s, in_resource);
	}
	keep_refill(core, l);
}

/* Who comes next. Who was granted meanwhile what it waits for is answered. */
static struct waiter *
permits_first(struct core *core, struct resource *r)
{
	struct waiter *w = TAILQ_FIRST(&r->queue->waiters);

	while (w != NULL && reenter_waiter(core, w))
		w = TAILQ_FIRST(&r->queue->waiters);
	return w;
}

/* Stakes that nobody holds, which stand in front of the others. True: one is kept for the first waiter. */
static bool
permits_serve_idle(struct core *core, struct resource *r)
{
	struct stakes *all = &r->stakes;
	struct stake *s, *next;
	bool kept = false;

	(void)permits_first(core, r);
	TAILQ_FOREACH_SAFE (s, &all->list, in_resource, next) {
		struct waiter *w = permits_first(core, r);

		if (s->lease.grants != NULL)
			break;
		if (s == all->bidder)
			continue;
		if (!permits_fits(core, &s->lease, w))
			stake_end(core, s);
		else
			permits_grant(core, s, w);
	}
	(void)permits_first(core, r);
	TAILQ_FOREACH (s, &all->list, in_resource) {
		if (s->lease.grants != NULL)
			break;
		kept |= s != all->bidder;
	}
	return kept;
}

/* Refused, or the masters cannot be asked: that is the answer for all who try once, but for those whose turn
 * it may be with fewer permits. */
static void
permits_refuse_once(struct core *core, struct resource *r, bool usable)
{
	const struct lease *bidder = stake_bidder(r);
	struct waiter *w, *next;
	struct reply verdict;
	bool behind = !usable;

	if (r->queue->once == 0)
		return;
	verdict_masters(core, r, bidder, &verdict);
	TAILQ_FOREACH_SAFE (w, &r->queue->waiters, in_resource, next) {
		if (w->once && (behind || w->permits >= bidder->permits))
			queue_answer(core, w, &verdict);
		else
			behind |= !w->once;
	}
}

/* The last bid was for more or fewer; or it was a single try, and who waits now should stand in the queue. */
static bool
permits_bid_was_other(const struct lease *l, const struct waiter *first)
{
	return l->permits != first->permits || (queue_patient(l->resource) && !l->patient);
}

/* No stake is there for the first waiter. */
static void
permits_bid(struct core *core, struct resource *r, bool usable)
{
	const struct waiter *first = TAILQ_FIRST(&r->queue->waiters);
	struct stakes *all = &r->stakes;
	struct lease *l = stake_bidder(r);
	struct reply full;

	if (!usable) {
		/* Nobody should wait for a daemon that cannot take its turn. */
		if (l != NULL)
			bid_step_back(core, l);
		return;
	}
	if (l == NULL) {
		all->bidder = stake_new(core, r);
		if (all->bidder == NULL) {
			reply_error(&full, CODE_LIMIT, "out of memory: try again later");
			queue_answer_all(core, r, &full);
			return;
		}
		l = &all->bidder->lease;
	}
	if (l->state == LEASE_NONE || (l->state == LEASE_WAITING && permits_bid_was_other(l, first)))
		bid_begin(core, l);
}

void
permits_settle(struct core *core, struct resource *r)
{
	bool usable = quorum_usable(core, r->link);
	struct lease *l;
	struct reply verdict;
	bool refused;

	permits_arrive(core, r);
	if (permits_serve_idle(core, r))
		return;
	l = stake_bidder(r);
	refused = l != NULL && l->state == LEASE_WAITING && l->refused;
	if (usable && refused && (l->trouble == TROUBLE_KIND || l->trouble == TROUBLE_LIMIT)) {
		verdict_masters(core, r, l, &verdict);
		queue_answer_all(core, r, &verdict);
	}
	/* While a master is being greeted the verdict is a moment away. */
	if (refused || (!usable && !quorum_near(core, r->link)))
		permits_refuse_once(core, r, usable);
	if (refused && l->fresh) {
		verdict_masters(core, r, l, &verdict);
		queue_refused(core, r, &verdict);
		l->fresh = false;
	}
	if (r->queue->count > 0)
		permits_bid(core, r, usable);
	else if (l != NULL && l->state != LEASE_ACQUIRING)
		stake_end(core, r->stakes.bidder);
}
