/*
 * line: the checker's part about the place in a queue that a daemon keeps for a writer who waits there behind
 * readers of its own: so long as he waits it is there without a gap, or readers that come later elsewhere
 * would be let in before him (3.19).
 */
#ifndef SIM_LINE_H
#define SIM_LINE_H

#include <stdint.h>

struct world;

/* Of one name at one daemon. */
struct line {
	int64_t since_us; /* a writer waits there behind readers; INT64_MAX: none does */
	int64_t gap_us;   /* when it last had a place, or nobody needed one */
};

/* Looks every now and then, from now on. */
void line_watch(struct world *world);

#endif
