/*
 * connection_inner: what connection.c (one connection) and connections.c (all of them) share, and nobody else
 * sees. The set calls what is here for one, never the other way round.
 *
 * What has to happen later is noted on one of these lists and done later, in this turn or in one that
 * follows:
 *
 *     arrived           something happened to its socket since the last turn
 *     fair_queue, the ready  it has something to be read, written or served
 *     written           it has answers that were not written yet
 *     fair_queue, the ended  it is over: tell, then free
 *
 * Sockets are watched edge-triggered: the kernel tells once that something has come, and `readable` stays
 * until all of it was read. So connections that wait for their turn cost the turns before it nothing.
 */
#ifndef NET_CONNECTION_INNER_H
#define NET_CONNECTION_INNER_H

#include "daemon/core/roster.h"
#include "daemon/net/connection.h"
#include "daemon/net/fair_queue.h"

#include <event2/event.h>
#include <event2/event_struct.h>

TAILQ_HEAD(connection_list, connection);

enum connection_state {
	CONNECTION_OPEN,
	CONNECTION_CLOSING, /* writes what there is, then ends */
	CONNECTION_ENDED    /* on the list of the ended */
};

struct connection {
	/* What each request needs, next to each other: of thousands of connections none is in a cache. */
	TAILQ_ENTRY(connection) written;
	struct request_parser parser;
	struct buffer in;
	struct buffer out;
	size_t kept; /* of its memory, counted in set->kept_bytes */
	size_t owed; /* pushes that are due */
	int fd;
	int passed_fd; /* negative: none, as passing.h says */
	short armed;   /* what event waits for */
	short events;  /* what it has told since this connection had its turn */
	short stalls;  /* seconds without a byte taken while there was something to write, or a push due */
	enum connection_state state;
	bool keeps_fd; /* passed_fd is counted in set->kept_fds */
	bool is_written;
	bool readable; /* its socket may have something to be read */
	bool hung_up;  /* and the end of file behind it */
	bool pending;  /* has requests that may be served, or the end of file */
	bool waits;    /* for an answer of the core */
	bool blocked;  /* the socket took no more */
	bool finished; /* the client will send no more than what is on its way */
	bool eof;      /* and all of that was read */
	enum end end;
	struct identity identity;

	struct connections *set; /* by the event: all that is needed to note an arrival */
	struct event event;

	TAILQ_ENTRY(connection) entry; /* all, in the order of their numbers */
	struct fair_queue_place place;
	const char *why; /* CLOSING, ENDED */
};

/* What the loop has told of a connection. */
struct arrival {
	struct connection *connection;
	short what;
};

struct connections {
	struct connection_list all;
	struct connection_list written;
	struct fair_queue fair_queue;
	struct roster roster;
	struct event_base *base;
	const struct connections_hooks *hooks;
	void *arg;
	struct stats *stats;
	struct connections_limits limits;
	conn_id last_id;
	int64_t until_ns; /* the turn lasts so long, */
	bool late;        /* which is over, as far as the clock was looked at, */
	size_t spent;     /* and this was spent since then, in words */
	size_t written_count;
	size_t kept_fds;
	size_t kept_bytes; /* memory of buffers with something in them */
	size_t out_bytes;  /* unread output that stops serving */
	struct arrival *arrived;
	size_t arrived_count;
	size_t arrived_room;        /* as many as there are connections, or more */
	struct connection *serving; /* its requests are being served right now */
	struct request request;     /* the one being served */
	struct buffer_store store;  /* memory for answers */
	char scratch[CONNECTION_READ_BYTES];
};

/* Watches as the state asks for. */
void connection_arm(struct connection *c);
/* Its turn: does what its socket has told, then reads or serves, for as long as a turn of one may take. */
void connection_serve(struct connection *c);
/* It has its turn later. */
void connection_line_up(struct connection *c);
/* Whether the turn has lasted as long as it may. */
bool connections_late(struct connections *set);
/* Writes what there is, and looks what that makes possible. */
void connection_flush(struct connection *c);
/* Closes the descriptor that was passed, if there is one. */
void connection_drop_fd(struct connection *c);

#endif
