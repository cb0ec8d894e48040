/* state_time: see state_time.h. */
#include "daemon/core/base/state_time.h"

#include "daemon/core/base/timers.h"
#include "proto/record.h"

#include <assert.h>

int64_t
state_time(struct record *r, int64_t at_ms)
{
	int64_t read = at_ms;

	assert(record_loads(r) || at_ms == TIMER_NEVER ||
		(at_ms >= -STATE_TIME_MAX && at_ms <= STATE_TIME_MAX));
	record_number(r, &read);
	if (read == TIMER_NEVER || (read >= -STATE_TIME_MAX && read <= STATE_TIME_MAX))
		return read;
	record_fail(r, "a time of its record of type %u is out of its range", r->type);
	return 0;
}
