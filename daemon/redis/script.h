/*
 * script: the Lua scripts of lua/, embedded at build time by lua/embed.
 *
 * One for each operation of call.h, in its order, then those that do the same for shared leases and permit
 * leases, then those for names that Redisson locks, too. Constant; call.c, the pool and the simulator use it.
 */
#ifndef REDIS_SCRIPT_H
#define REDIS_SCRIPT_H

#include "daemon/core/call.h"

#include <stddef.h>

struct script {
	const char *name; /* of the operation, "acquire" */
	const char *sha1; /* 40 lower-case hexadecimal digits, for EVALSHA */
	size_t length;    /* of text */
	const char *text; /* for EVAL and SCRIPT LOAD */
};

/* GROUP_SCRIPT(op, script): the script of an operation for members of a group. Operations that are not listed
 * use one script for all kinds. */
#define GROUP_SCRIPTS(GROUP_SCRIPT)                                                                          \
	GROUP_SCRIPT(ACQUIRE, group_acquire)                                                                 \
	GROUP_SCRIPT(RENEW, group_renew)                                                                     \
	GROUP_SCRIPT(RECLAIM, group_reclaim)                                                                 \
	GROUP_SCRIPT(RELEASE, group_release)

/* REDISSON_SCRIPT(op, script): the script of an operation where Redisson locks the name, too. */
#define REDISSON_SCRIPTS(REDISSON_SCRIPT)                                                                    \
	REDISSON_SCRIPT(ACQUIRE, redisson_acquire)                                                           \
	REDISSON_SCRIPT(RENEW, redisson_renew)                                                               \
	REDISSON_SCRIPT(RECLAIM, redisson_reclaim)                                                           \
	REDISSON_SCRIPT(RELEASE, redisson_release)

enum script_id {
#define CALL_OP(name, script) SCRIPT_##name,
	CALL_OPS(CALL_OP)
#undef CALL_OP
#define GROUP_SCRIPT(name, script) SCRIPT_GROUP_##name,
		GROUP_SCRIPTS(GROUP_SCRIPT)
#undef GROUP_SCRIPT
#define REDISSON_SCRIPT(name, script) SCRIPT_REDISSON_##name,
			REDISSON_SCRIPTS(REDISSON_SCRIPT)
#undef REDISSON_SCRIPT
				SCRIPT_COUNT
};

extern const struct script scripts[SCRIPT_COUNT];

/* The script of a call, by its operation, the kind of its lease, and whether Redisson locks the name, too. */
enum script_id script_of(const struct call *call);

#endif
