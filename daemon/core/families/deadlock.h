/*
 * deadlock: cycles of waits among the sessions of this daemon.
 *
 * A session is blocked when each of its connections waits in a LOCK or MLOCK without WAIT 0; it goes on as
 * soon as one of them is answered. A wait is stuck if it can never be answered, whatever all sessions that
 * are not blocked do. A wait that closes such a cycle is refused at once; the waits that were in it before go
 * on waiting.
 *
 * Not considered, because they end by themselves: waits that are tried once, holds that an abandoned session
 * still withholds, and whatever happens at other daemons. Each cycle found is a real one. In a crowd too
 * large to search in reasonable time a cycle may be missed; it lasts until the WAIT of one of its sessions is
 * over. If many searches of crowds come at the same time, some are deferred, and a wait that closes a cycle
 * is refused a little later.
 */
#ifndef CORE_DEADLOCK_H
#define CORE_DEADLOCK_H

#include "daemon/core/base/timers.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/session/mark.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct reply;
struct session;
struct waiter;

TAILQ_HEAD(session_list, session);

/* What searches for deadlocks may still visit, and the sessions whose search is deferred. */
struct deferred_checks {
	struct session_list sessions;
	struct timer timer;
	int64_t since_ms; /* when budget was last counted */
	size_t budget;    /* visits left */
	uint64_t spent;   /* visits in all */
};

#define DEADLOCK_BUDGET                                                                                      \
	20000 /* visits of connections, holds and waits: for one search, and for all in one ms; takes 1 or 2 \
		 ms */

/* Whether this wait, which has just begun, closes a cycle. True: *out is the DEADLOCK that names it. */
bool deadlock_closes(struct core *core, const struct waiter *w, struct reply *out);

/* deadlock_check(): if a cycle has been closed, one of the waits of the session is refused. */
extern const struct wait_watch deadlock_watch;

/* A search for this session is deferred. */
void deadlock_defer(struct core *core, struct session *s);
/* Runs searches that were deferred. */
void deadlock_timer(struct core *core);

#endif
