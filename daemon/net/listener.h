/*
 * listener: the sockets that clients connect to, Unix or TCP, opened here or inherited. A reload changes the
 * set.
 *
 * The driver is the only user. A listener hands over connected descriptors and knows nothing of the protocol.
 * It never removes a socket on which another instance answers. If descriptors run out, it does not spin: it
 * pauses, and uses a reserve descriptor to tell the client why.
 */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include "daemon/core/base/peer.h"
#include "daemon/net/socket.h"
#include "proto/record.h"

#include <stdbool.h>
#include <stddef.h>

struct closer;
struct descriptors;
struct event_base;
struct tls_context;
struct listener;

/* Connections accepted in one turn of the loop: a storm of new clients must not starve connected ones. */
#define LISTENER_ACCEPT_MAX 64
/* And none after this time: each costs as much again when its end is handled, in the same turn. For one
 * client the daemon may also end a connection with thousands of locks, which makes room for it. */
#define LISTENER_ACCEPT_NS  500000
/* How long accepting pauses if descriptors run out. */
#define LISTENER_PAUSE_MS   100

struct listener_hooks {
	/* The callee owns fd, which is non-blocking and close-on-exec. peer.admin is set, by what the kernel
	 * reports, for root and the owner of a Unix socket. */
	void (*accepted)(void *arg, struct listener *listener, int fd, const struct peer *peer);
	/* Accepting pauses; error: errno of accept4(). Called once per pause. */
	void (*paused)(void *arg, struct listener *listener, int error);
};

/*
 * Opens the socket and listens. 0, or an enum socket_failure; then *error says what failed, where, and what
 * to do. listener_start() begins to accept.
 */
int listener_open(struct event_base *base, const struct socket_settings *settings,
	const struct listener_hooks *hooks, void *arg, struct listener **out, char *error, size_t error_room)
	__attribute__((warn_unused_result));
/* The same for an inherited stream socket that listens already. The listener owns fd from now on, also on
 * failure. */
int listener_adopt(struct event_base *base, int fd, const struct listener_hooks *hooks, void *arg,
	struct listener **out, char *error, size_t error_room) __attribute__((warn_unused_result));

int listener_start(struct listener *listener) __attribute__((warn_unused_result));
/* Closes the socket; one that was opened here is removed from the file system. */
void listener_free(struct listener *listener);
/* Ends a client that was accepted and is not wanted. */
void listener_end_client(const struct listener *listener, int fd);

bool listener_local(const struct listener *listener);    /* a Unix socket */
bool listener_releases(const struct listener *listener); /* see socket_settings.release */
/* The context for connections to this listener; NULL: they are plain. */
struct tls_context *listener_tls(const struct listener *listener);
bool listener_logs_in(const struct listener *listener); /* see socket_settings.certificate_logs_in */
/* For a reload: sets what a clean close means from now on, mode and group of a socket that was opened here,
 * and reads the files of TLS again, for new connections. */
int listener_change(struct listener *listener, const struct socket_settings *settings, char *error,
	size_t error_room) __attribute__((warn_unused_result));
/* Why connections to the address no longer reach this socket, as a clause that follows the address; NULL:
 * they do. Also NULL if an inherited socket was removed: the program that made it may make it again. */
const char *listener_lost(const struct listener *listener);
/* Whether connections to this path reach this socket, which may have been moved there. */
bool listener_is_behind(const struct listener *listener, const char *path);
/* Whether this process opened the Unix socket in a directory that it made: no client can have known an
 * earlier socket there. */
bool listener_fresh(const struct listener *listener);
/* Whether the settings name the address of this listener. */
bool listener_is_at(const struct listener *listener, const struct socket_settings *settings);
/* "/run/holdfast/holdfast.sock", "127.0.0.1:5625", "[::1]:5625"; lives as long as the listener. */
const char *listener_address(const struct listener *listener);

/* ---- all of them ---- */

#define LISTENERS_MAX 32

/* All zero at first, but base, hooks, arg and closer. */
struct listeners {
	struct event_base *base;
	const struct listener_hooks *hooks;
	void *arg;
	struct closer *closer; /* a client may have passed descriptors before it was accepted; may be NULL */
	bool started;
	bool look;           /* something has changed in a directory with a socket */
	int64_t looked_ms;   /* when the sockets were checked last */
	int watching;        /* inotify; 0: not yet, -1: not available */
	struct event *watch; /* of watching */
	size_t count;
	struct {
		struct listener *listener;
		bool inherited; /* a reload does not close it: it could not be opened again */
	} list[LISTENERS_MAX];
};

/* Begins to accept; sockets that are added later accept at once. Before, clients queue up at the sockets. -1:
 * out of memory. */
int listeners_start(struct listeners *set) __attribute__((warn_unused_result));

/*
 * The first socket that was removed or replaced by another, so that clients do not reach it, and why. NULL:
 * none; or the last check was less than a second ago and nothing has happened since. To be called in each
 * turn of the loop, which wakes when a directory with a socket changes.
 */
const struct listener *listeners_lost(struct listeners *set, int64_t now_ms, const char **why);

/* Why clients may have known these sockets before this process had them; NULL: no client can have. */
const char *listeners_known_before(const struct listeners *set);

/* Closes all of them. */
void listeners_close(struct listeners *set);

/* Accepts no client for a while; clients queue up at the sockets. */
void listeners_rest(struct listeners *set);
/* Accepts again. -1: out of memory. */
int listeners_resume(struct listeners *set) __attribute__((warn_unused_result));

/* A record of this type for each socket; its descriptors are added to given. An inherited socket is left out
 * if the service manager passes it to the next process as well. */
void listeners_save(const struct listeners *set, struct record *r, enum record_type type,
	struct descriptors *given, bool inherited);
/* Takes over the socket of the current record; before listeners_start(). Without its descriptor it is left
 * out. */
void listeners_load(struct listeners *set, struct record *r, struct descriptors *given);

/* Takes over an inherited socket that listens. The set owns fd, also on failure. 0, or an enum socket_failure
 * with *error. */
int listeners_adopt(struct listeners *set, int fd, char *error, size_t error_room)
	__attribute__((warn_unused_result));

/*
 * Listens at the addresses of the settings and, inherited sockets apart, at no others: opens the new ones,
 * changes those that stay, closes the rest. 0, or an enum socket_failure with *error; then the set is as
 * before.
 */
int listeners_set(struct listeners *set, const struct socket_settings *settings, size_t count, char *error,
	size_t error_room) __attribute__((warn_unused_result));

#endif
