/*
 * core_inner: the core from within: what it remembers, in one picture, and what all of its files may use.
 *
 *     conn ──▶ session ──▶ grant ──▶ lease ◀──▶ resource      (the hold, its lease, and the name)
 *                    └───▶ waiter ◀──────────────┘      release: a lease given up, until the master confirms
 *
 * A conn is a connection, and its session is the client that it speaks for. A resource is a name that a
 * session here holds or waits for, or of which this daemon has a lease. There may be millions that are only
 * held, so what these need is kept small. A latch is here while a request asks about it (latch_request), and
 * for some time afterwards. An object that ends goes to the freelist and is not freed at once: actions may
 * point into it until the next step. The header of each topic declares its data and its functions; here is
 * the core's own struct.
 */
#ifndef CORE_CORE_INNER_H
#define CORE_CORE_INNER_H

#include "daemon/core/base/action.h"
#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/event.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/ration.h"
#include "daemon/core/base/starts.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/binding.h"
#include "daemon/core/core.h"
#include "daemon/core/deadlock.h"
#include "daemon/core/detached.h"
#include "daemon/core/latch.h"
#include "daemon/core/master.h"
#include "daemon/core/masterset.h"
#include "daemon/core/mlock.h"
#include "daemon/core/notes.h"
#include "daemon/core/resource.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/semaphore.h"
#include "daemon/core/session.h"
#include "daemon/core/user.h"
#include "daemon/core/view.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of the masters together. */
struct quorum {
	struct parted parted[PARTED_MAX]; /* servers that slots have been; each once, the latest first */
	bool reseat; /* the masters have changed: leases have to follow before anything else (quorum.h) */
	bool left;   /* the daemon ends, and greets its masters no more */
	uint16_t rerouted; /* core.resumes: a bit for each slot that is not what the configuration names there
			    */
	unsigned seats;    /* seats that each lease has by now */
	/* One master has become three: before this time no newcomer can have been admitted by any daemon. */
	int64_t newcomers_until_ms;
	int64_t alone_ms;   /* until then recovered leases are valid that a single master gave; 0: there are
			       none */
	int64_t highest;    /* highest token seen anywhere */
	int64_t past;       /* highest token seen before a master's memory last changed */
	int64_t guarded_ms; /* the longest lease that guards wait for (master.h) */
	struct binding binding; /* what settings before these have bound */
};

/* The leases together. */
struct leases {
	struct release *releases;
	size_t acquires;        /* leases being acquired */
	struct ration retained; /* unused leases, by when they will be given back: the latest */
	struct ration put_off;  /* likewise, of names that are not expected to be wanted again */
	struct ration let_go;   /* unused leases that are given back */
	struct ration renewals; /* that begin, or would have */
	struct ration turns;    /* renewals that were put off, by when they will begin: the latest */
};

/* Names, clients, and what they have of each other. */
struct locks {
	struct rules rules;
	struct names names; /* the resources */
	struct map conns;   /* by their numbers */
	struct session *sessions;
	struct session *bound; /* those bound to a process, by process */
	struct user *users;
	int64_t heartbeats;       /* sessions with a heartbeat */
	struct queue_list queues; /* of all names with waiters */
	struct queue nobody;      /* of all other names: empty */
	bool catches;             /* held names are being looked at, because a master's state changed */
	scan_cursor catching;     /* how far that scan is */
	struct timer rescan_timer;
	struct ending_list ending; /* sessions that give up what they hold, in turn */
	struct timer ending_timer;
	struct ration ended_holds; /* of sessions that end */
	uint64_t tickets;          /* the last ticket given to a waiter */
	session_id session_ids;    /* the last session id used */
	/* When they began: the holds of sessions, and the waiters. */
	struct starts hold_starts, wait_starts;
	/* Clients that are gone may rely until then on withheld holds whose leases are lost. It is not saved:
	 * a daemon that hands over does not end. */
	int64_t lost_until_ms;
};

/* The other kinds of locks. */
struct kinds {
	struct map ids; /* the detached sessions, by user and id */
	struct detached_list detached;
	struct permit_lease *permit_leases;
	struct latch *latches;
	struct latch_quota *latch_quotas;
	uint64_t latch_quotas_memory;   /* the memory of the master in which they are */
	struct latch_request *requests; /* those with a call under way, by attempt */
	struct latch_list idle;         /* latches without a request, oldest first */
	size_t idle_count;
	struct mlock_list mlocks;        /* the dirty ones */
	struct starts mlock_starts;      /* when the MLOCKs that wait began, each as a whole */
	uint64_t searches;               /* the last search for deadlocks */
	struct deferred_checks deferred; /* the searches put off */
};

/* A request came on this connection, or the answer was given that kept further ones from coming: see
 * session.h. */
static inline void
conn_heard(const struct core *core, struct conn *conn)
{
	assert(conn->session != NULL);
	conn->session->heard_ms = core->now.ms;
}

/* check.c: what cannot be in this core, which was loaded, as of this time: a condition that does not hold.
 * NULL: nothing. Looks at all of it, but for what its loader has counted for users. */
const char *core_wrong(const struct core *core, int64_t now_ms);

/*
 * verbs.c: what each request of a client does. Each request gets exactly one answer, now or when its wait
 * ends.
 */

void verb_run(struct core *core, struct conn *conn, const struct command *command);
/* EVENT_BREAK. */
void break_event(struct core *core, const struct command *command);

/*
 * A drain: the daemon stops (PROTOCOL.md 6.9). core.c calls it.
 *
 *     DRAIN_NONE ──▶ DRAIN_WAITS ──▶ DRAIN_ENDS
 *
 * It accepts nothing new and waits for the holders; then it tells the remaining holders, and ends its
 * registration at its masters.
 */

/* EVENT_DRAIN. The connection with this number gets the answer when the wait is over; 0: no answer. Without
 * waits, it is over now. */
void drain_event(struct core *core, conn_id id, bool waits);

/* A step has been scheduled. Goes on to the end if holders are no longer waited for. True: it did, and there
 * is more to schedule. */
bool drain_goes_on(struct core *core) __attribute__((warn_unused_result));

/* When no client relies on a lease of this daemon any more, tells its masters, once: daemons with other
 * limits or another format need not wait for the end of its registration. */
void drain_leave(struct core *core);

#endif
