/*
 * admission: lets clients in within the limits, and tells the others why they are refused.
 *
 *     listener ──accepted──▶ admission ──▶ connections ──opened──▶ driver
 *                              │ ▲
 *     unauthenticated ones, ◀──┘ └── handshake: a client has logged in or out
 *     too many or too late
 *
 * An unauthenticated client is a TCP client that has to log in and has not done so, or whose TLS handshake is
 * not complete. Such clients may use only a share of the connections. If room is wanted, the oldest of them
 * is closed first: a client with a password needs only a moment to log in, so clients without one cannot keep
 * others out. Administrators of this host have some reserved room beyond the limits.
 */
#ifndef NET_ADMISSION_H
#define NET_ADMISSION_H

#include "daemon/net/access.h"
#include "daemon/net/connection.h"
#include "daemon/net/listener.h"

#include <bsd/sys/queue.h>
#include <stdint.h>

struct log;
struct stats;

/* Unauthenticated clients get one connection in this many, and at least one. */
#define ADMISSION_UNAUTHENTICATED_SHARE 4
/* This many connections beyond the limits are reserved for root and the owner of the socket. */
#define ADMISSION_ADMIN_ROOM            8
/* At most one log line in this time tells of refused clients. */
#define ADMISSION_TELL_MS               10000

struct admission_limits {
	size_t clients;   /* connections in all */
	size_t per_user;  /* connections of one user */
	int64_t login_ms; /* how long a client may take to log in */
};

TAILQ_HEAD(admission_unauthenticated, identity);

struct admission {
	struct connections *connections;
	struct access *const *access; /* the users now */
	struct quota quota;
	struct admission_limits limits;
	struct admission_unauthenticated unauthenticated; /* the oldest first */
	size_t unauthenticated_count;
	size_t extra_count;  /* administrators beyond the limits */
	int64_t turned_away; /* refused since the last log line */
	int64_t tell_at_ms;  /* the next log line is no earlier */
	bool guarded;        /* TCP clients have to log in */
	bool short_of_memory;
	struct stats *stats;
	struct log *log;
	void (*opened)(void *arg, struct connection *connection);
	void *arg;
};

/* access, stats and log are held by reference. All limits are zero at first. */
void admission_init(struct admission *admission, struct connections *connections,
	struct access *const *access, struct stats *stats, struct log *log,
	void (*opened)(void *arg, struct connection *connection), void *arg);
void admission_done(struct admission *admission);
/* The limits apply to new clients. */
void admission_set_limits(struct admission *admission, const struct admission_limits *limits);
/* Whether only administrators may connect, because memory is short. */
void admission_set_short_of_memory(struct admission *admission, bool short_of_memory);
/* Whether TCP clients have to log in from now on. Clients that are connected already get login_ms for it,
 * too. */
void admission_set_guarded(struct admission *admission, bool guarded);

/* The hooks of a listener; arg is the struct admission. */
void admission_accepted(void *arg, struct listener *listener, int fd, const struct peer *peer);
void admission_paused(void *arg, struct listener *listener, int error);

/* The client has logged in as this user; the caller sets identity.user. False: the user has as many clients
 * as allowed; the connection was answered so and is closed. */
bool admission_login(struct admission *admission, struct connection *connection,
	const struct access_user *user) __attribute__((warn_unused_result));
/* The TLS handshake is complete, and the client is logged in if its certificate does so. */
void admission_secured(struct admission *admission, struct connection *connection);
/* The client has logged out. */
void admission_logout(struct admission *admission, struct connection *connection);
/* The connection has ended, and another may take its slot. */
void admission_left(struct admission *admission, struct connection *connection);

/* A connection that was loaded: counts it as before, whatever the limits. In the order of their numbers. */
void admission_restore(struct admission *admission, struct connection *connection);

/* No client has been read for so long, in ms: that does not count for those that have to log in. */
void admission_unread(struct admission *admission, int64_t ms);

/* Whether anyone has to log in: admission_turn() has something to do, now or later. */
static inline bool
admission_waits(const struct admission *admission)
{
	return admission->unauthenticated_count > 0;
}

/* Closes unauthenticated clients that took longer than login_ms. */
void admission_turn(struct admission *admission);
/* When admission_turn() has something to do, CLOCK_BOOTTIME; INT64_MAX: never. */
int64_t admission_wake_at(const struct admission *admission);

#endif
