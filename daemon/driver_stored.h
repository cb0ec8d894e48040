/*
 * driver_stored: connections that outlive a crash. A part of driver.c.
 */
#ifndef DAEMON_DRIVER_STORED_H
#define DAEMON_DRIVER_STORED_H

#include "daemon/core/base/peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;
struct driver;
struct ledger_file;
struct notify_fd;

/* Takes the descriptors of connections out of those that the service manager has passed. Call it first. */
void driver_take_descriptors(struct driver *driver, struct notify_fd *fds, size_t *count);

/* After driver_start() and driver_set_users(): connections that a crash has left go on. What else the service
 * manager has stored of them ends. */
void driver_return(struct driver *driver);

/* ACTION_KEEP; arg is the driver. */
void driver_keep(void *arg, conn_id id);
/* See connections_hooks. */
bool driver_rests(void *arg, conn_id id);
/* A request of the connection has been served: it may have changed who its client is. */
void driver_served(struct driver *driver, struct connection *c);
/* Before the entries of a step are written: its actions are about to push to clients, or to close them. */
void driver_touch_pushed(struct driver *driver);
/* A new ledger is begun: appends the entries of all that are stored. */
void driver_enter_stored(struct driver *driver);
/* A ledger is written again: gives the service manager those that may outlive a crash from now on. */
void driver_store_all(struct driver *driver);
/* The marks are in this ledger from now on; NULL: there is none. */
void driver_mark_in(struct driver *driver, const struct ledger_file *file);
/* Once in a turn if driver_has_store_turn(). Returns when it has to be called again at the latest. */
int64_t driver_stored_turn(struct driver *driver, int64_t now_ms);
/* Notes which connections the ledger of the process before leaves to this one. */
void driver_find_stored(struct driver *driver);

#endif
