/*
 * finder: asks the sentinels or nodes, hears of failovers, and decides whom to believe. Called by the pool;
 * finder_inner.h has the questions of both kinds.
 */
#include "daemon/redis/finder.h"

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/loop.h"
#include "daemon/base/stats.h"
#include "daemon/redis/finder_cluster.h"
#include "daemon/redis/finder_inner.h"
#include "daemon/redis/link.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_BYTES 65536

struct watcher {
	struct finder *finder;
	struct link *link;
	struct finder_address address; /* its host is owned */
	size_t due;                    /* answers under way */
	bool subscribed;               /* asked for; nothing but messages until it is ended */
	bool no_push;                  /* it does not let us subscribe */
	bool knows;                    /* opinion is there */
	struct opinion opinion;
	bool sense; /* of the answers so far; then reading is what they say */
	struct opinion reading;
	char why[FINDER_WHY_MAX]; /* it has no opinion; "": not heard yet */
};

struct finder {
	const struct finder_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats stats; /* of the links: INFO counts those to masters */
	enum finder_kind kind;
	const struct finder_source *source;
	char *name;
	char *key;
	unsigned slot;
	struct timeout *timeout;
	bool closely;
	bool found;
	struct opinion believed; /* when found */
	struct replicas_found replicas;
	int64_t since_ms;
	char why[FINDER_WHY_MAX]; /* reported last; "": not lost */
	size_t count;
	struct watcher watchers[];
};

/* Contexts, to tell the answers apart: one for each question. */
static const char about_master[FINDER_QUESTIONS_MAX], about_subscription;

static const struct finder_source *const sources[] = {
	[FINDER_SENTINEL] = &finder_sentinel,
	[FINDER_CLUSTER] = &finder_cluster,
};

bool
answer_refuse(const struct redisReply *reply, const char *role, char *why)
{
	if (reply->type == REDIS_REPLY_ERROR)
		snprintf(why, FINDER_WHY_MAX, "says %s", reply->str);
	else
		snprintf(why, FINDER_WHY_MAX, "says what no %s does", role);
	return false;
}

bool
host_copy(char out[FINDER_HOST_MAX], const char *host, size_t n)
{
	if (n == 0 || n >= FINDER_HOST_MAX)
		return false;
	memcpy(out, host, n);
	out[n] = '\0';
	return strspn(out, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%") == n;
}

/* ---- asking ---- */

static void
watcher_say(struct watcher *w, const char *context, int argc, const char *const *argv)
{
	size_t argvlen[FINDER_WORDS_MAX];
	int i;

	assert(argc <= FINDER_WORDS_MAX);
	for (i = 0; i < argc; i++)
		argvlen[i] = strlen(argv[i]);
	if (!link_send(w->link, argc, argv, argvlen, (void *)context))
		link_break(w->link, "out of memory");
}

static struct inquiry
watcher_inquiry(const struct watcher *w)
{
	const struct finder *f = w->finder;

	return (struct inquiry){.name = f->name,
		.key = f->key,
		.slot = f->slot,
		.address = &w->address,
		.believed = f->found ? &f->believed : NULL};
}

/* A subscribed connection may not ask, so its subscription is ended until the answer has come. The answer has
 * what happens meanwhile. */
static void
watcher_ask(struct watcher *w)
{
	const struct finder_source *source = w->finder->source;
	const struct inquiry inquiry = watcher_inquiry(w);
	const char *words[FINDER_WORDS_MAX];
	size_t i;

	if (w->due > 0 || !link_is_up(w->link))
		return;
	if (w->subscribed)
		watcher_say(w, &about_subscription, 2, (const char *[]){"UNSUBSCRIBE", source->channel});
	w->reading = (struct opinion){0};
	w->sense = true;
	for (i = 0; i < source->questions; i++) {
		int argc = source->ask(&inquiry, i, words);

		watcher_say(w, &about_master[i], argc, words);
		w->due++;
	}
	w->subscribed = source->channel && !w->no_push;
	if (w->subscribed)
		watcher_say(w, &about_subscription, 2, (const char *[]){"SUBSCRIBE", source->channel});
	link_flush(w->link);
}

static void
finder_arm(struct finder *f)
{
	int64_t ms = f->closely ? FINDER_ASK_CLOSE_MS : FINDER_ASK_MS;
	size_t i;

	for (i = 0; i < f->count; i++)
		if (f->watchers[i].no_push && ms > FINDER_ASK_NO_PUSH_MS)
			ms = FINDER_ASK_NO_PUSH_MS;
	timeout_set(f->timeout, ms);
}

static void
finder_ask(struct finder *f)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		watcher_ask(&f->watchers[i]);
	finder_arm(f);
}

