#include "daemon/core/settle.h"

#include "daemon/core/bid.h"
#include "daemon/core/bundle.h"
#include "daemon/core/keep.h"
#include "daemon/core/latch.h"
#include "daemon/core/lease.h"
#include "daemon/core/part.h"
#include "daemon/core/permits.h"
#include "daemon/core/resource.h"
#include "daemon/core/share.h"
#include "daemon/core/touched.h"
#include "daemon/core/undo.h"

static void
settle_one(struct core *core, struct resource *r)
{
	if (r->parts)
		parts_look(core, r);
	if (r->limit == 0)
		share_settle(core, r);
	else
		permits_settle(core, r);
	if (!r->dirty && resource_idle(r))
		resource_forget(core, r);
}

/* A master's state changed: everything that waits looks again. Rare, so it may look at all names; but what is
 * just held, by millions perhaps, looks at nothing. */
static void
settle_retry(struct core *core)
{
	struct resource *r;
	struct lease *l;

	for (r = names_first(&core->names); r != NULL; r = names_next(&core->names, r)) {
		for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
			if (l->state == LEASE_HELD)
				keep_catch_up(core, l);
			else
				bid_look(core, l);
		}
		if (r->queue->count > 0 || r->parts)
			touched_add(core, r);
	}
	undo_retry_all(core);
	latch_retry_all(core);
}

/* A master forgot: every lease that is still valid is asserted there again, unless nobody needs it. */
static void
settle_reclaim(struct core *core, const struct master *m)
{
	struct resource *r;
	struct lease *l;

	for (r = names_first(&core->names); r != NULL; r = names_next(&core->names, r)) {
		for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
			if (l->state == LEASE_HELD && l->idle_ms != 0 && r->queue->count == 0)
				lease_give_back(core, l);
			else if (l->state == LEASE_HELD)
				keep_reclaim(core, l, m->index);
		}
	}
}

static bool
settle_next(struct core *core)
{
	struct resource *r = touched_next(core);

	if (r == NULL)
		return false;
	settle_one(core, r);
	return true;
}

void
settle_verdict(const struct core *core, const struct waiter *w, struct reply *out)
{
	if (w->resource->limit == 0)
		share_verdict(core, w, out);
	else
		permits_verdict(core, w, out);
}

void
settle(struct core *core)
{
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
	/* A bundle that waits for a name next should do so before that is given back. */
	while ((!TAILQ_EMPTY(&core->bundles) && bundle_settle(core)) || settle_next(core))
		continue;
}
