/*
 * pool_link: one link of the pool, and the calls under way on it; see pool_inner.h.
 *
 *     pool_link_call ──▶ group of its script ─────▶ batch ──▶ link ──▶ … ──▶ batch ──▶ votes
 *            └─────────▶ unsent ────────────────── (next turn) ──────────────────────▶ votes
 *
 * Where replicas have to acknowledge, one round of replicas.h follows all that a turn has sent, and the votes
 * of what it covers are delivered when it is answered. A second round may be behind the first; more would
 * only split what the next one can cover together.
 */
#include "daemon/redis/pool_link.h"

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/redis/pool_inner.h"
#include "daemon/redis/pool_lookup.h"
#include "daemon/redis/vote.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSENT_ROUNDS 16
#define LONE_MIN      16 /* commands: enough to see that one client is at work */

/* Contexts, to tell these answers from those to a batch. */
static const char script_context, group_context, target_context, wait_context, info_context, join_context;

/* ---- calls out ---- */

static bool
pool_link_say(struct pool_link *l, const char *context, int argc, const char *const *argv)
{
	size_t argvlen[4];
	int i;

	assert(argc <= 4);
	for (i = 0; i < argc; i++)
		argvlen[i] = strlen(argv[i]);
	if (link_send(l->link, argc, argv, argvlen, (void *)context))
		return true;
	link_break(l->link, "no room to send a command");
	return false;
}

/*
 * One client at work gives a name back and locks the next one. The kernel acknowledges the answers to both
 * while the second is read, and takes longer for that than for all the rest of reading; so the first, which
 * no client waits for, is acknowledged by itself. Where there are more, what is sent to the master does it by
 * the way.
 */
static void
pool_link_count(struct pool_link *l, size_t n)
{
	const struct batch *first = l->sent.head;

	if (n > 1 || (first && first->next))
		l->lone = 0;
	else if (l->lone < LONE_MIN)
		l->lone++;
}

/* False: it did not become one. */
static bool
pool_link_command(struct pool_link *l, struct batch *batch)
{
	struct pool *pool = l->pool;
	const struct call_command *command = &pool->command;

	return call_encode(&pool->command, &pool->call_settings, batch->calls, batch->n) &&
	       link_send(l->link, command->argc, command->argv, command->argvlen, batch);
}

/* The group becomes a command, or is answered later without having been one. */
static void
pool_link_send_group(void *arg, struct group *group)
{
	struct pool_link *l = arg;
	struct pool *pool = l->pool;
	size_t n = group->n;
	enum call_op op = group->calls[0].op;
	const char *refused = replicas_refuse(&pool->replicas, op);
	struct batch *batch = batch_of_group(&l->groups.reserve, group);
	bool sent = l->up && !refused && pool_link_command(l, batch);

	/* For want of memory, perhaps. */
	if (!sent && l->up && !refused && l->groups.reserve.memory) {
		reserve_free(&l->groups.reserve);
		sent = pool_link_command(l, batch);
	}
	batch_forget_keys(batch);
	group_clear(group);
	batch->acked = replicas_matter(&pool->replicas, op);
	batch->refused = l->up ? refused : NULL;
	if (!sent) {
		pool_put_unsent(pool, batch);
		return;
	}
	batch->sent_us = clock_us();
	pool_link_count(l, n);
	batches_put(&l->sent, batch);
	l->wait_due |= batch->acked;
	pool->stats->master_scripts++;
	pool->stats->master_calls += (int64_t)n;
	if (++l->commands >= POOL_WRITE_COMMANDS) {
		l->commands = 0;
		link_flush(l->link);
	}
}

void
pool_link_call(struct pool_link *l, const struct call *call)
{
	if (l->up)
		groups_add(&l->groups, call, pool_link_send_group, l);
	else
		pool_put_unsent(l->pool, batch_of(&l->groups.reserve, call));
}

