#include "daemon/core/stake.h"

#include "daemon/core/bid.h"
#include "daemon/core/grant.h"
#include "daemon/core/grave.h"
#include "daemon/core/keep.h"
#include "daemon/core/lease.h"
#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"
#include "daemon/core/reenter.h"
#include "daemon/core/table.h"
#include "daemon/core/verdict.h"

#include <assert.h>
#include <stdlib.h>

static struct lease *
stake_new(struct core *core, struct resource *r)
{
	struct lease *l = grave_new(core, sizeof(*l) + core->settings.masters * sizeof(struct seat));

	if (l == NULL)
		return NULL;
	lease_init(l, r, (struct seat *)(void *)(l + 1));
	TAILQ_INSERT_HEAD(&r->leases, l, in_resource);
	return l;
}

static void
stake_end(struct core *core, struct lease *l)
{
	struct resource *r = l->resource;

	lease_drop(core, l);
	assert(l->state == LEASE_NONE && l->grant_count == 0);
	lease_done(core, l);
	TAILQ_REMOVE(&r->leases, l, in_resource);
	if (l == r->bidder)
		r->bidder = NULL;
	else
		table_remove_stake(core, l);
	grave_bury(core, &l->grave);
}

void
stakes_drop(struct core *core, struct resource *r)
{
	while (!TAILQ_EMPTY(&r->leases))
		stake_end(core, TAILQ_FIRST(&r->leases));
}

struct lease *
stake_find(const struct core *core, const struct resource *r, uint64_t attempt)
{
	struct lease *l;

	if (r->bidder != NULL && r->bidder->attempt == attempt)
		return r->bidder;
	l = table_stake(core, attempt);
	return l != NULL && l->resource == r ? l : NULL;
}

/* What there is of it for the first waiter. */
static const struct lease *
stake_asked(const struct resource *r)
{
	const struct lease *first = TAILQ_FIRST(&r->leases);

	return r->bidder == NULL && first != NULL && first->grant_count == 0 ? first : r->bidder;
}

void
stake_verdict(const struct core *core, const struct waiter *w, struct reply *out)
{
	const struct resource *r = w->resource;

	/* Behind others it is they who are in the way. */
	if (w == TAILQ_FIRST(&r->waiters) || !quorum_usable(core, r->link))
		verdict_masters(core, r, stake_asked(r), out);
	else
		verdict_null(out);
}

/* The bidder has won. */
static void
stake_arrive(struct core *core, struct resource *r)
{
	struct lease *l = r->bidder;

	if (l == NULL || l->state != LEASE_HELD)
		return;
	if (!table_add_stake(core, l)) {
		stake_end(core, l);
		return;
	}
	r->bidder = NULL;
}

/* It is good for this waiter, as soon as it has been refreshed where that is due. */
static bool
stake_fits(const struct lease *l, const struct waiter *w)
{
	return l->state == LEASE_HELD && w != NULL && w->permits == l->permits && !(l->wanted && l->served);
}

static void
stake_grant(struct core *core, struct lease *l, struct waiter *w)
{
	int64_t token;

	if (!lease_good(core, l)) {
		keep_mend(core, l);
		return;
	}
	token = lease_token(l);
	if (token == 0) {
		keep_refill(core, l);
		return;
	}
	l->served = true;
	grant_give(core, l, w, token);
	if (l->grant_count > 0) {
		TAILQ_REMOVE(&l->resource->leases, l, in_resource);
		TAILQ_INSERT_TAIL(&l->resource->leases, l, in_resource);
	}
	keep_refill(core, l);
}

/* Who comes next. Who was granted meanwhile what it waits for is answered. */
static struct waiter *
stake_first(struct core *core, struct resource *r)
{
	struct waiter *w = TAILQ_FIRST(&r->waiters);

	while (w != NULL && reenter_waiter(core, w))
		w = TAILQ_FIRST(&r->waiters);
	return w;
}

/* Stakes that nobody holds, which stand in front of the others. True: one is kept for the first waiter. */
static bool
stake_serve_idle(struct core *core, struct resource *r)
{
	struct lease *l, *next;
	bool kept = false;

	(void)stake_first(core, r);
	TAILQ_FOREACH_SAFE (l, &r->leases, in_resource, next) {
		struct waiter *w = stake_first(core, r);

		if (l->grant_count > 0)
			break;
		if (l == r->bidder)
			continue;
		if (!stake_fits(l, w))
			stake_end(core, l);
		else
			stake_grant(core, l, w);
	}
	(void)stake_first(core, r);
	TAILQ_FOREACH (l, &r->leases, in_resource) {
		if (l->grant_count > 0)
			break;
		kept |= l != r->bidder;
	}
	return kept;
}

/* Refused, or the masters cannot be asked: that is the answer for all who try once, but for those whose turn
 * it may be with fewer permits. */
static void
stake_refuse_once(struct core *core, struct resource *r, bool usable)
{
	struct waiter *w, *next;
	struct reply verdict;
	bool behind = !usable;

	if (r->once_count == 0)
		return;
	verdict_masters(core, r, r->bidder, &verdict);
	TAILQ_FOREACH_SAFE (w, &r->waiters, in_resource, next) {
		if (w->once && (behind || w->permits >= r->bidder->permits))
			queue_answer(core, w, &verdict);
		else
			behind |= !w->once;
	}
}

/* The last bid was for more or fewer; or it was a single try, and who waits now should stand in the queue. */
static bool
stake_bid_was_other(const struct lease *l, const struct waiter *first)
{
	return l->permits != first->permits || (queue_patient(l->resource) && !l->patient);
}

/* No stake is there for the first waiter. */
static void
stake_bid(struct core *core, struct resource *r, bool usable)
{
	const struct waiter *first = TAILQ_FIRST(&r->waiters);
	struct lease *l = r->bidder;
	struct reply full;

	if (!usable) {
		/* Nobody should wait for a daemon that cannot take its turn. */
		if (l != NULL)
			bid_step_back(core, l);
		return;
	}
	if (l == NULL) {
		l = stake_new(core, r);
		if (l == NULL) {
			reply_error(&full, CODE_LIMIT, "out of memory: try again later");
			queue_answer_all(core, r, &full);
			return;
		}
		r->bidder = l;
	}
	if (l->state == LEASE_NONE || (l->state == LEASE_WAITING && stake_bid_was_other(l, first)))
		bid_begin(core, l);
}

void
stake_settle(struct core *core, struct resource *r)
{
	bool usable = quorum_usable(core, r->link);
	struct lease *l;
	struct reply verdict;
	bool refused;

	stake_arrive(core, r);
	if (stake_serve_idle(core, r))
		return;
	l = r->bidder;
	refused = l != NULL && l->state == LEASE_WAITING && l->refused;
	if (refused && (l->trouble == TROUBLE_KIND || l->trouble == TROUBLE_LIMIT)) {
		verdict_masters(core, r, l, &verdict);
		queue_answer_all(core, r, &verdict);
	}
	/* While a master is being greeted the verdict is a moment away. */
	if (refused || (!usable && !quorum_near(core, r->link)))
		stake_refuse_once(core, r, usable);
	if (refused && l->fresh) {
		verdict_masters(core, r, l, &verdict);
		queue_refused(core, r, &verdict);
		l->fresh = false;
	}
	if (r->waiter_count > 0)
		stake_bid(core, r, usable);
	else if (l != NULL && l->state != LEASE_ACQUIRING)
		stake_end(core, l);
}
