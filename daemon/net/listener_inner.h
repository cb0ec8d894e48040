/*
 * listener_inner: one listener, as listener.c and listeners.c know it; no other file includes it. listeners.c
 * calls what listener.h has, and takes the rest from here for hand-overs and pauses.
 */
#ifndef NET_LISTENER_INNER_H
#define NET_LISTENER_INNER_H

#include "daemon/net/listener.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/stat.h>

struct listener {
	struct event ready;
	struct event resume;
	struct event_base *base;
	const struct listener_hooks *hooks;
	void *arg;
	struct closer *closer;   /* of struct listeners; NULL: sockets are closed at once */
	struct socket_file file; /* to remove at the end */
	int fd;
	int reserve; /* closed for a moment to tell a client that no descriptors are left; -1: none */
	struct tls_context *tls; /* NULL: plain */
	bool certificate_logs_in;
	bool local;
	bool release;
	bool started;
	uid_t owner; /* of the file of a Unix socket, */
	dev_t device;
	ino_t inode; /* and its inode; 0: unknown */
	char address[SOCKET_ADDRESS_MAX];
};

#endif