/* A round of replicas.h. */
static void
pool_link_wait(struct pool_link *l)
{
	const char *key = l->pool->node_key;
	unsigned asked = replicas_ask(&l->pool->replicas);
	char needed[16], ms[24];

	snprintf(needed, sizeof needed, "%u", asked);
	snprintf(ms, sizeof ms, "%lld", (long long)l->pool->wait_ms);
	assert(l->waits < POOL_WAITS_MAX);
	l->wait_due = false;
	/* So that WAIT covers what others have written meanwhile, too. */
	if (l->again > 0)
		(void)pool_link_say(
			l, &pool_publish_context, 4, (const char *[]){"HSET", key, REPLICAS_NUDGE, "1"});
	if (pool_link_say(l, &group_context, 4,
		    (const char *[]){"HMGET", key, REPLICAS_MEMBERS, REPLICAS_JOINING}) &&
		pool_link_say(l, &target_context, 2, (const char *[]){"INFO", "replication"}) &&
		(asked == 0 || pool_link_say(l, &wait_context, 3, (const char *[]){"WAIT", needed, ms})) &&
		pool_link_say(l, &info_context, 2, (const char *[]){"INFO", "replication"}))
		l->asked[l->waits++] = asked;
}

/* Stores the group that is due; a round follows. */
static void
pool_link_join(struct pool_link *l)
{
	const struct replicas_change *c = &l->pool->replicas.change;
	const char *key = l->pool->node_key;
	const char *argv[] = {"EVALSHA", scripts[SCRIPT_JOIN].sha1, "1", key, c->members.text,
		c->joining.text, c->next_members.text, c->next_joining.text};
	const size_t argvlen[] = {7, strlen(argv[1]), 1, strlen(key), c->members.used, c->joining.used,
		c->next_members.used, c->next_joining.used};

	l->pool->changing = *c;
	if (link_send(l->link, 8, argv, argvlen, (void *)&join_context))
		l->wait_due = true;
}

void
pool_link_flush(struct pool_link *l)
{
	(void)reserve_fill(&l->groups.reserve);
	groups_close(&l->groups, pool_link_send_group, l);
	if (l->wait_due && l->waits < POOL_WAITS_MAX)
		pool_link_wait(l);
	l->commands = 0;
	link_flush(l->link);
}

bool
pool_link_probe(struct pool_link *l)
{
	if (!l->up)
		return false;
	if (l->waits == 0) {
		pool_link_wait(l);
		link_flush(l->link);
	}
	return true;
}

/* ---- votes in ---- */

/* The withheld votes, in the order in which they were answered. */
static void
pool_link_deliver_withheld(struct pool_link *l, bool acknowledged)
{
	struct pool *pool = l->pool;
	struct batch *batch;
	size_t i;

	while ((batch = batches_take(&l->withheld))) {
		for (i = 0; i < batch->n; i++) {
			struct vote *vote = &batch->votes[i];

			if (batch->acked && !acknowledged &&
				replicas_disbelieve(&pool->replicas, &batch->calls[i], vote))
				pool->stats->master_unreplicated++;
			pool_tell(pool, vote);
		}
		batch_free(batch);
	}
}

/* Delivers the votes now, or withholds them: for their own sake, or behind others. The batch is gone then. */
static void
pool_link_hand_over(struct pool_link *l, struct batch *batch, const struct vote *votes)
{
	size_t i;

	if (batch->acked || l->withheld.head) {
		batch_withhold(&l->groups.reserve, batch, votes);
		batches_put(&l->withheld, batch);
		return;
	}
	for (i = 0; i < batch->n; i++)
		pool_tell(l->pool, &votes[i]);
	batch_free(batch);
}

static void
pool_link_fail(struct pool_link *l, struct batch *batch, enum outcome outcome, const char *why)
{
	struct stats *stats = l->pool->stats;
	struct vote votes[CALL_GROUP_MAX];
	size_t i;

	for (i = 0; i < batch->n; i++)
		call_fail(&batch->calls[i], outcome, why, &votes[i]);
	if (outcome == OUTCOME_UNSENT)
		stats->master_unsent += (int64_t)batch->n;
	else
		stats->master_unknown += (int64_t)batch->n;
	batch->acked = false;
	pool_link_hand_over(l, batch, votes);
}

/* Every script by its text, before any call needs one; called again when the master has forgotten them. */
static void
pool_link_load_scripts(struct pool_link *l)
{
	size_t i;

	for (i = 0; i < SCRIPT_COUNT; i++) {
		const char *argv[] = {"SCRIPT", "LOAD", scripts[i].text};
		const size_t argvlen[] = {6, 4, scripts[i].length};

		if (!link_send(l->link, 3, argv, argvlen, (void *)&script_context)) {
			link_break(l->link, "no room to send the scripts");
			return;
		}
		l->scripts_due++;
	}
	link_flush(l->link);
}

