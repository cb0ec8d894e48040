/* families: see families.h. */
#include "daemon/core/families/families.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/deadlock.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/parts.h"
#include "daemon/core/families/semaphore.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/share.h"

#include <bsd/sys/queue.h>

void
families_init(struct core *core)
{
	core->locks->families[FAMILY_SHARE] = &share_family;
	core->locks->families[FAMILY_PERMITS] = &permits_family;
	core->locks->families[FAMILY_LATCHES] = &latches_family;
	core->locks->families[FAMILY_PARTS] = &parts_family;
	core->locks->watch = &deadlock_watch;
	TAILQ_INIT(&core->families->idle);
	TAILQ_INIT(&core->families->mlocks);
	TAILQ_INIT(&core->families->deferred.sessions);
	timer_init(&core->families->deferred.timer, TIMER_DEFERRED_CHECKS);
}
