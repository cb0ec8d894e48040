/*
 * open_files: how many descriptors this process has open, for INFO and the metrics.
 *
 * Linux tells it in one call, from 6.2 on. Before, they are counted one by one, some thousands at each call,
 * because clients wait meanwhile: with tens of thousands of clients the number is that of some calls ago.
 */
#ifndef BASE_OPEN_FILES_H
#define BASE_OPEN_FILES_H

#include <stdint.h>

/* All zero at first. */
struct open_files {
	int next;      /* the descriptor to be tested next */
	int end;       /* no descriptor is above it; 0: a count begins */
	int64_t found; /* below next */
	int64_t count; /* by the latest count that has ended */
};

/* -1: unknown, for want of /proc. */
int64_t open_files_read(struct open_files *files);
/* The same, without the call that only a later Linux has. */
int64_t open_files_count(struct open_files *files);

/* How many this process may have; -1: any number. */
int64_t open_files_limit(void);

#endif
