/*
 * socket: makes the sockets that listeners accept from, and says who is at the other end of a connection.
 *
 * listener.c is the only user, but for the settings. Nothing here reads or writes what clients say.
 */
#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include "daemon/core/peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A path of sun_path, or "[address]:port". */
#define SOCKET_ADDRESS_MAX 128

/* A TCP peer that vanished is noticed within 20 s (G8): first probe, interval between probes, and the limit
 * for both unanswered probes and unacknowledged data. */
#define SOCKET_IDLE_S      5
#define SOCKET_INTERVAL_S  5
#define SOCKET_VANISHED_MS 15000

/* Where to listen. Exactly one of path and host is set. */
struct socket_settings {
	const char *path;  /* Unix: absolute */
	unsigned mode;     /* Unix: permission bits */
	const char *group; /* Unix: what gid was written as; NULL or "": as it comes */
	gid_t gid;
	const char *host; /* TCP: numeric address */
	uint16_t port;    /* TCP; 0: any that is free */
	bool release;     /* a clean close of a connection ends holds at once; on a Unix socket any close */
};

enum socket_failure {
	SOCKET_BUSY = -1,   /* another instance answers there, or something else has the address */
	SOCKET_DENIED = -2, /* the system says no: directory, rights */
	SOCKET_MEMORY = -3
};

/* What a Unix socket that was opened here leaves in the file system. */
struct socket_place {
	char *path; /* NULL: nothing */
	int lock;   /* holds path.lock, so that two instances starting together do not both win; -1: none */
	bool made;  /* its directory was not there before */
};

/*
 * A listening socket, non-blocking and close-on-exec, or an enum socket_failure with *error set. A Unix
 * socket is reachable only once its rights are set, and a dead one in its place is removed; *place is for
 * socket_place_leave().
 */
int socket_listen_unix(const struct socket_settings *settings, struct socket_place *place, char *error,
	size_t error_room) __attribute__((warn_unused_result));
int socket_listen_tcp(const struct socket_settings *settings, char *error, size_t error_room)
	__attribute__((warn_unused_result));

/* Gives the lock up. The socket itself has to be unlinked before. */
void socket_place_leave(struct socket_place *place);

/* Mode and group of a Unix socket that exists. 0, or SOCKET_DENIED and *error. */
int socket_set_rights(const struct socket_settings *settings, char *error, size_t error_room)
	__attribute__((warn_unused_result));

/* Whether fd is a stream socket that listens. */
bool socket_listens(int fd);
/* What accepted connections inherit: no delay, keepalive; non-blocking and close-on-exec for itself. */
void socket_prepare(int fd);

/* The address fd is bound to; true: a Unix socket. out has room for SOCKET_ADDRESS_MAX. */
bool socket_address(int fd, char *out);
/* The address the settings name, written in the same way. */
void socket_address_of(const struct socket_settings *settings, char *out);

/* Who is at the other end of an accepted connection; owner: who is admin besides root on a Unix socket. */
void socket_peer(int fd, uid_t owner, struct peer *out);

#endif
