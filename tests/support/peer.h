/*
 * peer: the other end of connections, played by the test: a master that lies, stalls or hangs up.
 *
 * It listens on a Unix socket in a directory of its own, in the test's event loop.
 */
#ifndef SUPPORT_PEER_H
#define SUPPORT_PEER_H

#include "tests/support/tempdir.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

struct peer_end {
	struct tempdir dir;
	char path[96];
	int listening;
	struct event *acceptable;
	struct event *readable;
	int fd;              /* the newest connection; -1: none */
	unsigned accepted;   /* number of connections so far */
	const char *welcome; /* sent to every new connection; NULL: nothing */
	size_t welcome_n;
	bool hang_up;      /* close every connection after the welcome */
	char heard[65536]; /* from the newest connection, NUL-terminated, cut if full */
	size_t heard_n;
};

/* welcome, for example the answers to the commands of a login, is kept by reference. */
void peer_init(struct peer_end *peer, struct event_base *base, const char *welcome);
void peer_done(struct peer_end *peer);
/* Sends to the newest connection. */
void peer_say(struct peer_end *peer, const char *bytes, size_t n);
void peer_hang_up(struct peer_end *peer);

/* Opens a TCP socket of loopback that listens and never accepts. full: its queue is also full, so that the
 * kernel does not answer. Returns the port; blackhole_close() closes fds. */
unsigned blackhole_open(int fds[8], bool full);
void blackhole_close(int fds[8]);

#endif
