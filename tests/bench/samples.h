/*
 * samples: durations, for percentiles.
 */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty. */
struct samples {
	uint32_t *ns;
	size_t n;
	size_t room;
};

/* Ends the program when memory is out; 4 s and more count as 4 s. */
void samples_add(struct samples *samples, int64_t ns);
/* In µs, of those so far; 0 when there are none. Sorts them. */
double samples_percentile(struct samples *samples, unsigned percent);
void samples_done(struct samples *samples);

#endif
