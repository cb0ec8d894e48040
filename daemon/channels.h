/*
 * channels: on which channels the ends of somebody else's locks are published, and which name each is about.
 *
 * The inbox is the only user. A channel is Redisson's for the RLock of that name.
 */
#ifndef DAEMON_CHANNELS_H
#define DAEMON_CHANNELS_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct channel;

struct channels {
	struct channel *all;
};

/* The channel of this name, for SUBSCRIBE; NULL: it is there already, or out of memory. Valid until removed.
 */
const char *channels_add(struct channels *channels, struct slice name);

/* Calls back with the channel, for UNSUBSCRIBE, if it is there, and forgets it. */
void channels_remove(struct channels *channels, struct slice name,
	void (*each)(void *arg, const char *channel), void *arg);

/* The name a channel is about; n == 0: none that we know. */
struct slice channels_name(const struct channels *channels, const char *channel, size_t n);

void channels_each(const struct channels *channels, void (*each)(void *arg, const char *channel), void *arg);
void channels_done(struct channels *channels);

#endif
