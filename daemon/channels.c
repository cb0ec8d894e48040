/*
 * channels: see channels.h. Called by the inbox; does no I/O.
 */
#include "daemon/channels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define PREFIX "redisson_lock__channel:"

struct channel {
	UT_hash_handle hh; /* by name, with the channel's text in front of it */
	size_t n;
	size_t name_at; /* the name is a part of the text */
	size_t name_n;
	char text[];
};

/* Redisson puts a name that has no braces into some, so that a cluster keeps everything about it together. */
static struct channel *
channel_new(struct slice name)
{
	bool braced = memchr(name.p, '{', name.n) != NULL;
	size_t n = strlen(PREFIX) + name.n + (braced ? 0 : 2);
	struct channel *c = calloc(1, sizeof *c + n + 1);

	if (!c)
		return NULL;
	c->n = n;
	c->name_at = strlen(PREFIX) + !braced;
	c->name_n = name.n;
	snprintf(
		c->text, n + 1, PREFIX "%s%.*s%s", braced ? "" : "{", (int)name.n, name.p, braced ? "" : "}");
	return c;
}

static struct channel *
channel_find(const struct channels *channels, const char *text, size_t n)
{
	struct channel *c;

	HASH_FIND(hh, channels->all, text, n, c);
	return c;
}

const char *
channels_add(struct channels *channels, struct slice name)
{
	struct channel *c = channel_new(name);
	bool added;

	if (!c)
		return NULL;
	if (channel_find(channels, c->text, c->n)) {
		free(c);
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, channels->all, c->text, c->n, c);
	added = c->hh.tbl != NULL;
	if (!added)
		free(c);
	return added ? c->text : NULL;
}

void
channels_remove(
	struct channels *channels, struct slice name, void (*each)(void *arg, const char *channel), void *arg)
{
	struct channel *like = channel_new(name);
	struct channel *c = like ? channel_find(channels, like->text, like->n) : NULL;

	free(like);
	if (!c)
		return;
	HASH_DEL(channels->all, c);
	each(arg, c->text);
	free(c);
}

struct slice
channels_name(const struct channels *channels, const char *channel, size_t n)
{
	const struct channel *c = channel_find(channels, channel, n);

	return c ? (struct slice){c->text + c->name_at, c->name_n} : (struct slice){NULL, 0};
}

void
channels_each(const struct channels *channels, void (*each)(void *arg, const char *channel), void *arg)
{
	struct channel *c, *next;

	HASH_ITER (hh, channels->all, c, next)
		each(arg, c->text);
}

void
channels_done(struct channels *channels)
{
	struct channel *c, *next;

	HASH_ITER (hh, channels->all, c, next) {
		HASH_DEL(channels->all, c);
		free(c);
	}
}
