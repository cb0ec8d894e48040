/* turn: see turn.h. */
#include "daemon/core/turn.h"

#include "daemon/core/base/base.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/mlock.h"
#include "daemon/core/lock/scheduler.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/verbs.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>

static void
turn_rescan(struct core *core)
{
	core->retry = false;
	rescan_retry(core);
	latch_retry_all(core);
	rescan_begin(core);
}

void
schedule(struct core *core)
{
	do {
		if (core->retry)
			turn_rescan(core);
		/* An MLOCK that waits for a name next has to do so before the name is given back. */
		while ((!TAILQ_EMPTY(&core->families->mlocks) && mlock_schedule(core)) || schedule_next(core))
			continue;
		assert(core->dirty.first == core->dirty.end && !core->dirty.missed);
		assert(TAILQ_EMPTY(&core->families->mlocks) && !core->quorum->reconfigured);
	} while (core->drain == DRAIN_WAITS && drain_goes_on(core));
}
