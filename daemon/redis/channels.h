/*
 * channels: on which channels the ends of somebody else's locks are published, and which name each is about.
 *
 * Each inbox has those that it is subscribed to, and masters those that a further inbox would be. A channel
 * is Redisson's for the RLock of that name; two names may share one, as x and {x} do.
 */
#ifndef REDIS_CHANNELS_H
#define REDIS_CHANNELS_H

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

/* Forgets it, and calls back with the channel, for UNSUBSCRIBE, if it was there and no other name has it. */
void channels_remove(struct channels *channels, struct slice name,
	void (*each)(void *arg, const char *channel), void *arg);

#define CHANNELS_NAMES 2

/* The names that a channel is about, of those that were added; how many. They are parts of its text. */
size_t channels_names(
	const struct channels *channels, const char *channel, size_t n, struct slice names[CHANNELS_NAMES]);

void channels_each(const struct channels *channels, void (*each)(void *arg, const char *channel), void *arg);
void channels_each_name(
	const struct channels *channels, void (*each)(void *arg, struct slice name), void *arg);
void channels_done(struct channels *channels);

#endif
