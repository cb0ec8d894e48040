/*
 * engine: the Lua 5.1 in which scripts run, with Redis' environment around them: redis.call, redis.pcall,
 * Redis' own pcall, no other globals.
 *
 * The process has one engine, because a script leaves no state in it: all simulated masters share it, and
 * each known script is compiled once.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "daemon/redis/call.h"
#include "tests/sim/world/answer.h"

#include <stddef.h>

struct engine;

/* Runs one command of a script. Its reply is made with answer.h, in scratch memory. */
typedef redisReply *engine_command(void *arg, size_t argc, const struct slice *argv);

struct engine *engine_shared(void);

/*
 * Runs a script: op for a script of the project, or -1 and its text. The first numkeys of args are KEYS. The
 * caller owns the result: the reply, or the error that the script raised.
 */
redisReply *engine_run(struct engine *engine, int op, struct slice text, int numkeys, int argc,
	const char *const *argv, const size_t *argvlen, engine_command *command, void *arg);

#endif
