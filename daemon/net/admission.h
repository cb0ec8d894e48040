/*
 * admission: lets clients in as far as the limits allow, and tells the others why not.
 *
 *     listener ──accepted──▶ admission ──▶ connections ──opened──▶ driver
 *                             │ ▲
 *          strangers who are ◀┘ └── handshake: somebody logged in, or out
 *          too many, or too late
 *
 * A stranger is a TCP client that has to log in and has not. Strangers have a share of the room at most, and
 * make way, the oldest first, when room is wanted: whoever has a password needs it for a moment only, so that
 * who has none cannot keep the others out. Administrators of this host find some room when there is none.
 */
#ifndef NET_ADMISSION_H
#define NET_ADMISSION_H

#include "daemon/net/connections.h"
#include "daemon/net/listener.h"
#include "daemon/net/quota.h"

#include <bsd/sys/queue.h>
#include <stdint.h>

struct log;
struct stats;

/* Strangers get one connection in so many, and one at least. */
#define ADMISSION_STRANGERS_SHARE 4
/* So many connections beyond the limits are for root and the owner of the socket. */
#define ADMISSION_ADMIN_ROOM      8
/* Clients that are turned away are told in one line every so often. */
#define ADMISSION_TELL_MS         10000

struct admission_limits {
	size_t clients;   /* connections in all */
	size_t per_user;  /* connections of one user */
	int64_t login_ms; /* how long a stranger may stay one */
};

TAILQ_HEAD(admission_strangers, identity);

struct admission {
	struct connections *connections;
	struct quota quota;
	struct admission_limits limits;
	struct admission_strangers strangers; /* the oldest first */
	size_t unauthenticated_count;
	size_t extra_count;  /* administrators beyond the limits */
	int64_t turned_away; /* since it was told */
	int64_t tell_at_ms;  /* not before */
	bool guarded;        /* TCP clients have to log in */
	bool short_of_memory;
	struct stats *stats;
	struct log *log;
	void (*opened)(void *arg, struct connection *connection);
	void *arg;
};

/* stats and log are kept by reference. All limits are zero. */
void admission_init(struct admission *admission, struct connections *connections, struct stats *stats,
	struct log *log, void (*opened)(void *arg, struct connection *connection), void *arg);
void admission_done(struct admission *admission);
/* For those that come. */
void admission_set_limits(struct admission *admission, const struct admission_limits *limits);
/* Whether nobody new may come but administrators, for want of memory. */
void admission_set_short_of_memory(struct admission *admission, bool short_of_memory);
/* Whether TCP clients have to log in from now on. Those that are here have login_ms for it, too. */
void admission_set_guarded(struct admission *admission, bool guarded);

/* The hooks of a listener; arg is the struct admission. */
void admission_accepted(void *arg, struct listener *listener, int fd, const struct peer *peer);
void admission_paused(void *arg, struct listener *listener, int error);

/* The client is this user from now on; identity.user is the caller's to set. False: the user has as many
 * clients as allowed, and the connection is told so and closed. */
bool admission_login(struct admission *admission, struct connection *connection, const char *name)
	__attribute__((warn_unused_result));
/* The client is nobody any more. */
void admission_logout(struct admission *admission, struct connection *connection);
/* The connection has ended: its place is free for another. */
void admission_left(struct admission *admission, struct connection *connection);

/* Closes strangers who are too late. */
void admission_turn(struct admission *admission);
/* When admission_turn() has something to do, CLOCK_BOOTTIME; INT64_MAX: never. */
int64_t admission_wake_at(const struct admission *admission);

#endif
