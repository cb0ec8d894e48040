/*
 * notify: the two things a service manager and a service tell each other: state, and inherited sockets.
 *
 * The sd_notify protocol (datagrams to $NOTIFY_SOCKET) and the LISTEN_FDS protocol, as documented in
 * sd_notify(3) and sd_listen_fds(3). Called by main and by the driver; without a service manager everything
 * here does nothing.
 */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct notify {
	int fd;              /* -1: nobody listens */
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
 * speaks in our name. -1 with errno when NOTIFY_SOCKET is set and no socket can be made; *notify is usable
 * and silent then.
 */
int notify_init(struct notify *notify) __attribute__((warn_unused_result));
void notify_done(struct notify *notify);

/* Best effort, like every datagram: they never wait, and a lost one is not told. status may be NULL. */
void notify_ready(const struct notify *notify, const char *status);
void notify_reloading(const struct notify *notify); /* notify_ready() when done */
/* It takes most_ms at most: the manager is to wait for as long, if that is longer than it would. */
void notify_stopping(const struct notify *notify, const char *status, int64_t most_ms);
void notify_status(const struct notify *notify, const char *status);
void notify_watchdog(const struct notify *notify);

/*
 * Takes over the sockets that were passed (LISTEN_FDS, meant for us by LISTEN_PID) and removes the variables
 * from the environment. Returns how many, at most max; what is beyond is closed. 0: none.
 */
size_t notify_take_fds(struct notify_fd *fds, size_t max);

#endif
