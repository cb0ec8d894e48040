/*
 * pool: see pool.h. It has the settings, the inbox and the finder of one master; pool_link.c has its links,
 * calls and votes. The driver calls it. It must never repeat a call, never reorder the calls of a link about
 * a name, and give each call exactly one vote.
 */
#include "daemon/redis/pool.h"

#include "daemon/base/log.h"
#include "daemon/base/loop.h"
#include "daemon/base/stats.h"
#include "daemon/redis/finder.h"
#include "daemon/redis/inbox.h"
#include "daemon/redis/pool_inner.h"
#include "daemon/redis/pool_link.h"
#include "daemon/redis/vote.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MIN_MS 20  /* replicas have at least this time to acknowledge, */
#define WAIT_MAX_MS 500 /* and at most this, since later answers have to wait for it */

static void
pool_see_vote(struct pool *pool, const struct vote *vote)
{
	bool answered = vote->op == CALL_HELLO && vote->outcome == OUTCOME_YES;

	if (!answered && vote->outcome != OUTCOME_DEMOTED)
		return;
	/* The first HELLO has admitted the memory of the master: from now on trust would be about another
	 * memory. */
	if (answered && vote->hello == HELLO_GOOD && vote->admitted)
		pool->call_settings.trusted = pool->unguarded;
	pool->doubted = !answered || vote->hello == HELLO_REPLICA;
	pool_watch(pool);
}

void
pool_tell(struct pool *pool, const struct vote *vote)
{
	pool_see_vote(pool, vote);
	pool->hooks->vote(pool->arg, vote);
}

void
pool_put_unsent(struct pool *pool, struct batch *batch)
{
	/* A timeout, not event_active(): events that are activated while events are handled would be handled
	 * before the loop polls any socket again. */
	if (!pool->unsent.head)
		timeout_set(pool->later, 0);
	batches_put(&pool->unsent, batch);
}

/* Nothing was done for these calls; the vote quotes the reason of the refusal. */
static void
batch_refuse(struct pool *pool, const struct batch *batch)
{
	struct vote vote;
	size_t i;

	for (i = 0; i < batch->n; i++) {
		call_fail(&batch->calls[i], batch->refused ? OUTCOME_ERROR : OUTCOME_UNSENT, batch->refused,
			&vote);
		pool_tell(pool, &vote);
	}
	if (batch->refused)
		pool->stats->master_unreplicated += (int64_t)batch->n;
	else
		pool->stats->master_unsent += (int64_t)batch->n;
}

void
pool_tell_unsent(struct pool *pool)
{
	struct batch *batch = pool->unsent.head, *next;

	batches_init(&pool->unsent);
	for (; batch; batch = next) {
		next = batch->next;
		batch_refuse(pool, batch);
		batch_free(batch);
	}
}

static void
on_later(void *arg)
{
	pool_tell_unsent(arg);
}

void
pool_call(struct pool *pool, const struct call *call)
{
	assert(call->link < pool->link_count);
	pool_link_call(&pool->links[call->link], call);
}

void
pool_listen(struct pool *pool, struct slice name, bool on)
{
	inbox_listen(pool->inbox, name, on);
}

void
pool_flush(struct pool *pool)
{
	unsigned i;

	for (i = 0; i < pool->link_count; i++)
		pool_link_flush(&pool->links[i]);
}

/* ---- replicas ---- */

static void
pool_probe_later(struct pool *pool)
{
	timeout_set(pool->probe, 2 * pool->wait_ms);
}

/* While too few replicas acknowledge, nothing new is sent that could tell when they are back. */
static void
on_probe(void *arg)
{
	struct pool *pool = arg;
	unsigned i;

	for (i = 0; pool->replicas.missing && i < pool->link_count; i++)
		if (pool_link_probe(&pool->links[i]))
			break;
	if (pool->replicas.missing)
		pool_probe_later(pool);
}

static void
pool_log_replicas(struct pool *pool, bool before)
{
	const struct replicas *r = &pool->replicas;

	if (r->missing == before)
		return;
	if (r->missing)
		LOG_EVENT(pool->log, LOG_WARNING_LEVEL, "master.unreplicated",
			log_text("master", pool->where), log_text("why", r->why),
			log_text("text", "it grants nothing new until enough of its replicas acknowledge"));
	else
		LOG_EVENT(pool->log, LOG_INFO_LEVEL, "master.replicated", log_text("master", pool->where),
			log_number("replicas", r->known));
	if (r->missing)
		pool_probe_later(pool);
}

