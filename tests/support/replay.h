/*
 * replay: what a ledger says in the end (daemon/core/persist/ledger.h), from its bytes alone.
 *
 *     replay(all entries so far) == replay(core_ledger_begin() and a whole core_ledger_scan())
 *
 * must hold after every step, entry by entry and byte by byte.
 */
#ifndef SUPPORT_REPLAY_H
#define SUPPORT_REPLAY_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct core;
struct replay_entry;

/* All zero at first. */
struct replay {
	struct replay_entry *list; /* sorted by what they are about */
	size_t n;
	size_t room;
};

void replay_done(struct replay *replay);

/* Takes whole entries, after the first line or with it. False: they are not. */
bool replay_take(struct replay *replay, struct slice entries) __attribute__((warn_unused_result));

/* Forgets all entries of this type, as if none had been written. */
void replay_drop(struct replay *replay, unsigned type);

/* The last entry of each, with the first line: a ledger without anything superfluous. The caller frees it. */
struct slice replay_bytes(const struct replay *replay);

/* The ledger that this core would begin now. */
void replay_snapshot(struct replay *replay, struct core *core);

/* An entry of one that the other lacks or has otherwise, as text that is valid until the next call. NULL:
 * they are equal. */
const char *replay_differs(const struct replay *kept, const struct replay *whole);

#endif
