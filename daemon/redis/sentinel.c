/*
 * sentinel: asks the sentinels, hears of failovers, and decides whom to believe. Called by the pool; must
 * never trust an answer to have the form it should have.
 */
#include "daemon/redis/sentinel.h"

#include "daemon/base/log.h"
#include "daemon/base/loop.h"
#include "daemon/base/stats.h"
#include "daemon/redis/link.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MAX     256
#define WHY_MAX      256
#define CHANNEL      "+switch-master"
#define OUTPUT_BYTES 65536

/* What one sentinel says. */
struct opinion {
	char host[HOST_MAX];
	uint16_t port;
	unsigned replicas;
	int64_t epoch; /* of its configuration: a failover makes it greater */
};

struct watcher {
	struct sentinel *sentinel;
	struct link *link;
	bool asking;     /* the answer is under way */
	bool subscribed; /* asked for; nothing but messages until it is ended */
	bool no_push;    /* it does not let us subscribe */
	bool knows;      /* opinion is there */
	struct opinion opinion;
	char why[WHY_MAX]; /* it has no opinion; "": not heard yet */
};

struct sentinel {
	const struct sentinel_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats stats; /* of the links: INFO counts those to masters */
	char *name;
	struct timeout *timeout;
	bool closely;
	bool found;
	struct opinion believed; /* when found */
	char why[WHY_MAX];       /* told last; "": not lost */
	size_t count;
	struct watcher watchers[];
};

/* Contexts, to tell the answers apart. */
static const char about_master, about_subscription;

static void
watcher_say(struct watcher *w, const char *context, int argc, const char *const *argv)
{
	size_t argvlen[3];
	int i;

	assert(argc <= 3);
	for (i = 0; i < argc; i++)
		argvlen[i] = strlen(argv[i]);
	if (!link_send(w->link, argc, argv, argvlen, (void *)context))
		link_break(w->link, "out of memory");
}

/* A subscribed connection may not ask, so its subscription is ended for as long as that takes; what happens
 * meanwhile the answer knows. */
static void
watcher_ask(struct watcher *w)
{
	if (w->asking || !link_is_up(w->link))
		return;
	w->asking = true;
	if (w->subscribed)
		watcher_say(w, &about_subscription, 2, (const char *[]){"UNSUBSCRIBE", CHANNEL});
	watcher_say(w, &about_master, 3, (const char *[]){"SENTINEL", "MASTER", w->sentinel->name});
	w->subscribed = !w->no_push;
	if (w->subscribed)
		watcher_say(w, &about_subscription, 2, (const char *[]){"SUBSCRIBE", CHANNEL});
	link_flush(w->link);
}

static void
sentinel_arm(struct sentinel *s)
{
	int64_t ms = s->closely ? SENTINEL_ASK_CLOSE_MS : SENTINEL_ASK_MS;
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->watchers[i].no_push && ms > SENTINEL_ASK_NO_PUSH_MS)
			ms = SENTINEL_ASK_NO_PUSH_MS;
	timeout_set(s->timeout, ms);
}

static void
sentinel_ask(struct sentinel *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		watcher_ask(&s->watchers[i]);
	sentinel_arm(s);
}

static void
on_timeout(void *arg)
{
	sentinel_ask(arg);
}

