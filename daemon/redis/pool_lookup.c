/*
 * pool_lookup: what a daemon asks a master, and other daemons through it, for people: the registered daemons,
 * the holders of a name, and messages to inboxes. A part of pool.c. Nothing here is a call of the core, and
 * no lock depends on it.
 */
#include "daemon/redis/pool_lookup.h"

#include "daemon/redis/pool_inner.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

#define CHANNEL_MAX 512

const char pool_lookup_context, pool_publish_context;

/* A link that can send now; NULL: there is none. */
static struct pool_link *
pool_link_ready(struct pool *pool)
{
	for (unsigned i = 0; i < pool->link_count; i++) {
		if (pool->links[i].up)
			return &pool->links[i];
	}
	return NULL;
}

bool
pool_lookup(struct pool *pool, uint64_t id, const struct call *about, bool daemons)
{
	struct pool_link *l = pool_link_ready(pool);
	struct call_command *command = &pool->command;

	if (!l || l->lookups.n == POOL_LOOKUPS_MAX ||
		!call_encode_lookup(command, &pool->call_settings, about, daemons) ||
		!link_send(l->link, command->argc, command->argv, command->argvlen,
			(void *)&pool_lookup_context))
		return false;
	l->lookups.ids[(l->lookups.first + l->lookups.n++) % POOL_LOOKUPS_MAX] = id;
	return true;
}

/* A master that has forgotten the scripts gets them with the next call. */
void
pool_link_lookup_answered(struct pool_link *l, const struct redisReply *reply)
{
	struct lookups *lookups = &l->lookups;
	uint64_t id = lookups->ids[lookups->first];
	struct lookup_answer answer;

	lookups->first = (lookups->first + 1) % POOL_LOOKUPS_MAX;
	lookups->n--;
	l->pool->hooks->lookup_answered(
		l->pool->arg, id, reply && call_decode_lookup(reply, &answer) ? &answer : NULL);
}

bool
call_decode_lookup(const struct redisReply *reply, struct lookup_answer *answer)
{
	struct slice *const texts[] = {
		&answer->daemons, &answer->refused, &answer->kind, &answer->holders, &answer->queue};
	int64_t time_us;

	*answer = (struct lookup_answer){0};
	if (reply->type != REDIS_REPLY_ARRAY || (reply->elements != 4 && reply->elements != 7))
		return false;
	for (size_t i = 0; i < reply->elements; i++) {
		if (reply->element[i]->type != REDIS_REPLY_STRING)
			return false;
		if (i >= 2)
			*texts[i - 2] = (struct slice){reply->element[i]->str, reply->element[i]->len};
	}
	if (!number_parse(
		    (struct slice){reply->element[1]->str, reply->element[1]->len}, 0, INT64_MAX, &time_us))
		return false;
	answer->time_us = time_us;
	answer->listed = !slice_equal(answer->daemons, SLICE("-"));
	return slice_equal((struct slice){reply->element[0]->str, reply->element[0]->len}, SLICE("ok"));
}

bool
pool_publish(struct pool *pool, const char *daemon_id, struct slice text)
{
	struct pool_link *l = pool_link_ready(pool);
	char channel[CHANNEL_MAX];
	int n = snprintf(channel, sizeof channel, "%s:inbox:%s", pool->call_settings.namespace_, daemon_id);
	const char *argv[] = {"PUBLISH", channel, text.p};
	const size_t argvlen[] = {7, (size_t)n, text.n};

	return l && n > 0 && (size_t)n < sizeof channel &&
	       link_send(l->link, 3, argv, argvlen, (void *)&pool_publish_context);
}
