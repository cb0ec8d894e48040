/*
 * excuse: what is not judged in a world that breaks an assumption (plan.h), and how often. In a world of
 * class A there is no excuse: each check is made. The counts are printed at the end of a run: an excuse that
 * is used often is a gap.
 */
#ifndef SIM_EXCUSE_H
#define SIM_EXCUSE_H

#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct world;

/* EXCUSE(id, the assumption without which it is not promised, what is not judged, and when) */
#define EXCUSES(EXCUSE)                                                                                      \
	EXCUSE(EXCLUSION_TAINTED, OFF(WRITES) | OFF(CLOCKS),                                                 \
		"exclusion: somebody wrote to the key of one of two holds")                                  \
	EXCUSE(RIVAL_FORGOT, OFF(WRITES),                                                                    \
		"exclusion: a rival locks, too, and a master forgot or leapt a lease ago")                   \
	EXCUSE(RIVAL_TOKEN, OFF(WRITES),                                                                     \
		"tokens: a rival's beside those of an earlier memory of the master")                         \
	EXCUSE(TOKEN_TAINTED, OFF(WRITES) | OFF(CLOCKS), "tokens: somebody wrote to the key of the lease")   \
	EXCUSE(BELIEF_TAINTED, OFF(WRITES) | OFF(CLOCKS),                                                    \
		"validity: somebody wrote to the key of the lease")                                          \
	EXCUSE(BELIEF_FOREIGN, OFF(WRITES),                                                                  \
		"validity: a key of another program may be in the way of a lease")                           \
	EXCUSE(LOSS_RIVAL, OFF(WRITES),                                                                      \
		"loss: a rival locks, too, and a master forgot or leapt a lease ago")                        \
	EXCUSE(LOSS_TAINTED, OFF(WRITES) | OFF(CLOCKS), "loss: somebody wrote to the key of the lease")      \
	EXCUSE(REFUSAL_FOREIGN, OFF(WRITES), "refusal: a key of another program was there a lease ago")      \
	EXCUSE(LOSS_FOREIGN, OFF(WRITES), "loss: a key of another program was there a lease ago")            \
	EXCUSE(LINE_DELETED, OFF(WRITES) | OFF(MEMORY),                                                      \
		"queue: a key of the queue has just been deleted, or forgotten")                             \
	EXCUSE(REFUSAL_KIND, OFF(WRITES),                                                                    \
		"refusal: another program has written to the key, of another kind")                          \
	EXCUSE(OWNER_SPOILT, OFF(WRITES),                                                                    \
		"owner: permits are reclaimed where another program wrote to the key")                       \
	EXCUSE(EXCLUSION_COPY, OFF(COPIES),                                                                  \
		"exclusion: another daemon has begun with a copy of the ledger, a lease ago")                \
	EXCUSE(LEAVE_COPY, OFF(COPIES),                                                                      \
		"greets: another daemon has a copy of the ledger, and may have the lease")                   \
	EXCUSE(TOKEN_COPY, OFF(COPIES),                                                                      \
		"tokens: another daemon has begun with a copy of the ledger, a lease ago")                   \
	EXCUSE(BELIEF_COPY, OFF(COPIES),                                                                     \
		"validity: another daemon has begun with a copy of the ledger, a lease ago")                 \
	EXCUSE(BACKING_COPY, OFF(COPIES),                                                                    \
		"backing: another daemon has begun with a copy of the ledger, a lease ago")                  \
	EXCUSE(RECOVERED_COPY, OFF(COPIES),                                                                  \
		"loss: another daemon has begun with a copy of the ledger, a lease ago")                     \
	EXCUSE(CLONED_LATE, OFF(COPIES), "cloned: a greeting ran that its daemon had given up")              \
	EXCUSE(LINE_COPY, OFF(COPIES), "queue: a copy of the daemon shares its place")                       \
	EXCUSE(ORPHAN_COPY, OFF(COPIES), "orphan: of a copy of its daemon, which lives or has ended")        \
	EXCUSE(TOKEN_FORGOTTEN, OFF(CLOCKS) | OFF(MEMORY),                                                   \
		"tokens: no master left knows those before, and clocks went back")                           \
	EXCUSE(ADMITTED_ALONE, OFF(CLOCKS) | OFF(MEMORY),                                                    \
		"greets: no link to the masters that know the tokens of before")                             \
	EXCUSE(LOSS_BACK, OFF(CLOCKS),                                                                       \
		"loss: another lease outlives its time at a master, as a clock stepped back")                \
	EXCUSE(LOSS_LEAPT, OFF(CLOCKS),                                                                      \
		"loss: a leap ended the lease at a master, which is not counted on for a guard")             \
	EXCUSE(LEAP_LATE, OFF(CLOCKS),                                                                       \
		"leap: of before the last greeting, which was answered after a long silence")                \
	EXCUSE(LEAP_HIDDEN, OFF(CLOCKS),                                                                     \
		"leap: as long as the answer was on its way that showed that a host stood still")            \
	EXCUSE(WITHHELD_EXTENDED, OFF(CLOCKS),                                                               \
		"withheld: permits, extended after clocks had made their lease shorter")                     \
	EXCUSE(LINE_LEAPT, OFF(CLOCKS), "queue: a master's clock has just gone ahead, and ended the place")  \
	EXCUSE(ORPHAN_BACK, OFF(CLOCKS), "orphan: a master's clock stepped back")                            \
	EXCUSE(LATCH_BACK, OFF(CLOCKS), "latch: set beside one that was there until a clock stepped back")   \
	EXCUSE(DRAIN_BACK, OFF(CLOCKS), "drain: a key is left, and a clock stepped back")                    \
	EXCUSE(RIVAL_LIST, OFF(LISTS),                                                                       \
		"exclusion: a rival, and a daemon with another list of masters than his")

enum excuse {
#define EXCUSE(id, off, text) EXCUSE_##id,
	EXCUSES(EXCUSE)
#undef EXCUSE
		EXCUSE_COUNT
};

struct excuses {
	struct excuse_count {
		uint64_t looks;
		uint64_t taken;
	} of[EXCUSE_COUNT];
};

/* Counts one more check. Returns whether it is skipped: taken, and the world breaks what it stands on. */
bool excuse(const struct world *world, enum excuse id, bool taken);

void excuses_add(struct excuses *sum, const struct excuses *more);

/* Prints a line for each reason. */
void excuses_print(const struct excuses *excuses);

#endif
