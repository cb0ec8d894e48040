/*
 * schedule: see schedule.h. core.c calls it; permits.c and share.c know what follows for a name.
 */
#include "daemon/core/schedule.h"

#include "daemon/core/dirty.h"
#include "daemon/core/drain.h"
#include "daemon/core/mlock.h"
#include "daemon/core/part.h"
#include "daemon/core/permits.h"
#include "daemon/core/rescan.h"
#include "daemon/core/resource.h"
#include "daemon/core/share.h"
#include "daemon/core/state.h"

static void
schedule_one(struct core *core, struct resource *r)
{
	if (r->parts)
		parts_look(core, r);
	if (r->limit == 0)
		share_schedule(core, r);
	else
		permits_schedule(core, r);
	if (!r->dirty && resource_idle(r))
		resource_forget(core, r);
}

static bool
schedule_next(struct core *core)
{
	struct resource *r = dirty_next(core);

	if (r == NULL)
		return false;
	schedule_one(core, r);
	return true;
}

void
schedule_refusal(const struct core *core, const struct waiter *w, struct reply *out)
{
	if (w->resource->limit == 0)
		share_refusal(core, w, out);
	else
		permits_refusal(core, w, out);
}

void
schedule(struct core *core)
{
	do {
		rescan_begin(core);
		/* An MLOCK that waits for a name next has to do so before the name is given back. */
		while ((!TAILQ_EMPTY(&core->mlocks) && mlock_schedule(core)) || schedule_next(core))
			continue;
	} while (drain_goes_on(core));
}
