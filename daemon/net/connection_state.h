/*
 * connection_state: connections as records, for the next process of this daemon.
 *
 * A connection is saved between two turns: what the client has sent and the daemon has not served, what the
 * daemon has answered and the client has not taken, and who the client is. The bytes of an incomplete request
 * are parsed again from their beginning.
 *
 * It is called between two turns, and when none is ending. Connections are saved in the order of
 * connections_each(), and keep their numbers.
 */
#ifndef NET_CONNECTION_STATE_H
#define NET_CONNECTION_STATE_H

#include "daemon/core/base/peer.h"

struct access;
struct connection;
struct connections;
struct descriptors;
struct record;

/* The record of one connection; its descriptor is added to given. */
void connection_save(struct connection *connection, struct record *r, struct descriptors *given);
/* The connection of the current record. Without its descriptor it is over, and closed() is called as for
 * others. access has the users of the state; admission counts the connection (admission_restore()). NULL: r
 * has failed. */
struct connection *connection_load(struct connections *set, struct record *r, struct descriptors *given,
	const struct access *access) __attribute__((warn_unused_result));
/* What the ledger says of a stored connection: where its socket is, who its client is, and the session
 * that it speaks for. */
void connection_enter(struct connection *connection, struct record *r, struct keep_view *keep);
/* Where the socket of the current record is, and the number of the connection. */
int connection_entry_slot(struct record *r, conn_id *id);
/* The connection of the current record, which has outlived the process before, with what the process after it
 * has to know of its session. access has the users of the configuration. NULL: it cannot go on, and has ended
 * as far as this process has it. */
struct connection *connection_return(struct connections *set, struct record *r, const struct access *access,
	struct keep_view *keep) __attribute__((warn_unused_result));
/* The greatest number that was ever given. */
conn_id connections_last_id(const struct connections *set);
/* New connections get greater numbers than this one. */
void connections_go_on_from(struct connections *set, conn_id last);

#endif
