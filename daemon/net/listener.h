/*
 * listener: one socket that clients connect to, Unix or TCP, opened here or inherited.
 *
 * The driver is the only user. A listener hands over connected descriptors and knows nothing of what is
 * spoken on them. It never removes a socket that another instance answers on, and never spins when
 * descriptors run out: it pauses, and a reserve descriptor tells the client why.
 */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include "daemon/core/peer.h"
#include "daemon/net/socket.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct listener;

/* Accepted connections per turn of the loop: a storm of them must not starve those that are there. */
#define LISTENER_ACCEPT_MAX 64
/* How long accepting pauses when descriptors run out. */
#define LISTENER_PAUSE_MS   100

struct listener_hooks {
	/* fd is non-blocking, close-on-exec and the callee's from now on. peer.admin is what the kernel's
	 * word is worth: root and the owner of a Unix socket. */
	void (*accepted)(void *arg, struct listener *listener, int fd, const struct peer *peer);
	/* Accepting pauses: errno of accept4(). Told once per pause. */
	void (*paused)(void *arg, struct listener *listener, int error);
};

/*
 * Opens, and listens. 0, or an enum socket_failure with *error saying what failed, where, and what to do.
 * listener_start() begins to accept.
 */
int listener_open(struct event_base *base, const struct socket_settings *settings,
	const struct listener_hooks *hooks, void *arg, struct listener **out, char *error, size_t error_room)
	__attribute__((warn_unused_result));
/* The same for a listening stream socket that was inherited; fd is the listener's from now on in any case. */
int listener_adopt(struct event_base *base, int fd, const struct listener_hooks *hooks, void *arg,
	struct listener **out, char *error, size_t error_room) __attribute__((warn_unused_result));

int listener_start(struct listener *listener) __attribute__((warn_unused_result));
/* Closes the socket; one that was opened here disappears from the file system. */
void listener_free(struct listener *listener);

bool listener_local(const struct listener *listener);    /* a Unix socket */
bool listener_releases(const struct listener *listener); /* see socket_settings.release */
/* A reload: what a clean close means from now on; mode and group of a socket that was opened here. */
int listener_change(struct listener *listener, const struct socket_settings *settings, char *error,
	size_t error_room) __attribute__((warn_unused_result));
/* Why connections to the address do not reach this socket any more, as a clause that follows the address;
 * NULL: they do. NULL as well if an inherited socket was removed: its maker may make it again. */
const char *listener_lost(const struct listener *listener);
/* Whether connections to this path reach this socket: it may have been moved there. */
bool listener_is_behind(const struct listener *listener, const char *path);
/* Whether this process opened a Unix socket in a directory that it made: no client can have known an earlier
 * one. */
bool listener_fresh(const struct listener *listener);
/* Whether the settings name the address this one listens on. */
bool listener_is_at(const struct listener *listener, const struct socket_settings *settings);
/* "/run/holdfast/holdfast.sock", "127.0.0.1:5625", "[::1]:5625"; lives as long as the listener. */
const char *listener_address(const struct listener *listener);

#endif