enum replicas_worth
pool_judge(
	struct pool *pool, const struct replicas_round *round, unsigned asked, const struct redisReply *reply)
{
	bool before = pool->replicas.missing;
	enum replicas_worth worth = REPLICAS_TOO_FEW;

	if (reply)
		worth = replicas_judge(&pool->replicas, round, asked, reply);
	else
		replicas_fail(&pool->replicas);
	/* One that is asked again is no change yet. */
	if (worth == REPLICAS_AGAIN)
		pool->replicas.missing = before;
	pool_log_replicas(pool, before);
	return worth;
}

void
pool_joined(struct pool *pool, const struct replicas_change *change)
{
	struct slice members = roster_text(&change->next_members),
		     joining = roster_text(&change->next_joining);

	LOG_EVENT(pool->log, LOG_INFO_LEVEL, "master.group", log_text("master", pool->where),
		log_bytes("members", members.p, members.n), log_bytes("joining", joining.p, joining.n));
}

const char *
pool_forget(struct pool *pool, struct slice member)
{
	return replicas_forget(&pool->replicas, member);
}

/* ---- a master that moves ---- */

#define LEAVE_MIN_MS 250
#define LEAVE_MAX_MS 5000
#define LEAVE_WHY                                                                                            \
	"the server is no master: it is connected to anew, as its name may lead to another one by now"

/* A failover behind a name ends no connection: each leads to the server that was the master. */
static void
on_leave(void *arg)
{
	struct pool *pool = arg;

	pool->leaving = false;
	if (!pool->doubted)
		return;
	for (unsigned i = 0; i < pool->link_count; i++)
		link_break(pool->links[i].link, LEAVE_WHY);
	inbox_break(pool->inbox, LEAVE_WHY);
}

/* With a finder, that says where to go. */
static void
pool_leave_later(struct pool *pool)
{
	if (!pool->doubted) {
		pool->leave_ms = 0;
		return;
	}
	if (pool->leaving)
		return;
	pool->leaving = true;
	pool->leave_ms = pool->leave_ms == 0 ? LEAVE_MIN_MS : 2 * pool->leave_ms;
	if (pool->leave_ms > LEAVE_MAX_MS)
		pool->leave_ms = LEAVE_MAX_MS;
	timeout_set(pool->leave, pool->leave_ms);
}

void
pool_watch(struct pool *pool)
{
	bool closely = pool->doubted;
	unsigned i;

	if (!pool->finder) {
		pool_leave_later(pool);
		return;
	}
	for (i = 0; i < pool->link_count; i++)
		closely |= !pool->links[i].up;
	finder_watch(pool->finder, closely);
}

/* False: out of memory. */
static bool
pool_set_where(struct pool *pool, const char *title, const char *address)
{
	char *where = NULL;

	if (asprintf(&where, "%s%s%s", title ? title : "", title ? " " : "", address) < 0)
		return false;
	free(pool->where);
	pool->where = where;
	return true;
}

static bool
pool_aim(struct pool *pool, const struct finder_found *found)
{
	bool aimed = inbox_aim(pool->inbox, found->host, found->port);
	unsigned i;

	for (i = 0; i < pool->link_count; i++)
		aimed = link_aim(pool->links[i].link, found->host, found->port) && aimed;
	return aimed;
}

static bool
on_found(void *arg, const struct finder_found *found)
{
	struct pool *pool = arg;
	bool six = strchr(found->host, ':') != NULL, another;
	char where[300];

	snprintf(where, sizeof where, "%s%s%s:%u", six ? "[" : "", found->host, six ? "]" : "", found->port);
	another = !pool->found || strcmp(where, pool->where) != 0;
	replicas_find(&pool->replicas, found->replicas, another);
	if (!another)
		return true;
	pool->found = pool_set_where(pool, NULL, where) && pool_aim(pool, found);
	return pool->found;
}

/* If the master was found before, it may still be there, and its links report its state. */
static void
on_lost(void *arg, const char *why)
{
	struct pool *pool = arg;
	unsigned i;

	for (i = 0; !pool->found && i < pool->link_count; i++)
		pool->hooks->link_down(pool->arg, i, why);
}

static const struct finder_hooks finder_hooks = {.found = on_found, .lost = on_lost};

/* ---- the inbox ---- */

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
on_latch(void *arg, struct slice name)
{
	struct pool *pool = arg;

	pool->hooks->latch(pool->arg, name);
}

