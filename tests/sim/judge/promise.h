/*
 * promise: which promises a world judges, and for which names. The plan says before the run which assumptions
 * the world breaks (plan.h). What stands on one of these is not judged in the whole world, for the names that
 * the plan breaks it for; all else is judged without exception, and so is everything in a world of class A.
 * What happens in a run never takes a promise back.
 */
#ifndef SIM_PROMISE_H
#define SIM_PROMISE_H

#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct world;

/* PROMISE(id, the assumptions that it stands on, what is promised) */
#define PROMISES(PROMISE)                                                                                    \
	PROMISE(EXCLUSION, OFF(WRITES) | OFF(LEDGERS) | OFF(STILL), "exclusion: two holders never overlap")  \
	PROMISE(RIVALS, OFF(WRITES) | OFF(MEMORIES) | OFF(LEDGERS) | OFF(JUMPS) | OFF(STILL) | OFF(LISTS),   \
		"exclusion: nor do a holder and another program, nor do their tokens go back")               \
	PROMISE(TOKENS, OFF(WRITES) | OFF(LEDGERS) | OFF(STILL) | OFF(COUNTERS), "tokens: they grow")        \
	PROMISE(HOLD, OFF(WRITES) | OFF(STILL), "hold: it is as its holder was told")                        \
	PROMISE(VALIDITY, OFF(WRITES) | OFF(LEDGERS) | OFF(STILL),                                           \
		"validity: a majority keeps what a daemon is sure of, or has told")                          \
	PROMISE(LOSS, OFF(WRITES) | OFF(RIVALS) | OFF(LEDGERS) | OFF(JUMPS) | OFF(BACK) | OFF(STILL),        \
		"loss: a lease that can be renewed is not lost")                                             \
	PROMISE(REFUSAL, OFF(WRITES) | OFF(RIVALS), "refusal: it has a reason")                              \
	PROMISE(PROGRESS, OFF(WRITES) | OFF(RIVALS) | OFF(COPIES) | OFF(LEDGERS) | OFF_CLOCKS,               \
		"progress: a free name is granted in the calm")                                              \
	PROMISE(ORDER, OFF(WRITES) | OFF(RIVALS) | OFF(COPIES) | OFF(LEDGERS) | OFF(MESSAGES) | OFF_CLOCKS,  \
		"order: each daemon has its turn in the calm")                                               \
	PROMISE(RELEASE, OFF(COPIES) | OFF(JUMPS) | OFF(BACK) | OFF(STILL),                                  \
		"orphan: no master keeps a lease that was given back")                                       \
	PROMISE(NOTHING_LEFT, OFF(BACK), "drain: no key is left")                                            \
	PROMISE(WITHHELD, OFF(WRITES) | OFF(JUMPS) | OFF(STILL),                                             \
		"withheld: a hold passes on when what was told of it is over, and not before")               \
	PROMISE(GUARD, OFF_CLOCKS, "guard: no master is guarded without a reason")                           \
	PROMISE(OWNER, OFF(WRITES), "owner only: who is told that permits are his has them")                 \
	PROMISE(FLOOR, OFF(COUNTERS), "hellos: a master is admitted above all that others know")             \
	PROMISE(CLONED, OFF(COPIES), "cloned: no daemon takes itself for a copy")                            \
	PROMISE(LEAVE, OFF(WRITES) | OFF(COPIES) | OFF(LEDGERS) | OFF(STILL),                                \
		"hellos: a registration lasts as long as a hold")

enum promise {
#define PROMISE(id, off, text) PROMISE_##id,
	PROMISES(PROMISE)
#undef PROMISE
		PROMISE_COUNT
};

struct promises {
	struct promise_count {
		unsigned names; /* of the world, a bit for each that it is promised for */
		uint64_t checks;
		uint64_t judged;
	} of[PROMISE_COUNT];
};

/* At the beginning of a world. */
void promises_draw(struct world *world);

/* Counts one more check. Returns whether this world promises it for this name, or for PLAN_ANY_NAME. */
bool promised(const struct world *world, enum promise promise, unsigned name);

void promises_add(struct promises *sum, const struct promises *more);

/* Prints a line for each promise. */
void promises_print(const struct promises *promises);

#endif
