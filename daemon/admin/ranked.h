/*
 * ranked: of any number of locks the first ones in the order of age: the locks with the longest wait, and
 * then the locks with the longest hold.
 *
 * Locks come in no order, piece by piece. The first ones so far are stored as text, and the last of these is
 * the root of a heap, so that one comparison decides whether another lock is written as text.
 */
#ifndef ADMIN_RANKED_H
#define ADMIN_RANKED_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most that are stored, and the most bytes of their texts. */
#define RANKED_MOST  1000
#define RANKED_BYTES ((size_t)1 << 20)

/* When the longest wait began, and when the hold began; CLOCK_BOOTTIME in ms. INT64_MAX: there is none. */
struct rank {
	int64_t waits_ms;
	int64_t held_ms;
};

struct ranked;

/* NULL: no memory. */
struct ranked *ranked_new(size_t most) __attribute__((warn_unused_result));
void ranked_free(struct ranked *ranked);

/* Whether a comes before b. */
bool rank_before(const struct rank *a, const struct rank *b);
/* What has to be beaten; NULL: there is room. */
const struct rank *ranked_last(const struct ranked *ranked);
/* Keeps a copy of the text, and drops what no longer fits. False: no memory. */
bool ranked_add(struct ranked *ranked, const struct rank *rank, struct slice text)
	__attribute__((warn_unused_result));

/* All have been seen: nothing is added from now on. */
void ranked_close(struct ranked *ranked);
bool ranked_closed(const struct ranked *ranked);
/* After ranked_close(): the texts, the first one first; n == 0: there are no more. Valid until ranked_free().
 */
struct slice ranked_next(struct ranked *ranked);
/* The text at this position; n == 0: there are fewer. After ranked_close() 0 is the first one, before it
 * there is no order. */
struct slice ranked_at(const struct ranked *ranked, size_t i);

#endif