/* The script is unknown: nothing ran. The calls behind it find the scripts again, or are answered like it. */
static void
pool_link_noscript(struct pool_link *l, struct batch *batch)
{
	struct pool *pool = l->pool;

	if (l->scripts_due == 0) {
		pool->stats->master_script_reloads++;
		LOG_EVENT(pool->log, LOG_WARNING_LEVEL, "master.scripts_lost",
			log_text("master", link_where(l->link)), log_number("link", l->index),
			log_text("text", "they are loaded again"));
		pool_link_load_scripts(l);
	}
	pool_link_fail(
		l, batch, OUTCOME_UNSENT, "the master had forgotten the scripts; they are loaded again");
}

#define ROUND_TRIPS 8 /* that the average is of, about */

static void
pool_link_measure(struct pool *pool, int64_t us)
{
	buckets_add(&pool->round_trip, us);
	pool->round_trip_us = pool->round_trip_us == 0
				      ? us + 1
				      : pool->round_trip_us + (us - pool->round_trip_us) / ROUND_TRIPS;
}

/* The clock of the master was read at some time between the HELLO and its answer. */
static void
pool_link_compare_clocks(struct pool *pool, const struct batch *batch, const struct vote *vote)
{
	if (vote->outcome == OUTCOME_YES && vote->time_us > 0)
		pool->clock_ms = (vote->time_us - clock_wall_us() + (clock_us() - batch->sent_us) / 2) / 1000;
}

/* The node does not serve the slot, or not now: the finder searches for the owner, and the master is sent
 * HELLO again before it is used. None of the calls was carried out. */
static bool
pool_link_moved(struct pool_link *l, struct batch *batch, const struct redisReply *reply)
{
	struct vote votes[CALL_GROUP_MAX];

	if (!l->pool->clustered || !call_moved(reply))
		return false;
	for (size_t i = 0; i < batch->n; i++)
		call_fail(&batch->calls[i], OUTCOME_DEMOTED, reply->str, &votes[i]);
	batch->acked = false;
	pool_link_hand_over(l, batch, votes);
	return true;
}

/* True: none of the calls was carried out, and they have their votes. */
static bool
pool_link_refused(struct pool_link *l, struct batch *batch, const struct redisReply *reply)
{
	if (!call_noscript(reply))
		return pool_link_moved(l, batch, reply);
	pool_link_noscript(l, batch);
	return true;
}

static void
pool_link_answered(struct pool_link *l, struct batch *batch, const struct redisReply *reply)
{
	struct stats *stats = l->pool->stats;
	struct vote votes[CALL_GROUP_MAX];
	bool sense = true, calm = batch->calls[0].op == CALL_RELEASE;
	size_t i;

	pool_link_measure(l->pool, clock_us() - batch->sent_us);
	call_decode(reply, batch->calls, batch->n, votes);
	if (votes[0].op == CALL_HELLO)
		pool_link_compare_clocks(l->pool, batch, &votes[0]);
	for (i = 0; i < batch->n; i++) {
		if (votes[i].outcome != OUTCOME_UNKNOWN)
			continue;
		stats->master_unknown++;
		sense = false;
	}
	if (!sense)
		stats->master_bad_replies++;
	pool_link_hand_over(l, batch, votes);
	if (calm && l->lone == LONE_MIN && l->sent.head)
		link_acknowledge(l->link);
}

/* The end of a round: who of the group has all that was sent before it. */
static void
pool_link_judged(struct pool_link *l, enum link_fate fate, const struct redisReply *reply)
{
	struct pool *pool = l->pool;
	enum replicas_worth worth;
	bool again;

	if (fate != LINK_ANSWERED) {
		pool_link_deliver_withheld(l, false);
		return;
	}
	worth = pool_judge(pool, &l->round, l->asked[0], reply);
	l->waits--;
	memmove(l->asked, l->asked + 1, sizeof l->asked - sizeof l->asked[0]);
	again = worth == REPLICAS_AGAIN && ++l->again <= REPLICAS_AGAIN_MAX;
	if (!again) {
		l->again = 0;
		if (worth == REPLICAS_AGAIN)
			(void)pool_judge(pool, &l->round, 0, NULL);
		pool_link_deliver_withheld(l, worth == REPLICAS_ENOUGH);
	}
	if (pool->replicas.change.due && l->up)
		pool_link_join(l);
	pool->replicas.change.due = false;
	if ((l->wait_due || again) && l->up && l->waits < POOL_WAITS_MAX) {
		pool_link_wait(l);
		link_flush(l->link);
	}
}

