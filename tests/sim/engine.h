/*
 * engine: the Lua 5.1 in which scripts run, with Redis' environment around them: redis.call, redis.pcall,
 * Redis' own pcall, no other globals.
 *
 * There is one for the whole process, since a script leaves nothing behind in it: all simulated masters share
 * it, and each known script is compiled once.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "daemon/redis/script.h"
#include "tests/sim/answer.h"

#include <stddef.h>

struct engine;

/* Runs one command of a script. Its reply is made with answer.h, and scratch. */
typedef redisReply *engine_command(void *arg, size_t argc, const struct slice *argv);

struct engine *engine_shared(void);

/*
 * Runs a script: op when it is one of ours, or -1 and its text. The first numkeys of args are KEYS. The
 * reply, or the error that the script raised, is the caller's.
 */
redisReply *engine_run(struct engine *engine, int op, struct slice text, int numkeys, int argc,
	const char *const *argv, const size_t *argvlen, engine_command *command, void *arg);

#endif
