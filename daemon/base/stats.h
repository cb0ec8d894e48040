/*
 * stats: counters, gauges and histograms, listed once in stats.def.
 *
 * Adapters add to the fields directly (stats->master_calls++); INFO and the metrics read them by index.
 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

/* How often a duration was at most each of these bounds, from 100 µs to an hour, and how often longer. */
#define BUCKETS_BOUNDS 24

struct buckets {
	uint64_t counts[BUCKETS_BOUNDS + 1]; /* not cumulative; the last one is without a bound */
	int64_t sum_us;
};

/* us >= 0 */
void buckets_add(struct buckets *buckets, int64_t us);
/* index < BUCKETS_BOUNDS; in ascending order */
int64_t buckets_bound_us(size_t index);

struct stats {
#define STAT(name, kind, help)                    int64_t name;
#define STAT_OF(name, family, label, value, help) int64_t name;
#include "daemon/base/stats.def"
#define HISTOGRAM(name, family, label, value, help) struct buckets name;
#include "daemon/base/stats.def"
};

enum stat_kind { STAT_COUNTER, STAT_GAUGE };

struct stat_info {
	const char *name; /* as in INFO */
	enum stat_kind kind;
	const char *help;   /* one line, for people */
	const char *family; /* of its metric; NULL: none but its own name */
	const char *label;  /* with a family: what tells it from the others of the family */
	const char *value;
};

struct histogram_info {
	const char *family;
	const char *label; /* "": the family has one row */
	const char *value;
	const char *help;
};

void stats_init(struct stats *stats);
size_t stats_count(void);
/* index < stats_count() */
const struct stat_info *stats_info(size_t index);
int64_t stats_value(const struct stats *stats, size_t index);
/* Adds to the counter of this name, if there is one. */
void stats_add(struct stats *stats, const char *name, size_t n, int64_t value);

size_t stats_histograms(void);
/* index < stats_histograms() */
const struct histogram_info *stats_histogram_info(size_t index);
const struct buckets *stats_histogram(const struct stats *stats, size_t index);

#endif
