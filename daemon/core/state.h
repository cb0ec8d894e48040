/*
 * state: everything that the core remembers, in one picture.
 *
 *     conn ──▶ session ──▶ grant ──▶ lease ◀──▶ resource      (the hold, its lease, and the name)
 *                    └───▶ waiter ◀──────────────┘      release: a lease given up, until the master confirms
 *
 * A conn is a connection, and its session is the client that it speaks for. A resource is a name that a
 * session here holds or waits for, or of which this daemon has a lease. There may be millions that are only
 * held, so what these need is kept small. A latch is here while a request asks about it (latch_request), and
 * for some time afterwards. Each noun has its functions in the files of its name; the data is here, so that
 * it can be read at one glance. An object that ends goes to the freelist and is not freed at once: actions
 * may point into it until the next step.
 */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include "daemon/core/action.h"
#include "daemon/core/alloc.h"
#include "daemon/core/core.h"
#include "daemon/core/deadlock.h"
#include "daemon/core/grant.h"
#include "daemon/core/latch.h"
#include "daemon/core/map.h"
#include "daemon/core/master_data.h"
#include "daemon/core/masterset.h"
#include "daemon/core/mlock.h"
#include "daemon/core/resource.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/semaphore.h"
#include "daemon/core/session.h"
#include "daemon/core/timers.h"
#include "daemon/core/user.h"
#include "daemon/core/view.h"

#include <bsd/sys/queue.h>

/* Leases that no client uses any more. The latest of them, count in number, are kept until until_ms. */
struct retained {
	int64_t until_ms;
	size_t count;
	int64_t now_ms; /* the millisecond in which let_go of them were given back */
	size_t let_go;
};

/* Whether the daemon is stopping (drain.h). */
enum drain {
	DRAIN_NONE,
	DRAIN_WAITS, /* no new locks; holders finish */
	DRAIN_ENDS   /* holders have been told, and the daemon waits for no client */
};

struct core {
	struct core_settings settings;
	uint64_t secret[2]; /* of the tables whose keys clients choose (map.h) */
	struct reserve reserve;
	struct timers timers;
	struct rules rules;
	struct master masters[CORE_SLOTS_MAX]; /* the members, then the newcomers of a change (masterset.h) */
	struct parted parted[PARTED_MAX];      /* servers that slots have been; each once, the latest first */
	struct masterset masterset;
	bool reseat;    /* the masters have changed: leases have to follow before anything else (quorum.h) */
	unsigned seats; /* seats that each lease has by now */
	/* One master has become three: before this time no newcomer can have been admitted by any daemon. */
	int64_t newcomers_until_ms;
	int64_t highest;  /* highest token seen anywhere */
	int64_t past;     /* highest token seen before a master's memory last changed */
	int64_t awake_ms; /* when it went on after a standstill; 0: there was none */
	bool retry;       /* wake-ups may have been missed: the schedule tries everything again */
	struct roster conns;
	struct session *sessions;
	struct session *bound; /* those bound to a process, by process */
	struct user *users;
	int64_t heartbeats; /* sessions with a heartbeat */
	struct names names; /* the resources */
	struct permit_lease *permit_leases;
	struct release *releases;
	struct latch *latches;
	struct latch_quota *latch_quotas;
	uint64_t latch_quotas_memory;   /* the memory of the master in which they are */
	struct latch_request *requests; /* those with a call under way, by attempt */
	struct latch_list idle;         /* latches without a request, oldest first */
	size_t idle_count;
	struct dirty dirty;
	struct queue_list queues; /* of all names with waiters */
	struct queue nobody;      /* of all other names: empty */
	bool catches;             /* held names are being looked at, because a master's state changed */
	scan_cursor catching;     /* how far that scan is */
	struct timer rescan_timer;
	struct mlock_list mlocks; /* the dirty ones */
	struct freelist_row freelist[FREELIST_ROWS];
	uint64_t freelist_used;          /* a bit for each row with dead items */
	struct actions *actions;         /* of the running step */
	struct now now;                  /* of the running step */
	uint64_t chance;                 /* jitter of the running step */
	unsigned drew;                   /* random numbers that the step has drawn */
	uint64_t attempts;               /* the last attempt number used */
	uint64_t tickets;                /* the last ticket given to a waiter */
	session_id session_ids;          /* the last session id used */
	uint64_t searches;               /* the last search for deadlocks */
	struct deferred_checks deferred; /* the searches put off */
	struct core_counts counts;
	size_t acquires; /* leases being acquired */
	struct retained retained;
	int64_t guarded_ms; /* the longest lease that guards wait for (terms.h) */
	enum drain drain;
	bool left;  /* the daemon ends, and its masters were told to register it no more */
	bool ended; /* a copy of this process runs; see core_ended() */
};

/* A request came on this connection, or the answer was given that kept further ones from coming: see
 * session.h. */
static inline void
conn_heard(const struct core *core, struct conn *conn)
{
	conn->session->heard_ms = core->now.ms;
}

#endif
