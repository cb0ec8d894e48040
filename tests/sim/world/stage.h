/*
 * stage: a server for tests of scripts, a real one or the simulated one, behind the same functions.
 *
 * Suites run their tests on both, which shows that the scripts work in Redis, and that the simulated server
 * behaves like Redis.
 */
#ifndef SIM_STAGE_H
#define SIM_STAGE_H

#include "daemon/redis/call.h"
#include "tests/sim/world/master.h"
#include "tests/support/redis.h"

#include <stdbool.h>
#include <stdint.h>

#define STAGE_ID       0x1001U /* of a master, if a HELLO names none */
#define STAGE_LEASE_MS 10000   /* wanted lease if a HELLO has none; guarded, if it has less */

struct stage {
	bool real;
	struct redis_server redis;
	redisContext *listener; /* subscribed to every inbox */
	struct master *master;
	int64_t wall_us;  /* its clock, which stands still between commands */
	char heard[1024]; /* messages since the last stage_heard(): "<first letter of daemon-id>:<message>;"
			   */
};

void stage_init(struct stage *stage, bool real);
void stage_done(struct stage *stage);

/* Runs a script with its arguments, numkeys first, e.g. {"return 1", "0"}. The caller frees the reply. */
redisReply *stage_eval(struct stage *stage, size_t argc, const struct slice *args);
/* The same for a script of one key without arguments; its reply is dropped. */
void stage_do(struct stage *stage, const char *script, const char *key);

/* n calls of one daemon in one command; the texts in votes are valid until the next call. */
void stage_calls(struct stage *stage, const struct call_settings *daemon, const struct call *calls, size_t n,
	struct vote *votes);

/* The messages since the last call. */
const char *stage_heard(struct stage *stage);

/* The key's string, or "" if it is absent or not a string. Valid until the next call. */
const char *stage_get(struct stage *stage, const char *key);
int64_t stage_ttl_ms(struct stage *stage, const char *key);

void stage_full(struct stage *stage, bool full);
void stage_flush(struct stage *stage);
void stage_restart(struct stage *stage); /* empty */
/* Lets ms pass for the server. */
void stage_wait_ms(struct stage *stage, int ms);

#endif
