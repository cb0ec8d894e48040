/*
 * channels: see channels.h. The inbox and masters call it; it does no I/O.
 */
#include "daemon/redis/channels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define PREFIX "redisson_lock__channel:"

struct channel {
	UT_hash_handle hh; /* by name, which is a part of the text */
	size_t n;
	size_t name_at;
	size_t name_n;
	char text[];
};

/* Redisson puts a name without braces into braces, so that a cluster keeps all its keys together. */
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
channel_find(const struct channels *channels, struct slice name)
{
	struct channel *c;

	HASH_FIND(hh, channels->all, name.p, name.n, c);
	return c;
}

const char *
channels_add(struct channels *channels, struct slice name)
{
	struct channel *c;
	bool added;

	if (channel_find(channels, name))
		return NULL;
	c = channel_new(name);
	if (!c)
		return NULL;
	HASH_ADD_KEYPTR(hh, channels->all, c->text + c->name_at, c->name_n, c);
	added = c->hh.tbl != NULL;
	if (!added)
		free(c);
	return added ? c->text : NULL;
}

size_t
channels_names(
	const struct channels *channels, const char *channel, size_t n, struct slice names[CHANNELS_NAMES])
{
	struct slice whole, inner;
	size_t count = 0;

	if (n <= strlen(PREFIX) || memcmp(channel, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	whole = (struct slice){channel + strlen(PREFIX), n - strlen(PREFIX)};
	/* Redisson puts a name without braces into braces, and uses a name with braces as it is. */
	if (memchr(whole.p, '{', whole.n) && channel_find(channels, whole))
		names[count++] = whole;
	if (whole.n < 3 || whole.p[0] != '{' || whole.p[whole.n - 1] != '}')
		return count;
	inner = (struct slice){whole.p + 1, whole.n - 2};
	if (!memchr(inner.p, '{', inner.n) && channel_find(channels, inner))
		names[count++] = inner;
	return count;
}

void
channels_remove(
	struct channels *channels, struct slice name, void (*each)(void *arg, const char *channel), void *arg)
{
	struct channel *c = channel_find(channels, name);
	struct slice names[CHANNELS_NAMES];

	if (!c)
		return;
	HASH_DEL(channels->all, c);
	if (channels_names(channels, c->text, c->n, names) == 0)
		each(arg, c->text);
	free(c);
}

void
channels_each(const struct channels *channels, void (*each)(void *arg, const char *channel), void *arg)
{
	struct channel *c, *next;

	HASH_ITER (hh, channels->all, c, next)
		each(arg, c->text);
}

void
channels_each_name(const struct channels *channels, void (*each)(void *arg, struct slice name), void *arg)
{
	struct channel *c, *next;

	HASH_ITER (hh, channels->all, c, next)
		each(arg, (struct slice){c->text + c->name_at, c->name_n});
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
