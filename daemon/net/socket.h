/*
 * socket: makes the sockets that listeners accept from, tells who the peer of a connection is, and reads what
 * a local client sent with the descriptor that it passed along.
 *
 * listener.c makes sockets, connection.c reads; the settings are for all.
 */
#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include "daemon/base/tls.h"
#include "daemon/core/base/peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A path of sun_path, or "[address]:port". */
#define SOCKET_ADDRESS_MAX 128

/* A TCP peer that vanished is noticed within 20 s (G8): the time to the first probe, the interval between
 * probes, and the limit both for unanswered probes and for unacknowledged data. */
#define SOCKET_IDLE_S      5
#define SOCKET_INTERVAL_S  5
#define SOCKET_VANISHED_MS 15000

/* An address to listen at. Exactly one of path and host is set. */
struct socket_settings {
	const char *path;  /* Unix: absolute */
	unsigned mode;     /* Unix: permission bits */
	const char *group; /* Unix: gid as it was configured; NULL or "": not changed */
	gid_t gid;
	const char *host;         /* TCP: numeric address */
	uint16_t port;            /* TCP; 0: any free port */
	struct tls_settings tls;  /* TCP */
	bool certificate_logs_in; /* tls: a client is the user that its certificate names */
	bool release; /* a clean close of a connection ends holds at once; on a Unix socket any close */
};

enum socket_failure {
	SOCKET_BUSY = -1,   /* another instance answers there, or another program has the address */
	SOCKET_DENIED = -2, /* the system refuses: directory, rights */
	SOCKET_MEMORY = -3
};

/* What a Unix socket that was opened here leaves in the file system. */
struct socket_file {
	char *path; /* NULL: nothing */
	int lock;   /* of path.lock, so that of two instances that start together only one wins; -1: none */
	bool made;  /* this process made its directory */
};

/*
 * A listening socket, non-blocking and close-on-exec, or an enum socket_failure with *error set. A Unix
 * socket is reachable only once its rights are set; a dead one at its path is removed. Pass *file to
 * socket_file_release().
 */
int socket_listen_unix(const struct socket_settings *settings, struct socket_file *file, char *error,
	size_t error_room) __attribute__((warn_unused_result));
int socket_listen_tcp(const struct socket_settings *settings, char *error, size_t error_room)
	__attribute__((warn_unused_result));

/* Releases the lock. Unlink the socket itself before. */
void socket_file_release(struct socket_file *file);

/* Sets mode and group of an existing Unix socket. 0, or SOCKET_DENIED and *error. */
int socket_set_rights(const struct socket_settings *settings, char *error, size_t error_room)
	__attribute__((warn_unused_result));

/* Whether fd is a stream socket that listens. */
bool socket_listens(int fd);
/* Sets what accepted connections inherit (no delay, keepalive), and makes fd itself non-blocking and
 * close-on-exec. */
void socket_prepare(int fd);

/* Writes the address that fd is bound to; true: a Unix socket. out has room for SOCKET_ADDRESS_MAX. */
bool socket_address(int fd, char *out);
/* Writes the address that the settings name, in the same form. */
void socket_address_of(const struct socket_settings *settings, char *out);

/* The number of the process that connected, in the PID namespace of this one. 0: it is not visible here. */
int64_t socket_peer_pid(int fd);

/* Fills in the peer of an accepted connection. owner: the uid that is admin on a Unix socket, besides
 * root. */
void socket_peer(int fd, uid_t owner, struct peer *out);

/* The groups of the process that connected over this Unix socket, its main group among them, for free().
 * NULL: out of memory, or the kernel does not tell. */
uint32_t *socket_groups(int fd, size_t *count) __attribute__((warn_unused_result));

#endif
