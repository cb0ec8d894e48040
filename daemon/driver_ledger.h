/*
 * driver_ledger: keeps the ledger of this daemon in its file, and goes on from the ledger of a process that
 * crashed. A part of driver.c.
 */
#ifndef DAEMON_DRIVER_LEDGER_H
#define DAEMON_DRIVER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct descriptors;
struct driver;
struct driver_settings;
struct record;

/*
 * The ledger of this daemon is at this path, which the caller keeps; NULL: none is written. Takes what a
 * process that crashed has left there, unless this daemon was handed over; driver_start() goes on from it,
 * and until then it stays as it is. As long as another process keeps it, waits until until_ms. Call it before
 * driver_adopt() and driver_listen().
 */
void driver_take_ledger(struct driver *driver, const char *path, int64_t until_ms);

/* The daemon has ended, and its clients have been notified: nothing is left for a next process. */
void driver_end_ledger(struct driver *driver);

/* A core that goes on from the ledger of the process before. NULL: there is none that can be used. */
struct core *driver_recover(struct driver *driver, const struct driver_settings *settings)
	__attribute__((warn_unused_result));
/* Watches the processes that its sessions are bound to. False: out of memory. */
bool driver_watch_again(struct driver *driver) __attribute__((warn_unused_result));
/* Keeps the ledger from now on: goes on with the one that was handed over, or writes a new one as a whole. */
void driver_keep_ledger(struct driver *driver);
/* Says until when clients may rely on what they hold, before any answer tells of it: in a step that is
 * written to the ledger before that, and once in a turn. */
void driver_rely(struct driver *driver);
/* After each step, before its actions are carried out. */
void driver_write_ledger(struct driver *driver);
/* Whether another program has cut the ledger. Each entry is preceded by a check; the marks of connections
 * that may outlive a crash do not: so call it in each turn as long as there are such connections, before any
 * is served, and now and then otherwise. */
void driver_ledger_check(struct driver *driver);
/* Once in a turn if ledger_works(): writes a part of a new ledger, if the old one has grown too much or there
 * is none. */
void driver_ledger_turn(struct driver *driver, int64_t now_ms);
/* When it has to be called again at the latest, if ledger_works(). */
int64_t driver_ledger_wake_at(const struct driver *driver, int64_t now_ms);
void driver_save_ledger(struct driver *driver, struct record *r, struct descriptors *given);
void driver_load_ledger(struct driver *driver, struct record *r, struct descriptors *given);
/* Leaves it for the next process. */
void driver_leave_ledger(struct driver *driver);

#endif
