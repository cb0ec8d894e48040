/*
 * finder_sentinel: what a finder asks the sentinels; see finder_inner.h.
 */
#include "daemon/redis/finder_inner.h"
#include "proto/slice.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#define REPLICAS_MOST 1000

enum { ASK_MASTER, ASK_REPLICAS };

static int
sentinel_ask(const struct inquiry *inquiry, size_t question, const char *words[FINDER_WORDS_MAX])
{
	words[0] = "SENTINEL";
	words[1] = question == ASK_MASTER ? "MASTER" : "REPLICAS";
	words[2] = inquiry->name;
	return 3;
}

/* The value of this key in an array of keys and values; "" when it has none. */
static struct slice
reply_field(const struct redisReply *reply, const char *key)
{
	for (size_t i = 0; i + 1 < reply->elements; i += 2) {
		const struct redisReply *name = reply->element[i], *value = reply->element[i + 1];

		if (name->type == REDIS_REPLY_STRING && value->type == REDIS_REPLY_STRING &&
			strcmp(name->str, key) == 0)
			return (struct slice){value->str, value->len};
	}
	return SLICE("");
}

static bool
opinion_read(const struct redisReply *reply, struct opinion *out)
{
	struct slice host = reply_field(reply, "ip");
	int64_t port, replicas;

	if (!host_copy(out->at.host, host.p, host.n) ||
		!number_parse(reply_field(reply, "port"), 1, UINT16_MAX, &port) ||
		!number_parse(reply_field(reply, "num-slaves"), 0, REPLICAS_MOST, &replicas) ||
		!number_parse(reply_field(reply, "config-epoch"), 0, INT64_MAX, &out->epoch))
		return false;
	out->at.port = (uint16_t)port;
	out->replicas = (unsigned)replicas;
	return true;
}

/* Their addresses. A sentinel that does not name them has said how many there are. */
static void
names_read(const struct redisReply *reply, struct opinion *out)
{
	char address[ROSTER_NAME_MAX];

	for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
		const struct redisReply *one = reply->element[i];
		struct slice host, port;

		if (one->type != REDIS_REPLY_ARRAY)
			continue;
		host = reply_field(one, "ip");
		port = reply_field(one, "port");
		if (host.n == 0 || host.n + port.n + 2 > sizeof address)
			continue;
		snprintf(address, sizeof address, "%.*s:%.*s", SLICE_ARG(host), SLICE_ARG(port));
		roster_add(&out->named, slice_of(address));
	}
}

static bool
sentinel_read(const struct inquiry *inquiry, size_t question, const struct redisReply *reply,
	struct opinion *out, char *why)
{
	if (question == ASK_REPLICAS) {
		names_read(reply, out);
		return true;
	}
	if (reply->type != REDIS_REPLY_ARRAY || !opinion_read(reply, out))
		return answer_refuse(reply, finder_sentinel.role, why);
	if (inquiry->believed)
		snprintf(out->cause, sizeof out->cause, "failover: the sentinels have named it");
	return true;
}

const struct finder_source finder_sentinel = {
	.role = "sentinel",
	.channel = "+switch-master",
	.questions = 2,
	.ask = sentinel_ask,
	.read = sentinel_read,
};
