/*
 * listener: see listener.h. It accepts connections; socket.c makes the sockets.
 */
#include "daemon/net/listener.h"

#include "daemon/base/descriptors.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- one socket ---- */

struct listener {
	struct event ready;
	struct event resume;
	struct event_base *base;
	const struct listener_hooks *hooks;
	void *arg;
	struct socket_place place; /* to remove at the end */
	int fd;
	int reserve; /* closed for a moment to tell a client that no descriptors are left; -1: none */
	bool local;
	bool release;
	bool started;
	uid_t owner; /* of the file of a Unix socket, */
	dev_t device;
	ino_t inode; /* and its inode; 0: unknown */
	char address[SOCKET_ADDRESS_MAX];
};

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
		send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(fd);
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
	for (int i = 0; i < LISTENER_ACCEPT_MAX; i++) {
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
	listener->place.lock = -1;
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

int
listener_open(struct event_base *base, const struct socket_settings *settings,
	const struct listener_hooks *hooks, void *arg, struct listener **out, char *error, size_t error_room)
{
	struct socket_place place = {.lock = -1};
	int fd = settings->path ? socket_listen_unix(settings, &place, error, error_room)
				: socket_listen_tcp(settings, error, error_room);
	if (fd < 0) {
		return fd;
	}
	struct listener *listener = listener_new(base, fd, hooks, arg);
	if (!listener) {
		snprintf(error, error_room, "out of memory");
		close(fd);
		socket_place_leave(&place);
		return SOCKET_MEMORY;
	}
	listener->place = place;
	listener->release = settings->release;
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
	if (listener->place.path && !listener_lost(listener)) {
		unlink(listener->place.path);
	}
	close(listener->fd);
	if (listener->reserve >= 0) {
		close(listener->reserve);
	}
	socket_place_leave(&listener->place);
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
	return listener->place.path && (errno == ENOENT || errno == ENOTDIR) ? "was removed" : NULL;
}

bool
listener_fresh(const struct listener *listener)
{
	return listener->place.path && listener->place.made;
}

bool
listener_local(const struct listener *listener)
{
	return listener->local;
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
	listener->release = settings->release;
	if (!listener->place.path) {
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

/* ---- all of them ---- */

/* inotify does not report everything that hides a socket, such as a mount over it. */
#define LISTENERS_LOOK_MS 1000

static void
listeners_drop(struct listeners *set, size_t i)
{
	listener_free(set->list[i].listener);
	set->list[i] = set->list[--set->count];
}

static void
listeners_stirred(int fd, short what, void *arg)
{
	struct listeners *set = arg;
	char events[4096];
	(void)what;
	set->look = true;
	while (read(fd, events, sizeof events) > 0) {
	}
}

/* Without inotify the sockets are still checked every LISTENERS_LOOK_MS. */
static void
listeners_watch(struct listeners *set, const struct listener *listener)
{
	char directory[SOCKET_ADDRESS_MAX];
	snprintf(directory, sizeof directory, "%s", listener_address(listener));
	char *slash = strrchr(directory, '/');
	if (!listener_local(listener) || !slash || set->watching < 0) {
		return;
	}
	if (set->watching == 0) {
		set->watching = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		set->watch = set->watching < 0 ? NULL
					       : event_new(set->base, set->watching, EV_READ | EV_PERSIST,
							 listeners_stirred, set);
		if (set->watch) {
			event_add(set->watch, NULL);
		}
	}
	slash[slash == directory] = '\0';
	(void)inotify_add_watch(set->watching, directory,
		IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT);
}

/* Whether one of these sockets was renamed over another: connections still reach this daemon. */
static bool
listeners_moved(const struct listeners *set, const struct listener *listener)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct listener *other = set->list[i].listener;
		if (listener_is_behind(other, listener_address(listener)) ||
			listener_is_behind(listener, listener_address(other))) {
			return true;
		}
	}
	return false;
}

const struct listener *
listeners_lost(struct listeners *set, int64_t now_ms, const char **why)
{
	if (!set->look && now_ms < set->looked_ms + LISTENERS_LOOK_MS) {
		return NULL;
	}
	set->look = false;
	set->looked_ms = now_ms;
	for (size_t i = 0; i < set->count; i++) {
		const struct listener *listener = set->list[i].listener;
		*why = listener_lost(listener);
		if (*why && !listeners_moved(set, listener)) {
			return listener;
		}
	}
	return NULL;
}

const char *
listeners_known_before(const struct listeners *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct listener *listener = set->list[i].listener;
		if (!listener_local(listener)) {
			return "clients may have come by TCP";
		}
		if (set->list[i].inherited) {
			return "the socket is older than this process";
		}
		if (!listener_fresh(listener)) {
			return "the directory of the socket was there before";
		}
	}
	return NULL;
}

void
listeners_close(struct listeners *set)
{
	if (set->watch) {
		event_free(set->watch);
		set->watch = NULL;
	}
	if (set->watching > 0) {
		close(set->watching);
	}
	set->watching = 0;
	while (set->count > 0) {
		listeners_drop(set, set->count - 1);
	}
}

int
listeners_start(struct listeners *set)
{
	int failed = 0;
	set->started = true;
	for (size_t i = 0; i < set->count; i++) {
		failed |= listener_start(set->list[i].listener);
	}
	return failed;
}

