/*
 * permit_lease: the leases of a name with a limit: each is k permits, which are k slots at the masters. What
 * they are used for, semaphore.c decides.
 */
#ifndef CORE_PERMIT_LEASE_H
#define CORE_PERMIT_LEASE_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "proto/name.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct resource;
struct vote;

/* Which slots, as the masters name them. */
struct slots {
	struct freelist_link freed;
	uint64_t hash;
	size_t n;
	char bytes[];
};

TAILQ_HEAD(permit_lease_list, permit_lease);

struct permit_lease {
	struct freelist_link freed;
	UT_hash_handle hh; /* by the attempt of its lease */
	TAILQ_ENTRY(permit_lease) in_resource;
	struct slots *slots; /* HELD: which slots it has; else which to ask for, NULL: any */
	struct slots *offer; /* not HELD: which slots may be free; NULL: unknown */
	int64_t hint;        /* the slot number from which the masters search for free ones */
	struct lease lease;
};

struct permit_leases {
	struct permit_lease_list list;  /* the idle ones first, the one that was used last before others */
	struct permit_lease *acquiring; /* the one that is being acquired; NULL: none */
	int64_t taken;                  /* permits that are held */
	bool changed;                   /* any idle one may have to be given back, not only the first */
};

/* The permit lease that this lease is in; l->kind is PERMITS. */
static inline struct permit_lease *
permit_lease_of(const struct lease *l)
{
	assert(l->kind == KIND_PERMITS);
	return OWNER_OF(l, struct permit_lease, lease);
}

/* The slots that a permit lease has or asks for; n == 0: any, or it is not a permit lease. */
static inline struct slice
permit_lease_slots(const struct lease *l)
{
	const struct slots *slots = l->kind == KIND_PERMITS ? permit_lease_of(l)->slots : NULL;

	return slots == NULL ? (struct slice){NULL, 0} : (struct slice){slots->bytes, slots->n};
}

/* ---- the list of the permit leases of a name ---- */

/* The name has no permit leases yet. */
void permit_leases_init(struct resource *r);

/* The one that is being acquired; NULL: none. */
struct lease *permit_lease_acquiring(const struct resource *r);

/* Adds one, to be acquired. NULL: out of memory. */
struct permit_lease *permit_lease_new(struct core *core, struct resource *r);

/* From now on it is found by its attempt. False: out of memory. */
bool permit_lease_add(struct core *core, struct permit_lease *s) __attribute__((warn_unused_result));

/* It is not needed any more. It may be in any state, but without a hold. */
void permit_lease_end(struct core *core, struct permit_lease *s);

/* It has never been held nor asked for, and will not be found by its attempt. */
void permit_lease_discard(struct core *core, struct permit_lease *s);

/* Without a hold, and used or acquired last. */
void permit_lease_first(struct permit_lease *s);

/* A hold stands on it from now on: its permits are taken. */
void permit_lease_held(struct lease *l);
/* The hold on it has ended. */
void permit_lease_released(struct lease *l);

/* It is wanted, over, or retained for long enough; nothing, unless it is a permit lease. The idle ones are
 * handled in the next permits_schedule(). */
void permit_lease_changed(const struct lease *l);

/* The permit lease of this attempt; NULL: none. */
struct lease *permit_lease_find(const struct core *core, const struct resource *r, uint64_t attempt);

/* No hold stands on any: gives back all of them. */
void permit_leases_drop(struct core *core, struct resource *r);

/* For core_free(): frees all of them. */
void permit_leases_free(struct core *core, struct resource *r);

/*
 * Slots: which permits of a name a permit lease consists of, as the text in which the masters name them:
 * "3,7".
 *
 * The permits of a name are slots, each with an owner of its own at each master. A permit lease of k permits
 * is k slots, the same ones at a majority of the masters: so no two permit leases have a slot in common. If a
 * round asks for any slots, masters may give different ones. What most of them gave or could give is then the
 * offer, and the next round asks for exactly that.
 */

/* NULL: out of memory. */
struct slots *slots_new(struct core *core, struct slice text) __attribute__((warn_unused_result));

/* It is known which slots might be had. */
bool slots_are_offered(const struct lease *l);

/* slots_forget(): neither asked for nor offered any more; slots_forget_offer(): not offered. */
void slots_forget(struct core *core, struct lease *l);
void slots_forget_offer(struct core *core, struct lease *l);

/* A master gave slots, or could give them, and lease_vote_take() has noted it. Keeps what most have in
 * common. */
void slots_offered(struct core *core, struct lease *l, struct slice text);

/* A master gave these slots after the round was won, and lease_vote_take() has noted it. If they are not
 * those of the permit lease, the vote is not ours, and they have to be given back there. */
void slots_answered(struct lease *l, const struct vote *vote);

/* The round is lost: the next one asks for the offer, or for any slots if there is none. */
void slots_ask_offer(struct core *core, struct lease *l);

/* The round is won: what a majority gave is the permit lease. Votes that gave other slots are not ours, and
 * have something to be released. False: out of memory, and it is unknown what was given. */
bool slots_won(struct core *core, struct lease *l) __attribute__((warn_unused_result));

#endif
