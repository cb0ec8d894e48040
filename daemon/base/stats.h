/*
 * stats: counters and gauges, listed once in stats.def.
 *
 * Adapters add to the fields directly (stats->master_calls++); INFO reads them by index.
 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

struct stats {
#define STAT(name, kind, help) int64_t name;
#include "daemon/base/stats.def"
#undef STAT
};

enum stat_kind { STAT_COUNTER, STAT_GAUGE };

struct stat_info {
	const char *name; /* as in INFO */
	enum stat_kind kind;
	const char *help; /* one line, for people */
};

void stats_init(struct stats *stats);
size_t stats_count(void);
/* index < stats_count() */
const struct stat_info *stats_info(size_t index);
int64_t stats_value(const struct stats *stats, size_t index);
/* Adds to the counter of this name, if there is one. */
void stats_add(struct stats *stats, const char *name, size_t n, int64_t value);

#endif