/* An answer of a round. */
static void
pool_link_waited(
	struct pool_link *l, const char *context, enum link_fate fate, const struct redisReply *reply)
{
	if (context == &info_context)
		pool_link_judged(l, fate, reply);
	else if (fate != LINK_ANSWERED)
		return;
	else if (context == &group_context)
		replicas_read_group(&l->round, reply);
	else if (context == &target_context)
		replicas_read_target(&l->round, reply);
	else if (reply->type == REDIS_REPLY_INTEGER)
		l->round.acknowledged = reply->integer;
}

#define UNKNOWN "ERR unknown command"

#define NO_SCRIPTS                                                                                           \
	"it does not know SCRIPT LOAD: it is a holdfastd or another program, or a Redis that hides the "     \
	"command by rename-command; name a Redis or Valkey under masters:"

static void
pool_link_script_loaded(struct pool_link *l, enum link_fate fate, const struct redisReply *reply)
{
	struct pool *pool = l->pool;

	if (fate != LINK_ANSWERED)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		link_break(l->link,
			strncmp(reply->str, UNKNOWN, sizeof UNKNOWN - 1) == 0 ? NO_SCRIPTS : reply->str);
		return;
	}
	assert(l->scripts_due > 0);
	l->scripts_due--;
	if (l->scripts_due > 0 || l->up)
		return;
	pool_tell_unsent(pool);
	l->up = true;
	pool->stats->master_links++;
	pool_watch(pool);
	pool->hooks->link_up(pool->arg, l->index);
}

/* ---- the link ---- */

static void
on_link_up(void *arg)
{
	pool_link_load_scripts(arg);
}

static void
on_link_down(void *arg, const char *why)
{
	struct pool_link *l = arg;
	struct pool *pool = l->pool;
	int rounds;

	if (l->up)
		pool->stats->master_links--;
	l->up = false;
	l->scripts_due = 0;
	l->commands = 0;
	l->waits = l->again = 0;
	l->wait_due = false;
	l->round = (struct replicas_round){.target = -1, .acknowledged = -1};
	pool_link_deliver_withheld(l, false);
	groups_close(&l->groups, pool_link_send_group, l);
	/* The votes may lead to more calls on what the driver does not know to be down yet: these are
	 * answered before it does, too. A driver that never stops asking gets the rest of its answers behind.
	 */
	for (rounds = 0; pool->unsent.head && rounds < UNSENT_ROUNDS; rounds++)
		pool_tell_unsent(pool);
	pool_watch(pool);
	pool->hooks->link_down(pool->arg, l->index, why);
}

static void
on_link_reply(void *arg, void *context, enum link_fate fate, const struct redisReply *reply)
{
	struct pool_link *l = arg;
	struct batch *batch;

	if (context == &script_context) {
		pool_link_script_loaded(l, fate, reply);
	} else if (context == &group_context || context == &target_context || context == &wait_context ||
		   context == &info_context) {
		pool_link_waited(l, context, fate, reply);
	} else if (context == &join_context) {
		if (fate == LINK_ANSWERED && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
			pool_joined(l->pool, &l->pool->changing);
	} else if (context == &pool_lookup_context) {
		pool_link_lookup_answered(l, fate == LINK_ANSWERED ? reply : NULL);
	} else if (context == &pool_publish_context) {
		return;
	} else {
		batch = batches_take(&l->sent);
		assert(batch && batch == context);
		if (fate != LINK_ANSWERED)
			pool_link_fail(
				l, batch, fate == LINK_UNSENT ? OUTCOME_UNSENT : OUTCOME_UNKNOWN, NULL);
		else if (reply->type != REDIS_REPLY_ERROR || !pool_link_refused(l, batch, reply))
			pool_link_answered(l, batch, reply);
	}
}

static const struct link_hooks link_hooks = {.up = on_link_up, .down = on_link_down, .reply = on_link_reply};

bool
pool_link_open(
	struct pool_link *l, struct pool *pool, struct event_base *base, const struct link_settings *settings)
{
	l->pool = pool;
	batches_init(&l->sent);
	batches_init(&l->withheld);
	l->link = link_new(base, settings, &link_hooks, l, pool->log, pool->stats);
	return l->link != NULL;
}

void
pool_link_end(struct pool_link *l, const char *why)
{
	link_end(l->link, why);
}

void
pool_link_close(struct pool_link *l)
{
	link_free(l->link);
	batches_done(&l->sent);
	batches_done(&l->withheld);
	groups_done(&l->groups);
}
