/*
 * pool: groups calls into commands, and takes their answers apart. Called by the driver; must never repeat a
 * call, reorder the calls of a link, or answer one twice or not at all.
 *
 *     pool_call ──▶ group (one operation) ──▶ batch ──▶ link ──▶ … ──▶ batch ──▶ votes
 *          └──────▶ unsent ─────────────────── (next turn) ───────────────────▶ votes
 */
#include "daemon/pool.h"

#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/batch.h"
#include "daemon/call.h"
#include "daemon/inbox.h"
#include "daemon/link.h"
#include "daemon/script.h"
#include "daemon/sentinel.h"

#include <assert.h>
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSENT_ROUNDS 16

struct lane {
	struct pool *pool;
	unsigned index;
	struct link *link;
	bool up;            /* told to the driver */
	size_t scripts_due; /* SCRIPT LOADs without an answer */
	struct group group;
	struct batches sent; /* under way, in the order of their answers */
	unsigned commands;   /* not yet written */
};

struct pool {
	const struct pool_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats *stats;
	char *strings; /* namespace, layout: behind call_settings */
	char *where;
	struct call_settings call_settings;
	bool unguarded; /* trust never ends */
	struct call_command command;
	struct inbox *inbox;
	struct sentinel *sentinel; /* NULL: the master has its place */
	bool found;                /* the sentinels have said where it is */
	bool doubted;              /* what is there is no master */
	struct event *later;       /* delivers the unsent */
	struct batches unsent;
	unsigned lane_count;
	struct lane lanes[POOL_LINKS_MAX];
};

/* The context of a SCRIPT LOAD, to tell it from a batch. */
static const char script_context;

static void
batch_fail(struct pool *pool, const struct batch *batch, enum outcome outcome, const char *why)
{
	size_t i;

	for (i = 0; i < batch->n; i++) {
		struct vote vote;

		if (outcome == OUTCOME_UNSENT)
			pool->stats->master_unsent++;
		else
			pool->stats->master_unknown++;
		call_fail(&batch->calls[i], outcome, why, &vote);
		pool->hooks->vote(pool->arg, &vote);
	}
}

static void
pool_put_unsent(struct pool *pool, struct batch *batch)
{
	/* A timer, not an activation: those made while events are processed would be processed before the
	 * loop looks at any socket again. */
	const struct timeval now = {0};

	batches_put(&pool->unsent, batch);
	if (!event_pending(pool->later, EV_TIMEOUT, NULL) && event_add(pool->later, &now) != 0)
		abort(); /* out of memory: these calls could not be answered */
}

/* Those there are now; what the votes lead to waits for its own turn. */
static void
pool_tell_unsent(struct pool *pool)
{
	struct batch *batch = pool->unsent.head, *next;

	batches_init(&pool->unsent);
	for (; batch; batch = next) {
		next = batch->next;
		batch_fail(pool, batch, OUTCOME_UNSENT, NULL);
		free(batch);
	}
}

static void
on_later(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pool_tell_unsent(arg);
}

/* The group becomes a command, or is answered UNSENT. */
static void
lane_close_group(struct lane *lane)
{
	struct pool *pool = lane->pool;
	struct group *group = &lane->group;
	size_t n = group->n;
	struct batch *batch;
	bool encoded;

	if (n == 0)
		return;
	encoded = lane->up && call_encode(&pool->command, &pool->call_settings, group_calls(group), n);
	batch = group_close(group);
	if (encoded &&
		link_send(lane->link, pool->command.argc, pool->command.argv, pool->command.argvlen, batch)) {
		batches_put(&lane->sent, batch);
		pool->stats->master_scripts++;
		pool->stats->master_calls += (int64_t)n;
		if (++lane->commands >= POOL_WRITE_COMMANDS) {
			lane->commands = 0;
			link_flush(lane->link);
		}
	} else {
		pool_put_unsent(pool, batch);
	}
}

void
pool_call(struct pool *pool, const struct call *call)
{
	struct lane *lane = &pool->lanes[call->link];
	struct group *group = &lane->group;

	assert(call->link < pool->lane_count);
	if (!lane->up) {
		pool_put_unsent(pool, batch_of(call));
		return;
	}
	if (group->n > 0 && (group->n == CALL_GROUP_MAX || !call_groups(&group->calls[0], call)))
		lane_close_group(lane);
	group_add(group, call);
}

