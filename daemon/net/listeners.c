/*
 * listeners: all listeners of the daemon; see listeners.h. listener.c is one of them.
 */
#include "daemon/net/listeners.h"

#include "daemon/base/descriptors.h"
#include "daemon/net/listener_inner.h"

#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* inotify does not report everything that hides a socket, such as a mount over it. */

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
	set->stirred = true;
	while (read(fd, events, sizeof events) > 0) {
	}
}

/* Without inotify the sockets are still checked every LISTENERS_CHECK_MS. */
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
	if (!listeners_due(set, now_ms)) {
		return NULL;
	}
	set->stirred = false;
	set->checked_ms = now_ms;
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
	listener->closer = set->closer;
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
			.lock = descriptors_add(given, listener->file.lock),
			.path = slice_of(listener->file.path ? listener->file.path : ""),
			.made = listener->file.made,
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
	struct socket_file file = {.lock = descriptors_take(given, saved.lock), .made = saved.made};
	file.path = saved.path.n > 0 ? strndup(saved.path.p, saved.path.n) : NULL;
	if (listeners_adopt(set, fd, error, sizeof error) != 0) {
		socket_file_release(&file);
		record_fail(r, "%s", error);
		return;
	}
	struct listener *listener = set->list[set->count - 1].listener;
	listener->file = file;
	listener->release = saved.release;
	set->list[set->count - 1].inherited = saved.inherited;
}

void
listeners_rescue(struct listeners *set, struct record *r, struct descriptors *given)
{
	while (record_next(r) != 0 && r->type != RECORD_END) {
		struct saved_listener saved = {0};
		char error[SOCKET_ADDRESS_MAX];
		if (r->type != RECORD_LISTENER) {
			continue;
		}
		saved_fields(r, &saved);
		int fd = r->failed || !saved.inherited ? -1 : descriptors_take(given, saved.socket);
		/* Without it the daemon fails to start, and says why. */
		if (fd >= 0 && listeners_adopt(set, fd, error, sizeof error) != 0) {
			return;
		}
	}
}
