/*
 * listeners: all listeners of the daemon. A reload changes the set. listener.h is one of them.
 */
#ifndef NET_LISTENERS_H
#define NET_LISTENERS_H

#include "proto/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct closer;
struct descriptors;
struct event;
struct event_base;
struct listener;
struct listener_hooks;
struct socket_settings;

#define LISTENERS_MAX 32

/* All zero at first, but base, hooks, arg and closer. */
struct listeners {
	struct event_base *base;
	const struct listener_hooks *hooks;
	void *arg;
	struct closer *closer; /* a client may have passed descriptors before it was accepted; may be NULL */
	bool started;
	bool stirred;        /* something has changed in a directory with a socket */
	int64_t checked_ms;  /* when the sockets were checked last */
	int watching;        /* inotify; 0: not yet, -1: not available */
	struct event *watch; /* of watching */
	size_t count;
	struct {
		struct listener *listener;
		bool inherited; /* a reload does not close it: it could not be opened again */
	} list[LISTENERS_MAX];
};

/* Begins to accept; sockets that are added later accept at once. Before, clients queue up at the sockets. -1:
 * out of memory. */
int listeners_start(struct listeners *set) __attribute__((warn_unused_result));

#define LISTENERS_CHECK_MS 1000 /* between two checks, if nothing happens in a directory with a socket */

/* Whether the sockets have to be checked: to be asked in each turn of the loop, which wakes when a directory
 * with a socket changes. */
static inline bool
listeners_due(const struct listeners *set, int64_t now_ms)
{
	return set->stirred || now_ms >= set->checked_ms + LISTENERS_CHECK_MS;
}

/* The first socket that was removed or replaced by another, so that clients do not reach it, and why. NULL:
 * none, or the sockets need not be checked. */
const struct listener *listeners_lost(struct listeners *set, int64_t now_ms, const char **why);

/* Why clients may have known these sockets before this process had them; NULL: no client can have. */
const char *listeners_known_before(const struct listeners *set);

/* Closes all of them. */
void listeners_close(struct listeners *set);

/* Accepts no client for a while; clients queue up at the sockets. */
void listeners_rest(struct listeners *set);
/* Accepts again. -1: out of memory. */
int listeners_resume(struct listeners *set) __attribute__((warn_unused_result));

/* A record of this type for each socket; its descriptors are added to given. An inherited socket is left out
 * if the service manager passes it to the next process as well. */
void listeners_save(const struct listeners *set, struct record *r, enum record_type type,
	struct descriptors *given, bool inherited);
/* Takes over the socket of the current record; before listeners_start(). Without its descriptor it is left
 * out. */
void listeners_load(struct listeners *set, struct record *r, struct descriptors *given);
/* The state is refused: of the sockets that it has from the current record on, takes over those that the
 * service manager passed, since it passes them to no process of the same start again. */
void listeners_rescue(struct listeners *set, struct record *r, struct descriptors *given);

/* Takes over an inherited socket that listens. The set owns fd, also on failure. 0, or an enum socket_failure
 * with *error. */
int listeners_adopt(struct listeners *set, int fd, char *error, size_t error_room)
	__attribute__((warn_unused_result));

/*
 * Listens at the addresses of the settings and, inherited sockets apart, at no others: opens the new ones,
 * changes those that stay, closes the rest. 0, or an enum socket_failure with *error; then the set is as
 * before.
 */
int listeners_set(struct listeners *set, const struct socket_settings *settings, size_t count, char *error,
	size_t error_room) __attribute__((warn_unused_result));

#endif
