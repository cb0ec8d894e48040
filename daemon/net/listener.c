/*
 * listener: see listener.h. It accepts connections; socket.c makes the sockets.
 */
#include "daemon/net/listener_inner.h"

#include "daemon/base/clock.h"
#include "daemon/base/closer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void
reserve_take(struct listener *listener)
{
	if (listener->reserve < 0) {
		listener->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
}

static void
listener_resume(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct listener *listener = arg;
	reserve_take(listener);
	event_add(&listener->ready, NULL);
}

void
listener_end_client(const struct listener *listener, int fd)
{
	if (listener->local) {
		closer_end(listener->closer, fd);
	} else {
		close(fd);
	}
}

/* No descriptor is left for the next client: frees the reserve, accepts the client with it, tells it why, and
 * closes it. */
static void
listener_apologise(struct listener *listener)
{
	static const char text[] = "-LIMIT this daemon is out of file descriptors: try again later\r\n";
	if (listener->reserve < 0) {
		return;
	}
	close(listener->reserve);
	listener->reserve = -1;
	int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		if (!listener->tls) {
			send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		}
		listener_end_client(listener, fd);
	}
	reserve_take(listener);
}

static void
listener_pause(struct listener *listener, int error)
{
	const struct timeval pause = {.tv_usec = LISTENER_PAUSE_MS * 1000};
	listener_apologise(listener);
	event_del(&listener->ready);
	event_add(&listener->resume, &pause);
	listener->hooks->paused(listener->arg, listener, error);
}

/* The client went away before it was accepted; accept4() returns the error of its connection. */
static bool
error_is_of_client(int error)
{
	return error == ECONNABORTED || error == EINTR || error == EPROTO || error == EPERM ||
	       error == ENETDOWN || error == ENETUNREACH || error == EHOSTDOWN || error == EHOSTUNREACH ||
	       error == ENONET || error == ENOPROTOOPT || error == EOPNOTSUPP;
}

