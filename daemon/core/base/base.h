/*
 * base: the core as each of its rooms sees it.
 *
 * What the running step works with is here, and so is what every room heeds. What a room remembers is behind
 * a pointer to a type that only its own headers complete: the members of a type of a room above are out of
 * reach.
 */
#ifndef CORE_BASE_H
#define CORE_BASE_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/counts.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/event.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "proto/command.h"

#include <stdbool.h>
#include <stdint.h>

struct actions;
struct buffer;
struct families;
struct leases;
struct liveness;
struct locks;
struct master;
struct masterset;
struct quorum;
struct sessions;

/* Whether the daemon is stopping. */
enum drain {
	DRAIN_NONE,
	DRAIN_WAITS, /* no new locks; holders finish */
	DRAIN_ENDS   /* holders have been notified, and the daemon waits for no client */
};

/* What has to outlive a crash, and has changed in this step. */
enum change {
	CHANGE_TERMS = 1, /* what the settings bind (binding.h) */
	CHANGE_SET = 2,   /* the set of masters, or their places */
	CHANGE_LISTED = 4 /* a session, loss, hold or lease, each on the list of its kind */
};

struct core {
	struct core_settings settings;
	uint64_t secret[2]; /* of the tables whose keys clients choose (map.h) */
	struct reserve reserve;
	struct freelist_row freelist[FREELIST_ROWS];
	uint64_t freelist_used; /* a bit for each row with dead items */
	struct timers timers;
	struct dirty dirty;         /* names */
	struct dirty lease_changes; /* leases that have to outlive a crash, and have changed */
	struct core_counts counts;
	struct actions *actions; /* of the running step */
	struct now now;          /* of the running step */
	uint64_t random;         /* jitter of the running step */
	unsigned drew;           /* random numbers that the step has drawn */
	uint64_t attempts;       /* the last attempt number used */
	int64_t due_at_ms;       /* when the next step was due, as the last one left it */
	int64_t awake_since_ms;  /* when it went on after a standstill; 0: there was none */
	int64_t unread_until_ms; /* until then no client is read; 0: all are (core_unread()) */
	size_t calls;            /* without a vote yet */
	size_t acquires;         /* leases being acquired */
	bool retry;              /* wake-ups may have been missed: the schedule tries everything again */
	bool resumes;            /* loaded from a state, and no step has come since (state.h) */
	bool ended;              /* a copy of this process runs; see core_ended() */
	enum drain drain;
	struct master *masters; /* the members, then the newcomers of a change (masterset.h) */
	struct masterset *masterset;
	struct quorum *quorum;
	struct leases *leases;
	struct sessions *sessions;
	struct locks *locks;
	struct liveness *liveness;
	struct families *families;
	unsigned changed;      /* of enum change; 0: the step has nothing for the ledger */
	struct buffer *ledger; /* its entries go here; NULL: none is written (ledger.h) */
};

/* It goes into the ledger at the end of this step. */
static inline void
core_changed(struct core *core, enum change change)
{
	core->changed |= change;
}

#endif
