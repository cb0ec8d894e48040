/*
 * batch: calls that travel together: groups that wait for a command, and batches that wait for their votes.
 *
 *     call, call, … ──▶ groups, one for each script ──close()──▶ batch ──▶ batches, first in, first out
 *
 * Under load acquires and releases of many names alternate; a single group would be closed at each change. A
 * name is in at most one open group, so that calls about a name leave in the order in which they came; calls
 * about different names may overtake each other. A call about no name overtakes none and is overtaken by
 * none. In a group, calls whose terms are alike stand side by side: a command says them once.
 *
 * The pool uses it, and the simulator uses the groups. Pure. If memory runs out, it comes from the reserve: a
 * call without a place or a batch could get no truthful vote.
 */
#ifndef REDIS_BATCH_H
#define REDIS_BATCH_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/call.h"
#include "daemon/redis/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls of one script, link and memory of the master; see call_groups(). All zero before its first use. */
struct group {
	size_t n;
	size_t queued;   /* the first of them: the queue of the name lives at this master */
	int64_t permits; /* of all of them */
	struct call *calls;
	uint32_t hashes[CALL_GROUP_MAX]; /* of the names */
	size_t offsets[CALL_GROUP_MAX];  /* of the names in texts; other texts follow each name */
	char *texts;
	size_t used;
	size_t room;
};

/* All zero at first. */
struct groups {
	uint32_t open;          /* a bit for each group that may have calls; the others are skipped */
	struct reserve reserve; /* filled by the user, which must do without calls if it cannot be filled */
	struct group of[SCRIPT_COUNT];
};

/* Makes a command of a group and empties it with group_clear(). */
typedef void group_close(void *arg, struct group *group);

/* Copies the call and its texts; the caller keeps its key. Closes each group that has to leave before this
 * call. */
void groups_add(struct groups *groups, const struct call *call, group_close *close, void *arg);
/* Closes all groups. */
void groups_close(struct groups *groups, group_close *close, void *arg);
bool groups_empty(const struct groups *groups);
void groups_done(struct groups *groups);

/* The calls of the group, with texts and keys; valid until the next groups_add(). */
const struct call *group_calls(struct group *group);
void group_clear(struct group *group);

/* Calls that are sent together, or could not be sent. Their names and slots follow them in memory. */
struct batch {
	struct batch *next;  /* in its queue */
	struct vote *votes;  /* one for each call, while known votes are withheld; else NULL */
	int64_t sent_us;     /* CLOCK_BOOTTIME; 0: it was not sent */
	bool acked;          /* an answer counts only once replicas have acknowledged it */
	const char *refused; /* why it was refused and not sent; NULL: no link, or no room */
	size_t n;
	struct call calls[];
};

/* A batch of one call, without its key. */
struct batch *batch_of(struct reserve *reserve, const struct call *call)
	__attribute__((returns_nonnull, warn_unused_result));
/* A copy of a group in one piece; its calls have their keys until batch_forget_keys(). */
struct batch *batch_of_group(struct reserve *reserve, const struct group *group)
	__attribute__((returns_nonnull, warn_unused_result));
/* The batch waits from now on, and a reload may free the keys. */
void batch_forget_keys(struct batch *batch);

void batch_free(struct batch *batch);

/* Copies the votes of its calls, with what they point to. */
void batch_withhold(struct reserve *reserve, struct batch *batch, const struct vote *votes);

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
