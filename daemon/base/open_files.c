/* open_files: see the header. */
#include "daemon/base/open_files.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Descriptors in one piece of a count: a third of a millisecond. */
#define COUNT_MOST 8192

int64_t
open_files_limit(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
		       ? (int64_t)limit.rlim_cur
		       : -1;
}

/* How far the table of descriptors goes. 0: unknown. */
static int
table_size(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	int size = 0;
	while (status && size == 0 && fgets(line, sizeof line, status)) {
		if (sscanf(line, "FDSize: %d", &size) != 1) {
			size = 0;
		}
	}
	if (status) {
		fclose(status);
	}
	return size;
}

int64_t
open_files_count(struct open_files *files)
{
	do {
		if (files->next == files->end) {
			*files = (struct open_files){.end = table_size(), .count = files->count};
		}
		if (files->end == 0) {
			return -1;
		}
		for (int n = 0; n < COUNT_MOST && files->next < files->end; n++) {
			files->found += fcntl(files->next++, F_GETFD) >= 0;
		}
		if (files->next == files->end) {
			files->count = files->found;
		}
	} while (files->count == 0);
	assert(files->count > 0);
	return files->count;
}

int64_t
open_files_read(struct open_files *files)
{
	struct stat st;
	return stat("/proc/self/fd", &st) == 0 && st.st_size > 0 ? (int64_t)st.st_size
								 : open_files_count(files);
}
