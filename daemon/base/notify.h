/*
 * notify: what a service manager and a service exchange: state, and descriptors in both directions.
 *
 * It speaks the sd_notify protocol (datagrams to $NOTIFY_SOCKET) and the LISTEN_FDS protocol, as documented
 * in sd_notify(3), sd_pid_notify_with_fds(3) and sd_listen_fds(3). main, the driver and handover call it.
 * Without a service manager it does nothing.
 */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOTIFY_SOCKET_MAX 112 /* as long as the address of a socket may be */
#define NOTIFY_USEC_MAX   24

struct notify {
	int fd;              /* -1: no service manager */
	int64_t watchdog_ms; /* send notify_watchdog() at least this often; 0: no watchdog */
	size_t store_max;    /* descriptors that the service manager keeps over a restart; 0: none */
	char socket[NOTIFY_SOCKET_MAX];      /* NOTIFY_SOCKET, for notify_pass_on(); "": none */
	char watchdog_usec[NOTIFY_USEC_MAX]; /* WATCHDOG_USEC likewise */
};

#define NOTIFY_NAME_MAX 64

struct notify_fd {
	int fd; /* close-on-exec, otherwise as it was passed */
	char name[NOTIFY_NAME_MAX +
		  1]; /* FileDescriptorName= of the socket unit, cut if longer; "unknown" if none */
};

/*
 * Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from the environment, so that no child
 * sends state in this daemon's name. Reads FDSTORE, the size of the store: systemd sets it from 254 on,
 * before that the unit does. -1 with errno if NOTIFY_SOCKET is set and no socket can be made; *notify is
 * usable then, and sends nothing.
 */
int notify_init(struct notify *notify) __attribute__((warn_unused_result));
void notify_done(struct notify *notify);

/* Best effort, as with every datagram: sending never waits. status may be NULL. False: the manager is behind,
 * and has to be notified again. */
bool notify_ready(const struct notify *notify, const char *status);
void notify_reloading(const struct notify *notify); /* call notify_ready() when the reload is done */
/* The end takes at most most_ms: the service manager extends its own timeout to that, if it is shorter. */
void notify_stopping(const struct notify *notify, const char *status, int64_t most_ms);
void notify_status(const struct notify *notify, const char *status);
void notify_watchdog(const struct notify *notify);

/* Puts back into the environment what notify_init() took, for a program that this process is about to become.
 * False with errno. */
bool notify_pass_on(const struct notify *notify) __attribute__((warn_unused_result));
/* Removes it again: this process goes on. */
void notify_keep_back(void);

/*
 * Gives descriptors to the service manager, which keeps them over a restart of the service and passes them to
 * its next process under this name. Waits until they were sent, at most most_ms; the caller keeps its own.
 * False with errno.
 */
bool notify_store(const struct notify *notify, const int *fds, size_t count, const char *name,
	int64_t most_ms) __attribute__((warn_unused_result));
/* The service manager forgets the descriptors that it keeps under this name. Waits likewise. */
bool notify_unstore(const struct notify *notify, const char *name, int64_t most_ms)
	__attribute__((warn_unused_result));
/* Waits until the service manager has read all messages so far. False with errno: it has not within most_ms.
 */
bool notify_barrier(const struct notify *notify, int64_t most_ms) __attribute__((warn_unused_result));

/*
 * Takes over the descriptors that were passed (LISTEN_FDS, if LISTEN_PID is this process) and removes the
 * variables from the environment. Returns how many there are in *fds, which the caller frees. 0: none, or out
 * of memory; then they are closed, and *fds is NULL.
 */
size_t notify_take_fds(struct notify_fd **fds) __attribute__((warn_unused_result));

#endif
