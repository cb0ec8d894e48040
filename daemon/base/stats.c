/*
 * stats: the table of the fields of struct stats. INFO and the metrics call it. It changes fields only to
 * clear all and to load them.
 */
#include "daemon/base/stats.h"

#include <assert.h>
#include <string.h>

static const struct {
	struct stat_info info;
	size_t offset;
} table[] = {
#define STAT(name, kind, help) {{#name, STAT_##kind, help, NULL, NULL, NULL}, offsetof(struct stats, name)},
#define STAT_OF(name, family, label, value, help)                                                            \
	{{#name, STAT_COUNTER, help, family, label, value}, offsetof(struct stats, name)},
#include "daemon/base/stats.def"
};

static const struct {
	struct histogram_info info;
	size_t offset;
} histograms[] = {
#define HISTOGRAM(name, family, label, value, help)                                                          \
	{{family, label, value, help}, offsetof(struct stats, name)},
#include "daemon/base/stats.def"
};

#define MS INT64_C(1000)
#define S  INT64_C(1000000)

/* People think of waits and holds in these steps; a minute is a bound, since alerts ask for it. */
static const int64_t bounds_us[BUCKETS_BOUNDS] = {100, 200, 500, 1 * MS, 2 * MS, 5 * MS, 10 * MS, 20 * MS,
	50 * MS, 100 * MS, 200 * MS, 500 * MS, 1 * S, 2 * S, 5 * S, 10 * S, 20 * S, 30 * S, 60 * S, 120 * S,
	300 * S, 600 * S, 1800 * S, 3600 * S};

void
buckets_add(struct buckets *buckets, int64_t us)
{
	size_t low = 0, high = BUCKETS_BOUNDS;

	assert(us >= 0);
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (us <= bounds_us[middle])
			high = middle;
		else
			low = middle + 1;
	}
	buckets->counts[low]++;
	buckets->sum_us += us;
}

int64_t
buckets_bound_us(size_t index)
{
	assert(index < BUCKETS_BOUNDS);
	return bounds_us[index];
}

void
stats_init(struct stats *stats)
{
	memset(stats, 0, sizeof *stats);
}

size_t
stats_count(void)
{
	return sizeof table / sizeof *table;
}

const struct stat_info *
stats_info(size_t index)
{
	assert(index < stats_count());
	return &table[index].info;
}

int64_t
stats_value(const struct stats *stats, size_t index)
{
	int64_t value;

	assert(index < stats_count());
	memcpy(&value, (const char *)stats + table[index].offset, sizeof value);
	return value;
}

void
stats_add(struct stats *stats, const char *name, size_t n, int64_t value)
{
	for (size_t i = 0; i < stats_count(); i++) {
		int64_t *field = (int64_t *)(void *)((char *)stats + table[i].offset);

		if (table[i].info.kind == STAT_COUNTER && strlen(table[i].info.name) == n &&
			memcmp(table[i].info.name, name, n) == 0)
			*field += value;
	}
}

size_t
stats_histograms(void)
{
	return sizeof histograms / sizeof *histograms;
}

const struct histogram_info *
stats_histogram_info(size_t index)
{
	assert(index < stats_histograms());
	return &histograms[index].info;
}

const struct buckets *
stats_histogram(const struct stats *stats, size_t index)
{
	assert(index < stats_histograms());
	return (const struct buckets *)(const void *)((const char *)stats + histograms[index].offset);
}
