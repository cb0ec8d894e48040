/* kinds: see kinds.h. */
#include "daemon/core/kinds/kinds.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/kinds/deadlock.h"
#include "daemon/core/kinds/latch.h"
#include "daemon/core/kinds/parts.h"
#include "daemon/core/kinds/semaphore.h"
#include "daemon/core/lock/kind.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/share.h"

#include <bsd/sys/queue.h>

void
kinds_init(struct core *core)
{
	core->locks->kinds[LOCK_SHARE] = &share_kind;
	core->locks->kinds[LOCK_PERMITS] = &permits_kind;
	core->locks->kinds[LOCK_LATCHES] = &latches_kind;
	core->locks->kinds[LOCK_PARTS] = &parts_kind;
	core->locks->watch = &deadlock_watch;
	TAILQ_INIT(&core->kinds->idle);
	TAILQ_INIT(&core->kinds->mlocks);
	TAILQ_INIT(&core->kinds->deferred.sessions);
	timer_init(&core->kinds->deferred.timer, TIMER_DEFERRED_CHECKS);
}
