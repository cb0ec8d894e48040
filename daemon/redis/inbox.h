/*
 * inbox: the messages other daemons send to this one through the master.
 *
 * A connection of its own, subscribed to NAMESPACE:inbox:<daemon-id>. Messages are hints: they may be lost,
 * doubled, late or forged, and whoever acts on one asks the master first. The pool is the only user.
 *
 * The master itself is heard here too, where it knows client tracking (Redis 6 and later) and lets us: it
 * says at once when its data is flushed, which breaks no connection and changes no run id.
 */
#ifndef REDIS_INBOX_H
#define REDIS_INBOX_H

#include "daemon/redis/link.h"
#include "proto/slice.h"

struct inbox;

/* Called from the event loop only; none may free the inbox. Names are valid until the hook returns. */
struct inbox_hooks {
	void (*subscribed)(void *arg);               /* messages may have been missed before */
	void (*wake)(void *arg, struct slice name);  /* it is our turn, try now */
	void (*want)(void *arg, struct slice name);  /* another daemon waits for a lease of ours */
	void (*latch)(void *arg, struct slice name); /* this latch was set, or has opened */
	void (*flushed)(void *arg);                  /* the master's data was flushed */
};

/* channel is copied; hooks, log and stats are kept by reference. NULL: out of memory. */
struct inbox *inbox_new(struct event_base *base, const struct link_settings *settings, const char *channel,
	const struct inbox_hooks *hooks, void *arg, struct log *log, struct stats *stats)
	__attribute__((warn_unused_result));
void inbox_free(struct inbox *inbox);

/* Hears of the ends of somebody else's locks of this name, by wake(), or no longer. Once listening, wake()
 * comes for what may have been missed before. */
void inbox_listen(struct inbox *inbox, struct slice name, bool on);

/* As link_set_password() and link_aim(). */
bool inbox_set_password(struct inbox *inbox, const char *password) __attribute__((warn_unused_result));
bool inbox_aim(struct inbox *inbox, const char *host, uint16_t port) __attribute__((warn_unused_result));

#endif
