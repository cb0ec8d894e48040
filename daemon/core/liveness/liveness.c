/* liveness: see liveness.h. */
#include "daemon/core/liveness/liveness.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/timers.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define SLACK_MOST_MS 1000

bool
liveness_checks_again(struct core *core, struct timer *timer, int64_t *check_at_ms, int64_t ms)
{
	int64_t slack = ms / 8 + 1 < SLACK_MOST_MS ? ms / 8 + 1 : SLACK_MOST_MS;

	assert(ms >= 0 && !timer_is_armed(timer));
	if (*check_at_ms != 0 && core->now.ms > core->unread_until_ms && core->now.ms <= *check_at_ms + slack)
		return false;
	*check_at_ms = core->now.ms + slack;
	timer_arm(&core->timers, timer, *check_at_ms);
	return true;
}
