/*
 * histogram: counts durations in cells of growing width. A percentile is at most 3 % too long.
 */
#ifndef CLIENT_HISTOGRAM_H
#define CLIENT_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_CELLS 2048

/* Zeroed: empty. */
struct histogram {
	uint64_t count;
	int64_t longest_us;
	uint64_t cells[HISTOGRAM_CELLS];
};

void histogram_add(struct histogram *g, int64_t us);

/* `percent` of a hundred durations are no longer than the result; 0 if the histogram is empty. */
int64_t histogram_percentile_us(const struct histogram *g, unsigned percent);

#endif
