/*
 * channels: the channels on which Redisson publishes the end of its locks, and the name that each channel is
 * about.
 *
 * Each inbox keeps the channels that it is subscribed to; masters keeps those for an inbox that is opened
 * later. A channel is the one that Redisson uses for the RLock of that name. Two names may share a channel,
 * as x and {x} do.
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

#endif
