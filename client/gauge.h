/*
 * gauge: many durations in little room, for percentiles that are at most 3 % too long.
 */
#ifndef CLIENT_GAUGE_H
#define CLIENT_GAUGE_H

#include <stdint.h>

#define GAUGE_CELLS 2048

/* Zeroed: empty. */
struct gauge {
	uint64_t count;
	int64_t longest_us;
	uint64_t cells[GAUGE_CELLS];
};

void gauge_add(struct gauge *g, int64_t us);

/* So many of a hundred took no longer than this; 0 when there are none. */
int64_t gauge_percentile_us(const struct gauge *g, unsigned percent);

#endif
