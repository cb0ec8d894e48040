/*
 * connections: the set of all connections, and the end of a turn.
 *
 * Admission adds connections, the driver turns the set, and whoever answers a request finds its connection
 * here. Hooks are called only from the event loop, connections_serve() and connections_turn().
 */
#ifndef NET_CONNECTIONS_H
#define NET_CONNECTIONS_H

#include "daemon/net/connection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct stats;

/* NULL: out of memory. hooks and stats are kept by reference. */
struct connections *connections_new(struct event_base *base, const struct connections_limits *limits,
	const struct connections_hooks *hooks, void *arg, struct stats *stats)
	__attribute__((warn_unused_result));
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
/* Bytes kept for input and output that wait, of all connections. */
size_t connections_kept(const struct connections *set);
/* In the order in which they came, until each() returns false. */
void connections_each(
	struct connections *set, bool (*each)(void *arg, struct connection *connection), void *arg);

/* Serves each connection once that was left over from the turn before or of which something has arrived,
 * until the time until_ns (clock_ns()). The rest is for the next turn. */
void connections_serve(struct connections *set, int64_t until_ns);
/* The end of a turn: writes answers, then tells and frees ended connections until the time until_ns. */
void connections_turn(struct connections *set, int64_t until_ns);
/* The connections of which something has arrived since connections_serve(). */
size_t connections_arrived(const struct connections *set);
/* There is more to do: the next turn must not wait. */
bool connections_busy(const struct connections *set);
/* Some output is not yet written. */
bool connections_unwritten(const struct connections *set);

#endif
