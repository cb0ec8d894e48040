/*
 * batch: calls that travel together, and queues of them. The pool is the only user.
 *
 *     call, call, … ──▶ group ──group_close()──▶ batch ──▶ batches, first in, first out
 *
 * Memory that is missing for a few hundred bytes ends the process: no call could be answered honestly then,
 * and leases run out by themselves.
 */
#ifndef DAEMON_BATCH_H
#define DAEMON_BATCH_H

#include "daemon/call.h"
#include "daemon/core/call.h"

#include <stdbool.h>
#include <stddef.h>

/* Calls that travel, or could not travel, together. Their names follow them in memory. */
struct batch {
	struct batch *next;  /* in its queue */
	struct vote *votes;  /* one for each call, when they are known and wait; else NULL */
	bool acked;          /* granted, they count only when replicas have acknowledged it */
	const char *refused; /* it was not sent for this reason; NULL: for want of a link or of room */
	size_t n;
	struct call calls[];
};

/* A batch of one call. */
struct batch *batch_of(const struct call *call) __attribute__((returns_nonnull, warn_unused_result));

void batch_free(struct batch *batch);

/* Copies the votes of its calls, with what they point to. */
void batch_keep(struct batch *batch, const struct vote *votes);

/* First in, first out. */
struct batches {
	struct batch *head;
	struct batch **end;
};

void batches_init(struct batches *batches);
void batches_put(struct batches *batches, struct batch *batch);
/* NULL: there is none. */
struct batch *batches_take(struct batches *batches);
/* Frees what is left. */
void batches_done(struct batches *batches);

/* Calls that may still be joined by more; all zero in the beginning. Names are kept as offsets while their
 * room may move. */
struct group {
	size_t n;
	struct call calls[CALL_GROUP_MAX];
	size_t offsets[CALL_GROUP_MAX];
	char *names;
	size_t used;
	size_t room;
};

/* Copies the call and its name; its key stays the caller's. Not full, and nothing but what groups. */
void group_add(struct group *group, const struct call *call);
/* What was added, for call_encode(): with names and keys, until the next group_add(). */
const struct call *group_calls(struct group *group);
/* A copy in one piece, without the keys, which a reload may free. The group is empty then. */
struct batch *group_close(struct group *group) __attribute__((returns_nonnull, warn_unused_result));
void group_done(struct group *group);

#endif