static void
on_timeout(void *arg)
{
	finder_ask(arg);
}

/* ---- deciding ---- */

static size_t
finder_majority(const struct finder *f)
{
	return f->count / 2 + 1;
}

static bool
same_address(const struct whereabouts *a, const struct whereabouts *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* A node is known by its id: it may have several names. */
static bool
same_server(const struct opinion *a, const struct opinion *b)
{
	return a->node[0] != '\0' ? strcmp(a->node, b->node) == 0 : same_address(&a->at, &b->at);
}

/* Whether the opinion is that this server is there. */
static bool
opinion_names(const struct opinion *o, const struct opinion *server)
{
	size_t i;

	if (strcmp(o->node, server->node) != 0)
		return false;
	if (same_address(&o->at, &server->at))
		return true;
	for (i = 0; i < o->aliases; i++)
		if (same_address(&o->alias[i], &server->at))
			return true;
	return false;
}

struct tally {
	size_t named;  /* how many name the server at this address */
	size_t send;   /* how many of them would send a client there */
	int64_t epoch; /* that all of these have reached */
};

static struct tally
finder_count(const struct finder *f, const struct opinion *server)
{
	struct tally tally = {.epoch = INT64_MAX};
	size_t i;

	for (i = 0; i < f->count; i++) {
		const struct opinion *o = &f->watchers[i].opinion;

		if (!f->watchers[i].knows || !opinion_names(o, server))
			continue;
		tally.named++;
		tally.send += same_address(&o->at, &server->at);
		if (o->epoch < tally.epoch)
			tally.epoch = o->epoch;
	}
	return tally;
}

/*
 * What a majority of all addresses that were configured says. NULL: no majority says the same.
 *
 * The server that they call the master gets its password and the leases, so a single one of them is not
 * believed, whatever its epoch. Two majorities have an honest member in common, so two daemons that follow
 * majorities follow what sentinels or nodes agree on. A server with several addresses is used at the address
 * to which most of them send clients; if several are equal, at the one used so far.
 */
static const struct opinion *
finder_best(const struct finder *f, int64_t *epoch)
{
	const struct opinion *best = NULL;
	size_t i, most = 0;

	for (i = 0; i < f->count; i++) {
		const struct opinion *o = &f->watchers[i].opinion;
		struct tally tally;

		if (!f->watchers[i].knows)
			continue;
		tally = finder_count(f, o);
		if (tally.named < finder_majority(f) || tally.send < most ||
			(tally.send == most && !(f->found && same_address(&o->at, &f->believed.at))))
			continue;
		best = o;
		most = tally.send;
		*epoch = tally.epoch;
	}
	return best;
}

/* Nodes that name this master as the owner themselves, so they let no other one have the keys; a replica of
 * another master if that one does so, too. */
static void
gather_gone(const struct finder *f, const struct opinion *best, bool replicas, struct roster *gone)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct opinion *o = &f->watchers[i].opinion;

		if (!f->watchers[i].knows || o->asked[0] == '\0' || o->myself || !same_server(o, best))
			continue;
		if (replicas ? roster_has(gone, slice_of(o->leader)) : o->leader[0] == '\0')
			roster_add(gone, slice_of(o->asked));
	}
}

/* A sentinel or node that has just started does not know of all replicas yet; so what any of them knows
 * counts. */
static void
finder_gather(const struct finder *f, const struct opinion *best, struct replicas_found *out)
{
	*out = (struct replicas_found){.ids = f->kind == FINDER_CLUSTER};
	if (f->kind == FINDER_CLUSTER)
		snprintf(out->self, sizeof out->self, "%s", best->node);
	else
		snprintf(out->self, sizeof out->self, "%s:%u", best->at.host, best->at.port);
	for (size_t i = 0; i < f->count; i++) {
		const struct opinion *o = &f->watchers[i].opinion;

		if (!f->watchers[i].knows || !same_server(o, best))
			continue;
		if (o->replicas > out->count)
			out->count = o->replicas;
		for (size_t k = 0; k < o->named.n; k++) {
			if (roster_has(&out->named, roster_at(&o->named, k)))
				continue;
			roster_append(&out->named, roster_at(&o->named, k));
			roster_append(&out->addresses, roster_at(&o->addresses, k));
		}
		roster_add_all(&out->previous, &o->previous);
	}
	gather_gone(f, best, false, &out->gone);
	gather_gone(f, best, true, &out->gone);
	if (out->named.n > out->count)
		out->count = (unsigned)out->named.n;
}

