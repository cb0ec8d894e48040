/*
 * connections: all connections, and the end of a turn.
 *
 * Admission adds to them, the driver turns them, whoever answers finds his connection here. Hooks are called
 * from the event loop, connections_serve() and connections_turn() only.
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
/* Closes what is left without calling a hook. */
void connections_free(struct connections *set);
void connections_set_limits(struct connections *set, const struct connections_limits *limits);
const struct connections_limits *connections_limits(const struct connections *set);

/* fd is the set's from now on in any case. NULL: out of memory. */
struct connection *connections_add(struct connections *set, int fd, const struct peer *peer, bool local,
	bool release) __attribute__((warn_unused_result));
/* NULL: it is gone, or about to be. */
struct connection *connections_find(const struct connections *set, conn_id id);
/* Those that are about to be gone not counted. */
size_t connections_count(const struct connections *set);
/* Bytes that are kept for what waits to be served or read, of all of them. */
size_t connections_kept(const struct connections *set);
/* In the order they came, until each() returns false. */
void connections_each(
	struct connections *set, bool (*each)(void *arg, struct connection *connection), void *arg);

/* Serves those of which something has arrived, and those that the turn before left over: each once, until the
 * clock says so (clock_ns()). What is left is for the next turn. */
void connections_serve(struct connections *set, int64_t until_ns);
/* The end of a turn: writes answers, ends what has ended, likewise. */
void connections_turn(struct connections *set, int64_t until_ns);
/* So many have something that has arrived since connections_serve(). */
size_t connections_arrived(const struct connections *set);
/* The time was over before all had their turn. */
bool connections_left(const struct connections *set);
/* There is more to do: the next turn must not wait. */
bool connections_busy(const struct connections *set);
/* Something is still to be written. */
bool connections_unwritten(const struct connections *set);

#endif
