/*
 * connection: the bytes of one client, in and out, which client speaks on it, and the set of all connections.
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
	enum verb last;       /* the latest verb; VERB_COUNT: none yet */
	int protocol;         /* 2 or 3 */
	bool local;           /* connected to a Unix socket */
	bool streams;         /* receives EVENTS */
	bool unauthenticated; /* has to log in, and has not; set by admission */
	enum code answered;   /* its latest request was answered with this error; CODE_COUNT: with none yet */

	bool greets;    /* its TLS handshake is not complete; admission ends it */
	bool certified; /* its certificate may log it in */

	bool extra;        /* an administrator beyond the limits; set by admission */
	bool release;      /* a clean close ends holds; on a Unix socket any close */
	bool native_admin; /* peer.admin as the kernel reports it, without a login */
	struct peer peer;
	const struct access_user *user; /* of the configuration; NULL: none */
	bool local_user;                /* user follows from the uid or the groups, not from a login */
	struct quota_user *counted;     /* NULL: not counted for any user */
	TAILQ_ENTRY(identity) unauthenticated_entry;
	int64_t unauthenticated_ms; /* since when */
	unsigned failures;          /* failed logins */
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
/* In this time at most so many connections are probed whose request waits. */
#define CONNECTION_PROBE_MS    100
#define CONNECTION_PROBES      256
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
	/* The TLS handshake is complete: identity.greets has to become false. */
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
/* Writes the pending answers of all connections now. Calls no hook. */
void connections_flush(struct connections *set);
size_t connection_unread_bytes(const struct connection *connection);

/* The request is answered later: no other request is served before connection_answered(). */
void connection_wait(struct connection *connection);
void connection_answered(struct connection *connection);
bool connection_waits(const struct connection *connection);
/* The request that waits is served again, in a later turn, before what has come after it. */
void connection_ask_again(struct connection *connection, struct slice request);
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

/* The descriptor that was passed with the latest request; the caller owns it from now on. Negative: none, see
 * passing.h. */
int connection_take_fd(struct connection *connection);

/*
 * The set of all connections, and the end of a turn.
 *
 * Admission adds connections, the driver turns the set, and the handler of a request finds its connection
 * here. Hooks are called only from the event loop, connections_serve() and connections_turn().
 */

/* NULL: out of memory. hooks and stats are kept by reference. */
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
/* The client of this new connection speaks TLS; connection_tls.c. certificate_logs_in: see
 * connection_certificate(). False: out of memory. */
bool connection_begin_tls(struct connection *connection, struct tls_context *context,
	bool certificate_logs_in) __attribute__((warn_unused_result));
/* The name in the client's certificate, if the listener takes it for a login. False: there is none. */
bool connection_certificate(const struct connection *connection, char out[TLS_NAME_MAX]);
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
/* Reads some of the connections again whose request waits, in their turn. A reset that came together with
 * such a request raises no event of its own, and no answer is written that would find it; so no request pays
 * for the look. Returns when to call it again, CLOCK_BOOTTIME; INT64_MAX: once a request waits. */
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

/*
 * Connections that may outlive a crash (connection_kept.c): the service manager has the socket of each at a
 * place (fdstore.h), and memory that outlives the process has a mark for each place. It is set before the
 * daemon reads from the connection, before it writes to it, and before the ledger says what the client has to
 * be told; it is cleared in the end of a turn if nothing of the connection is under way then. If the process
 * is killed while the mark is set, the connection ends: its requests may have been carried out, and its
 * answers written, or not. A mark costs no system call, and other connections pay for a look at their place.
 */

#define CONNECTIONS_BUSY_BYTES (16384 / 8) /* a bit for each place */

/* The sockets go to this store, which lives as long as the set. Without it no connection is kept. */
void connections_keep_in(struct connections *set, struct fdstore *store);
/* The marks are in this memory from now on, of CONNECTIONS_BUSY_BYTES; what is marked now is marked there.
 * NULL: in memory of the set. */
void connections_mark_in(struct connections *set, uint8_t *busy);
bool connections_busy_at(const uint8_t *busy, int place);

/* Gives its socket to the service manager, unless it is there. The connection is marked as busy. False: it is
 * not kept, and ends with the process. */
bool connection_keep(struct connection *connection);
/* The service manager forgets it. What the ledger says of it counts no more: its place stays marked. */
void connection_unkeep(struct connection *connection);
bool connection_is_kept(const struct connection *connection);
/* Marks it as busy if it is kept: its client is about to be told something. */
void connection_touch(struct connection *connection);

/*
 * Connections as records (connection_state.c), for the next process of this daemon. Between two turns, and
 * when none is ending. They are saved in the order of connections_each(), and keep their numbers.
 */

/* The record of one connection; its descriptor is added to given. */
void connection_save(struct connection *connection, struct record *r, struct descriptors *given);
/* The connection of the current record. Without its descriptor it is over, and closed() is called as for
 * others. access has the users of the state; admission counts the connection (admission_restore()). NULL: r
 * has failed. */
struct connection *connection_load(struct connections *set, struct record *r, struct descriptors *given,
	const struct access *access) __attribute__((warn_unused_result));
/* What the ledger says of a connection that is kept: where its socket is, who its client is, and the session
 * that it speaks for. */
void connection_enter(struct connection *connection, struct record *r, struct keep_view *keep);
/* Where the socket of the current record is, and the number of the connection. */
int connection_entry_place(struct record *r, conn_id *id);
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
