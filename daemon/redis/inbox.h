/*
 * inbox: the messages other daemons send to this one through the master.
 *
 * A connection of its own, subscribed to NAMESPACE:inbox:<daemon-id>. Messages are hints: they may be lost,
 * doubled, late or forged, and the daemon asks the master before it acts on one. The pool is the only user;
 * masters uses the list of channels.
 *
 * A master that knows client tracking (Redis 6 and later), and allows it to this login, also tells here at
 * once that its data was flushed, which breaks no connection and changes no run id.
 */
#ifndef REDIS_INBOX_H
#define REDIS_INBOX_H

#include "daemon/redis/link.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct channel;

/*
 * The channels on which Redisson publishes the end of its locks, and the name that each channel is about.
 *
 * Each inbox keeps the channels that it is subscribed to; masters keeps those for an inbox that is opened
 * later. A channel is the one that Redisson uses for the RLock of that name. Two names may share a channel,
 * as x and {x} do.
 */
struct channels {
	struct channel *all;
};

/* Adds a name, and returns its channel, for SUBSCRIBE. NULL: the name was added before, or out of memory.
 * Valid until the name is removed. */
const char *channels_add(struct channels *channels, struct slice name);

/* Removes a name, if it was added. If no other name has its channel, calls each() with the channel, for
 * UNSUBSCRIBE. */
void channels_remove(struct channels *channels, struct slice name,
	void (*each)(void *arg, const char *channel), void *arg);

#define CHANNELS_NAMES 2

/* Finds the names that were added and that this channel is about, and returns how many. They are parts of its
 * text. */
size_t channels_names(
	const struct channels *channels, const char *channel, size_t n, struct slice names[CHANNELS_NAMES]);

void channels_each(const struct channels *channels, void (*each)(void *arg, const char *channel), void *arg);
void channels_each_name(
	const struct channels *channels, void (*each)(void *arg, struct slice name), void *arg);
void channels_done(struct channels *channels);

struct inbox;

/* Called from the event loop only; none may free the inbox. Names are valid until the hook returns. */
struct inbox_hooks {
	void (*subscribed)(void *arg);               /* messages may have been missed before */
	void (*wake)(void *arg, struct slice name);  /* it is our turn, try now */
	void (*want)(void *arg, struct slice name);  /* another daemon waits for a lease of ours */
	void (*latch)(void *arg, struct slice name); /* this latch was set, or has opened */
	void (*flushed)(void *arg);                  /* the master's data was flushed */
	/* Another daemon asks for a view, or answers (fleet.h): what follows the first word. */
	void (*asked)(void *arg, bool answer, struct slice text);
};

/* channel is copied; hooks, log and stats are held by reference. NULL: out of memory. */
struct inbox *inbox_new(struct event_base *base, const struct link_settings *settings, const char *channel,
	const struct inbox_hooks *hooks, void *arg, struct log *log, struct stats *stats)
	__attribute__((warn_unused_result));
void inbox_free(struct inbox *inbox);

/* on: from now on wake() tells when a lock of another library for this name ends; first it is called once for
 * what may have been missed. */
void inbox_listen(struct inbox *inbox, struct slice name, bool on);

/* Whether it is subscribed. False: why, of room bytes, is the reason; "": none is known yet. */
bool inbox_subscribed(const struct inbox *inbox, char *why, size_t room);

/* As link_set_password() and link_aim(). */
bool inbox_set_password(struct inbox *inbox, const char *password) __attribute__((warn_unused_result));
bool inbox_aim(struct inbox *inbox, const char *host, uint16_t port) __attribute__((warn_unused_result));

/* As link_break(): it subscribes anew. */
void inbox_break(struct inbox *inbox, const char *why);

#endif
