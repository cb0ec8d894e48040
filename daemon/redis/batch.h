/*
 * batch: calls that travel together, and queues of such batches. The pool is the only user.
 *
 *     group ──batch_of_group()──▶ batch ──▶ batches, first in, first out
 *
 * If memory runs out, it comes from the reserve: a call without a batch could get no truthful vote.
 */
#ifndef REDIS_BATCH_H
#define REDIS_BATCH_H

#include "daemon/core/call.h"
#include "daemon/redis/call.h"
#include "daemon/redis/group.h"

#include <stdbool.h>
#include <stddef.h>

/* Calls that are sent together, or could not be sent. Their names and slots follow them in memory. */
struct batch {
	struct batch *next;  /* in its queue */
	struct vote *votes;  /* one for each call, while known votes are withheld; else NULL */
	bool acked;          /* an answer counts only once replicas have acknowledged it */
	const char *refused; /* why it was refused and not sent; NULL: no link, or no room */
	size_t n;
	struct call calls[];
};

/* A batch of one call. */
struct batch *batch_of(struct reserve *reserve, const struct call *call)
	__attribute__((returns_nonnull, warn_unused_result));
/* A copy of a group in one piece, without the keys, which a reload may free. */
struct batch *batch_of_group(struct reserve *reserve, struct group *group)
	__attribute__((returns_nonnull, warn_unused_result));

void batch_free(struct batch *batch);

/* Copies the votes of its calls, with what they point to. */
void batch_keep(struct reserve *reserve, struct batch *batch, const struct vote *votes);

/* First in, first out. */
struct batches {
	struct batch *head;
	struct batch **end;
};

void batches_init(struct batches *batches);
void batches_put(struct batches *batches, struct batch *batch);
/* NULL: empty. */
struct batch *batches_take(struct batches *batches);
/* Frees the batches that are left. */
void batches_done(struct batches *batches);

#endif