static int
listeners_keep(
	struct listeners *set, struct listener *listener, bool inherited, char *error, size_t error_room)
{
	if (set->started && listener_start(listener) != 0) {
		snprintf(error, error_room, "cannot watch %s: out of memory", listener_address(listener));
		listener_free(listener);
		return SOCKET_MEMORY;
	}
	listeners_watch(set, listener);
	set->list[set->count].listener = listener;
	set->list[set->count].inherited = inherited;
	set->count++;
	return 0;
}

static bool
listeners_full(const struct listeners *set, char *error, size_t error_room)
{
	if (set->count < LISTENERS_MAX) {
		return false;
	}
	snprintf(error, error_room, "more than %d sockets to listen on", LISTENERS_MAX);
	return true;
}

int
listeners_adopt(struct listeners *set, int fd, char *error, size_t error_room)
{
	struct listener *listener;
	if (listeners_full(set, error, error_room)) {
		return SOCKET_DENIED;
	}
	int failed = listener_adopt(set->base, fd, set->hooks, set->arg, &listener, error, error_room);
	return failed ? failed : listeners_keep(set, listener, true, error, error_room);
}

static struct listener *
listeners_find(const struct listeners *set, const struct socket_settings *settings)
{
	for (size_t i = 0; i < set->count; i++) {
		if (listener_is_at(set->list[i].listener, settings)) {
			return set->list[i].listener;
		}
	}
	return NULL;
}

static bool
listeners_wanted(const struct listener *listener, const struct socket_settings *settings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (listener_is_at(listener, &settings[i])) {
			return true;
		}
	}
	return false;
}

static int
listeners_add(struct listeners *set, const struct socket_settings *settings, char *error, size_t error_room)
{
	struct listener *listener = listeners_find(set, settings);
	if (listener) {
		return listener_change(listener, settings, error, error_room);
	}
	if (listeners_full(set, error, error_room)) {
		return SOCKET_DENIED;
	}
	int failed = listener_open(set->base, settings, set->hooks, set->arg, &listener, error, error_room);
	return failed ? failed : listeners_keep(set, listener, false, error, error_room);
}

int
listeners_set(struct listeners *set, const struct socket_settings *settings, size_t count, char *error,
	size_t error_room)
{
	size_t before = set->count;
	for (size_t i = 0; i < count; i++) {
		int failed = listeners_add(set, &settings[i], error, error_room);
		if (failed) {
			while (set->count > before) {
				listeners_drop(set, set->count - 1);
			}
			return failed;
		}
	}
	for (size_t i = set->count; i-- > 0;) {
		if (!set->list[i].inherited && !listeners_wanted(set->list[i].listener, settings, count)) {
			listeners_drop(set, i);
		}
	}
	return 0;
}

/* ---- saved and loaded ---- */

void
listeners_rest(struct listeners *set)
{
	for (size_t i = 0; i < set->count; i++) {
		event_del(&set->list[i].listener->resume);
		event_del(&set->list[i].listener->ready);
	}
}

int
listeners_resume(struct listeners *set)
{
	int failed = 0;
	for (size_t i = 0; i < set->count; i++) {
		failed |= event_add(&set->list[i].listener->ready, NULL);
	}
	return failed;
}

struct saved_listener {
	uint64_t socket;   /* identities, see descriptors.h */
	uint64_t lock;     /* 0: none */
	struct slice path; /* what it leaves in the file system; n == 0: nothing */
	bool made;
	bool release;
	bool inherited;
};

static void
saved_fields(struct record *r, struct saved_listener *saved)
{
	record_unsigned(r, &saved->socket);
	record_unsigned(r, &saved->lock);
	record_bytes(r, &saved->path, SOCKET_ADDRESS_MAX);
	record_flag(r, &saved->made);
	record_flag(r, &saved->release);
	record_flag(r, &saved->inherited);
}

void
listeners_save(const struct listeners *set, struct record *r, enum record_type type,
	struct descriptors *given, bool inherited)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct listener *listener = set->list[i].listener;
		if (set->list[i].inherited && !inherited) {
			continue;
		}
		struct saved_listener saved = {
			.socket = descriptors_add(given, listener->fd),
			.lock = descriptors_add(given, listener->place.lock),
			.path = slice_of(listener->place.path ? listener->place.path : ""),
			.made = listener->place.made,
			.release = listener->release,
			.inherited = set->list[i].inherited,
		};
		record_begin(r, type);
		saved_fields(r, &saved);
		record_end(r);
	}
}

void
listeners_load(struct listeners *set, struct record *r, struct descriptors *given)
{
	struct saved_listener saved = {0};
	char error[SOCKET_ADDRESS_MAX];
	saved_fields(r, &saved);
	int fd = r->failed ? -1 : descriptors_take(given, saved.socket);
	if (fd < 0) {
		return;
	}
	struct socket_place place = {.lock = descriptors_take(given, saved.lock), .made = saved.made};
	place.path = saved.path.n > 0 ? strndup(saved.path.p, saved.path.n) : NULL;
	if (listeners_adopt(set, fd, error, sizeof error) != 0) {
		socket_place_leave(&place);
		record_fail(r, "%s", error);
		return;
	}
	struct listener *listener = set->list[set->count - 1].listener;
	listener->place = place;
	listener->release = saved.release;
	set->list[set->count - 1].inherited = saved.inherited;
}
