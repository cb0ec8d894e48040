/*
 * scheduler: what follows for a name from what has changed.
 *
 * schedule_next() asks the family of each dirty name to decide, and nothing else does: when the next waiter
 * is granted, and when the lease is acquired, retained or given back (share.c; semaphore.c for permits). It
 * forgets names without lease, hold and waiter. Each noun whose change matters to a name calls dirty_add(),
 * and the step goes through the dirty names (turn.h).
 */
#ifndef CORE_SCHEDULER_H
#define CORE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct conn;
struct core;
struct grant;
struct master;
struct part;
struct reply;
struct resource;
struct session;
struct waiter;

/* Schedules the next name that is dirty. False: there is none. */
bool schedule_next(struct core *core);

/* The answer of a waiter that cannot wait any longer. */
void schedule_refusal(const struct core *core, const struct waiter *w, struct reply *out);

/*
 * A rescan: a scan of all names after a master's state has changed. Waiters try again; held leases are
 * renewed if that is overdue, and reclaimed where they may have been forgotten.
 *
 * There may be a million names that are only held. Names with waiters are scanned at once, the others some
 * thousands in each ms, and clients are served between. The delay costs no holder anything: a lease is valid
 * for as long as before, and its own timer renews or reclaims it in time without a rescan, too.
 */

#define RESCAN_NAMES 5000 /* names in one turn: a millisecond or so */

/* Takes ms off what every lease has at this master, because our clock may have stood still for that long. All
 * leases in one turn, however many there are: before it, a session could hear too late a deadline. */
void rescan_shorten(struct core *core, struct master *m, int64_t ms);

/* Wake-ups may have been missed: those who wait try again at once, and held names are scanned from now on.
 */
void rescan_retry(struct core *core);

/* After rescan_retry(): begins the scans of masters that ask for it, and goes on with all. */
void rescan_begin(struct core *core);

/* The timer: goes on. */
void rescan_timer(struct core *core);

#endif
