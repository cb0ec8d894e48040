/*
 * pool_lane: one link of the pool; see pool_inner.h.
 *
 *     lane_call ──▶ group of its script ─────▶ batch ──▶ link ──▶ … ──▶ batch ──▶ votes
 *          └──────▶ unsent ─────────────────── (next turn) ───────────────────▶ votes
 *
 * Where replicas have to acknowledge, one WAIT follows all that a turn has sent, and the votes of what it
 * covers are told when it is answered. A second WAIT may be behind the first; more would only split what the
 * next one can cover together.
 */
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/redis/pool_inner.h"
#include "daemon/redis/call.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#define UNSENT_ROUNDS 16
#define WAITS_MAX     2
#define LONE_MIN      16 /* commands: enough to see that one client is at work */

/* Contexts, to tell these answers from those to a batch. */
static const char script_context, info_context, wait_context;

static bool
lane_say(struct lane *lane, const char *context, int argc, const char *const *argv)
{
	size_t argvlen[3];
	int i;

	assert(argc <= 3);
	for (i = 0; i < argc; i++)
		argvlen[i] = strlen(argv[i]);
	if (link_send(lane->link, argc, argv, argvlen, (void *)context))
		return true;
	link_break(lane->link, "no room to send a command");
	return false;
}

/* ---- calls out ---- */

/*
 * One client at work gives a name back and locks the next one. The kernel acknowledges the answers to both
 * while the second is read, and takes longer for that than for all the rest of reading; so the first, which
 * nobody waits for, is acknowledged by itself. Where there are more, what is sent to the master does it by
 * the way.
 */
static void
lane_count(struct lane *lane, size_t n)
{
	const struct batch *first = lane->sent.head;

	if (n > 1 || (first && first->next))
		lane->lone = 0;
	else if (lane->lone < LONE_MIN)
		lane->lone++;
}

/* False: it did not become one. */
static bool
lane_command(struct lane *lane, struct batch *batch, const struct call *calls)
{
	struct pool *pool = lane->pool;
	const struct call_command *command = &pool->command;

	return call_encode(&pool->command, &pool->call_settings, calls, batch->n) &&
	       link_send(lane->link, command->argc, command->argv, command->argvlen, batch);
}

/* The group becomes a command, or is answered later without having been one. */
static void
lane_send_group(void *arg, struct group *group)
{
	struct lane *lane = arg;
	struct pool *pool = lane->pool;
	const struct call *calls = group_calls(group);
	size_t n = group->n;
	enum call_op op = calls[0].op;
	const char *refused = replicas_refuse(&pool->replicas, op);
	struct batch *batch = batch_of_group(&lane->groups.reserve, group);
	bool sent = lane->up && !refused && lane_command(lane, batch, calls);

	/* For want of memory, perhaps. */
	if (!sent && lane->up && !refused && lane->groups.reserve.memory) {
		reserve_free(&lane->groups.reserve);
		sent = lane_command(lane, batch, calls);
	}
	group_clear(group);
	batch->acked = replicas_matter(&pool->replicas, op);
	batch->refused = lane->up ? refused : NULL;
	if (!sent) {
		pool_put_unsent(pool, batch);
		return;
	}
	lane_count(lane, n);
	batches_put(&lane->sent, batch);
	lane->wait_due |= batch->acked;
	pool->stats->master_scripts++;
	pool->stats->master_calls += (int64_t)n;
	if (++lane->commands >= POOL_WRITE_COMMANDS) {
		lane->commands = 0;
		link_flush(lane->link);
	}
}

void
lane_call(struct lane *lane, const struct call *call)
{
	if (lane->up)
		groups_add(&lane->groups, call, lane_send_group, lane);
	else
		pool_put_unsent(lane->pool, batch_of(&lane->groups.reserve, call));
}

static void
lane_wait(struct lane *lane)
{
	char needed[16], ms[24];

	snprintf(needed, sizeof needed, "%u", replicas_needed(&lane->pool->replicas));
	snprintf(ms, sizeof ms, "%lld", (long long)lane->pool->wait_ms);
	if (lane_say(lane, &wait_context, 3, (const char *[]){"WAIT", needed, ms}))
		lane->waits++;
	lane->wait_due = false;
}

