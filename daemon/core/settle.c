#include "daemon/core/settle.h"

#include "daemon/core/bid.h"
#include "daemon/core/emit.h"
#include "daemon/core/grant.h"
#include "daemon/core/keep.h"
#include "daemon/core/lease.h"
#include "daemon/core/master.h"
#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/undo.h"

void
settle_verdict(const struct core *core, const struct resource *r, struct reply *out)
{
	const struct reply null = {.type = REPLY_NULL, .code = CODE_COUNT};

	*out = null;
	if (r->grant_count > 0 || r->lease.state == LEASE_HELD)
		return;
	if (!quorum_usable(core, r->link)) {
		quorum_verdict(core, r->link, out);
		return;
	}
	switch (r->lease.trouble) {
	case TROUBLE_ERROR:
		reply_error(
			out, CODE_MASTERERR, "the master said: %s", core->masters[r->lease.trouble_at].error);
		return;
	case TROUBLE_SILENT:
		reply_error(out, CODE_NOMASTER, "the master did not answer in time");
		return;
	case TROUBLE_KIND:
		reply_error(out, CODE_WRONGKIND,
			"the key of this name at the master holds something that is not a lock of this kind");
		return;
	default:
		break;
	}
	/* Nobody has said that it is taken, and null would say just that. */
	if (r->lease.state == LEASE_ACQUIRING && !r->lease.refused)
		reply_error(out, CODE_NOMASTER, "the master has not answered yet");
}

static void
settle_once(struct core *core, struct resource *r)
{
	struct reply verdict;

	if (r->once_count == 0)
		return;
	settle_verdict(core, r, &verdict);
	queue_answer_once(core, r, &verdict);
}

/* The lease is ours and nobody holds it. */
static void
settle_held(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	int64_t token;

	if (r->waiter_count == 0 || lease_must_yield(core, l)) {
		lease_give_back(core, l);
		return;
	}
	if (!lease_good(core, l)) {
		keep_refresh(core, l);
		return;
	}
	token = lease_token(l);
	if (token == 0) {
		keep_refill(core, l);
		return;
	}
	l->served = true;
	l->streak += l->wanted;
	grant_give(core, l, TAILQ_FIRST(&r->waiters), token);
	keep_refill(core, l);
}

/* Nothing at the master, or refused there for now. */
static void
settle_without(struct core *core, struct resource *r)
{
	struct lease *l = &r->lease;
	bool usable = quorum_usable(core, r->link);

	if (r->waiter_count == 0) {
		if (l->state == LEASE_WAITING)
			lease_leave(core, l);
		return;
	}
	if (l->state == LEASE_NONE && usable) {
		if (l->rests)
			bid_rest(core, l);
		else
			bid_begin(core, l);
		return;
	}
	if (l->state == LEASE_WAITING && l->trouble == TROUBLE_KIND) {
		struct reply verdict;

		settle_verdict(core, r, &verdict);
		queue_answer_all(core, r, &verdict);
		return;
	}
	/* Nobody should wait for a daemon that cannot take its turn. */
	if (!usable)
		bid_step_back(core, l);
	/* While a master is being greeted the verdict is a moment away. */
	if ((l->state == LEASE_WAITING && l->refused) || (!usable && !quorum_near(core, r->link)))
		settle_once(core, r);
}

static void
settle_one(struct core *core, struct resource *r)
{
	if (r->grant_count > 0) {
		settle_once(core, r);
		return;
	}
	if (r->lease.state == LEASE_HELD)
		settle_held(core, r);
	else if (r->lease.state != LEASE_ACQUIRING)
		settle_without(core, r);
	if (!r->dirty && r->grant_count == 0 && r->waiter_count == 0 && r->lease.state == LEASE_NONE)
		resource_forget(core, r);
}

/* A master's state changed: everything that waits looks again. Rare, so it may look at all names. */
static void
settle_retry(struct core *core)
{
	struct resource *r, *next;

	HASH_ITER (hh, core->resources, r, next) {
		if (r->lease.state == LEASE_HELD)
			keep_catch_up(core, &r->lease);
		else
			bid_wake(core, &r->lease);
		resource_touch(core, r);
	}
	undo_retry_all(core);
}

/* A master forgot: every lease that is still valid is asserted there again. */
static void
settle_reclaim(struct core *core, const struct master *m)
{
	struct resource *r, *next;

	HASH_ITER (hh, core->resources, r, next) {
		if (r->lease.state == LEASE_HELD)
			keep_reclaim(core, &r->lease, m->index);
	}
}

void
settle(struct core *core)
{
	struct resource *r;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (!core->masters[i].reclaim)
			continue;
		core->masters[i].reclaim = false;
		settle_reclaim(core, &core->masters[i]);
	}
	if (core->retry) {
		core->retry = false;
		settle_retry(core);
	}
	while ((r = resource_touched(core)) != NULL)
		settle_one(core, r);
}