static bool
same_replicas(const struct replicas_found *a, const struct replicas_found *b)
{
	return a->count == b->count && strcmp(a->self, b->self) == 0 && roster_same(&a->named, &b->named) &&
	       roster_same(&a->addresses, &b->addresses) && roster_same(&a->previous, &b->previous) &&
	       roster_same(&a->gone, &b->gone);
}

/* As a clause that follows its name. */
static void
watcher_tell(const struct watcher *w, char *text, size_t n)
{
	if (w->knows)
		snprintf(text, n, "names %.100s:%u", w->opinion.at.host, w->opinion.at.port);
	else
		snprintf(text, n, "%s", w->why);
}

/* No majority names a master. This is reported when each address has answered, or could not be reached. */
static void
finder_lose(struct finder *f)
{
	char why[FINDER_WHY_MAX], clause[FINDER_WHY_MAX];
	size_t i, n = 0, known = 0;

	for (i = 0; i < f->count; i++)
		known += f->watchers[i].knows;
	n += (size_t)snprintf(why, sizeof why, "no %s knows where %.64s is: ", f->source->role, f->name);
	if (known > 0)
		n = (size_t)snprintf(why, sizeof why,
			"too few %ss agree where %.64s is (%zu of %zu have to): ", f->source->role, f->name,
			finder_majority(f), f->count);
	for (i = 0; i < f->count; i++) {
		const struct watcher *w = &f->watchers[i];

		if (!w->knows && w->why[0] == '\0')
			return;
		watcher_tell(w, clause, sizeof clause);
		if (n < sizeof why)
			n += (size_t)snprintf(why + n, sizeof why - n, "%s%s %s", i > 0 ? "; " : "",
				link_where(w->link), clause);
	}
	if (strcmp(why, f->why) == 0)
		return;
	memcpy(f->why, why, sizeof why);
	LOG_EVENT(f->log, LOG_WARNING_LEVEL, f->kind == FINDER_CLUSTER ? "cluster.lost" : "sentinel.lost",
		log_text("master_name", f->name), log_text("why", f->why));
	f->hooks->lost(f->arg, f->why);
}

static void
finder_log_found(const struct finder *f)
{
	const struct opinion *o = &f->believed;

	if (f->kind == FINDER_CLUSTER)
		LOG_EVENT(f->log, LOG_INFO_LEVEL, "cluster.found", log_text("master_name", f->name),
			log_number("slot", f->slot), log_text("node", o->node), log_text("host", o->at.host),
			log_number("port", o->at.port), log_number("replicas", f->replicas.count),
			log_number("epoch", o->epoch), log_text("why", o->cause));
	else
		LOG_EVENT(f->log, LOG_INFO_LEVEL, "sentinel.found", log_text("master_name", f->name),
			log_text("host", o->at.host), log_number("port", o->at.port),
			log_number("replicas", f->replicas.count), log_number("epoch", o->epoch));
}

/* An opinion has the cause of a change that it saw itself; for what others have said before, the cause stays.
 */
static void
finder_believe(struct finder *f, struct opinion *next)
{
	bool first = f->since_ms == 0;

	if (!first && same_server(next, &f->believed)) {
		memcpy(next->cause, f->believed.cause, sizeof next->cause);
	} else {
		f->since_ms = clock_ms();
		if (first || next->cause[0] == '\0')
			snprintf(next->cause, sizeof next->cause, "%s",
				first ? "it was found at the start" : "another one is believed");
	}
	f->believed = *next;
}

static void
finder_decide(struct finder *f)
{
	int64_t epoch = 0;
	const struct opinion *best = finder_best(f, &epoch);
	struct replicas_found replicas;
	struct opinion next;
	bool moved;

	if (!best) {
		finder_lose(f);
		return;
	}
	next = *best;
	next.epoch = epoch;
	finder_gather(f, best, &replicas);
	f->why[0] = '\0';
	moved = !f->found || !same_address(&next.at, &f->believed.at) || replicas.count != f->replicas.count;
	if (!moved && same_replicas(&replicas, &f->replicas)) {
		f->believed.epoch = next.epoch;
		return;
	}
	finder_believe(f, &next);
	f->replicas = replicas;
	if (moved)
		finder_log_found(f);
	f->found = f->hooks->found(f->arg,
		&(struct finder_found){
			.host = f->believed.at.host, .port = f->believed.at.port, .replicas = &f->replicas});
}

/* ---- hearing ---- */

static void
watcher_answered(struct watcher *w, size_t question, const struct redisReply *reply)
{
	const struct inquiry inquiry = watcher_inquiry(w);

	assert(w->due > 0);
	w->due--;
	w->sense = w->sense && w->finder->source->read(&inquiry, question, reply, &w->reading, w->why);
	if (w->due > 0)
		return;
	w->knows = w->sense;
	if (w->knows)
		w->opinion = w->reading;
	finder_decide(w->finder);
}

