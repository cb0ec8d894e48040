#include "daemon/core/settle.h"

#include "daemon/core/bundle.h"
#include "daemon/core/drain.h"
#include "daemon/core/part.h"
#include "daemon/core/permits.h"
#include "daemon/core/resource.h"
#include "daemon/core/share.h"
#include "daemon/core/sweep.h"
#include "daemon/core/touched.h"

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
	do {
		sweep_begin(core);
		/* A bundle that waits for a name next should do so before that is given back. */
		while ((!TAILQ_EMPTY(&core->bundles) && bundle_settle(core)) || settle_next(core))
			continue;
	} while (drain_goes_on(core));
}