void
lane_flush(struct lane *lane)
{
	(void)reserve_fill(&lane->groups.reserve);
	groups_close(&lane->groups, lane_send_group, lane);
	if (lane->wait_due && lane->waits < WAITS_MAX)
		lane_wait(lane);
	lane->commands = 0;
	link_flush(lane->link);
}

bool
lane_probe(struct lane *lane)
{
	if (!lane->up)
		return false;
	if (lane->waits == 0) {
		lane_wait(lane);
		link_flush(lane->link);
	}
	return true;
}

/* ---- votes in ---- */

/* What is kept, in the order in which it was answered. */
static void
lane_tell_kept(struct lane *lane, bool acknowledged)
{
	struct pool *pool = lane->pool;
	struct batch *batch;
	size_t i;

	while ((batch = batches_take(&lane->kept))) {
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

/* Tells the votes now, or keeps them: for their own sake, or behind others. The batch is gone then. */
static void
lane_hand_over(struct lane *lane, struct batch *batch, const struct vote *votes)
{
	size_t i;

	if (batch->acked || lane->kept.head) {
		batch_keep(&lane->groups.reserve, batch, votes);
		batches_put(&lane->kept, batch);
		return;
	}
	for (i = 0; i < batch->n; i++)
		pool_tell(lane->pool, &votes[i]);
	batch_free(batch);
}

static void
lane_fail(struct lane *lane, struct batch *batch, enum outcome outcome, const char *why)
{
	struct stats *stats = lane->pool->stats;
	struct vote votes[CALL_GROUP_MAX];
	size_t i;

	for (i = 0; i < batch->n; i++)
		call_fail(&batch->calls[i], outcome, why, &votes[i]);
	if (outcome == OUTCOME_UNSENT)
		stats->master_unsent += (int64_t)batch->n;
	else
		stats->master_unknown += (int64_t)batch->n;
	batch->acked = false;
	lane_hand_over(lane, batch, votes);
}

/* Every script by its text, before any call needs one; called again when the master has forgotten them. */
static void
lane_load_scripts(struct lane *lane)
{
	size_t i;

	for (i = 0; i < SCRIPT_COUNT; i++) {
		const char *argv[] = {"SCRIPT", "LOAD", scripts[i].text};
		const size_t argvlen[] = {6, 4, scripts[i].length};

		if (!link_send(lane->link, 3, argv, argvlen, (void *)&script_context)) {
			link_break(lane->link, "no room to send the scripts");
			return;
		}
		lane->scripts_due++;
	}
	link_flush(lane->link);
}

/* The script is unknown: nothing ran. The calls behind it find the scripts again, or are answered like it. */
static void
lane_noscript(struct lane *lane, struct batch *batch)
{
	struct pool *pool = lane->pool;

	if (lane->scripts_due == 0) {
		pool->stats->master_script_reloads++;
		LOG_EVENT(pool->log, LOG_WARNING_LEVEL, "master.scripts_lost",
			log_text("master", link_where(lane->link)), log_number("link", lane->index));
		lane_load_scripts(lane);
	}
	lane_fail(lane, batch, OUTCOME_UNSENT, "the master had forgotten the scripts; they are loaded again");
}

static void
lane_answered(struct lane *lane, struct batch *batch, const struct redisReply *reply)
{
	struct stats *stats = lane->pool->stats;
	struct vote votes[CALL_GROUP_MAX];
	bool sense = true, calm = batch->calls[0].op == CALL_RELEASE;
	size_t i;

	call_decode(reply, batch->calls, batch->n, votes);
	for (i = 0; i < batch->n; i++) {
		if (votes[i].outcome != OUTCOME_UNKNOWN)
			continue;
		stats->master_unknown++;
		sense = false;
	}
	if (!sense)
		stats->master_bad_replies++;
	lane_hand_over(lane, batch, votes);
	if (calm && lane->lone == LONE_MIN && lane->sent.head)
		link_acknowledge(lane->link);
}

/* The number of replicas that have all that was sent before. */
static void
lane_waited(struct lane *lane, enum link_fate fate, const struct redisReply *reply)
{
	bool number = fate == LINK_ANSWERED && reply->type == REDIS_REPLY_INTEGER;

	if (fate != LINK_ANSWERED) {
		lane_tell_kept(lane, false);
		return;
	}
	lane->waits--;
	lane_tell_kept(lane, pool_judge(lane->pool, number ? reply->integer : -1));
	if (lane->wait_due && lane->up) {
		lane_wait(lane);
		link_flush(lane->link);
	}
}

#define UNKNOWN "ERR unknown command"

#define NO_SCRIPTS                                                                                           \
	"it does not know SCRIPT LOAD: it is a holdfastd or another program, or a Redis that hides the "     \
	"command by rename-command; name a Redis or Valkey under masters:"

static void
lane_script_loaded(struct lane *lane, enum link_fate fate, const struct redisReply *reply)
{
	struct pool *pool = lane->pool;

	if (fate != LINK_ANSWERED)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		link_break(lane->link,
			strncmp(reply->str, UNKNOWN, sizeof UNKNOWN - 1) == 0 ? NO_SCRIPTS : reply->str);
		return;
	}
	assert(lane->scripts_due > 0);
	lane->scripts_due--;
	if (lane->scripts_due > 0 || lane->up)
		return;
	pool_tell_unsent(pool);
	lane->up = true;
	pool->stats->master_links++;
	pool_watch(pool);
	pool->hooks->link_up(pool->arg, lane->index);
}

/* ---- the link ---- */

void
lane_ask_replicas(struct lane *lane)
{
	if (lane->pool->replicas.watched && link_is_up(lane->link) &&
		lane_say(lane, &info_context, 2, (const char *[]){"INFO", "replication"}))
		link_flush(lane->link);
}

static void
on_link_up(void *arg)
{
	lane_ask_replicas(arg);
	lane_load_scripts(arg);
}

static void
on_link_down(void *arg, const char *why)
{
	struct lane *lane = arg;
	struct pool *pool = lane->pool;
	int rounds;

	if (lane->up)
		pool->stats->master_links--;
	lane->up = false;
	lane->scripts_due = 0;
	lane->commands = 0;
	lane->waits = 0;
	lane->wait_due = false;
	lane_tell_kept(lane, false);
	groups_close(&lane->groups, lane_send_group, lane);
	/* The votes may lead to more calls on what the driver does not know to be down yet: these are
	 * answered before it does, too. A driver that never stops asking gets the rest of its answers behind.
	 */
	for (rounds = 0; pool->unsent.head && rounds < UNSENT_ROUNDS; rounds++)
		pool_tell_unsent(pool);
	pool_watch(pool);
	pool->hooks->link_down(pool->arg, lane->index, why);
}

static void
on_link_reply(void *arg, void *context, enum link_fate fate, const struct redisReply *reply)
{
	struct lane *lane = arg;
	struct batch *batch;

	if (context == &script_context) {
		lane_script_loaded(lane, fate, reply);
	} else if (context == &wait_context) {
		lane_waited(lane, fate, reply);
	} else if (context == &info_context) {
		if (fate == LINK_ANSWERED)
			pool_read_info(lane->pool, reply);
	} else {
		batch = batches_take(&lane->sent);
		assert(batch && batch == context);
		if (fate != LINK_ANSWERED)
			lane_fail(lane, batch, fate == LINK_UNSENT ? OUTCOME_UNSENT : OUTCOME_UNKNOWN, NULL);
		else if (call_noscript(reply))
			lane_noscript(lane, batch);
		else
			lane_answered(lane, batch, reply);
	}
}

static const struct link_hooks link_hooks = {.up = on_link_up, .down = on_link_down, .reply = on_link_reply};

bool
lane_open(struct lane *lane, struct pool *pool, struct event_base *base, const struct link_settings *settings)
{
	lane->pool = pool;
	batches_init(&lane->sent);
	batches_init(&lane->kept);
	lane->link = link_new(base, settings, &link_hooks, lane, pool->log, pool->stats);
	return lane->link != NULL;
}

void
lane_end(struct lane *lane, const char *why)
{
	link_end(lane->link, why);
}

void
lane_close(struct lane *lane)
{
	link_free(lane->link);
	batches_done(&lane->sent);
	batches_done(&lane->kept);
	groups_done(&lane->groups);
}
