/*
 * histogram: cells that grow with the duration: 32 for each power of two.
 */
#include "client/histogram.h"

#include <assert.h>
#include <stddef.h>

#define CELL_BITS 5
#define EXACT     (UINT64_C(2) << CELL_BITS) /* below it each µs has its own cell */

static size_t
cell_of(uint64_t us)
{
	unsigned power;

	if (us < EXACT) {
		return (size_t)us;
	}
	power = 63 - (unsigned)__builtin_clzll(us) - CELL_BITS;
	return (size_t)((uint64_t)power << CELL_BITS) + (size_t)(us >> power);
}

/* The longest duration in a cell. */
static int64_t
cell_us(size_t cell)
{
	unsigned power;

	if (cell < EXACT) {
		return (int64_t)cell;
	}
	power = (unsigned)(cell >> CELL_BITS) - 1;
	return (int64_t)((((cell & (EXACT / 2 - 1)) + EXACT / 2 + 1) << power) - 1);
}

void
histogram_add(struct histogram *g, int64_t us)
{
	size_t cell = cell_of(us > 0 ? (uint64_t)us : 0);

	assert(cell < HISTOGRAM_CELLS);
	g->cells[cell]++;
	g->count++;
	if (us > g->longest_us) {
		g->longest_us = us;
	}
}

int64_t
histogram_percentile_us(const struct histogram *g, unsigned percent)
{
	uint64_t wanted = (g->count * percent + 99) / 100;
	uint64_t seen = 0;

	for (size_t i = 0; i < HISTOGRAM_CELLS; i++) {
		seen += g->cells[i];
		if (g->cells[i] > 0 && seen >= wanted) {
			int64_t us = cell_us(i);

			return us < g->longest_us ? us : g->longest_us;
		}
	}
	return 0;
}
