/*
 * pool_look: what a daemon asks a master, and other daemons through it, for people: the registered daemons,
 * the holders of a name, and messages to inboxes. A part of pool.c. Nothing here is a call of the core, and
 * no lock depends on it.
 */
#include "daemon/redis/pool_look.h"

#include "daemon/redis/pool_inner.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

#define CHANNEL_MAX 512

const char pool_look_context, pool_publish_context;

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
pool_look(struct pool *pool, uint64_t id, const struct call *about, bool daemons)
{
	struct pool_link *l = pool_link_ready(pool);
	struct call_command *command = &pool->command;

	if (!l || l->looks.n == POOL_LOOKS_MAX ||
		!call_encode_look(command, &pool->call_settings, about, daemons) ||
		!link_send(
			l->link, command->argc, command->argv, command->argvlen, (void *)&pool_look_context))
		return false;
	l->looks.ids[(l->looks.first + l->looks.n++) % POOL_LOOKS_MAX] = id;
	return true;
}

/* A master that has forgotten the scripts is told of them by the next call. */
void
pool_link_looked(struct pool_link *l, const struct redisReply *reply)
{
	struct looks *looks = &l->looks;
	uint64_t id = looks->ids[looks->first];
	struct master_look look;

	looks->first = (looks->first + 1) % POOL_LOOKS_MAX;
	looks->n--;
	l->pool->hooks->looked(l->pool->arg, id, reply && call_decode_look(reply, &look) ? &look : NULL);
}

bool
call_decode_look(const struct redisReply *reply, struct master_look *look)
{
	struct slice *const texts[] = {
		&look->daemons, &look->refused, &look->kind, &look->holders, &look->queue};
	int64_t time_us;

	*look = (struct master_look){0};
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
	look->time_us = time_us;
	look->listed = !slice_equal(look->daemons, SLICE("-"));
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
