/*
 * excuse: counts how often the checker skips a check, by reason. The counts are printed at the end of a run:
 * an exception that is used often is a gap.
 */
#ifndef SIM_EXCUSE_H
#define SIM_EXCUSE_H

#include <stdbool.h>
#include <stdint.h>

struct world;

/* EXCUSE(id, what is not judged, and when) */
#define EXCUSES(EXCUSE)                                                                                      \
	EXCUSE(EXCLUSION_TAINTED, "exclusion: somebody wrote to the key of one of two holds")                \
	EXCUSE(EXCLUSION_COPY, "exclusion: another daemon has begun with a copy of the ledger, a lease ago") \
	EXCUSE(STRAY_PART, "grants: to a lost LOCK or an MLOCK of its session, and taken back at once")      \
	EXCUSE(RIVAL_LIST, "exclusion: a rival, and a daemon with another list of masters than his")         \
	EXCUSE(RIVAL_FORGOT, "exclusion: a rival locks, too, and a master forgot or leapt a lease ago")      \
	EXCUSE(RIVAL_TOKEN, "tokens: a rival's beside those of an earlier memory of the master")             \
	EXCUSE(TOKEN_FORGOTTEN, "tokens: no master left knows those before, and clocks went back")           \
	EXCUSE(LEAVE_COPY, "greets: another daemon has a copy of the ledger, and may have the lease")        \
	EXCUSE(ADMITTED_ALONE, "greets: no link to the masters that know the tokens of before")              \
	EXCUSE(TOKEN_TAINTED, "tokens: somebody wrote to the key of the lease")                              \
	EXCUSE(TOKEN_COPY, "tokens: another daemon has begun with a copy of the ledger, a lease ago")        \
	EXCUSE(BELIEF_TAINTED, "belief: somebody wrote to the key of the lease")                             \
	EXCUSE(BELIEF_COPY, "belief: another daemon has begun with a copy of the ledger, a lease ago")       \
	EXCUSE(BELIEF_LACKS, "renewal: most masters lack the lease, may have forgotten it, or are guarded")  \
	EXCUSE(BELIEF_FOREIGN, "belief: a key of another program may be in the way of a lease")              \
	EXCUSE(REPAIR_BIDS, "repair: slow ways, and bids of others at a master that its daemon lacks")       \
	EXCUSE(BELIEF_LOST, "belief: the master lost its memory, leapt or was written to, a lease ago")      \
	EXCUSE(LOSS_RIVAL, "loss: a rival locks, too, and a master forgot or leapt a lease ago")             \
	EXCUSE(LOSS_TAINTED, "loss: somebody wrote to the key of the lease")                                 \
	EXCUSE(REFUSAL_FOREIGN, "honest: a key of another program was there a lease ago")                    \
	EXCUSE(LOSS_FOREIGN, "loss: a key of another program was there a lease ago")                         \
	EXCUSE(LOSS_BIDS, "loss: slow ways, and bids of others at a master that its daemon lacks")           \
	EXCUSE(LOSS_BACK, "loss: another lease outlives its time at a master, as a clock stepped back")      \
	EXCUSE(BACKING_COPY, "backing: another daemon has begun with a copy of the ledger, a lease ago")     \
	EXCUSE(RECOVERED_COPY, "loss: another daemon has begun with a copy of the ledger, a lease ago")      \
	EXCUSE(LOSS_LEAPT, "loss: a leap ended the lease at a master, which is not counted on for a guard")  \
	EXCUSE(LOSS_MASTERS, "loss: its daemon could not use a majority for a whole lease")                  \
	EXCUSE(LOSS_CLOCK, "loss: to its daemon the clocks of most masters leapt, or its own stood still")   \
	EXCUSE(LEAP_LATE, "leap: of before the last greeting, which was answered after a long silence")      \
	EXCUSE(LEAP_HIDDEN,                                                                                  \
		"leap: as long as the answer was on its way that showed that a host stood still")            \
	EXCUSE(LEAP_SERVER, "leap: by the clock of another server that sentinels have named")                \
	EXCUSE(WITHHELD_EXTENDED, "withheld: permits, extended after clocks had made their lease shorter")   \
	EXCUSE(CLONED_LATE, "cloned: a greeting ran that its daemon had given up")                           \
	EXCUSE(PROGRESS_BACK, "progress: a lease or a place outlives its time, as a clock stepped back")     \
	EXCUSE(PROGRESS_HOPE, "progress: a daemon counts on a master that has just fallen silent")           \
	EXCUSE(PROGRESS_PLACE, "progress: a place in the queue is left of a daemon that cannot come")        \
	EXCUSE(PROGRESS_HEAD,                                                                                \
		"progress: a daemon of the queue comes, and leases left behind keep it from winning")        \
	EXCUSE(PROGRESS_MOST,                                                                                \
		"progress: a waiter had most masters, and nobody hears that it gives them back")             \
	EXCUSE(PROGRESS_UNREAD, "progress: a daemon that hands over has it, and reads no client yet")        \
	EXCUSE(LINE_DELETED, "line: a key of the queue has just been deleted, or forgotten")                 \
	EXCUSE(LINE_LEAPT, "line: a master's clock has just gone ahead, and ended the place")                \
	EXCUSE(LINE_COPY, "line: a copy of the daemon shares its place")                                     \
	EXCUSE(PROGRESS_SET, "progress: a master keeps another set than the one that the daemon knows")      \
	EXCUSE(PROGRESS_MASTERS, "progress: no daemon with a waiter has a majority of masters that can")     \
	EXCUSE(PROGRESS_COPY, "progress: a lease is left of a copy of its daemon that has ended")            \
	EXCUSE(PROGRESS_TOLD, "progress: a leap ended a lease, and what its holder was told is not over")    \
	EXCUSE(PROGRESS_LEAPT, "progress: who listens again has seen the clock of its master leap")          \
	EXCUSE(PROGRESS_SCRIPTS, "progress: who listens again, where scripts are missing")                   \
	EXCUSE(REFUSAL_LISTS, "refusal: lists of masters differ")                                            \
	EXCUSE(REFUSAL_WOKE, "refusal: said by a daemon that has stood still until this instant")            \
	EXCUSE(REFUSAL_DOWN, "refusal: a master or a link is down at this instant")                          \
	EXCUSE(REFUSAL_AGAIN, "refusal: of the next process: a new link to a master is lost, or silent")     \
	EXCUSE(REFUSAL_LACKED,                                                                               \
		"refusal: of the next process: the former lacked a majority as it handed over")              \
	EXCUSE(REFUSAL_FORGOT, "refusal: a master forgot, or gave its memory up, since it was last well")    \
	EXCUSE(REFUSAL_LEAPT, "refusal: its daemon saw a master's clock leap a guard ago")                   \
	EXCUSE(REFUSAL_GREETED,                                                                              \
		"refusal: no word of a guard, of a daemon that saw the clock leap a guard ago")              \
	EXCUSE(ORPHAN_COPY, "orphan: of a copy of its daemon, which lives or has ended")                     \
	EXCUSE(ORPHAN_RESTORED, "orphan: old data may have brought it back")                                 \
	EXCUSE(ORPHAN_BACK, "orphan: a master's clock stepped back")                                         \
	EXCUSE(REFUSAL_KIND, "refusal: another program has written to the key, of another kind")             \
	EXCUSE(KIND_KEPT, "kind: a lease is kept for nobody, and its daemon may not hear all")               \
	EXCUSE(OWNER_SPOILT, "owner: permits are reclaimed where another program wrote to the key")          \
	EXCUSE(LATCH_BACK, "latch: set beside one that was there until a clock stepped back")                \
	EXCUSE(DRAIN_BACK, "drain: a key is left, and a clock stepped back")                                 \
	EXCUSE(ORDER_MESSAGES, "order: messages are lost")                                                   \
	EXCUSE(ORDER_SPLITS, "order: a daemon gives its turn up that it could make nothing of seven times")  \
	EXCUSE(SHARED_LINK, "order: a lease becomes shared while a link to the masters is down")             \
	EXCUSE(ORDER_BACK, "order: a lease or a place outlives its time, as a clock stepped back")

enum excuse {
#define EXCUSE(id, text) EXCUSE_##id,
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

/* Counts one more check; taken: it is skipped. Returns taken. */
bool excuse(const struct world *world, enum excuse id, bool taken);

void excuses_add(struct excuses *sum, const struct excuses *more);

/* Prints a line for each reason. */
void excuses_print(const struct excuses *excuses);

#endif
