/*
 * writer_place: the checker's part about the place in a master's queue that a daemon keeps while a writer
 * waits behind readers of the same daemon. The place must exist without a gap while the writer waits;
 * otherwise later readers at other daemons would be granted before the writer (3.19).
 */
#ifndef SIM_WRITER_PLACE_H
#define SIM_WRITER_PLACE_H

#include <stdint.h>

struct world;

/* Of one name at one daemon. */
struct writer_place {
	int64_t since_us; /* since when a writer waits behind readers; INT64_MAX: none does */
	int64_t gap_us;   /* when the daemon last had a place, or needed none */
};

/* Checks periodically from now on. */
void writer_place_watch(struct world *world);

#endif
