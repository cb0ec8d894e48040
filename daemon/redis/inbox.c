/*
 * inbox: subscribes, and takes messages apart. It must never trust what a message says.
 */
#include "daemon/redis/inbox.h"

#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "proto/command.h"
#include "proto/name.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* ---- the channels of Redisson's locks ---- */

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

/* ---- the connection ---- */

#define INVALIDATE    "__redis__:invalidate" /* where Redis tells a RESP2 connection what is tracked */
#define SAY_WORDS_MAX 6
#define WHY_MAX       128

struct inbox {
	const struct inbox_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats *stats;
	char *channel;
	struct channels channels; /* of locks of other libraries */
	struct link *link;
	bool listens;      /* SUBSCRIBE was sent */
	bool subscribed;   /* and answered well */
	char why[WHY_MAX]; /* it is not subscribed; stored while it tries again */
};

/* Contexts, to tell the answers apart. */
static const char step_id, step_tracking, step_subscribe, step_listen, step_leave;

static void
inbox_say(struct inbox *inbox, const char *step, int argc, const char *const *argv)
{
	size_t argvlen[SAY_WORDS_MAX];
	int i;

	assert(argc <= SAY_WORDS_MAX);
	for (i = 0; i < argc; i++)
		argvlen[i] = strlen(argv[i]);
	if (!link_send(inbox->link, argc, argv, argvlen, (void *)step))
		link_break(inbox->link, "out of memory");
}

/* Tracking redirects to the connection that asks for it, so its number comes first; and once subscribed a
 * connection may not ask for anything else. */
static void
on_up(void *arg)
{
	struct inbox *inbox = arg;

	inbox_say(inbox, &step_id, 2, (const char *[]){"CLIENT", "ID"});
	link_flush(inbox->link);
}

/* OPTIN: no key is ever tracked, only the loss of all of them is announced. */
static void
inbox_track(struct inbox *inbox, long long id)
{
	char number[24];

	snprintf(number, sizeof number, "%lld", id);
	inbox_say(inbox, &step_tracking, 6,
		(const char *[]){"CLIENT", "TRACKING", "ON", "REDIRECT", number, "OPTIN"});
	inbox_say(inbox, &step_tracking, 2, (const char *[]){"SUBSCRIBE", INVALIDATE});
}

static void
channel_join(void *arg, const char *channel)
{
	inbox_say(arg, &step_listen, 2, (const char *[]){"SUBSCRIBE", channel});
}

static void
channel_leave(void *arg, const char *channel)
{
	struct inbox *inbox = arg;

	if (inbox->listens)
		inbox_say(inbox, &step_leave, 2, (const char *[]){"UNSUBSCRIBE", channel});
}

static void
inbox_subscribe(struct inbox *inbox)
{
	inbox_say(inbox, &step_subscribe, 2, (const char *[]){"SUBSCRIBE", inbox->channel});
	inbox->listens = true;
	channels_each(&inbox->channels, channel_join, inbox);
	link_flush(inbox->link);
}

void
inbox_listen(struct inbox *inbox, struct slice name, bool on)
{
	const char *channel;

	if (on) {
		channel = channels_add(&inbox->channels, name);
		if (channel && inbox->listens)
			channel_join(inbox, channel);
	} else {
		channels_remove(&inbox->channels, name, channel_leave, inbox);
	}
	link_flush(inbox->link);
}

/* The pool is not notified: every wait has a timer beside the inbox, and the next subscription is reported.
 */
static void
on_down(void *arg, const char *why)
{
	struct inbox *inbox = arg;

	inbox->listens = false;
	inbox->subscribed = false;
	snprintf(inbox->why, sizeof inbox->why, "%s", why);
}

/* Wakes the waiters for each name of a channel; returns how many names it has. */
static size_t
channel_wake(const struct inbox *inbox, const struct redisReply *channel)
{
	struct slice names[CHANNELS_NAMES];
	size_t n = 0;

	if (channel->type == REDIS_REPLY_STRING)
		n = channels_names(&inbox->channels, channel->str, channel->len, names);
	for (size_t i = 0; i < n; i++)
		inbox->hooks->wake(inbox->arg, names[i]);
	return n;
}

/* What was published before that has been missed. */
static void
inbox_joined(const struct inbox *inbox, const struct redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3)
		channel_wake(inbox, reply->element[1]);
}

/* The answer to SUBSCRIBE; an error is most often an ACL without the channel. */
static void
subscribe_answered(struct inbox *inbox, const struct redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ARRAY) {
		inbox->stats->inbox_subscribed++;
		inbox->subscribed = true;
		inbox->why[0] = '\0';
		inbox->hooks->subscribed(inbox->arg);
		return;
	}
	link_break(
		inbox->link, reply->type == REDIS_REPLY_ERROR ? reply->str : "SUBSCRIBE was not understood");
}

