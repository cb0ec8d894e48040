/*
 * connections: the set of all connections, and the end of a turn. connection.h is one of them.
 *
 * Admission adds connections, the driver turns the set, and the handler of a request finds its connection
 * here. Hooks are called only from the event loop, connections_serve() and connections_turn().
 */
#ifndef NET_CONNECTIONS_H
#define NET_CONNECTIONS_H

#include "daemon/core/base/peer.h"
#include "daemon/net/access.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct access;
struct closer;
struct connection;
struct connections;
struct connections_hooks;
struct connections_limits;
struct event_base;
struct identity;
struct stats;

/* The request is answered later: no other request is served before connection_answered(). */
void connection_wait(struct connection *connection);
/* The request that waits is served again, in a later turn, before what has come after it. */
void connection_ask_again(struct connection *connection, struct slice request);

/* What the connection may do and see. */
struct viewer connection_viewer(const struct connection *connection);
/* Unless the client has logged in: sets the user that it is on a Unix socket, and whether it is an
 * administrator (peer.admin). */
void connection_recognise(struct connection *connection, const struct access *access);

/* Of the text of the password by which the client has logged in, or of its hash: the ledger and the state
 * have this instead. A user who can read them can read the configuration, too. */
uint64_t connection_password_mark(const struct identity *who, const char *text);
/* Whether the user, as it is now, still has the password by which the client has logged in as it; true if it
 * has logged in by none. */
bool connection_login_stands(const struct identity *who, const struct access_user *user);

/* The connection belongs to this user from now on (peer.user), and waits in that user's line. */
void connection_belongs(struct connection *connection, uint64_t user);

/* Gives the connection another number; -1: out of memory, it keeps the old one. */
int connection_renumber(struct connection *connection) __attribute__((warn_unused_result));

/* NULL: out of memory. hooks and stats are held by reference. */
struct connections *connections_new(struct event_base *base, const struct connections_limits *limits,
	const struct connections_hooks *hooks, void *arg, struct stats *stats)
	__attribute__((warn_unused_result));
/* What clients pass, and sockets in which something is unread, are closed by this closer (closer.h), which
 * lives as long as the set. NULL: at once. */
void connections_close_by(struct connections *set, struct closer *closer);
/* A connection was accepted. */
void connections_saw(struct connections *set, int fd);
/* Closes all connections without calling a hook. */
void connections_free(struct connections *set);
void connections_set_limits(struct connections *set, const struct connections_limits *limits);
const struct connections_limits *connections_limits(const struct connections *set);

/* The set owns fd from now on, also on failure. NULL: out of memory. */
struct connection *connections_add(struct connections *set, int fd, const struct peer *peer, bool local,
	bool release) __attribute__((warn_unused_result));
/* NULL: the connection is gone, or is ending. */
struct connection *connections_find(const struct connections *set, conn_id id);
/* Connections that are ending do not count. */
size_t connections_count(const struct connections *set);
/* Bytes of buffers with input and output that wait, of all connections. */
size_t connections_buffered(const struct connections *set);
/* In the order in which they came, until each() returns false. */
void connections_each(
	struct connections *set, bool (*each)(void *arg, struct connection *connection), void *arg);

/* Serves each connection once that was left over from the turn before or of which something has arrived,
 * until the time until_ns (clock_ns()). The rest is for the next turn. */
void connections_serve(struct connections *set, int64_t until_ns);
/* The end of a turn: writes answers, then tells and frees ended connections until the time until_ns. True:
 * there were some. */
bool connections_turn(struct connections *set, int64_t until_ns);
/* When it has to be called at the latest, CLOCK_BOOTTIME: an answer is held back until then. INT64_MAX: none
 * is. */
int64_t connections_held_until(const struct connections *set);
/* The connections of which something has arrived since connections_serve(). */
size_t connections_arrived(const struct connections *set);
/* Reads some of the connections again whose request waits, in their turn. A reset that came together with
 * such a request raises no event of its own, and no answer is written that would find it; so no request pays
 * for the probe. Returns when to call it again, CLOCK_BOOTTIME; INT64_MAX: once a request waits. */
int64_t connections_probe(struct connections *set, int64_t now_ms);
/* There is more to do: the next turn must not wait. */
bool connections_busy(const struct connections *set);
/* The request that is served now takes far longer than its words and its answer show, as a walk through a
 * list or a step of a handshake does: the clock is read before the next request. */
void connections_strained(struct connections *set);
/* Some output is not yet written. */
bool connections_unwritten(const struct connections *set);
/* Some connections have ended, and closed() has not been called for them. */
bool connections_ending(const struct connections *set);
/* How many of those are connections of this user (peer.user). */
size_t connections_ended_of(const struct connections *set, uint64_t user);

/* Whether the turn has used up its time. */
bool connections_late(struct connections *set);

/* Adds a connection of this identity, whose texts the caller sets. The set owns fd, also on failure. fd -1:
 * the caller cuts it. NULL: out of memory. */
struct connection *connections_put(struct connections *set, int fd, const struct identity *who);

#endif
