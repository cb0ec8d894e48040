/*
 * script: the Lua scripts of lua/, embedded at build time by lua/embed.
 *
 * One for each operation of call.h, in its order. Constant; used by call.c, the pool and the simulator.
 */
#ifndef DAEMON_SCRIPT_H
#define DAEMON_SCRIPT_H

#include "daemon/core/call.h"

#include <stddef.h>

struct script {
	const char *name; /* of the operation, "acquire" */
	const char *sha1; /* 40 lower-case hexadecimal digits, for EVALSHA */
	size_t length;    /* of text */
	const char *text; /* for EVAL and SCRIPT LOAD */
};

extern const struct script scripts[CALL_OP_COUNT];

#endif
