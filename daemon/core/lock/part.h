/*
 * part: one name of a request that locks several at once, and has no answer yet, as its waiter and its hold
 * know it. MLOCK is such a request.
 */
#ifndef CORE_PART_H
#define CORE_PART_H

#include "daemon/core/lock/grant.h"
#include "proto/slice.h"

#include <assert.h>
#include <stddef.h>

struct mlock;
struct waiter;

/* Tried or waited for, then held until all are held. */
struct part {
	struct mlock *mlock;
	struct slice name;
	struct waiter *waiter; /* NULL: none */
	struct grant *grant;   /* NULL: none */
	size_t index;          /* in the names of the request */
};

/* The part that a hold is; NULL: none. */
static inline struct part *
part_of(const struct grant *g)
{
	struct part *part = g->bounded ? g->terms->part : NULL;

	assert(part == NULL || part->grant == g);
	return part;
}

#endif