static void
on_asked(void *arg, bool answer, struct slice text)
{
	struct pool *pool = arg;

	pool->hooks->asked(pool->arg, answer, text);
}

static void
on_flushed(void *arg)
{
	struct pool *pool = arg;

	LOG_EVENT(pool->log, LOG_WARNING_LEVEL, "master.flushed", log_text("master", pool->where));
	pool->hooks->flushed(pool->arg);
}

static const struct inbox_hooks inbox_hooks = {
	.subscribed = on_subscribed,
	.wake = on_wake,
	.want = on_want,
	.latch = on_latch,
	.flushed = on_flushed,
	.asked = on_asked,
};

static bool
settings_make_sense(const struct pool_settings *s)
{
	return !!s->host + !!s->path + !!s->finder == 1 && s->links >= 1 && s->links <= POOL_LINKS_MAX &&
	       s->namespace && s->layout && s->daemon_id && strlen(s->daemon_id) == CALL_DAEMON_ID_SIZE - 1 &&
	       s->db >= 0 && s->connect_ms > 0 && s->reply_ms > 0 && s->lease_max_ms > 0 && s->margin_ms >= 0;
}

/* A tenth of the longest lease, within these bounds. */
static int64_t
pool_tenth_ms(const struct pool_settings *s, int64_t least_ms, int64_t most_ms)
{
	int64_t tenth_ms = s->lease_max_ms / 10;

	if (tenth_ms > most_ms)
		return most_ms;
	return tenth_ms > least_ms ? tenth_ms : least_ms;
}

static bool
text_copy(const char **out, const char *text)
{
	*out = text ? strdup(text) : NULL;
	return !text || *out;
}

/* False: out of memory. */
static bool
pool_copy_tls(struct pool *pool, const struct tls_settings *tls)
{
	pool->tls.on = tls->on;
	return !tls->on ||
	       (text_copy(&pool->tls.ca, tls->ca) && text_copy(&pool->tls.certificate, tls->certificate) &&
		       text_copy(&pool->tls.key, tls->key));
}

/* False: out of memory. */
static bool
pool_copy_settings(struct pool *pool, const struct pool_settings *s)
{
	const char *open = pool->clustered ? "{" : "", *close = pool->clustered ? "}" : "";
	size_t n = strlen(open) + strlen(s->namespace) + strlen(close) + 1, m = strlen(s->layout) + 1;

	pool->strings = malloc(n + m);
	pool->about = strdup(s->about ? s->about : "");
	pool->user = strdup(s->user ? s->user : "");
	if (!pool->strings || !pool->about || !pool->user || !pool_copy_tls(pool, &s->tls))
		return false;
	snprintf(pool->strings, n, "%s%s%s", open, s->namespace, close);
	memcpy(pool->strings + n, s->layout, m);
	pool->call_settings = (struct call_settings){.namespace_ = pool->strings,
		.margin_ms = s->margin_ms,
		.layout = pool->strings + n,
		.about = pool->about,
		.trusted = s->trusted || s->unguarded};
	pool->unguarded = s->unguarded;
	pool->replicas.watched = s->replicas_ack;
	/* Short enough that a call does not count as unanswered meanwhile. */
	pool->wait_ms = pool_tenth_ms(s, WAIT_MIN_MS, WAIT_MAX_MS);
	memcpy(pool->call_settings.daemon_id, s->daemon_id, CALL_DAEMON_ID_SIZE);
	if (asprintf(&pool->node_key, "%s:node", pool->strings) < 0)
		pool->node_key = NULL;
	return pool->node_key != NULL;
}

static bool
pool_open(struct pool *pool, struct event_base *base, const struct pool_settings *s)
{
	char client_name[64], channel[512];
	struct link_settings settings = {.host = s->host,
		.port = s->port,
		.path = s->path,
		.tls = s->tls,
		.user = s->user,
		.password = s->password,
		.db = s->db,
		.client_name = client_name,
		.connect_ms = s->connect_ms,
		.reply_ms = s->reply_ms,
		/* Several attempts have to fit into one lease: a master that is back soon keeps the leases
		 * that would otherwise be lost. */
		.retry_most_ms = pool_tenth_ms(s, LINK_RETRY_MIN_MS, LINK_RETRY_MAX_MS),
		.output_bytes = s->output_bytes};
	unsigned i;

	for (i = 0; i < s->links; i++) {
		pool->links[i].index = i;
		snprintf(client_name, sizeof client_name, "holdfast-%.8s-%u", s->daemon_id, i);
		if (!pool_link_open(&pool->links[i], pool, base, &settings))
			return false;
		pool->link_count++;
	}
	snprintf(client_name, sizeof client_name, "holdfast-%.8s-inbox", s->daemon_id);
	if ((size_t)snprintf(channel, sizeof channel, "%s:inbox:%s", pool->strings, s->daemon_id) >=
		sizeof channel)
		return false;
	pool->inbox = inbox_new(base, &settings, channel, &inbox_hooks, pool, pool->log, pool->stats);
	return pool->inbox != NULL;
}

