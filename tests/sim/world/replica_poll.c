/* replica_poll: see replica_poll.h. */
#include "tests/sim/world/replica_poll.h"

#include "tests/sim/world/answer.h"
#include "tests/sim/world/stage.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_SCRIPT "return redis.call('HMGET', KEYS[1], 'members', 'joining')"
#define NODE_KEY     "hf:node"

struct replica_poll *
replica_poll_new(struct host *h)
{
	struct replica_poll *poll = calloc(1, sizeof *poll);
	assert(poll != NULL);
	poll->asked = replicas_ask(&h->replicas);
	if (h->replicas.change.due) {
		poll->change = malloc(sizeof *poll->change);
		assert(poll->change != NULL);
		*poll->change = h->replicas.change;
		h->replicas.change.due = false;
	}
	return poll;
}

void
replica_poll_free(struct replica_poll *poll)
{
	if (poll == NULL)
		return;
	free(poll->change);
	freeReplyObject(poll->group);
	freeReplyObject(poll->target);
	freeReplyObject(poll->info);
	free(poll);
}

/* INFO replication */
static redisReply *
info(const struct server *s)
{
	const struct replication *r = &s->replication;
	char text[800];
	unsigned n = 0;
	size_t used = (size_t)snprintf(text, sizeof text,
		"# Replication\r\nrole:%s\r\nconnected_slaves:%u\r\nmaster_replid:%" PRIx64
		"\r\nmaster_repl_offset:%" PRId64 "\r\n",
		r->follows < 0 && !r->outside ? "master" : "slave", replication_connected(s), r->stream.reign,
		r->stream.offset);
	for (unsigned i = 0; i < plan_servers(&s->world->plan); i++)
		if (r->acked[i] >= 0)
			used += (size_t)snprintf(text + used, sizeof text - used,
				"slave%u:ip=m%u,port=1,state=online,offset=%" PRId64 ",lag=0\r\n", n++, i,
				r->acked[i]);
	return answer_text(slice_of(text));
}

static void
join(struct server *s, const struct replicas_change *c)
{
	const struct roster *const texts[] = {&c->members, &c->joining, &c->next_members, &c->next_joining};
	const char *argv[8] = {"EVALSHA", scripts[SCRIPT_JOIN].sha1, "1", NODE_KEY};
	size_t argvlen[8];
	for (int i = 0; i < 8; i++) {
		if (i >= 4)
			argv[i] = texts[i - 4]->text;
		argvlen[i] = i < 4 ? strlen(argv[i]) : texts[i - 4]->used;
	}
	redisReply *reply = server_run(s, 8, argv, argvlen);
	if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
		trace_line(&s->world->trace, s->world->now_us, "m%u     group %.*s | %.*s", s->index,
			SLICE_ARG(roster_text(&c->next_members)), SLICE_ARG(roster_text(&c->next_joining)));
	freeReplyObject(reply);
}

void
replica_poll_arrives(struct flight *f)
{
	struct server *s = f->wire->way->server;
	const char *argv[] = {"EVAL", GROUP_SCRIPT, "1", NODE_KEY};
	const size_t argvlen[] = {4, sizeof GROUP_SCRIPT - 1, 1, sizeof NODE_KEY - 1};
	if (f->poll->change != NULL)
		join(s, f->poll->change);
	f->poll->group = server_run(s, 4, argv, argvlen);
	f->poll->target = info(s);
}

void
replica_poll_ends(struct flight *f)
{
	f->poll->info = info(f->wire->way->server);
}

enum replicas_worth
replica_poll_judge(struct host *h, const struct flight *f)
{
	const struct replica_poll *poll = f->poll;
	struct replicas_round heard;
	replicas_read_group(&heard, poll->group);
	replicas_read_target(&heard, poll->target);
	heard.acknowledged = f->replicas;
	return replicas_judge(&h->replicas, &heard, poll->asked, poll->info);
}

void
replica_poll_find(struct host *h, unsigned known, bool another)
{
	const struct world *w = h->world;
	struct replicas_found found = {0};
	char name[16];
	snprintf(found.self, sizeof found.self, "m%u:1", h->aim);
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		if (i == h->aim || !(known & 1U << i))
			continue;
		snprintf(name, sizeof name, "m%u:1", i);
		roster_add(&found.named, slice_of(name));
	}
	found.count = (unsigned)found.named.n;
	replicas_find(&h->replicas, &found, another);
}