void
pool_flush(struct pool *pool)
{
	unsigned i;

	for (i = 0; i < pool->lane_count; i++) {
		lane_close_group(&pool->lanes[i]);
		pool->lanes[i].commands = 0;
		link_flush(pool->lanes[i].link);
	}
}

/* Every script by its text, before any call needs one; called again when the master has forgotten them. */
static void
lane_load_scripts(struct lane *lane)
{
	size_t i;

	for (i = 0; i < CALL_OP_COUNT; i++) {
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

/* Sentinel hears of a failover sooner or later than we lose our connections. */
static void
pool_watch(struct pool *pool)
{
	bool closely = pool->doubted;
	unsigned i;

	if (!pool->sentinel)
		return;
	for (i = 0; i < pool->lane_count; i++)
		closely |= !pool->lanes[i].up;
	sentinel_watch(pool->sentinel, closely);
}

static void
on_link_up(void *arg)
{
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
	lane_close_group(lane);
	/* The votes may lead to more calls on what the driver does not know to be down yet: these are
	 * answered before it does, too. A driver that never stops asking gets the rest of its answers behind.
	 */
	for (rounds = 0; pool->unsent.head && rounds < UNSENT_ROUNDS; rounds++)
		pool_tell_unsent(pool);
	pool_watch(pool);
	pool->hooks->link_down(pool->arg, lane->index, why);
}

static void
lane_script_loaded(struct lane *lane, enum link_fate fate, const struct redisReply *reply)
{
	struct pool *pool = lane->pool;

	if (fate != LINK_ANSWERED)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		link_break(lane->link, reply->str);
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

/* The script is unknown: nothing ran. The calls behind it find the scripts again, or are answered like it. */
static void
lane_noscript(struct lane *lane, const struct batch *batch)
{
	struct pool *pool = lane->pool;

	if (lane->scripts_due == 0) {
		pool->stats->master_script_reloads++;
		LOG_EVENT(pool->log, LOG_WARNING_LEVEL, "master.scripts_lost",
			log_text("master", link_where(lane->link)), log_number("link", lane->index));
		lane_load_scripts(lane);
	}
	batch_fail(
		pool, batch, OUTCOME_UNSENT, "the master had forgotten the scripts; they are loaded again");
}

static void
pool_see_vote(struct pool *pool, const struct vote *vote)
{
	bool greeted = vote->op == CALL_HELLO && vote->outcome == OUTCOME_YES;

	/* The master's memory is one that a greeting has admitted: from here on trust would be about another
	 * one. */
	if (greeted && vote->greeting == GREETING_GOOD && vote->admitted)
		pool->call_settings.trusted = pool->unguarded;
	if (greeted)
		pool->doubted = vote->greeting == GREETING_REPLICA;
	else if (vote->outcome == OUTCOME_DEMOTED)
		pool->doubted = true;
	pool_watch(pool);
}

static void
lane_answered(struct lane *lane, const struct batch *batch, const struct redisReply *reply)
{
	struct pool *pool = lane->pool;
	struct vote votes[CALL_GROUP_MAX];
	bool sense = true;
	size_t i;

	call_decode(reply, batch->calls, batch->n, votes);
	for (i = 0; i < batch->n; i++) {
		if (votes[i].outcome == OUTCOME_UNKNOWN) {
			pool->stats->master_unknown++;
			sense = false;
		}
		pool_see_vote(pool, &votes[i]);
		pool->hooks->vote(pool->arg, &votes[i]);
	}
	if (!sense)
		pool->stats->master_bad_replies++;
}

static void
on_link_reply(void *arg, void *context, enum link_fate fate, const struct redisReply *reply)
{
	struct lane *lane = arg;
	struct batch *batch;

	if (context == &script_context) {
		lane_script_loaded(lane, fate, reply);
		return;
	}
	batch = batches_take(&lane->sent);
	assert(batch && batch == context);
	if (fate == LINK_UNSENT)
		batch_fail(lane->pool, batch, OUTCOME_UNSENT, NULL);
	else if (fate == LINK_UNKNOWN)
		batch_fail(lane->pool, batch, OUTCOME_UNKNOWN, NULL);
	else if (call_noscript(reply))
		lane_noscript(lane, batch);
	else
		lane_answered(lane, batch, reply);
	free(batch);
}

static void
on_subscribed(void *arg)
{
	struct pool *pool = arg;

	pool->hooks->subscribed(pool->arg);
}

static void
on_wake(void *arg, struct slice name)
{
	struct pool *pool = arg;

	pool->hooks->wake(pool->arg, name);
}

static void
on_want(void *arg, struct slice name)
{
	struct pool *pool = arg;

	pool->hooks->want(pool->arg, name);
}

static void
on_flushed(void *arg)
{
	struct pool *pool = arg;

	LOG_EVENT(pool->log, LOG_WARNING_LEVEL, "master.flushed", log_text("master", pool->where));
	pool->hooks->flushed(pool->arg);
}

static void
pool_set_where(struct pool *pool, const char *title, const char *address)
{
	char *where = NULL;

	if (asprintf(&where, "%s%s%s", title ? title : "", title ? " " : "", address) < 0)
		abort(); /* out of memory */
	free(pool->where);
	pool->where = where;
}

static void
on_found(void *arg, const struct sentinel_found *found)
{
	struct pool *pool = arg;
	bool six = strchr(found->host, ':') != NULL;
	char where[300];
	unsigned i;

	snprintf(where, sizeof where, "%s%s%s:%u", six ? "[" : "", found->host, six ? "]" : "", found->port);
	if (pool->found && strcmp(where, pool->where) == 0)
		return;
	pool->found = true;
	pool_set_where(pool, NULL, where);
	for (i = 0; i < pool->lane_count; i++)
		if (!link_aim(pool->lanes[i].link, found->host, found->port))
			abort(); /* out of memory: it would stay where no master is */
	if (!inbox_aim(pool->inbox, found->host, found->port))
		abort();
}

/* Where it was found before it may still be: its links say what there is to say. */
static void
on_lost(void *arg, const char *why)
{
	struct pool *pool = arg;
	unsigned i;

	for (i = 0; !pool->found && i < pool->lane_count; i++)
		pool->hooks->link_down(pool->arg, i, why);
}

static const struct sentinel_hooks sentinel_hooks = {.found = on_found, .lost = on_lost};
static const struct link_hooks link_hooks = {.up = on_link_up, .down = on_link_down, .reply = on_link_reply};
static const struct inbox_hooks inbox_hooks = {
	.subscribed = on_subscribed, .wake = on_wake, .want = on_want, .flushed = on_flushed};

static bool
settings_make_sense(const struct pool_settings *s)
{
	return !!s->host + !!s->path + !!s->sentinel == 1 && s->links >= 1 && s->links <= POOL_LINKS_MAX &&
	       s->namespace && s->layout && s->daemon_id && strlen(s->daemon_id) == CALL_DAEMON_ID_SIZE - 1 &&
	       s->db >= 0 && s->connect_ms > 0 && s->reply_ms > 0 && s->lease_max_ms > 0 && s->margin_ms >= 0;
}

/* False: out of memory. */
static bool
pool_copy_settings(struct pool *pool, const struct pool_settings *s)
{
	size_t n = strlen(s->namespace) + 1, m = strlen(s->layout) + 1;

	pool->strings = malloc(n + m);
	if (!pool->strings)
		return false;
	memcpy(pool->strings, s->namespace, n);
	memcpy(pool->strings + n, s->layout, m);
	pool->call_settings = (struct call_settings){.namespace_ = pool->strings,
		.lease_max_ms = s->lease_max_ms,
		.margin_ms = s->margin_ms,
		.layout = pool->strings + n,
		.trusted = s->trusted || s->unguarded};
	pool->unguarded = s->unguarded;
	memcpy(pool->call_settings.daemon_id, s->daemon_id, CALL_DAEMON_ID_SIZE);
	return true;
}

/* Several attempts have to fit into the life of a lease: a master that is back keeps what it would otherwise
 * cost. */
static int64_t
pool_retry_most_ms(const struct pool_settings *s)
{
	int64_t tenth_ms = s->lease_max_ms / 10;

	if (tenth_ms > LINK_RETRY_MAX_MS)
		return LINK_RETRY_MAX_MS;
	return tenth_ms > LINK_RETRY_MIN_MS ? tenth_ms : LINK_RETRY_MIN_MS;
}

static bool
pool_open(struct pool *pool, struct event_base *base, const struct pool_settings *s)
{
	char client_name[64], channel[512];
	struct link_settings settings = {.host = s->host,
		.port = s->port,
		.path = s->path,
		.user = s->user,
		.password = s->password,
		.db = s->db,
		.client_name = client_name,
		.connect_ms = s->connect_ms,
		.reply_ms = s->reply_ms,
		.retry_most_ms = pool_retry_most_ms(s),
		.output_bytes = s->output_bytes};
	unsigned i;

	for (i = 0; i < s->links; i++) {
		struct lane *lane = &pool->lanes[i];

		lane->pool = pool;
		lane->index = i;
		batches_init(&lane->sent);
		snprintf(client_name, sizeof client_name, "holdfast-%.8s-%u", s->daemon_id, i);
		lane->link = link_new(base, &settings, &link_hooks, lane, pool->log, pool->stats);
		if (!lane->link)
			return false;
		pool->lane_count++;
	}
	snprintf(client_name, sizeof client_name, "holdfast-%.8s-inbox", s->daemon_id);
	if ((size_t)snprintf(channel, sizeof channel, "%s:inbox:%s", s->namespace, s->daemon_id) >=
		sizeof channel)
		return false;
	pool->inbox = inbox_new(base, &settings, channel, &inbox_hooks, pool, pool->log, pool->stats);
	return pool->inbox != NULL;
}

static bool
pool_open_sentinel(struct pool *pool, struct event_base *base, const struct pool_settings *s)
{
	struct sentinel_settings settings;
	char client_name[64];

	if (!s->sentinel) {
		pool_set_where(pool, s->title, link_where(pool->lanes[0].link));
		return true;
	}
	snprintf(client_name, sizeof client_name, "holdfast-%.8s-sentinel", s->daemon_id);
	settings = *s->sentinel;
	settings.client_name = client_name;
	settings.connect_ms = s->connect_ms;
	settings.reply_ms = s->reply_ms;
	pool_set_where(pool, s->title, settings.name);
	pool->sentinel = sentinel_new(base, &settings, &sentinel_hooks, pool, pool->log);
	pool_watch(pool);
	return pool->sentinel != NULL;
}

const char *
pool_where(const struct pool *pool)
{
	return pool->where;
}

struct pool *
pool_new(struct event_base *base, const struct pool_settings *settings, const struct pool_hooks *hooks,
	void *arg, struct log *log, struct stats *stats)
{
	struct pool *pool;

	if (!settings_make_sense(settings))
		return NULL;
	pool = calloc(1, sizeof *pool);
	if (!pool)
		return NULL;
	pool->hooks = hooks;
	pool->arg = arg;
	pool->log = log;
	pool->stats = stats;
	batches_init(&pool->unsent);
	call_command_init(&pool->command);
	pool->later = event_new(base, -1, 0, on_later, pool);
	if (pool->later && pool_copy_settings(pool, settings) && pool_open(pool, base, settings) &&
		pool_open_sentinel(pool, base, settings))
		return pool;
	pool_free(pool);
	return NULL;
}

void
pool_free(struct pool *pool)
{
	unsigned i;

	if (!pool)
		return;
	sentinel_free(pool->sentinel);
	inbox_free(pool->inbox);
	for (i = 0; i < pool->lane_count; i++) {
		link_free(pool->lanes[i].link);
		batches_done(&pool->lanes[i].sent);
		group_done(&pool->lanes[i].group);
	}
	batches_done(&pool->unsent);
	if (pool->later)
		event_free(pool->later);
	call_command_done(&pool->command);
	free(pool->strings);
	free(pool->where);
	free(pool);
}
