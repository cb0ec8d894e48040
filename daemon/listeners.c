/*
 * listeners: see listeners.h.
 */
#include "daemon/listeners.h"

#include <stdio.h>

static void
listeners_drop(struct listeners *set, size_t i)
{
	listener_free(set->list[i].listener);
	set->list[i] = set->list[--set->count];
}

void
listeners_close(struct listeners *set)
{
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
