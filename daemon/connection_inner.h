/*
 * connection_inner: what connection.c (one connection) and connections.c (all of them) share, and nobody else
 * sees. The set calls what is here for one, never the other way round.
 *
 * What has to happen later is noted on one of these lists and done later in the turn:
 *
 *     arrived  has something to be read
 *     ready    has requests that were not served yet
 *     written  has answers that were not written yet
 *     ended    is over: tell, then free
 */
#ifndef DAEMON_CONNECTION_INNER_H
#define DAEMON_CONNECTION_INNER_H

#include "daemon/connection.h"
#include "daemon/core/roster.h"

#include <bsd/sys/queue.h>
#include <event2/event.h>
#include <event2/event_struct.h>

enum connection_state {
	CONNECTION_OPEN,
	CONNECTION_CLOSING, /* writes what there is, then ends */
	CONNECTION_ENDED    /* on the list of the ended */
};

TAILQ_HEAD(connection_list, connection);

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
	short stalls;  /* seconds without a byte taken while there was something to write, or a push due */
	enum connection_state state;
	bool keeps_fd; /* passed_fd is counted in set->kept_fds */
	bool is_ready;
	bool is_written;
	bool waits;    /* for an answer of the core */
	bool blocked;  /* the socket took no more */
	bool finished; /* the client will send no more than what is on its way */
	bool eof;      /* and all of that was read */
	enum end end;
	struct identity identity;

	struct connections *set; /* by the event: all that is needed to note an arrival */
	struct event event;

	TAILQ_ENTRY(connection) entry; /* all, in the order of their numbers */
	TAILQ_ENTRY(connection) ready; /* OPEN: set->ready; ENDED: set->ended */
	const char *why;               /* CLOSING, ENDED */
};

struct connections {
	struct connection_list all;
	struct connection_list ready;
	struct connection_list written;
	struct connection_list ended;
	struct roster roster;
	struct event_base *base;
	const struct connections_hooks *hooks;
	void *arg;
	struct stats *stats;
	struct connections_limits limits;
	conn_id last_id;
	size_t ready_count;
	size_t written_count;
	size_t ended_count;
	size_t kept_fds;
	size_t kept_bytes; /* memory of buffers with something in them */
	size_t out_bytes;  /* unread output that stops serving */
	struct connection **arrived;
	size_t arrived_count;
	size_t arrived_room;        /* as many as there are, or more */
	struct connection *serving; /* its requests are being served right now */
	struct request request;     /* the one being served */
	struct buffer_store store;  /* memory for answers */
	char scratch[CONNECTION_READ_BYTES];
};

/* Reads, writes and watches as the state asks for. */
void connection_arm(struct connection *c);
/* Reads and serves what arrived. */
void connection_arrive(struct connection *c);
/* Serves what was read and not served yet. */
void connection_serve(struct connection *c);
/* Writes what there is, and looks what that makes possible. */
void connection_flush(struct connection *c);
/* Closes the descriptor that was passed, if there is one. */
void connection_drop_fd(struct connection *c);

#endif
