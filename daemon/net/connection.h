/*
 * connection: one client's bytes, in and out. connections.h has all of them.
 *
 *     socket ──read──▶ in ──request_parse()──▶ hooks.request ──▶ (dispatch, core)
 *     socket ◀─write── out ◀── connection_out(), connection_reply()
 *
 * In its turn (round.h) a connection is read once, or served a bounded number of requests that were read
 * before. The functions here are those that a hook of connections.h may call: they only note what has to
 * happen, so nobody is freed under the feet of his caller.
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

/* Bytes taken from a socket at once: what a pipelining client sends while we look elsewhere. */
#define CONNECTION_READ_BYTES  (16 * 1024)
/* Requests served for one connection in its turn: a million pipelined ones must not starve the others; */
#define CONNECTION_TURN_MAX    64
/* and what they may cost. A word of a request costs about as much as so many bytes of an answer, and a turn
 * of a connection as so many words. */
#define CONNECTION_TURN_WORDS  256
#define CONNECTION_WORD_BYTES  256
#define CONNECTION_VISIT_WORDS 4
/* After so much the clock is looked at: some 50 us of work. */
#define CONNECTION_LOOK_WORDS  64
/* Not read any more when so much waits to be served. */
#define CONNECTION_IN_BYTES    (16 * 1024)
/* Not served any more until the client has read: a client that does not read stalls itself. */
#define CONNECTION_OUT_BYTES   (64 * 1024)
/* Such a client is cut off after so many seconds without taking a byte, and one that is being closed sooner.
 */
#define CONNECTION_STALL_S     20
#define CONNECTION_CLOSE_S     1
/* A client that has done sending waits so many seconds for pushes that are due; by then each has come. */
#define CONNECTION_OWED_S      10
/* So many connections may keep a descriptor that came before its request could be served; others lose it. */
#define CONNECTION_KEPT_FDS    64
/* Answers are written when so many connections have some, so that clients work while others are served. */
#define CONNECTION_WRITE_COUNT 8

/* What one connection may keep in memory however much all of them do. */
#define CONNECTION_SHARE_BYTES 16384

struct connections_limits {
	struct request_limits request;
	size_t output_bytes; /* unread by the client; past it the connection is cut */
	/* Memory for what waits, of all of them; past it one that has more than its share and comes by is
	 * cut. 0: no limit */
	size_t buffer_bytes;
};

struct connections_hooks {
	/* The next request, unless connection_waits(). Valid until the hook returns. */
	void (*request)(void *arg, struct connection *connection, const struct request *request);
	/* Something of the connection of this number is to be read behind so many others, 2 and then 1: to
	 * fetch memory for it while they are served. */
	void (*expect)(void *arg, conn_id id, unsigned ahead);
	/* The client will send no more than it has sent: nothing may wait for long now. */
	void (*finished)(void *arg, struct connection *connection);
	/* It is over. The connection is freed right after. why is for the log. */
	void (*closed)(void *arg, struct connection *connection, enum end end, const char *why);
};

struct identity *connection_identity(struct connection *connection);

/* Where to put an answer or a push; connection_written() once it is complete. */
struct buffer *connection_out(struct connection *connection);
void connection_written(struct connection *connection);
/* connection_out(), reply_write(), connection_written() */
void connection_reply(struct connection *connection, const struct reply *reply);
/* The same with an error: reply_error() says how. */
void connection_error(struct connection *connection, enum code code, const char *format, ...)
	__attribute__((cold, format(printf, 3, 4)));
/* Writes the answers of all connections that have some, now. Calls no hook. */
void connections_flush(struct connections *set);
size_t connection_unread_bytes(const struct connection *connection);

/* The request is answered later: no other is served before connection_answered(). */
void connection_wait(struct connection *connection);
void connection_answered(struct connection *connection);
bool connection_waits(const struct connection *connection);
/* A push is due (LOCK ... ASYNC): a client that has done sending gets it before the connection ends. */
void connection_owe(struct connection *connection);
/* One of them was written, or is not due any more. */
void connection_paid(struct connection *connection);

/* The client will send no more. */
bool connection_is_finished(const struct connection *connection);

/* Serves no more requests, writes what there is, and closes. The first end that is given counts. */
void connection_close(struct connection *connection, enum end end, const char *why);
/* Closes without writing. */
void connection_cut(struct connection *connection, enum end end, const char *why) __attribute__((cold));

/* It is this user's from now on (peer.user), and waits in his line. */
void connection_belongs(struct connection *connection, uint64_t user);

/* Gives the connection another number; -1: out of memory, it keeps the old one. */
int connection_renumber(struct connection *connection) __attribute__((warn_unused_result));

/* The descriptor that was passed with the latest request; the caller's from now on. Negative: none, as
 * passing.h says. */
int connection_take_fd(struct connection *connection);

#endif
