/*
 * release: leases given up, released at the master until it confirms that they are gone.
 *
 * An acquire whose answer was lost may still be executed. So its release is sent at once on the same link,
 * and again until a confirmation carries a master's time later than the acquire's own deadline: from then on
 * the acquire refuses itself. The expiry of the key is the last resort.
 *
 * What a master has not adopted is a previous owner's there, and no release ends it. So the release follows
 * an ADOPT on the same link, which asks for no more time than is left: if it comes late, it only gives the
 * key another name until it expires. Otherwise a client that comes back after a crash, and unlocks before the
 * masters are back, would leave its names locked for a lease.
 *
 * An ADOPT that the master has not carried out leaves the key to the previous owner. Then a release that
 * finds nothing of ours is no confirmation, and both are sent again. An ADOPT has only the previous owners
 * that the ledger had: the key of another daemon, or of a later attempt of ours, is left alone by both calls.
 */
#ifndef CORE_RELEASE_H
#define CORE_RELEASE_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"
#include "proto/name.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct lease;

/* One lease at one master. */
struct release_key {
	uint64_t attempt;
	uint64_t master;
};

/* A lease given up: its release is repeated until the master confirms it, or its key has expired. */
struct release {
	struct freelist_link freed;
	UT_hash_handle hh;
	struct timer timer;
	struct release_key of;
	int64_t after_us; /* a confirmation later than this, by the master's clock, is final: the acquire is
			     dead */
	int64_t from_ms;  /* not sent earlier: a holder may rely on the lease until then */
	int64_t give_up_at_ms; /* the key has expired by then */
	bool sent;             /* a release is on its way */
	bool unadopted;        /* the master may not have carried out the ADOPT before it */
	bool confirmed; /* the lease is not there: released once more when the acquire refuses itself */
	enum kind kind;
	enum interop interop;
	unsigned link;
	const char *key;
	struct slice name;
	int64_t limit;
	int64_t permits;
	struct slice slots;    /* n == 0: all that are ours */
	struct slice previous; /* as in a call, of what was not adopted; n == 0: it is ours */
	char bytes[];
};

/* Releases this lease as it is now: every vote that is ours or may be. queue_ms: how long the daemon keeps a
 * position at the head of the queue at the queue master; 0: it takes none. */
void release_lease(struct core *core, const struct lease *l, int64_t queue_ms);

/* The same, but no release leaves before from_ms: holders of this lease may rely on it until then. */
void release_lease_from(struct core *core, const struct lease *l, int64_t from_ms);

/* A copy of this one, with texts of its own and a timer that is not armed. NULL: out of memory. */
struct release *release_new(struct core *core, const struct release *as) __attribute__((warn_unused_result));

/* From now on it is found by its attempt and its master. False: out of memory, or there is one. */
bool release_add(struct core *core, struct release *release) __attribute__((warn_unused_result));

/* The release of this attempt at this master; NULL: none. */
struct release *release_find(const struct core *core, uint64_t attempt, unsigned master);

void release_vote(struct core *core, const struct vote *vote);
/* To the ADOPT before a release, if it was one: its answer comes first. */
void release_adopt_vote(struct core *core, const struct vote *vote);
/* The slot is another server from now on, which has no lease of ours. */
void release_master_replaced(struct core *core, unsigned master);
void release_timer(struct core *core, struct release *u);

/* A master is in use again: sends the releases that no answer has confirmed, and those that came due
 * meanwhile. A confirmed one is sent again after its acquire can no longer run. */
void release_retry_all(struct core *core);

/* For core_free(). */
void release_free_all(struct core *core);

#endif
