/*
 * usage: reads what the scheduler counts, in ns; clock ticks are too coarse for a short run. Used by the
 * programs of the bench only.
 */
#include "tests/bench/usage.h"

#include <dirent.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>

#define PATH_BYTES 320

static int64_t
thread_ns(int pid, const char *thread)
{
	char path[PATH_BYTES];
	int64_t ns = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", pid, thread);
	file = fopen(path, "re");
	if (!file)
		return 0; /* it ended meanwhile */
	if (fscanf(file, "%" SCNd64, &ns) != 1)
		errx(2, "%s: no number", path);
	fclose(file);
	return ns;
}

static int64_t
process_ns(int pid)
{
	char path[PATH_BYTES];
	const struct dirent *entry;
	int64_t ns = 0;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	folder = opendir(path);
	if (!folder)
		err(2, "%s", path);
	while ((entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.')
			ns += thread_ns(pid, entry->d_name);
	closedir(folder);
	return ns;
}

void
usage_watch(struct usage *usage, int pid)
{
	if (usage->n == USAGE_MAX)
		errx(2, "at most %d processes are watched", USAGE_MAX);
	usage->pids[usage->n++] = pid;
}

void
usage_begin(struct usage *usage)
{
	for (unsigned i = 0; i < usage->n; i++)
		usage->began_ns[i] = process_ns(usage->pids[i]);
}

void
usage_end(struct usage *usage)
{
	for (unsigned i = 0; i < usage->n; i++)
		usage->used_ns[i] = process_ns(usage->pids[i]) - usage->began_ns[i];
}

void
usage_print(const struct usage *usage, uint64_t cycles)
{
	printf("\"used_us\": [");
	for (unsigned i = 0; i < usage->n; i++)
		printf("%s%.4f", i > 0 ? ", " : "",
			(double)usage->used_ns[i] / 1e3 / (double)(cycles ? cycles : 1));
	printf("]");
}
