/*
 * socket: see socket.h. It must never remove a socket on which another instance answers.
 */
#include "daemon/net/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_un local;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

static void
address_print(const union address *at, socklen_t n, char *out)
{
	char host[INET6_ADDRSTRLEN] = "?";
	switch (at->any.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &at->v4.sin_addr, host, sizeof host);
		snprintf(out, SOCKET_ADDRESS_MAX, "%s:%u", host, ntohs(at->v4.sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &at->v6.sin6_addr, host, sizeof host);
		snprintf(out, SOCKET_ADDRESS_MAX, "[%s]:%u", host, ntohs(at->v6.sin6_port));
		break;
	case AF_UNIX:
		/* A socket without a name, or with one outside the file system, has no address to print. */
		snprintf(out, SOCKET_ADDRESS_MAX, "%s",
			n > offsetof(struct sockaddr_un, sun_path) && at->local.sun_path[0] != '\0'
				? at->local.sun_path
				: "unix");
		break;
	default:
		snprintf(out, SOCKET_ADDRESS_MAX, "?");
		break;
	}
}

bool
socket_address(int fd, char *out)
{
	union address at = {0};
	socklen_t n = sizeof at - 1; /* NUL ends sun_path */
	if (getsockname(fd, &at.any, &n) != 0) {
		snprintf(out, SOCKET_ADDRESS_MAX, "?");
		return false;
	}
	address_print(&at, n, out);
	return at.any.sa_family == AF_UNIX;
}

/* Fills *at and returns its size; 0: the host is not a numeric address. */
static socklen_t
address_tcp(const struct socket_settings *settings, union address *at)
{
	memset(at, 0, sizeof *at);
	if (inet_pton(AF_INET, settings->host, &at->v4.sin_addr) == 1) {
		at->v4.sin_family = AF_INET;
		at->v4.sin_port = htons(settings->port);
		return sizeof at->v4;
	}
	if (inet_pton(AF_INET6, settings->host, &at->v6.sin6_addr) == 1) {
		at->v6.sin6_family = AF_INET6;
		at->v6.sin6_port = htons(settings->port);
		return sizeof at->v6;
	}
	return 0;
}

void
socket_address_of(const struct socket_settings *settings, char *out)
{
	union address at;
	if (settings->path) {
		snprintf(out, SOCKET_ADDRESS_MAX, "%s", settings->path);
		return;
	}
	socklen_t n = address_tcp(settings, &at);
	address_print(&at, n, out);
}

bool
socket_listens(int fd)
{
	int type = 0;
	int listens = 0;
	socklen_t n = sizeof type;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) != 0 || type != SOCK_STREAM) {
		return false;
	}
	n = sizeof listens;
	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && listens;
}

static void
option_set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof value);
}

void
socket_prepare(int fd)
{
	char address[SOCKET_ADDRESS_MAX];
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (socket_address(fd, address)) {
		return;
	}
	option_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	option_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	option_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, SOCKET_IDLE_S);
	option_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, SOCKET_INTERVAL_S);
	option_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, SOCKET_VANISHED_MS);
}

int
socket_listen_tcp(const struct socket_settings *settings, char *error, size_t error_room)
{
	char address[SOCKET_ADDRESS_MAX];
	union address at;
	socklen_t n = address_tcp(settings, &at);
	if (n == 0) {
		snprintf(error, error_room, "%s is not a numeric address", settings->host);
		return SOCKET_DENIED;
	}
	socket_address_of(settings, address);
	int fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		snprintf(error, error_room, "cannot make a socket for %s: %s", address, strerror(errno));
		return SOCKET_DENIED;
	}
	option_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (at.any.sa_family == AF_INET6) {
		option_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	}
	socket_prepare(fd);
	if (bind(fd, &at.any, n) != 0 || listen(fd, SOMAXCONN) != 0) {
		int why = errno;
		snprintf(error, error_room, "cannot listen on %s: %s", address,
			why == EADDRINUSE ? "another program listens there" : strerror(why));
		close(fd);
		return why == EADDRINUSE ? SOCKET_BUSY : SOCKET_DENIED;
	}
	return fd;
}