static bool
pool_open_finder(struct pool *pool, struct event_base *base, const struct pool_settings *s)
{
	struct finder_settings settings;
	char client_name[64];

	snprintf(pool->replicas.found.self, sizeof pool->replicas.found.self, "%s",
		link_where(pool->links[0].link));
	if (!s->finder)
		return pool_set_where(pool, s->title, link_where(pool->links[0].link));
	snprintf(client_name, sizeof client_name, "holdfast-%.8s-%s", s->daemon_id,
		pool->clustered ? "cluster" : "sentinel");
	settings = *s->finder;
	settings.key = pool->node_key;
	settings.client_name = client_name;
	settings.connect_ms = s->connect_ms;
	settings.reply_ms = s->reply_ms;
	if (!pool_set_where(pool, s->title, settings.name))
		return false;
	pool->finder = finder_new(base, &settings, &finder_hooks, pool, pool->log);
	pool_watch(pool);
	return pool->finder != NULL;
}

const char *
pool_where(const struct pool *pool)
{
	return pool->where;
}

void
pool_see(const struct pool *pool, struct pool_view *out)
{
	*out = (struct pool_view){
		.user = pool->user,
		.tls = &pool->tls,
		.replicas = pool->replicas.known,
		.needed = pool->replicas.needed,
		.replicated = !pool->replicas.missing,
		.group = roster_text(&pool->replicas.members),
		.joining = roster_text(&pool->replicas.joining),
		.round_trip = &pool->round_trip,
		.round_trip_us = pool->round_trip_us,
		.clock_ms = pool->clock_ms,
	};
	if (pool->finder)
		finder_see(pool->finder, &out->finder);
	out->inbox = inbox_subscribed(pool->inbox, out->inbox_why, sizeof out->inbox_why);
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
	pool->clustered = settings->finder && settings->finder->kind == FINDER_CLUSTER;
	pool->later = timeout_new(base, on_later, pool);
	pool->probe = timeout_new(base, on_probe, pool);
	pool->leave = timeout_new(base, on_leave, pool);
	if (pool->later && pool->probe && pool->leave && pool_copy_settings(pool, settings) &&
		pool_open(pool, base, settings) && pool_open_finder(pool, base, settings))
		return pool;
	pool_free(pool);
	return NULL;
}

bool
pool_reload(struct pool *pool, const struct pool_settings *settings)
{
	char *about = strdup(settings->about ? settings->about : "");
	bool set = inbox_set_password(pool->inbox, settings->password) && about;

	if (about) {
		free(pool->about);
		pool->call_settings.about = pool->about = about;
	}
	for (unsigned i = 0; i < pool->link_count; i++)
		set = link_set_password(pool->links[i].link, settings->password) && set;
	if (pool->finder && settings->finder)
		set = finder_set_password(pool->finder, settings->finder->password) && set;
	return set;
}

void
pool_end(struct pool *pool, const char *why)
{
	unsigned i;

	finder_free(pool->finder);
	pool->finder = NULL;
	for (i = 0; i < pool->link_count; i++)
		pool_link_end(&pool->links[i], why);
	while (pool->unsent.head)
		pool_tell_unsent(pool);
}

void
pool_free(struct pool *pool)
{
	unsigned i;

	if (!pool)
		return;
	finder_free(pool->finder);
	inbox_free(pool->inbox);
	for (i = 0; i < pool->link_count; i++)
		pool_link_close(&pool->links[i]);
	batches_done(&pool->unsent);
	timeout_free(pool->later);
	timeout_free(pool->probe);
	timeout_free(pool->leave);
	call_command_done(&pool->command);
	free(pool->strings);
	free(pool->node_key);
	free(pool->about);
	free(pool->user);
	free((char *)pool->tls.ca);
	free((char *)pool->tls.certificate);
	free((char *)pool->tls.key);
	free(pool->where);
	free(pool);
}