static void
listener_ready(int listening, short what, void *arg)
{
	(void)what;
	struct listener *listener = arg;
	int64_t until_ns = clock_ns() + LISTENER_ACCEPT_NS;
	for (int i = 0; i < LISTENER_ACCEPT_MAX && (i == 0 || clock_ns() < until_ns); i++) {
		struct sockaddr_storage from;
		socklen_t n = sizeof from;
		int fd = accept4(listening, (struct sockaddr *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 && error_is_of_client(errno)) {
			continue;
		}
		if (fd < 0 && errno != EAGAIN) {
			listener_pause(listener, errno);
		}
		if (fd < 0) {
			return;
		}
		struct peer peer;
		socket_peer(fd, listener->owner, &peer);
		listener->hooks->accepted(listener->arg, listener, fd, &peer);
	}
}

static struct listener *
listener_new(struct event_base *base, int fd, const struct listener_hooks *hooks, void *arg)
{
	struct listener *listener = calloc(1, sizeof *listener);
	if (!listener) {
		return NULL;
	}
	listener->base = base;
	listener->hooks = hooks;
	listener->arg = arg;
	listener->fd = fd;
	listener->reserve = -1;
	listener->file.lock = -1;
	listener->local = socket_address(fd, listener->address);
	listener->owner = geteuid();
	struct stat seen;
	if (listener->local && stat(listener->address, &seen) == 0) {
		listener->owner = seen.st_uid;
		listener->device = seen.st_dev;
		listener->inode = seen.st_ino;
	}
	event_assign(&listener->ready, base, fd, EV_READ | EV_PERSIST, listener_ready, listener);
	evtimer_assign(&listener->resume, base, listener_resume, listener);
	return listener;
}

/* Takes the files of TLS as they are now. Connections go on with those before. */
static int
listener_secure(
	struct listener *listener, const struct socket_settings *settings, char *error, size_t error_room)
{
	struct tls_context *fresh = settings->tls.on ? tls_context_new(TLS_SERVER, &settings->tls) : NULL;
	char why[TLS_WHY_MAX] = "out of memory";
	if (settings->tls.on && (!fresh || !tls_context_load(fresh, why))) {
		snprintf(error, error_room, "cannot speak TLS at %s: %s", listener->address, why);
		tls_context_free(fresh);
		return fresh ? SOCKET_DENIED : SOCKET_MEMORY;
	}
	tls_context_free(listener->tls);
	listener->tls = fresh;
	listener->certificate_logs_in = settings->certificate_logs_in;
	return 0;
}

int
listener_open(struct event_base *base, const struct socket_settings *settings,
	const struct listener_hooks *hooks, void *arg, struct listener **out, char *error, size_t error_room)
{
	struct socket_file file = {.lock = -1};
	int fd = settings->path ? socket_listen_unix(settings, &file, error, error_room)
				: socket_listen_tcp(settings, error, error_room);
	if (fd < 0) {
		return fd;
	}
	struct listener *listener = listener_new(base, fd, hooks, arg);
	if (!listener) {
		snprintf(error, error_room, "out of memory");
		close(fd);
		socket_file_release(&file);
		return SOCKET_MEMORY;
	}
	listener->file = file;
	listener->release = settings->release;
	int failed = listener_secure(listener, settings, error, error_room);
	if (failed) {
		listener_free(listener);
		return failed;
	}
	*out = listener;
	return 0;
}

int
listener_adopt(struct event_base *base, int fd, const struct listener_hooks *hooks, void *arg,
	struct listener **out, char *error, size_t error_room)
{
	if (!socket_listens(fd)) {
		snprintf(error, error_room,
			"inherited descriptor %d is not a listening stream socket: use ListenStream= and "
			"Accept=no",
			fd);
		close(fd);
		return SOCKET_DENIED;
	}
	socket_prepare(fd);
	struct listener *listener = listener_new(base, fd, hooks, arg);
	if (!listener) {
		snprintf(error, error_room, "out of memory");
		close(fd);
		return SOCKET_MEMORY;
	}
	listener->release = listener->local;
	*out = listener;
	return 0;
}

int
listener_start(struct listener *listener)
{
	assert(!listener->started);
	reserve_take(listener);
	listener->started = true;
	return event_add(&listener->ready, NULL) == 0 ? 0 : -1;
}

void
listener_free(struct listener *listener)
{
	if (!listener) {
		return;
	}
	event_del(&listener->ready);
	event_del(&listener->resume);
	/* Removed first, then closed: no client finds a socket that does not answer. */
	if (listener->file.path && !listener_lost(listener)) {
		unlink(listener->file.path);
	}
	if (listener->local) {
		closer_put(listener->closer, listener->fd); /* with its backlog */
	} else {
		close(listener->fd);
	}
	tls_context_free(listener->tls);
	if (listener->reserve >= 0) {
		close(listener->reserve);
	}
	socket_file_release(&listener->file);
	free(listener);
}

bool
listener_is_behind(const struct listener *listener, const char *path)
{
	struct stat seen;
	return listener->inode != 0 && stat(path, &seen) == 0 && seen.st_dev == listener->device &&
	       seen.st_ino == listener->inode;
}

const char *
listener_lost(const struct listener *listener)
{
	struct stat seen;
	if (!listener->local || listener->inode == 0 || listener_is_behind(listener, listener->address)) {
		return NULL;
	}
	if (stat(listener->address, &seen) == 0) {
		return "was replaced by another";
	}
	return listener->file.path && (errno == ENOENT || errno == ENOTDIR) ? "was removed" : NULL;
}

bool
listener_fresh(const struct listener *listener)
{
	return listener->file.path && listener->file.made;
}

bool
listener_local(const struct listener *listener)
{
	return listener->local;
}

struct tls_context *
listener_tls(const struct listener *listener)
{
	return listener->tls;
}

bool
listener_logs_in(const struct listener *listener)
{
	return listener->certificate_logs_in;
}

bool
listener_releases(const struct listener *listener)
{
	return listener->release;
}

int
listener_change(
	struct listener *listener, const struct socket_settings *settings, char *error, size_t error_room)
{
	int failed = listener_secure(listener, settings, error, error_room);
	if (failed) {
		return failed;
	}
	listener->release = settings->release;
	if (!listener->file.path) {
		return 0;
	}
	return socket_set_rights(settings, error, error_room);
}

bool
listener_is_at(const struct listener *listener, const struct socket_settings *settings)
{
	char address[SOCKET_ADDRESS_MAX];
	socket_address_of(settings, address);
	return strcmp(address, listener->address) == 0;
}

const char *
listener_address(const struct listener *listener)
{
	return listener->address;
}
