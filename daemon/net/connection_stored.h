/*
 * connection_stored: connections that may outlive a crash of the daemon. The driver calls it, and
 * connection.c in each turn of such a connection.
 *
 * The service manager has the socket of each in a slot (fdstore.h), and memory that outlives the process has
 * a mark for each slot. It is set before the daemon reads from the connection, before it writes to it, and
 * before the ledger says what has to be sent to the client; it is cleared at the end of a turn if nothing of
 * the connection is under way then. If the process is killed while the mark is set, the connection ends: its
 * requests may have been carried out, and its answers written, or not. A mark costs no system call, and other
 * connections pay for one check of their slot.
 */
#ifndef NET_CONNECTION_STORED_H
#define NET_CONNECTION_STORED_H

#include <stdbool.h>
#include <stdint.h>

#define CONNECTIONS_BUSY_BYTES (16384 / 8) /* a bit for each slot */

struct connection;
struct connections;
struct fdstore;

/* The sockets go to this store, which lives as long as the set. Without it no connection is stored. */
void connections_store_in(struct connections *set, struct fdstore *store);
/* The marks are in this memory from now on, of CONNECTIONS_BUSY_BYTES; what is marked now is marked there.
 * NULL: in memory of the set. */
void connections_mark_in(struct connections *set, uint8_t *busy);
bool connections_busy_at(const uint8_t *busy, int slot);

/* Gives its socket to the service manager, unless it is there. The connection is marked as busy. False: it is
 * not stored, and ends with the process. */
bool connection_store(struct connection *connection);
/* The service manager forgets it. What the ledger says of it counts no more: its slot stays marked. */
void connection_unstore(struct connection *connection);
bool connection_is_stored(const struct connection *connection);
/* Marks it as busy if it is stored: something is about to be sent to its client. */
void connection_touch(struct connection *connection);

/* The next process must not go on with this connection, until connections_settle(). */
void connection_mark_busy(struct connection *c);
/* Its socket is in this slot already, or, FDSTORE_NONE, nowhere. It is marked as busy. */
void connection_stored_in(struct connection *c, int slot);
/* The end of a turn: those that were touched in it, and have nothing under way, may go on in the next
 * process. */
void connections_settle(struct connections *set);

#endif
