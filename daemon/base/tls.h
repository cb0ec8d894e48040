/*
 * tls: TLS on a connected socket, at either end, on OpenSSL.
 *
 *     files ── tls_context_load() ──▶ context ── tls_new(fd) ──▶ one connection: tls_read(), tls_write()
 *
 * Listeners, links to masters and the client programs use it. It never waits: a socket that has nothing to
 * read or takes no more is EAGAIN, as with recv() and send(). It owns no descriptor, sends no SIGPIPE, and
 * knows nothing of what is said. One thread at a time uses a context and its connections.
 *
 * TLS 1.2 is the oldest version that is spoken. No session is resumed: each connection shows its certificates
 * anew, so that changed files count for every new connection.
 */
#ifndef BASE_TLS_H
#define BASE_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TLS_WHY_MAX      400
#define TLS_SYSTEM_CA    "system" /* in place of a path: the authorities that this host trusts */
#define TLS_NAME_MAX     128      /* of the name in a client's certificate, with the closing NUL */
/* What tls_read() wants for a whole record; with less room it delivers a record in pieces. */
#define TLS_RECORD_BYTES (16 * 1024)

enum tls_side { TLS_SERVER, TLS_CLIENT };

/* All files are PEM. A text may be NULL or "": absent. */
struct tls_settings {
	bool on;                 /* false: plain TCP, and nothing else of it counts */
	const char *certificate; /* of this end, first its own and then those between it and the authority */
	const char *key;         /* of certificate, without a passphrase */
	const char *ca;   /* authorities of the peer. Absent: a server asks for no certificate, a client takes
			     those of the system */
	const char *crl;  /* certificates that they have revoked */
	const char *name; /* client: the name or address that the server's certificate must have */
};

struct tls;
struct tls_context;

/* Copies the settings; reads no file. NULL: out of memory. */
struct tls_context *tls_context_new(enum tls_side side, const struct tls_settings *settings)
	__attribute__((warn_unused_result));
/* Connections go on with what was loaded when they began. NULL is allowed. */
void tls_context_free(struct tls_context *context);
/* Reads the files, unless they were read before and are still the same. False: the context remains as it was;
 * why, with room for TLS_WHY_MAX, says which file, what is wrong and what to do. */
bool tls_context_load(struct tls_context *context, char *why) __attribute__((warn_unused_result));
/* Whether clients have to show a certificate. */
bool tls_context_asks(const struct tls_context *context);

/* A connection on this non-blocking socket; the context is loaded. name: of the server, unless the settings
 * have one; NULL at a server. NULL: out of memory. */
struct tls *tls_new(struct tls_context *context, int fd, const char *name)
	__attribute__((warn_unused_result));
/* Tells the peer that the connection ends in good order, unless it broke. The caller closes fd. NULL is
 * allowed. */
void tls_free(struct tls *tls);

/* Goes on with the handshake; tls_read() and tls_write() do so too. 0: it is complete. -1: errno is EAGAIN,
 * or the connection is of no use any more. */
int tls_handshake(struct tls *tls) __attribute__((warn_unused_result));
bool tls_is_up(const struct tls *tls);
/* After EAGAIN: whether it waits until the socket takes more, and not until there is something to read. */
bool tls_wants_write(const struct tls *tls);

/*
 * As recv() and send(). 0 of tls_read(): the peer has ended its side in good order; the end of the socket
 * without that is ECONNRESET, since anybody between the two can forge it. -1: errno; what is not EAGAIN ends
 * the connection, also EPROTO for more records than a peer needs before its data. Between two calls of
 * tls_write() that were answered EAGAIN, bytes may only be appended.
 */
ssize_t tls_read(struct tls *tls, void *to, size_t room) __attribute__((warn_unused_result));
ssize_t tls_write(struct tls *tls, const void *from, size_t n) __attribute__((warn_unused_result));
/* After tls_read() that was not EAGAIN: whether there may be more to read without a new event of the socket.
 */
bool tls_may_have_more(const struct tls *tls);
/* Ends this side in good order, as shutdown() with SHUT_WR does: the peer may go on. */
void tls_end(struct tls *tls);

/* Why it broke, for people; valid until tls_free(). */
const char *tls_why(const struct tls *tls);
/* The common name of the certificate that a client has shown; false: it has shown none, or it has no such
 * name. */
bool tls_peer_name(const struct tls *tls, char out[TLS_NAME_MAX]);

/*
 * tls_dates.c: from when until when the certificates in the files of the configuration are valid. holdfastd
 * -t, the start and a reload warn of those that are not; INFO shows them, and so does holdfast doctor. A file
 * that cannot be read adds none: tls_context_load() says why.
 */

#define TLS_DATES_MAX      64 /* certificates; further ones are ignored */
#define TLS_DATES_PATH     256
#define TLS_DATES_WHO      96
#define TLS_DATES_TEXT_MAX 512
#define TLS_DATES_DO                                                                                         \
	"put a valid one there, or set the clock of this host (timedatectl), then: systemctl reload "        \
	"holdfastd"

struct tls_date {
	char path[TLS_DATES_PATH];
	char who[TLS_DATES_WHO]; /* its common name; "": none */
	int64_t begins_s;        /* since 1970 */
	int64_t ends_s;
	enum tls_side
		side; /* a server goes on with what it read at the latest reload, a client reads it again */
};

/* Zeroed: none. */
struct tls_dates {
	size_t n;
	int64_t refreshed_ms; /* CLOCK_BOOTTIME: the latest tls_dates_refresh(); 0: none */
	struct tls_date list[TLS_DATES_MAX];
};

#endif
