/*
 * previous_owners: under which names the masters may still have a lease that an earlier process of this
 * daemon had (adopt.h).
 *
 * Their text is that of a call: each is a daemon's id and an attempt, the latest first, a blank between. Of
 * too many the oldest are dropped: what belongs to them runs out by itself.
 */
#ifndef CORE_PREVIOUS_OWNERS_H
#define CORE_PREVIOUS_OWNERS_H

#include "daemon/core/base/call.h"
#include "proto/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct lease;
struct previous_owners;

/* Whether the text can be previous owners, at most PREVIOUS_OWNERS_MAX; n == 0: none. */
bool previous_owners_fit(struct slice owners);

/* Writes the latest owner and those before it. Returns the length. */
size_t previous_owners_write(
	struct slice latest, struct slice owners, char out[PREVIOUS_OWNERS_MAX * CALL_OWNER_SIZE]);

/* The text of its previous owners, for its entry in the ledger; n == 0: all masters have adopted it. */
struct slice lease_previous_owners(const struct lease *l);

/* False: it has previous owners, and no master has been asked to adopt it; likewise for the ledger. */
bool lease_previous_asked(const struct lease *l);

/* A master is asked to adopt it now. */
void lease_vote_adopts(struct core *core, struct lease *l);
/* This master has adopted it, or not. */
void lease_vote_adopted(struct core *core, struct lease *l, unsigned master);

/* The previous owners of a lease, at these masters. NULL: out of memory. */
struct previous_owners *previous_owners_new(struct core *core, struct slice owners, uint8_t masters)
	__attribute__((warn_unused_result));

/* For round_end(). */
void previous_owners_end(struct core *core, struct lease *l);

#endif
