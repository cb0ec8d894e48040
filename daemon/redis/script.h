/*
 * script: the Lua scripts of lua/, embedded at build time by lua/embed.
 *
 * One for each operation of call.h, in its order, and behind them those that do the same for shared leases
 * and permits, and for names that Redisson locks, too. Constant; used by call.c, the pool and the simulator.
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

/* GROUP_SCRIPT(op, script): what an operation is for members of a group; operations that are not here are the
 * same for all kinds. */
#define GROUP_SCRIPTS(GROUP_SCRIPT)                                                                          \
	GROUP_SCRIPT(ACQUIRE, group_acquire)                                                                 \
	GROUP_SCRIPT(RENEW, group_renew)                                                                     \
	GROUP_SCRIPT(RECLAIM, group_reclaim)                                                                 \
	GROUP_SCRIPT(RELEASE, group_release)

/* REDISSON_SCRIPT(op, script): what an operation is where Redisson locks the name, too. */
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

/* The script of a call: of its operation, its lease's kind, and who else locks the name. */
enum script_id script_of(const struct call *call);

#endif
