/*
 * inbox: subscribes, and takes messages apart. Called by the pool; must never trust what a message says.
 */
#include "daemon/inbox.h"

#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "proto/command.h"
#include "proto/name.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct inbox {
	const struct inbox_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats *stats;
	char *channel;
	struct link *link;
};

static void
on_up(void *arg)
{
	struct inbox *inbox = arg;
	const char *argv[] = {"SUBSCRIBE", inbox->channel};
	const size_t argvlen[] = {strlen(argv[0]), strlen(argv[1])};

	if (!link_send(inbox->link, 2, argv, argvlen, NULL))
		link_break(inbox->link, "out of memory");
	link_flush(inbox->link);
}

/* Nothing to say: every wait has a timer beside the inbox, and the next subscription is told. */
static void
on_down(void *arg, const char *why)
{
	(void)arg;
	(void)why;
}

/* The answer to SUBSCRIBE; an error is most often an ACL without the channel. */
static void
on_reply(void *arg, void *context, enum link_fate fate, const struct redisReply *reply)
{
	struct inbox *inbox = arg;

	(void)context;
	if (fate != LINK_ANSWERED)
		return;
	if (reply->type == REDIS_REPLY_ARRAY) {
		inbox->stats->inbox_subscribed++;
		inbox->hooks->subscribed(inbox->arg);
		return;
	}
	link_break(
		inbox->link, reply->type == REDIS_REPLY_ERROR ? reply->str : "SUBSCRIBE was not understood");
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

static void
on_message(void *arg, const struct redisReply *message)
{
	struct inbox *inbox = arg;
	const struct redisReply *payload = message->element[2];
	struct slice name;

	if (payload->type == REDIS_REPLY_STRING && message_name(payload, "wake", &name)) {
		inbox->stats->inbox_wakes++;
		inbox->hooks->wake(inbox->arg, name);
	} else if (payload->type == REDIS_REPLY_STRING && message_name(payload, "want", &name)) {
		inbox->stats->inbox_wants++;
		inbox->hooks->want(inbox->arg, name);
	} else {
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
	free(inbox->channel);
	free(inbox);
}
