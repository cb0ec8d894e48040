/*
 * ledgers: the ledger that a daemon keeps (daemon/core/persist/ledger.h). Its bytes outlive the daemon.
 *
 *     core_step() ──▶ entries of the step ──▶ bytes ──crash──▶ core_recover()   (recovery.h)
 *                                       └──▶ next bytes, while it is being compacted
 *
 * After each step the ledger says what the core says: the last entry about each thing is the one that the
 * core would write now, and there is none about anything else.
 */
#ifndef SIM_LEDGERS_H
#define SIM_LEDGERS_H

#include "proto/buffer.h"
#include "proto/slice.h"
#include "tests/sim/world/rng.h"
#include "tests/support/replay.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host;

struct ledgers {
	struct buffer step;  /* what the core has written in the current step */
	struct buffer bytes; /* the ledger */
	struct replay said;  /* by its bytes */
	size_t before;       /* length of the ledger before the last step that wrote anything */
	bool compacts;       /* next is being written */
	struct buffer next;  /* the ledger that replaces it */
	uint64_t cursor;
	struct rng rng; /* of its own, so that a ledger changes nothing else in the world */
};

/* A daemon of a world with ledgers begins one; any that was left is gone. */
void ledgers_begin(struct host *host);
/* Its core has made a step: the entries are in the ledger. True: there are any. */
bool ledgers_stepped(struct host *host);
/* The entries of the last step were not written. */
void ledgers_cut(struct host *host);
/* The next process of this daemon goes on with the same ledger, or begins it anew. */
void ledgers_passed(struct host *host);
/* What is there of a daemon that has ended; n == 0: none. */
struct slice ledgers_left(const struct host *host);
/* Nobody will read it. */
void ledgers_drop(struct host *host);

#endif