/* 1: a server answers on the socket, 0: none, -1: unknown. */
static int
unix_answers(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return -1;
	}
	int done = connect(fd, (const struct sockaddr *)at, sizeof *at);
	int why = errno;
	close(fd);
	if (done == 0 || why == EAGAIN) {
		return 1;
	}
	return why == ECONNREFUSED || why == ENOENT ? 0 : -1;
}

/* Makes way for bind(): removes only a socket on which no server answers. */
static int
unix_clear(const struct sockaddr_un *at, char *error, size_t error_room)
{
	struct stat seen;
	if (lstat(at->sun_path, &seen) != 0) {
		return 0;
	}
	if (!S_ISSOCK(seen.st_mode)) {
		snprintf(error, error_room, "%s is there and is not a socket: move it away", at->sun_path);
		return SOCKET_DENIED;
	}
	int answers = unix_answers(at);
	if (answers > 0) {
		snprintf(error, error_room, "another instance answers on %s: stop it, or listen elsewhere",
			at->sun_path);
		return SOCKET_BUSY;
	}
	if (answers < 0 || unlink(at->sun_path) != 0) {
		snprintf(error, error_room, "cannot remove the socket %s: %s", at->sun_path, strerror(errno));
		return SOCKET_DENIED;
	}
	return 0;
}

/* Makes the directory of the socket if it does not exist. Refuses one that all users may write to: they could
 * replace the socket. */
static int
unix_directory(const char *path, bool *made, char *error, size_t error_room)
{
	char directory[SOCKET_ADDRESS_MAX];
	struct stat seen;
	snprintf(directory, sizeof directory, "%s", path);
	char *slash = strrchr(directory, '/');
	if (!slash || slash == directory) {
		return 0;
	}
	*slash = '\0';
	*made = mkdir(directory, 0755) == 0;
	if (!*made && errno != EEXIST) {
		snprintf(error, error_room, "cannot make the directory %s: %s: make it, or listen elsewhere",
			directory, strerror(errno));
		return SOCKET_DENIED;
	}
	if (stat(directory, &seen) != 0 || !S_ISDIR(seen.st_mode)) {
		snprintf(error, error_room, "%s is not a directory", directory);
		return SOCKET_DENIED;
	}
	if ((seen.st_mode & S_IWOTH) && !(seen.st_mode & S_ISVTX)) {
		snprintf(error, error_room, "everybody may write to %s and replace the socket: chmod o-w it",
			directory);
		return SOCKET_DENIED;
	}
	return 0;
}

static bool
lock_is_current(int fd, const char *path)
{
	struct stat held;
	struct stat seen;
	return fstat(fd, &held) == 0 && stat(path, &seen) == 0 && held.st_ino == seen.st_ino &&
	       held.st_dev == seen.st_dev;
}

/* Locks, so that no other instance does the same between the check whether a socket is dead and the
 * bind(). */
static int
unix_lock(const char *path, char *error, size_t error_room)
{
	char name[SOCKET_ADDRESS_MAX + 8];
	snprintf(name, sizeof name, "%s.lock", path);
	for (;;) {
		int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0) {
			snprintf(error, error_room, "cannot open %s: %s", name, strerror(errno));
			return SOCKET_DENIED;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
			close(fd);
			snprintf(error, error_room, "another instance has %s: stop it, or listen elsewhere",
				path);
			return SOCKET_BUSY;
		}
		if (lock_is_current(fd, name)) {
			return fd;
		}
		close(fd); /* its holder removed it before it was locked here */
	}
}

void
socket_file_release(struct socket_file *file)
{
	char name[SOCKET_ADDRESS_MAX + 8];
	if (file->path) {
		snprintf(name, sizeof name, "%s.lock", file->path);
		if (file->lock >= 0 && lock_is_current(file->lock, name)) {
			unlink(name);
		}
		free(file->path);
		file->path = NULL;
	}
	if (file->lock >= 0) {
		close(file->lock);
		file->lock = -1;
	}
}

