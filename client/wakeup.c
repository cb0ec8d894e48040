/*
 * wakeup: timerfd(2) with absolute milliseconds.
 */
#include "client/wakeup.h"

#include <assert.h>
#include <sys/timerfd.h>
#include <time.h>

int
wakeup_open(void)
{
	return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

void
wakeup_set(int fd, int64_t at_ms)
{
	struct itimerspec when = {{0, 0}, {0, 0}};
	int set;

	if (at_ms != INT64_MAX) {
		/* Zero would disarm it. */
		at_ms = at_ms > 0 ? at_ms : 1;
		when.it_value.tv_sec = (time_t)(at_ms / 1000);
		when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000;
	}
	set = timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
	assert(set == 0);
	(void)set;
}
