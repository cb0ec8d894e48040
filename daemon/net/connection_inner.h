/*
 * connection_inner: what connection.c (one connection), connections.c (all connections) and
 * connection_state.c (saved ones) share; no other file includes it. connections.c calls what connection.c has
 * here; connection_state.c calls both.
 *
 * Work for later is noted on one of these lists, and done in this turn or a following one:
 *
 *     arrived                something happened to its socket since the last turn
 *     fair_queue, the ready  something has to be read, written or served
 *     written                it has answers that are not yet written
 *     held                   it has an answer that may wait for the next one (connection_hold_back())
 *     touched                it may outlive a crash; the end of the turn checks whether it may now
 *     unsure                 a request waits, or has waited; its client may have vanished unnoticed
 *     fair_queue, the ended  it is over: tell, then free
 *
 * Sockets are watched edge-triggered: the kernel reports an arrival once, and `readable` stays set until
 * everything was read. So connections that wait for their turn cost earlier turns nothing.
 */
#ifndef NET_CONNECTION_INNER_H
#define NET_CONNECTION_INNER_H

#include "daemon/base/fdstore.h"
#include "daemon/core/base/map.h"
#include "daemon/net/connection.h"
#include "daemon/net/connection_stored.h"
#include "daemon/net/fair_queue.h"
#include "daemon/net/passing.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stddef.h>

TAILQ_HEAD(connection_list, connection);

enum connection_state {
	CONNECTION_OPEN,
	CONNECTION_CLOSING, /* writes what is pending, then ends */
	CONNECTION_ENDED    /* on the list of the ended */
};

struct connection {
	/* What each request needs is kept together: with thousands of connections none is in a cache. */
	TAILQ_ENTRY(connection) written; /* on the list of the written, or of the held */
	struct request_parser parser;
	struct buffer in;
	struct buffer out;
	size_t buffered; /* of its memory, counted in set->buffered_bytes */
	size_t owed;     /* pushes that are due */
	int fd;
	int passed_fd;      /* negative: none, see passing.h */
	struct tls *tls;    /* NULL: plain */
	short armed;        /* what event waits for */
	short events;       /* what event has reported since the connection last had its turn */
	short stalls;       /* seconds in which no byte was taken, while output or a push was due */
	int16_t store_slot; /* where the service manager keeps its socket (fdstore.h); FDSTORE_NONE: nowhere
			     */
	enum connection_state state : 8;
	enum end end : 8;
	bool holds_fd; /* passed_fd is counted in set->held_fds */
	bool is_written;
	bool is_held;
	bool is_touched;
	bool is_unsure;
	bool readable; /* its socket may have something to be read */
	bool hung_up;  /* and the end of file comes after it */
	bool pending;  /* has requests that may be served, or the end of file */
	bool waits;    /* for an answer of the core */
	bool blocked;  /* the socket takes no more output */
	bool finished; /* the client has half-closed; some of its bytes may still be unread */
	bool eof;      /* the client has half-closed, and all its bytes were read */
	struct identity identity;

	struct connections *set; /* near event: noting an arrival touches nothing else */
	struct event event;

	TAILQ_ENTRY(connection) entry; /* all, in the order of their numbers */
	TAILQ_ENTRY(connection) touched;
	TAILQ_ENTRY(connection) unsure;
	struct fair_queue_entry queued;
	const char *why; /* of CLOSING and ENDED */
};

/* What the loop has reported of a connection. */
struct arrival {
	struct connection *connection;
	short what;
};

struct connections {
	struct connection_list all;
	struct connection_list written;
	struct connection_list held;
	struct connection_list touched; /* of those that may outlive a crash; see connection_stored.c */
	struct connection_list unsure;  /* a request has waited since they were probed */
	int64_t probed_ms;              /* the last time when some were, CLOCK_BOOTTIME */
	struct fdstore *fdstore;        /* where their sockets are; NULL: none may */
	uint8_t *busy;                  /* the marks of these */
	uint8_t own_busy[CONNECTIONS_BUSY_BYTES];
	struct fair_queue fair_queue;
	struct passing passing; /* of what comes by Unix sockets */
	struct map by_id;
	struct event_base *base;
	const struct connections_hooks *hooks;
	void *arg;
	struct stats *stats;
	struct connections_limits limits;
	conn_id last_id;
	int64_t until_ns;  /* the end of this turn */
	int64_t served_ns; /* when the connection before was served, or the turn began */
	bool leaving;      /* all are closed; another process may have some of them */
	bool late;         /* it was past when the clock was last read */
	size_t spent;      /* since the clock was last read, in words */
	size_t written_count;
	size_t held_count;
	int64_t held_until_ms; /* held_count > 0: when all of them are written, CLOCK_BOOTTIME */
	size_t held_fds;
	size_t buffered_bytes; /* memory of buffers with something in them */
	size_t out_bytes;      /* a connection with this much unread output is not served */
	struct arrival *arrived;
	size_t arrived_count;
	size_t arrived_room;        /* room for this many arrivals, at least one for each connection */
	struct connection *serving; /* its requests are being served right now */
	struct request request;     /* the one being served */
	struct buffer_store store;  /* memory for answers */
	char scratch[CONNECTION_READ_BYTES];
};

static inline struct connection *
connection_at(struct fair_queue_entry *entry)
{
	return entry ? (struct connection *)((char *)entry - offsetof(struct connection, queued)) : NULL;
}

static inline void
connection_touched(struct connection *c)
{
	if (c->store_slot != FDSTORE_NONE)
		connection_mark_busy(c);
}

#endif
