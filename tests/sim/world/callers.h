/*
 * callers: five daemons and a stage with an admitted master, for suites about the scripts of lua/.
 *
 * Each test is run on a real server and on the simulated one.
 */
#ifndef SIM_CALLERS_H
#define SIM_CALLERS_H

#include "tests/sim/world/stage.h"

#define CAST_TTL_MS      11000 /* the longest lease and the clock margin */
#define CAST_FOREVER_US  INT64_C(9000000000000000)
#define CAST_INCARNATION 0xabc

/* Their ids begin with different letters, by which stage_heard() tells them apart. */
enum { DA, DB, DC, DD, DE, CAST_SIZE };
#define CAST_TAIL "1234567890123456789012345678901"
#define A         "a" CAST_TAIL
#define B         "b" CAST_TAIL
#define C         "c" CAST_TAIL
#define D         "d" CAST_TAIL
#define E         "e" CAST_TAIL

extern const struct call_settings cast[CAST_SIZE];

/* Defines a test that runs on both servers, from the moment at which the master is admitted. */
#define ON_BOTH(name)                                                                                        \
	static void name##_on(struct stage *stage);                                                          \
	START_TEST(name)                                                                                     \
	{                                                                                                    \
		for (int i = 0; i < 2; i++) {                                                                \
			struct stage stage;                                                                  \
			stage_init(&stage, i == 0);                                                          \
			callers_open(&stage, CAST_INCARNATION);                                              \
			name##_on(&stage);                                                                   \
			stage_done(&stage);                                                                  \
		}                                                                                            \
	}                                                                                                    \
	END_TEST                                                                                             \
	static void name##_on(struct stage *stage)

/* Sends the master HELLO without admitting it. */
void callers_hello(struct stage *stage, uint64_t incarnation);
void callers_open(struct stage *stage, uint64_t incarnation);

/* A call with all fields except its kind. */
struct call callers_call(enum call_op op, const char *name, uint64_t attempt);
/* The same lease with another operation. */
struct call callers_as(struct call call, enum call_op op);
/* k of n permits; slots NULL: any. */
struct call callers_permits(struct call call, int64_t n, int64_t k, const char *slots);
/* One call of one daemon; the texts in the vote are valid until the next call. */
struct vote callers_say(struct stage *stage, int daemon, struct call call);

/* The text that the script returns, "" if it is not a string; valid until the next call. KEYS[1] is key. */
const char *callers_ask(struct stage *stage, const char *script, const char *key);

#endif
