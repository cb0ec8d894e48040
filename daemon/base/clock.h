/*
 * clock: the only place that asks the kernel for the time.
 *
 * Adapters and programs call it. The core never does: each event carries the time.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline int64_t
clock_read_ns(clockid_t id)
{
	struct timespec ts;
	int rc = clock_gettime(id, &ts);

	assert(rc == 0); /* both clocks exist since Linux 2.6.39 */
	(void)rc;
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* CLOCK_BOOTTIME: never steps, and counts while the host is suspended, as leases at a master do. */
static inline int64_t
clock_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME);
}

static inline int64_t
clock_us(void)
{
	return clock_read_ns(CLOCK_BOOTTIME) / 1000;
}

static inline int64_t
clock_ms(void)
{
	return clock_read_ns(CLOCK_BOOTTIME) / 1000000;
}

/* CLOCK_REALTIME, µs since 1970. It may step: for log lines and token proposals, never for durations. */
static inline int64_t
clock_wall_us(void)
{
	return clock_read_ns(CLOCK_REALTIME) / 1000;
}

/* Sleeps for a moment. False, at once: it is until_ms by clock_ms(), or later. For what a process does before
 * it serves anyone. */
bool clock_nap(int64_t until_ms);

#define CLOCK_NAME_MAX 96

/* Names this CLOCK_BOOTTIME: the kernel's id of this boot, and the time namespace, in which it may differ.
 * "": unknown. */
void clock_name(char out[CLOCK_NAME_MAX]);

#endif
