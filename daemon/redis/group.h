/*
 * group: calls that wait to share a command with others.
 *
 *     call, call, … ──▶ groups, one for each script ──close()──▶ commands
 *
 * Under load acquires and releases of many names alternate; a single group would be closed at each change. A
 * name is in at most one open group, so that calls about a name leave in the order in which they came; calls
 * about different names may overtake each other. A call about no name overtakes none and is overtaken by
 * none.
 *
 * The pool and the simulator use it. Pure. If memory runs out, it comes from the reserve: a call without a
 * place could get no truthful vote.
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

/* Calls of one script, link and memory of the master; see call_groups(). All zero before its first use. */
struct group {
	size_t n;
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
	uint32_t open;          /* a bit for each group that may have calls; the others need no look */
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

#endif
