/*
 * clock: reads CLOCK_BOOTTIME and CLOCK_REALTIME. Every adapter uses it; it keeps no state.
 */
#include "daemon/base/clock.h"

#include <assert.h>
#include <time.h>

static int64_t
read_ns(clockid_t id)
{
	struct timespec ts;
	int rc = clock_gettime(id, &ts);

	assert(rc == 0); /* both clocks exist since Linux 2.6.39 */
	(void)rc;
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t
clock_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

int64_t
clock_us(void)
{
	return read_ns(CLOCK_BOOTTIME) / 1000;
}

int64_t
clock_ms(void)
{
	return read_ns(CLOCK_BOOTTIME) / 1000000;
}

int64_t
clock_wall_us(void)
{
	return read_ns(CLOCK_REALTIME) / 1000;
}
