/*
 * listener: the sockets that clients connect to, Unix or TCP, opened here or inherited. listeners.h is all of
 * them.
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

#endif
