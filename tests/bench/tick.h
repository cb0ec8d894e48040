/*
 * tick: the time, for the programs of the bench.
 */
#ifndef BENCH_TICK_H
#define BENCH_TICK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC. */
static inline int64_t
tick_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline struct timeval
tick_timeval(int64_t us)
{
	return (struct timeval){.tv_sec = us / 1000000, .tv_usec = us % 1000000};
}

#endif
