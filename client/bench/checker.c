/*
 * checker: verifies PROTOCOL 3.18 and 4.4 from outside, and counts durations. It sends and prints nothing.
 */
#include "client/bench/bench.h"

#include <assert.h>
#include <stddef.h>

const char *
checker_grant(struct checker *c, const void *holder, bool shared, int64_t token)
{
	if (c->exclusive) {
		return "granted while another has it";
	}
	if (!shared && c->readers > 0) {
		return "granted while others have it shared";
	}
	/* Concurrent shared holds have no order. */
	if (token <= (shared ? c->exclusive_token : c->token)) {
		return "granted with a token that is not greater than those before";
	}
	c->token = token > c->token ? token : c->token;
	if (shared) {
		c->readers++;
		return NULL;
	}
	c->exclusive = true;
	c->exclusive_token = token;
	c->changes += c->previous != holder;
	c->previous = holder;
	return NULL;
}

void
checker_release(struct checker *c, bool shared)
{
	assert(shared ? c->readers > 0 : c->exclusive);
	if (shared) {
		c->readers--;
	} else {
		c->exclusive = false;
	}
}

/* The histogram: cells that grow with the duration, 32 for each power of two. */

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
histogram_add(struct histogram *h, int64_t us)
{
	size_t cell = cell_of(us > 0 ? (uint64_t)us : 0);

	assert(cell < HISTOGRAM_CELLS);
	h->cells[cell]++;
	h->count++;
	if (us > h->longest_us) {
		h->longest_us = us;
	}
}

int64_t
histogram_percentile_us(const struct histogram *h, unsigned percent)
{
	uint64_t wanted = (h->count * percent + 99) / 100;
	uint64_t seen = 0;

	for (size_t i = 0; i < HISTOGRAM_CELLS; i++) {
		seen += h->cells[i];
		if (h->cells[i] > 0 && seen >= wanted) {
			int64_t us = cell_us(i);

			return us < h->longest_us ? us : h->longest_us;
		}
	}
	return 0;
}
