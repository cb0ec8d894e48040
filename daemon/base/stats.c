/*
 * stats: the table of the fields of struct stats. INFO calls it. It changes no field, except to clear all.
 */
#include "daemon/base/stats.h"

#include <assert.h>
#include <string.h>

static const struct {
	struct stat_info info;
	size_t offset;
} table[] = {
#define STAT(name, kind, help) {{#name, STAT_##kind, help}, offsetof(struct stats, name)},
#include "daemon/base/stats.def"
#undef STAT
};

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