static void
on_reply(void *arg, void *context, enum link_fate fate, const struct redisReply *reply)
{
	struct inbox *inbox = arg;

	if (fate != LINK_ANSWERED)
		return;
	if (context == &step_subscribe) {
		subscribe_answered(inbox, reply);
		return;
	}
	if (context == &step_listen)
		inbox_joined(inbox, reply);
	if (context == &step_listen || context == &step_leave)
		return;
	/* An old server, or an ACL: a flush is then seen at the next HELLO. */
	if (reply->type == REDIS_REPLY_ERROR)
		LOG_EVENT(inbox->log, LOG_DEBUG_LEVEL, "inbox.untracked",
			log_text("master", link_where(inbox->link)), log_text("why", reply->str));
	if (context != &step_id)
		return;
	if (reply->type == REDIS_REPLY_INTEGER)
		inbox_track(inbox, reply->integer);
	inbox_subscribe(inbox);
}

/* "word NAME" with this word: the name, which is as good as any that a client may send. */
static bool
message_name(const struct redisReply *payload, const char *word, struct slice *name)
{
	size_t n = strlen(word);

	if (payload->len <= n + 1 || memcmp(payload->str, word, n) != 0 || payload->str[n] != ' ')
		return false;
	*name = (struct slice){payload->str + n + 1, payload->len - n - 1};
	return name_check(*name, NAME_BYTES_MAX) == NULL;
}

/* "ask ..." and "told ...", which the fleet takes apart. True: it is one of them. */
static bool
message_asks(struct inbox *inbox, const struct redisReply *payload)
{
	bool answer = payload->type == REDIS_REPLY_STRING && strncmp(payload->str, "told ", 5) == 0;

	if (!answer && (payload->type != REDIS_REPLY_STRING || strncmp(payload->str, "ask ", 4) != 0))
		return false;
	if (answer)
		inbox->stats->inbox_answers++;
	else
		inbox->stats->inbox_asks++;
	inbox->hooks->asked(
		inbox->arg, answer, (struct slice){payload->str + 4 + answer, payload->len - 4 - answer});
	return true;
}

static void
on_message(void *arg, const struct redisReply *message)
{
	struct inbox *inbox = arg;
	const struct redisReply *payload = message->element[2];
	const struct redisReply *channel = message->element[1];
	struct slice name = {NULL, 0};

	if (channel_wake(inbox, channel) > 0) {
		inbox->stats->inbox_wakes++;
		return;
	}
	/* No client can publish a payload that is nil: it is the master, which tells of a flush. */
	if (payload->type == REDIS_REPLY_NIL && channel->type == REDIS_REPLY_STRING &&
		strcmp(channel->str, INVALIDATE) == 0) {
		inbox->stats->inbox_flushes++;
		inbox->hooks->flushed(inbox->arg);
	} else if (payload->type == REDIS_REPLY_STRING && message_name(payload, "wake", &name)) {
		inbox->stats->inbox_wakes++;
		inbox->hooks->wake(inbox->arg, name);
	} else if (payload->type == REDIS_REPLY_STRING && message_name(payload, "want", &name)) {
		inbox->stats->inbox_wants++;
		inbox->hooks->want(inbox->arg, name);
	} else if (payload->type == REDIS_REPLY_STRING && message_name(payload, "latch", &name)) {
		inbox->stats->inbox_latches++;
		inbox->hooks->latch(inbox->arg, name);
	} else if (!message_asks(inbox, payload)) {
		inbox->stats->inbox_ignored++;
		LOG_EVENT(inbox->log, LOG_DEBUG_LEVEL, "inbox.ignored",
			log_bytes("message", payload->str, payload->str ? payload->len : 0));
	}
}

static const struct link_hooks link_hooks = {
	.up = on_up, .down = on_down, .reply = on_reply, .message = on_message};

struct inbox *
inbox_new(struct event_base *base, const struct link_settings *settings, const char *channel,
	const struct inbox_hooks *hooks, void *arg, struct log *log, struct stats *stats)
{
	struct inbox *inbox = calloc(1, sizeof *inbox);

	if (!inbox)
		return NULL;
	inbox->hooks = hooks;
	inbox->arg = arg;
	inbox->log = log;
	inbox->stats = stats;
	inbox->channel = strdup(channel);
	inbox->link = link_new(base, settings, &link_hooks, inbox, log, stats);
	if (inbox->channel && inbox->link)
		return inbox;
	inbox_free(inbox);
	return NULL;
}

void
inbox_free(struct inbox *inbox)
{
	if (!inbox)
		return;
	link_free(inbox->link);
	channels_done(&inbox->channels);
	free(inbox->channel);
	free(inbox);
}

bool
inbox_subscribed(const struct inbox *inbox, char *why, size_t room)
{
	snprintf(why, room, "%s", inbox->why);
	return inbox->subscribed;
}

bool
inbox_set_password(struct inbox *inbox, const char *password)
{
	return link_set_password(inbox->link, password);
}

bool
inbox_aim(struct inbox *inbox, const char *host, uint16_t port)
{
	return link_aim(inbox->link, host, port);
}

void
inbox_break(struct inbox *inbox, const char *why)
{
	link_break(inbox->link, why);
}