static bool
same_place(const struct opinion *a, const struct opinion *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* The highest epoch; of several the one that is believed already. NULL: nobody knows. */
static const struct opinion *
sentinel_best(const struct sentinel *s)
{
	const struct opinion *best = NULL;
	size_t i;

	for (i = 0; i < s->count; i++) {
		const struct opinion *o = &s->watchers[i].opinion;

		if (!s->watchers[i].knows)
			continue;
		if (!best || o->epoch > best->epoch ||
			(o->epoch == best->epoch && s->found && same_place(o, &s->believed) &&
				!same_place(best, &s->believed)))
			best = o;
	}
	return best;
}

/* One that has just started does not know of all replicas yet. */
static unsigned
sentinel_replicas(const struct sentinel *s, const struct opinion *best)
{
	unsigned most = 0;
	size_t i;

	for (i = 0; i < s->count; i++) {
		const struct watcher *w = &s->watchers[i];

		if (w->knows && same_place(&w->opinion, best) && w->opinion.replicas > most)
			most = w->opinion.replicas;
	}
	return most;
}

/* Nobody knows. It is told when each has been heard, or has not been reached. */
static void
sentinel_lose(struct sentinel *s)
{
	char why[WHY_MAX];
	size_t i, n = 0;

	n += (size_t)snprintf(why, sizeof why, "no sentinel knows where %.64s is: ", s->name);
	for (i = 0; i < s->count; i++) {
		const struct watcher *w = &s->watchers[i];

		if (w->why[0] == '\0')
			return;
		if (n < sizeof why)
			n += (size_t)snprintf(why + n, sizeof why - n, "%s%s %s", i > 0 ? "; " : "",
				link_where(w->link), w->why);
	}
	if (strcmp(why, s->why) == 0)
		return;
	memcpy(s->why, why, sizeof why);
	LOG_EVENT(s->log, LOG_WARNING_LEVEL, "sentinel.lost", log_text("master_name", s->name),
		log_text("why", s->why));
	s->hooks->lost(s->arg, s->why);
}

static void
sentinel_decide(struct sentinel *s)
{
	const struct opinion *best = sentinel_best(s);
	struct opinion next;

	if (!best) {
		sentinel_lose(s);
		return;
	}
	next = *best;
	next.replicas = sentinel_replicas(s, best);
	s->why[0] = '\0';
	if (s->found && same_place(&next, &s->believed) && next.replicas == s->believed.replicas)
		return;
	s->believed = next;
	LOG_EVENT(s->log, LOG_INFO_LEVEL, "sentinel.found", log_text("master_name", s->name),
		log_text("host", s->believed.host), log_number("port", s->believed.port),
		log_number("replicas", s->believed.replicas), log_number("epoch", s->believed.epoch));
	s->found = s->hooks->found(s->arg, &(struct sentinel_found){.host = s->believed.host,
						   .port = s->believed.port,
						   .replicas = s->believed.replicas});
}

/* What a sentinel says is neither printed nor resolved unless it looks like an address or a name. */
static bool
host_is_good(const char *host)
{
	return host[0] != '\0' && strlen(host) < HOST_MAX &&
	       strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%") ==
		       strlen(host);
}

static bool
number_read(const char *text, int64_t most, int64_t *out)
{
	int64_t n = 0;

	if (text[0] == '\0' || strlen(text) > 18)
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		n = n * 10 + (*text - '0');
	}
	*out = n;
	return n <= most;
}

/* The value of this key in an array of keys and values; "" when it has none. */
static const char *
reply_field(const struct redisReply *reply, const char *key)
{
	size_t i;

	for (i = 0; i + 1 < reply->elements; i += 2) {
		const struct redisReply *name = reply->element[i], *value = reply->element[i + 1];

		if (name->type == REDIS_REPLY_STRING && value->type == REDIS_REPLY_STRING &&
			strcmp(name->str, key) == 0)
			return value->str;
	}
	return "";
}

static bool
opinion_read(const struct redisReply *reply, struct opinion *out)
{
	int64_t port, replicas;
	const char *host;

	if (reply->type != REDIS_REPLY_ARRAY)
		return false;
	host = reply_field(reply, "ip");
	if (!host_is_good(host) || !number_read(reply_field(reply, "port"), 65535, &port) || port == 0 ||
		!number_read(reply_field(reply, "num-slaves"), 1000, &replicas) ||
		!number_read(reply_field(reply, "config-epoch"), INT64_MAX, &out->epoch))
		return false;
	snprintf(out->host, sizeof out->host, "%s", host);
	out->port = (uint16_t)port;
	out->replicas = (unsigned)replicas;
	return true;
}

