/*
 * connection: the bytes of one client, in and out, and which client speaks on it. connections.h is the set of
 * all, connection_stored.h and connection_state.h are those that outlive the process.
 *
 *     socket ──read──▶ in ──request_parse()──▶ hooks.request ──▶ (dispatch, core)
 *     socket ◀─write── out ◀── connection_out(), connection_reply()
 *
 * In its turn (fair_queue.h) a connection is read once, or a bounded number of requests that were read before
 * is served. A hook may call the functions for one connection: they only note what has to happen, so none of
 * them frees a connection that its caller still uses.
 */
#ifndef NET_CONNECTION_H
#define NET_CONNECTION_H

#include "daemon/base/tls.h"
#include "daemon/core/base/peer.h"
#include "daemon/net/access.h"
#include "daemon/net/usage.h"
#include "proto/buffer.h"
#include "proto/command.h"
#include "proto/reply.h"
#include "proto/request.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;
struct closer;
struct connections;
struct descriptors;
struct event_base;
struct fdstore;
struct record;
struct stats;

/*
 * Which client speaks on a connection, and how.
 *
 * The verbs that log in, name a client and switch the protocol change it (handshake.c); reports show it. The
 * connection owns the texts.
 */
struct identity {
	/* What each request reads or changes. */
	conn_id id;
	int64_t last_ms; /* when its latest request came */
	uint64_t requests;
	struct usage usage;
	enum verb last : 16;     /* the latest verb; VERB_COUNT: none yet */
	enum code answered : 16; /* the error that its latest request was answered with; CODE_COUNT: none */
	int protocol;            /* 2 or 3 */
	bool local;              /* connected to a Unix socket */
	bool streams;            /* receives EVENTS */
	bool unauthenticated;    /* has to log in, and has not; set by admission */

	bool handshaking; /* its TLS handshake is not complete; admission ends it */
	bool certified;   /* its certificate may log it in */

	bool extra;        /* an administrator beyond the limits; set by admission */
	bool release;      /* a clean close ends holds; on a Unix socket any close */
	bool native_admin; /* peer.admin as the kernel reports it, without a login */
	bool local_user;   /* user follows from the uid or the groups, not from a login */
	unsigned failures; /* failed logins */
	struct peer peer;
	const struct access_user *user; /* of the configuration; NULL: none */
	struct quota_user *counted;     /* NULL: not counted for any user */
	TAILQ_ENTRY(identity) unauthenticated_entry;
	int64_t unauthenticated_ms; /* since when */
	uint64_t compared;          /* the mark of a password that was just compared (access.h); 0: none */
	uint64_t login;             /* the mark of the password by which it logged in; 0: by none */
	char *label;                /* CLIENT SETNAME; NULL: none */
	char *lib_name;             /* CLIENT SETINFO; NULL: none */
	char *lib_ver;
	int64_t since_ms; /* when it connected, CLOCK_BOOTTIME */
};

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
#define CONNECTION_CLOCK_WORDS 64
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
/* At most this many connections may hold a descriptor that came before its request could be served; the
 * others lose theirs. */
#define CONNECTION_HELD_FDS    64
/* How many connections with a waiting request are probed in this time at most. */
#define CONNECTION_PROBE_MS    100
#define CONNECTION_PROBES      256
/* Answers are written when this many connections have some, so that clients work while others are served. */
#define CONNECTION_WRITE_COUNT 8
/* How long an answer is held back at most, and for how many connections at a time. */
#define CONNECTION_HELD_MS     2
#define CONNECTION_HELD_MOST   64

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
	/* The TLS handshake is complete: identity.handshaking has to become false. */
	void (*secured)(void *arg, struct connection *connection);
	/* The client has half-closed: nothing may wait for long now. */
	void (*finished)(void *arg, struct connection *connection);
	/* The connection is over, and is freed right after. why is for the log. */
	void (*closed)(void *arg, struct connection *connection, enum end end, const char *why);
	/* Of connections that may outlive a crash. Whether nothing of it is under way but its bytes: no
	 * request waits, and no push is due. */
	bool (*rests)(void *arg, conn_id id);
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
/* What was just written to an empty buffer may be sent together with what follows on this connection, if that
 * comes within CONNECTION_HELD_MS. */
void connection_hold_back(struct connection *connection);
/* Writes the pending answers of all connections now. Calls no hook. */
void connections_flush(struct connections *set);
size_t connection_unread_bytes(const struct connection *connection);

void connection_answered(struct connection *connection);
bool connection_waits(const struct connection *connection);
/* A push is due (LOCK ... ASYNC): a half-closed client gets it before the connection ends. */
void connection_owe(struct connection *connection);
/* A push that was due has been written, or is not due any more. */
void connection_paid(struct connection *connection);

/* The client has half-closed: it sends nothing more. The loop may have reported that while requests that came
 * before are still unread. */
bool connection_is_finished(const struct connection *connection);

/* Serves no more requests, writes what is pending, and closes. If it is called again, the first end and
 * reason count. */
void connection_close(struct connection *connection, enum end end, const char *why);
/* Closes without writing. */
void connection_cut(struct connection *connection, enum end end, const char *why) __attribute__((cold));

/* The descriptor that was passed with the latest request; the caller owns it from now on. Negative: none, see
 * passing.h. */
int connection_take_fd(struct connection *connection);

/* ---- for connections.c, connection_state.c, connection_tls.c and connection_stored.c ---- */

/* Its buffers take up this many bytes now, which are counted. */
void connection_set_buffered(struct connection *c, size_t bytes);
/* If the buffers of all connections take up more bytes than their limit, cuts connections. */
void connections_make_room(struct connections *set);
/* Watches the events that the state asks for. */
void connection_arm(struct connection *c);
/* The connection has its turn: handles what its socket has reported, then reads or serves within the bounds
 * of one turn. */
void connection_serve(struct connection *c);
/* It is not among those whose answers are held back. */
void connection_drop_held(struct connection *c);
/* Writes all that is held back. */
void connections_release_held(struct connections *set);
/* Puts the connection into the line of the ready. */
void connection_line_up(struct connection *c);
/* Writes pending output, and notes what that makes possible. */
void connection_flush(struct connection *c);

/* Closes the descriptor that was passed, if there is one. */
void connection_drop_fd(struct connection *c);
/* Keeps it if its bytes are still to be served. */
void connection_settle_fd(struct connection *c);
/* Ends a connection which has passed descriptors that there are no numbers for. */
void connection_out_of_numbers(struct connection *c);
/* How a connection ends whose client has vanished. */
enum end connection_hangup_end(const struct connection *c);

#endif
