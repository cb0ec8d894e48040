/*
 * stats: the table of the fields of struct stats. INFO calls it. It changes fields only to clear all and to
 * load them.
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
