/*
 * samples: all durations of a short run, kept whole: no histogram can blur a ratio. Used by the load program
 * only.
 */
#include "tests/bench/samples.h"

#include <err.h>
#include <stdlib.h>

#define SAMPLES_FIRST 65536

void
samples_add(struct samples *samples, int64_t ns)
{
	if (samples->n == samples->room) {
		samples->room = samples->room ? samples->room * 2 : SAMPLES_FIRST;
		samples->ns = reallocarray(samples->ns, samples->room, sizeof *samples->ns);
		if (!samples->ns)
			err(2, "samples");
	}
	samples->ns[samples->n++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static int
ns_compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

double
samples_percentile(struct samples *samples, unsigned percent)
{
	size_t at;

	if (samples->n == 0)
		return 0;
	at = (samples->n - 1) * percent / 100;
	qsort(samples->ns, samples->n, sizeof *samples->ns, ns_compare);
	return samples->ns[at] / 1000.0;
}

void
samples_done(struct samples *samples)
{
	free(samples->ns);
}
