/*
 * connection: the bytes of one client, in and out. connections.h has the set of all connections.
 *
 *     socket ──read──▶ in ──request_parse()──▶ hooks.request ──▶ (dispatch, core)
 *     socket ◀─write── out ◀── connection_out(), connection_reply()
 *
 * In its turn (fair_queue.h) a connection is read once, or a bounded number of requests that were read before
 * is served. A hook of connections.h may call the functions here: they only note what has to happen, so none
 * of them frees a connection that its caller still uses.
 */
#ifndef NET_CONNECTION_H
#define NET_CONNECTION_H

#include "daemon/core/peer.h"
#include "daemon/net/identity.h"
#include "proto/buffer.h"
#include "proto/reply.h"
#include "proto/request.h"

#include <stdbool.h>
#include <stddef.h>

struct connection;
struct connections;

/* Bytes that one read takes from a socket: what a pipelining client sends while others are served. */
#define CONNECTION_READ_BYTES  (16 * 1024)
/* Requests served for one connection in its turn: a million pipelined requests must not starve other
 * clients. */
#define CONNECTION_TURN_MAX    64
/* What a turn of one connection may cost, in words of requests; what a word costs, in bytes of an answer; and
 * what the visit itself costs, in words. */
#define CONNECTION_TURN_WORDS  256
#define CONNECTION_WORD_BYTES  256
#define CONNECTION_VISIT_WORDS 4
/* The clock is read each time this much is spent: some 50 us of work. */
#define CONNECTION_LOOK_WORDS  64
/* A connection with this much unserved input is not read. */
#define CONNECTION_IN_BYTES    (16 * 1024)
/* A connection with this much unread output is not served until the client has read: a client that does not
 * read stalls only itself. */
#define CONNECTION_OUT_BYTES   (64 * 1024)
/* A client that takes no byte of its output for this many seconds is cut, and one that is being closed
 * sooner. */
#define CONNECTION_STALL_S     20
#define CONNECTION_CLOSE_S     1
/* A half-closed client waits at most this many seconds for pushes that are due; each comes within that
 * time. */
#define CONNECTION_OWED_S      10
/* At most this many connections may keep a descriptor that came before its request could be served; the
 * others lose theirs. */
#define CONNECTION_KEPT_FDS    64
/* Answers are written when this many connections have some, so that clients work while others are served. */
#define CONNECTION_WRITE_COUNT 8

/* What one connection may keep in memory even if all connections together are over buffer_bytes. */
#define CONNECTION_SHARE_BYTES 16384

struct connections_limits {
	struct request_limits request;
	size_t output_bytes; /* not yet read by the client; a connection with more is cut */
	/* Memory for input and output that wait, of all connections. Past it, a connection that keeps more
	 * than its share is cut when it is read or written, unless it is an administrator's. 0: no limit */
	size_t buffer_bytes;
};

struct connections_hooks {
	/* The next request; never while connection_waits(). Valid until the hook returns. */
	void (*request)(void *arg, struct connection *connection, const struct request *request);
	/* The connection of this number will be read after that many others, 2 and then 1: its memory can be
	 * prefetched meanwhile. */
	void (*expect)(void *arg, conn_id id, unsigned ahead);
	/* The client has half-closed: nothing may wait for long now. */
	void (*finished)(void *arg, struct connection *connection);
	/* The connection is over, and is freed right after. why is for the log. */
	void (*closed)(void *arg, struct connection *connection, enum end end, const char *why);
};

struct identity *connection_identity(struct connection *connection);

/* The buffer for an answer or a push; call connection_written() when it is complete. */
struct buffer *connection_out(struct connection *connection);
void connection_written(struct connection *connection);
/* connection_out(), reply_write(), connection_written() */
void connection_reply(struct connection *connection, const struct reply *reply);
/* The same with an error: reply_error() says how. */
void connection_error(struct connection *connection, enum code code, const char *format, ...)
	__attribute__((cold, format(printf, 3, 4)));
/* Writes the pending answers of all connections now. Calls no hook. */
void connections_flush(struct connections *set);
size_t connection_unread_bytes(const struct connection *connection);

/* The request is answered later: no other request is served before connection_answered(). */
void connection_wait(struct connection *connection);
void connection_answered(struct connection *connection);
bool connection_waits(const struct connection *connection);
/* A push is due (LOCK ... ASYNC): a half-closed client gets it before the connection ends. */
void connection_owe(struct connection *connection);
/* A push that was due has been written, or is not due any more. */
void connection_paid(struct connection *connection);

/* The client has half-closed: it sends nothing more. */
bool connection_is_finished(const struct connection *connection);

/* Serves no more requests, writes what is pending, and closes. If it is called again, the first end and
 * reason count. */
void connection_close(struct connection *connection, enum end end, const char *why);
/* Closes without writing. */
void connection_cut(struct connection *connection, enum end end, const char *why) __attribute__((cold));

/* The connection belongs to this user from now on (peer.user), and waits in that user's line. */
void connection_belongs(struct connection *connection, uint64_t user);

/* Gives the connection another number; -1: out of memory, it keeps the old one. */
int connection_renumber(struct connection *connection) __attribute__((warn_unused_result));

/* The descriptor that was passed with the latest request; the caller owns it from now on. Negative: none, see
 * passing.h. */
int connection_take_fd(struct connection *connection);

#endif