int
socket_set_rights(const struct socket_settings *settings, char *error, size_t error_room)
{
	bool grouped = settings->group && settings->group[0] != '\0';
	if (grouped && chown(settings->path, (uid_t)-1, settings->gid) != 0) {
		snprintf(error, error_room, "cannot give %s to the group %s: %s", settings->path,
			settings->group, strerror(errno));
		return SOCKET_DENIED;
	}
	if (chmod(settings->path, settings->mode & 0777) != 0) {
		snprintf(error, error_room, "cannot set the mode of %s: %s", settings->path, strerror(errno));
		return SOCKET_DENIED;
	}
	return 0;
}

/* Until listen() the socket refuses connections, and until its rights are set only its owner may connect. */
static int
unix_bind(
	const struct socket_settings *settings, const struct sockaddr_un *at, char *error, size_t error_room)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	mode_t before = umask(0177);
	int bound = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)at, sizeof *at);
	int why = errno;
	umask(before);
	if (bound != 0) {
		snprintf(error, error_room, "cannot bind %s: %s", settings->path, strerror(why));
		if (fd >= 0) {
			close(fd);
		}
		return SOCKET_DENIED;
	}
	int failed = socket_set_rights(settings, error, error_room);
	if (!failed && listen(fd, SOMAXCONN) != 0) {
		snprintf(error, error_room, "cannot listen on %s: %s", settings->path, strerror(errno));
		failed = SOCKET_DENIED;
	}
	if (failed) {
		unlink(settings->path);
		close(fd);
		return failed;
	}
	return fd;
}

int
socket_listen_unix(
	const struct socket_settings *settings, struct socket_file *file, char *error, size_t error_room)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	*file = (struct socket_file){.lock = -1};
	if (strlen(settings->path) >= sizeof at.sun_path) {
		snprintf(error, error_room, "the path is too long for a socket, at most %zu bytes: %s",
			sizeof at.sun_path - 1, settings->path);
		return SOCKET_DENIED;
	}
	strcpy(at.sun_path, settings->path);
	int failed = unix_directory(settings->path, &file->made, error, error_room);
	if (failed) {
		return failed;
	}
	file->lock = unix_lock(settings->path, error, error_room);
	if (file->lock < 0) {
		failed = file->lock;
		file->lock = -1;
		return failed;
	}
	file->path = strdup(settings->path);
	if (!file->path) {
		snprintf(error, error_room, "out of memory");
		socket_file_release(file);
		return SOCKET_MEMORY;
	}
	failed = unix_clear(&at, error, error_room);
	int fd = failed ? failed : unix_bind(settings, &at, error, error_room);
	if (fd < 0) {
		socket_file_release(file);
	}
	return fd;
}

int64_t
socket_peer_pid(int fd)
{
	struct ucred who;
	socklen_t room = sizeof who;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &room) == 0 ? who.pid : 0;
}

void
socket_peer(int fd, uid_t owner, struct peer *out)
{
	union address at = {0};
	socklen_t n = sizeof at - 1;
	*out = (struct peer){.uid = -1};
	if (getpeername(fd, &at.any, &n) != 0) {
		snprintf(out->address, sizeof out->address, "?");
		return;
	}
	if (at.any.sa_family != AF_UNIX) {
		char address[SOCKET_ADDRESS_MAX];
		address_print(&at, n, address);
		snprintf(out->address, sizeof out->address, "%.63s", address);
		return;
	}
	struct ucred who;
	socklen_t room = sizeof who;
	snprintf(out->address, sizeof out->address, "unix");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &room) == 0) {
		out->pid = who.pid;
		out->uid = who.uid;
		out->admin = who.uid == 0 || who.uid == owner;
	}
}

/* A process has few groups as a rule, and 65536 at most. If there is too little room, the kernel says how
 * much is needed. */
uint32_t *
socket_groups(int fd, size_t *count)
{
	struct ucred who;
	socklen_t n = sizeof who;
	_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "the kernel writes gid_t");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0) {
		return NULL;
	}
	n = 31 * sizeof(uint32_t);
	for (int attempt = 0; attempt < 2; attempt++) {
		uint32_t *groups = malloc(sizeof *groups + n);
		if (!groups) {
			return NULL;
		}
		groups[0] = who.gid;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups + 1, &n) == 0) {
			*count = 1 + n / sizeof *groups;
			return groups;
		}
		free(groups);
	}
	return NULL;
}