static void
on_up(void *arg)
{
	watcher_ask(arg);
}

static void
on_down(void *arg, const char *why)
{
	struct watcher *w = arg;

	w->due = 0;
	w->subscribed = w->no_push = w->knows = false;
	snprintf(w->why, sizeof w->why, "%s", why);
	finder_decide(w->finder);
}

static void
on_reply(void *arg, void *context, enum link_fate fate, const struct redisReply *reply)
{
	struct watcher *w = arg;

	if (fate != LINK_ANSWERED)
		return;
	if (context != &about_subscription) {
		watcher_answered(w, (size_t)((const char *)context - about_master), reply);
	} else if (reply->type == REDIS_REPLY_ERROR && !w->no_push) {
		LOG_EVENT(w->finder->log, LOG_INFO_LEVEL, "sentinel.no_push",
			log_text("sentinel", link_where(w->link)), log_text("why", reply->str));
		w->no_push = true;
		w->subscribed = false;
		finder_arm(w->finder);
	}
}

/* "NAME old-host old-port new-host new-port". The sentinel that says so is asked for the rest. */
static void
on_message(void *arg, const struct redisReply *message)
{
	struct watcher *w = arg;
	const struct redisReply *payload = message->element[2];
	size_t n = strlen(w->finder->name);

	if (payload->type == REDIS_REPLY_STRING && strncmp(payload->str, w->finder->name, n) == 0 &&
		payload->str[n] == ' ')
		watcher_ask(w);
}

static const struct link_hooks link_hooks = {
	.up = on_up, .down = on_down, .reply = on_reply, .message = on_message};

/* ---- the finder ---- */

void
finder_watch(struct finder *f, bool closely)
{
	bool before = f->closely;

	f->closely = closely;
	if (closely && !before)
		finder_ask(f);
	else if (!closely && before)
		finder_arm(f);
}

bool
finder_set_password(struct finder *f, const char *password)
{
	bool set = true;

	for (size_t i = 0; i < f->count; i++)
		set = link_set_password(f->watchers[i].link, password) && set;
	return set;
}

void
finder_see(const struct finder *f, struct finder_view *out)
{
	*out = (struct finder_view){.kind = f->kind,
		.name = f->name,
		.slot = f->slot,
		.node = f->believed.node,
		.since_ms = f->since_ms > 0 ? clock_ms() - f->since_ms : -1,
		.cause = f->believed.cause};
}

static bool
watchers_open(struct finder *f, struct event_base *base, const struct finder_settings *settings)
{
	struct link_settings link = {.user = settings->user,
		.password = settings->password,
		.tls = settings->tls,
		.client_name = settings->client_name,
		.role = f->source->role,
		.connect_ms = settings->connect_ms,
		.reply_ms = settings->reply_ms,
		.output_bytes = OUTPUT_BYTES};
	size_t i;

	for (i = 0; i < settings->count; i++) {
		struct watcher *w = &f->watchers[i];

		link.host = settings->addresses[i].host;
		link.port = settings->addresses[i].port;
		w->finder = f;
		w->address = (struct finder_address){.host = strdup(link.host), .port = link.port};
		w->link = link_new(base, &link, &link_hooks, w, f->log, &f->stats);
		f->count++;
		if (!w->link || !w->address.host)
			return false;
	}
	return true;
}

struct finder *
finder_new(struct event_base *base, const struct finder_settings *settings, const struct finder_hooks *hooks,
	void *arg, struct log *log)
{
	struct finder *f;

	assert(settings->count >= 1 && settings->count <= FINDER_ADDRESSES_MAX);
	f = calloc(1, sizeof *f + settings->count * sizeof f->watchers[0]);
	if (!f)
		return NULL;
	f->hooks = hooks;
	f->arg = arg;
	f->log = log;
	stats_init(&f->stats);
	f->kind = settings->kind;
	f->source = sources[f->kind];
	f->name = strdup(settings->name);
	f->key = strdup(settings->key ? settings->key : "");
	f->slot = f->key ? slot_of(f->key) : 0;
	f->timeout = timeout_new(base, on_timeout, f);
	if (!f->name || !f->key || !f->timeout || !watchers_open(f, base, settings)) {
		finder_free(f);
		return NULL;
	}
	finder_arm(f);
	return f;
}

void
finder_free(struct finder *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < f->count; i++) {
		link_free(f->watchers[i].link);
		free((char *)f->watchers[i].address.host);
	}
	timeout_free(f->timeout);
	free(f->name);
	free(f->key);
	free(f);
}
