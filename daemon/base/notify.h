/*
 * notify: what a service manager and a service exchange: state, and inherited sockets.
 *
 * It speaks the sd_notify protocol (datagrams to $NOTIFY_SOCKET) and the LISTEN_FDS protocol, as documented
 * in sd_notify(3) and sd_listen_fds(3). main and the driver call it. Without a service manager it does
 * nothing.
 */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct notify {
	int fd;              /* -1: no service manager */
	int64_t watchdog_ms; /* send notify_watchdog() at least this often; 0: no watchdog */
};

#define NOTIFY_FDS_MAX  16
#define NOTIFY_NAME_MAX 64

struct notify_fd {
	int fd; /* close-on-exec, otherwise as it was passed */
	char name[NOTIFY_NAME_MAX +
		  1]; /* FileDescriptorName= of the socket unit, cut if longer; "unknown" if none */
};

/*
 * Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from the environment, so that no child
 * sends state in this daemon's name. -1 with errno if NOTIFY_SOCKET is set and no socket can be made; *notify
 * is usable then, and sends nothing.
 */
int notify_init(struct notify *notify) __attribute__((warn_unused_result));
void notify_done(struct notify *notify);

/* Best effort, as with every datagram: sending never waits, and a lost datagram is not reported. status may
 * be NULL. */
void notify_ready(const struct notify *notify, const char *status);
void notify_reloading(const struct notify *notify); /* call notify_ready() when the reload is done */
/* The end takes at most most_ms: the service manager extends its own timeout to that, if it is shorter. */
void notify_stopping(const struct notify *notify, const char *status, int64_t most_ms);
void notify_status(const struct notify *notify, const char *status);
void notify_watchdog(const struct notify *notify);

/*
 * Takes over the sockets that were passed (LISTEN_FDS, if LISTEN_PID is this process) and removes the
 * variables from the environment. Returns how many, at most max; further sockets are closed. 0: none.
 */
size_t notify_take_fds(struct notify_fd *fds, size_t max);

#endif
