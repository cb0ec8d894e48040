/*
 * listeners: all the sockets that clients connect to, and what a reload makes of them. The driver is the only
 * user.
 */
#ifndef NET_LISTENERS_H
#define NET_LISTENERS_H

#include "daemon/net/listener.h"

#define LISTENERS_MAX 32

/* All zero but base, hooks and arg in the beginning. */
struct listeners {
	struct event_base *base;
	const struct listener_hooks *hooks;
	void *arg;
	bool started;
	bool look;           /* something has happened in a directory with a socket */
	int64_t looked_ms;   /* when they were looked at last */
	int watching;        /* inotify; 0: not yet, -1: there is none to be had */
	struct event *watch; /* of it */
	size_t count;
	struct {
		struct listener *listener;
		bool inherited; /* a reload does not close it: we could not open it again */
	} list[LISTENERS_MAX];
};

/* Begins to accept; sockets that come later do so at once. Before, clients queue up at the sockets. -1: out
 * of memory. */
int listeners_start(struct listeners *set) __attribute__((warn_unused_result));

/*
 * The first socket that was removed or replaced by another, so that clients do not find it, and why; NULL:
 * there is none, or nothing has happened since the last look, less than a second ago. To be called in each
 * turn of the loop, which wakes when something happens in a directory with a socket.
 */
const struct listener *listeners_lost(struct listeners *set, int64_t now_ms, const char **why);

/* Why clients may have known these sockets before this process had them; NULL: none can have. */
const char *listeners_known_before(const struct listeners *set);

/* Closes all of them. */
void listeners_close(struct listeners *set);

/* Takes over an inherited listening socket. fd is the set's in any case. 0, or an enum socket_failure with
 * *error. */
int listeners_adopt(struct listeners *set, int fd, char *error, size_t error_room)
	__attribute__((warn_unused_result));

/*
 * Listens where the settings say and nowhere else, inherited sockets apart: opens what is new, changes what
 * stays, closes what is gone. 0, or an enum socket_failure with *error; then what was open before still is,
 * and nothing else.
 */
int listeners_set(struct listeners *set, const struct socket_settings *settings, size_t count, char *error,
	size_t error_room) __attribute__((warn_unused_result));

#endif
