/*
 * locks: what the core remembers of names and clients, in one picture.
 *
 *     conn ──▶ session ──▶ grant ──▶ lease ◀──▶ resource      (the hold, its lease, and the name)
 *                    └───▶ waiter ◀──────────────┘      release: a lease given up, until the master confirms
 *
 * A conn is a connection, and its session is the client that it speaks for. A resource is a name that a
 * session here holds or waits for, or of which this daemon has a lease. There may be millions that are only
 * held, so what these need is kept small. A latch is here while a request asks about it (latch.h), and
 * for some time afterwards. An object that ends goes to the freelist and is not freed at once: actions may
 * point into it until the next step.
 */
#ifndef CORE_LOCKS_H
#define CORE_LOCKS_H

#include "daemon/core/base/change_list.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/starts.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/withheld.h"

#include <stdbool.h>
#include <stdint.h>

struct locks {
	struct queue_list queues; /* of all names with waiters */
	struct queue no_queue;    /* of all other names: empty */
	bool catches;             /* held names are being scanned, because a master's state changed */
	scan_cursor catching;     /* how far that scan is */
	struct timer rescan_timer;
	const struct lock_family *families[FAMILY_COUNT];
	const struct wait_watch *watch;
	/* What the ledger has not heard of yet. */
	struct change_list changed_losses, changed_grants;
	uint64_t tickets; /* the last ticket given to a waiter */
	struct withheld withheld;
	/* When they began: the holds of sessions, and the waiters. */
	struct starts hold_starts, wait_starts;
	/* Clients that are gone may rely until then on withheld holds whose leases are lost. It is not saved:
	 * a daemon that hands over does not end. */
	int64_t lost_until_ms;
};

#endif
