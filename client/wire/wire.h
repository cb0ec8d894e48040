/*
 * wire: a connection to the daemon, and the address that it goes to.
 *
 *     /run/holdfast/holdfast.sock    unix:PATH    unix://PATH
 *     host:port    tcp://host:port    redis://[user[:password]@]host[:port][/0]
 *     tls://host:port    rediss://...    the same with TLS, and ?ca=PATH&certificate=PATH&key=PATH&name=HOST
 *
 * An address comes from --socket, $HOLDFAST_URL or the default places. A password comes from the environment
 * only, because argv is readable by every process of the host.
 *
 * On a connection requests and answers keep their order; pushes may come in between. Every verb owns its
 * connections. Nothing is shared or retried here: a connection that ended has the reason in `why`, and
 * remains ended until wire_reopen(). session.h knows when to come back.
 */
#ifndef CLIENT_WIRE_H
#define CLIENT_WIRE_H

#include "daemon/base/tls.h"
#include "proto/answer.h"
#include "proto/buffer.h"
#include "proto/command.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Undefined in a program without OpenSSL: an archive is not searched for a weak name. */
#pragma weak tls_context_new
#pragma weak tls_context_free
#pragma weak tls_context_load
#pragma weak tls_new
#pragma weak tls_free
#pragma weak tls_handshake
#pragma weak tls_is_up
#pragma weak tls_wants_write
#pragma weak tls_may_have_more
#pragma weak tls_read
#pragma weak tls_write
#pragma weak tls_end
#pragma weak tls_why

#define ADDRESS_HOST_MAX   256
#define ADDRESS_PORT_MAX   6
#define ADDRESS_SECRET_MAX 256
#define ADDRESS_FILE_MAX   256
#define ADDRESS_TEXT_MAX   (ADDRESS_HOST_MAX + 4 * ADDRESS_FILE_MAX + 64)
#define ADDRESS_PORT       "5625"

struct address {
	bool tcp;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* !tcp */
	char host[ADDRESS_HOST_MAX];                            /* tcp; an IPv6 address without brackets */
	char port[ADDRESS_PORT_MAX];
	char user[ADDRESS_SECRET_MAX]; /* "": none */
	char password[ADDRESS_SECRET_MAX];
	bool tls;
	char ca[ADDRESS_FILE_MAX]; /* tls; each may be "" (base/tls.h) */
	char certificate[ADDRESS_FILE_MAX];
	char key[ADDRESS_FILE_MAX];
	char name[ADDRESS_FILE_MAX];
	const char *other;  /* the next default place that also has a socket; NULL: none */
	const char *passed; /* why the socket in $XDG_RUNTIME_DIR is not taken; NULL: it is, or is none */
	char text[ADDRESS_TEXT_MAX]; /* without user and password, for messages and for HOLDFAST_URL */
};

#define WIRE_TEXT_MAX 512

struct wire {
	int fd;       /* for poll(2): if readable, call wire_fill(); -1: closed */
	ino_t inode;  /* of the socket */
	bool local;   /* a Unix socket: the daemon can see our processes */
	bool ended;   /* no more bytes will come; those that came can still be read */
	bool away;    /* ended because the daemon is absent or ends, or the connection was cut: come again */
	bool denied;  /* ended because this user may not use the socket */
	bool foreign; /* ended because the server is not holdfastd */
	int64_t answer_ms; /* how long wire_answer() waits */
	struct buffer out;
	struct buffer in;
	size_t used; /* bytes of the answer that wire_next() returned last */
	struct answer_parser parser;
	struct tls *tls;               /* NULL: plain */
	struct tls_context *context;   /* tls */
	char server[ADDRESS_HOST_MAX]; /* tls: the name that its certificate must have, unless the address has
					  another */
	struct sockaddr_storage peer;  /* where it was opened to, for wire_reopen() */
	socklen_t peer_bytes;          /* 0: it was never open */
	bool guarded;                  /* by wire_guard() */
	int signals;                   /* guarded: signalfd(2) */
	sigset_t mask;                 /* guarded: as it was before */
	char why[WIRE_TEXT_MAX];       /* why it failed or ended */
};

/* Blocks while it connects, over TCP at most WIRE_CONNECT_MS per address. On false, why says where and what
 * to do; wire_close() is allowed. */
bool wire_open(struct wire *w, const struct address *a) __attribute__((warn_unused_result));
void wire_close(struct wire *w);

/*
 * Begins to connect again, to where wire_open() has connected, without blocking and without asking for the
 * name of the host again. What the wire had is dropped. wire_reopened() says how far it is, when one of
 * wire_events() has come. FAILED and false: w->why.
 */
enum wire_progress { WIRE_FAILED, WIRE_OPENING, WIRE_OPEN };
bool wire_reopen(struct wire *w) __attribute__((warn_unused_result));

/* QUIT, and wire_close(). So no grace begins, and the session ends at once, also if a LOCK waits. Waits for
 * the daemon for a short time. */
void wire_goodbye(struct wire *w);

/* From now on until wire_close(): a signal that would end this process says goodbye first. They are blocked,
 * and read by wire_wait(). Signals that are ignored, handled or blocked are left alone. */
void wire_guard(struct wire *w);

/* No more. mask: the process' mask was changed meanwhile, and this is what it was; it becomes what it was
 * before wire_guard(). NULL: it was not changed, and is what it was before. */
void wire_unguard(struct wire *w, sigset_t *mask);

/* Whether a server listens at this Unix socket and this user may connect. Does not block. */
bool wire_listens(const char *path);

#define WIRE_CONNECT_MS 5000

/* The wire has ended, for this reason; false. */
bool wire_fail(struct wire *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends a request of n words. */
void wire_ask_words(struct wire *w, size_t n, const char *const *words);

/* The same: wire_ask(w, "CHECK", name) */
#define wire_ask(w, ...)                                                                                     \
	wire_ask_words((w), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),               \
		(const char *const[]){__VA_ARGS__})

/* "command@host", with only the characters that a connection's name may have. */
#define WIRE_LABEL_MAX (LABEL_BYTES_MAX + 1)

/* Sends the appended requests. False if the connection broke; earlier answers can still be read. */
bool wire_flush(struct wire *w);

/* Sends what the connection takes without blocking; buffer_length(&w->out) says whether some is left. False
 * if the connection broke, which is then ended. */
bool wire_send(struct wire *w);

/* Sends the appended requests, and SESSION BIND with the pidfd. */
bool wire_bind(struct wire *w, int pidfd);

/* Reads what has arrived, without blocking. False if the connection ended. */
bool wire_fill(struct wire *w);

/* The next answer or push that has arrived, NULL: none. Valid until the next call. Malformed bytes end the
 * connection. */
const struct answer *wire_next(struct wire *w);

/* Blocks until something has arrived, or the connection has ended. False: neither has until until_ms. */
bool wire_arrived(struct wire *w, int64_t until_ms) __attribute__((warn_unused_result));

/* Blocks until the next answer; pushes are dropped. NULL if the connection ended, or at until_ms
 * (CLOCK_BOOTTIME; INT64_MAX: never). */
const struct answer *wire_wait(struct wire *w, int64_t until_ms);

/* answer_ms after wire_open(): a time limit for requests that the daemon answers from memory. */
#define WIRE_ANSWER_MS 10000

/* wire_flush() and wire_wait() for answer_ms, for requests that do not wait. NULL: see w->why. */
const struct answer *wire_answer(struct wire *w);

#endif
