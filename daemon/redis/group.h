/*
 * group: calls that wait for others to share a command with.
 *
 *     call, call, … ──▶ groups, one for each script ──close()──▶ commands
 *
 * Under load acquires and releases of many names arise by turns; one group alone would be closed at each
 * change. A name is in one open group at most, so that calls about a name leave in the order in which they
 * came; those about different names may overtake each other. A call about no name overtakes nothing and
 * nothing overtakes it.
 *
 * The pool and the simulator use it. Pure. Memory comes from the reserve if there is none: no call could be
 * answered honestly without.
 */
#ifndef REDIS_GROUP_H
#define REDIS_GROUP_H

#include "daemon/core/call.h"
#include "daemon/core/reserve.h"
#include "daemon/redis/call.h"
#include "daemon/redis/script.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one script, link and memory of the master: call_groups(). Zero when it is empty for the first time. */
struct group {
	size_t n;
	int64_t permits; /* of all of them */
	struct call *calls;
	uint32_t hashes[CALL_GROUP_MAX]; /* of the names */
	size_t offsets[CALL_GROUP_MAX];  /* of the names, each followed by its call's other texts, in: */
	char *texts;
	size_t used;
	size_t room;
};

/* All zero in the beginning. */
struct groups {
	uint32_t open;          /* a bit for each that may have calls: the others need no look */
	struct reserve reserve; /* filled by whoever can do without calls when it cannot be had */
	struct group of[SCRIPT_COUNT];
};

/* Makes a command of a group and empties it with group_clear(). */
typedef void group_close(void *arg, struct group *group);

/* Copies the call and its texts; its key stays the caller's. Closes what has to leave before. */
void groups_add(struct groups *groups, const struct call *call, group_close *close, void *arg);
/* Closes all. */
void groups_close(struct groups *groups, group_close *close, void *arg);
bool groups_empty(const struct groups *groups);
void groups_done(struct groups *groups);

/* What was added, with texts and keys, until the next groups_add(). */
const struct call *group_calls(struct group *group);
void group_clear(struct group *group);

#endif