static void
watcher_told(struct watcher *w, const struct redisReply *reply)
{
	w->asking = false;
	w->knows = opinion_read(reply, &w->opinion);
	if (!w->knows)
		snprintf(w->why, sizeof w->why, "says %s",
			reply->type == REDIS_REPLY_ERROR ? reply->str : "what no sentinel does");
	sentinel_decide(w->sentinel);
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

	w->asking = w->subscribed = w->no_push = w->knows = false;
	snprintf(w->why, sizeof w->why, "%s", why);
	sentinel_decide(w->sentinel);
}

static void
on_reply(void *arg, void *context, enum link_fate fate, const struct redisReply *reply)
{
	struct watcher *w = arg;

	if (fate != LINK_ANSWERED)
		return;
	if (context == &about_master) {
		watcher_told(w, reply);
	} else if (reply->type == REDIS_REPLY_ERROR && !w->no_push) {
		LOG_EVENT(w->sentinel->log, LOG_INFO_LEVEL, "sentinel.no_push",
			log_text("sentinel", link_where(w->link)), log_text("why", reply->str));
		w->no_push = true;
		w->subscribed = false;
		sentinel_arm(w->sentinel);
	}
}

/* "NAME old-host old-port new-host new-port". The sentinel that says so is asked for the rest. */
static void
on_message(void *arg, const struct redisReply *message)
{
	struct watcher *w = arg;
	const struct redisReply *payload = message->element[2];
	size_t n = strlen(w->sentinel->name);

	if (payload->type == REDIS_REPLY_STRING && strncmp(payload->str, w->sentinel->name, n) == 0 &&
		payload->str[n] == ' ')
		watcher_ask(w);
}

static const struct link_hooks link_hooks = {
	.up = on_up, .down = on_down, .reply = on_reply, .message = on_message};

void
sentinel_watch(struct sentinel *s, bool closely)
{
	bool before = s->closely;

	s->closely = closely;
	if (closely && !before)
		sentinel_ask(s);
	else if (!closely && before)
		sentinel_arm(s);
}

bool
sentinel_set_password(struct sentinel *s, const char *password)
{
	bool set = true;

	for (size_t i = 0; i < s->count; i++)
		set = link_set_password(s->watchers[i].link, password) && set;
	return set;
}

static bool
watchers_open(struct sentinel *s, struct event_base *base, const struct sentinel_settings *settings)
{
	struct link_settings link = {.user = settings->user,
		.password = settings->password,
		.tls = settings->tls,
		.client_name = settings->client_name,
		.role = "sentinel",
		.connect_ms = settings->connect_ms,
		.reply_ms = settings->reply_ms,
		.output_bytes = OUTPUT_BYTES};
	size_t i;

	for (i = 0; i < settings->count; i++) {
		struct watcher *w = &s->watchers[i];

		link.host = settings->places[i].host;
		link.port = settings->places[i].port;
		w->sentinel = s;
		w->link = link_new(base, &link, &link_hooks, w, s->log, &s->stats);
		if (!w->link)
			return false;
		s->count++;
	}
	return true;
}

struct sentinel *
sentinel_new(struct event_base *base, const struct sentinel_settings *settings,
	const struct sentinel_hooks *hooks, void *arg, struct log *log)
{
	struct sentinel *s;

	assert(settings->count >= 1 && settings->count <= SENTINELS_MAX);
	s = calloc(1, sizeof *s + settings->count * sizeof s->watchers[0]);
	if (!s)
		return NULL;
	s->hooks = hooks;
	s->arg = arg;
	s->log = log;
	stats_init(&s->stats);
	s->name = strdup(settings->name);
	s->timeout = timeout_new(base, on_timeout, s);
	if (!s->name || !s->timeout || !watchers_open(s, base, settings)) {
		sentinel_free(s);
		return NULL;
	}
	sentinel_arm(s);
	return s;
}

void
sentinel_free(struct sentinel *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->count; i++)
		link_free(s->watchers[i].link);
	timeout_free(s->timeout);
	free(s->name);
	free(s);
}
