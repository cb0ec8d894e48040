/*
 * limits: the arithmetic of --max-run and --min-hold.
 */
#include "client/limits.h"

#include <assert.h>

void
limits_start(struct limits *l, int64_t now_ms, int64_t max_run_ms, int64_t kill_after_ms, int64_t min_hold_ms)
{
	assert(max_run_ms >= 0 && kill_after_ms >= 0 && min_hold_ms >= 0);
	*l = (struct limits){.stop_ms = max_run_ms > 0 ? now_ms + max_run_ms : INT64_MAX,
		.kill_ms = INT64_MAX,
		.kill_after_ms = kill_after_ms,
		.keep_ms = now_ms + min_hold_ms};
}

enum limits_step
limits_step(struct limits *l, int64_t now_ms)
{
	if (now_ms >= l->stop_ms) {
		l->stop_ms = INT64_MAX;
		l->kill_ms = now_ms + l->kill_after_ms;
		return LIMITS_STOP;
	}
	if (now_ms >= l->kill_ms) {
		l->kill_ms = INT64_MAX;
		return LIMITS_KILL;
	}
	return LIMITS_WAIT;
}

int64_t
limits_next(const struct limits *l)
{
	return l->stop_ms < l->kill_ms ? l->stop_ms : l->kill_ms;
}
