/*
 * link: connects, logs in, pairs replies with commands, notices silence, and begins again. It must never
 * repeat a command and never call a hook from within its own interface, link_end() apart.
 */
#include "daemon/redis/link.h"

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/loop.h"
#include "daemon/base/random.h"
#include "daemon/base/stats.h"
#include "daemon/redis/connect.h"
#include "daemon/redis/stream.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUSPECT_MS 20   /* a silent master gets this last moment, in which the loop reads what is there */
#define STABLE_MS  2000 /* up for so long: the next loss is a new one, retried at once */
#define WHY_MAX    256

enum state { WAITING, CONNECTING, LOGIN, UP };

/* Which commands may be sent, and what their replies are for. */
enum sent { SENT_AUTH, SENT_SELECT, SENT_NAME, SENT_HELLO, SENT_PING, SENT_USER };

struct pending {
	void *context;
	uint64_t end; /* position in the output behind its last byte */
	enum sent sent;
};

struct link {
	struct event_base *base;
	const struct link_hooks *hooks;
	void *arg;
	struct log *log;
	struct stats *stats;
	struct link_settings settings;
	struct random random;

	enum state state;
	struct connector *connector;
	struct stream *stream;   /* CONNECTING, once there is an address; LOGIN, UP */
	struct timeout *timeout; /* WAITING: begin; CONNECTING, LOGIN: too late; UP: check */
	unsigned failures;       /* in a row */
	int64_t since_ms;        /* of UP */
	int64_t due_ms;          /* UP: an answer is due since; 0: none is */
	bool suspect, ends;      /* ends: link_end() was called, so its end is no trouble */
	bool away_reported;      /* why has been reported and logged */
	bool flaps; /* breaks soon after each login, with the same why: logged again once it stays up */
	char why[WHY_MAX];

	struct credentials credentials;

	char *aim_host; /* of the next attempt and those after it; NULL: as before */
	uint16_t aim_port;

	struct pending *pending; /* a ring */
	size_t first;
	size_t count;
	size_t room; /* a power of two */
};

static void
link_move(struct link *link, enum state next)
{
	static const unsigned allowed[] = {
		[WAITING] = 1u << CONNECTING,
		[CONNECTING] = 1u << WAITING | 1u << LOGIN,
		[LOGIN] = 1u << WAITING | 1u << UP,
		[UP] = 1u << WAITING,
	};

	assert(allowed[link->state] & 1u << next);
	link->state = next;
}

static bool
pending_grow(struct link *link)
{
	size_t room = link->room ? link->room * 2 : 64, i;
	struct pending *ring;

	if (room > LINK_PENDING_MAX)
		return false;
	ring = malloc(room * sizeof *ring);
	if (!ring)
		return false;
	for (i = 0; i < link->count; i++)
		ring[i] = link->pending[(link->first + i) & (link->room - 1)];
	free(link->pending);
	link->pending = ring;
	link->room = room;
	link->first = 0;
	return true;
}

static struct pending
pending_take(struct link *link)
{
	struct pending taken;

	assert(link->count > 0);
	taken = link->pending[link->first];
	link->first = (link->first + 1) & (link->room - 1);
	link->count--;
	return taken;
}

static bool
link_put(struct link *link, enum sent sent, int argc, const char *const *argv, const size_t *argvlen,
	void *context)
{
	struct pending *slot;

	if (link->count == link->room && !pending_grow(link))
		return false;
	if (!stream_write(link->stream, argc, argv, argvlen))
		return false;
	if (link->count == 0)
		link->due_ms = clock_ms();
	slot = &link->pending[(link->first + link->count) & (link->room - 1)];
	*slot = (struct pending){.context = context, .end = stream_written(link->stream), .sent = sent};
	link->count++;
	return true;
}

/* A command of our own; all its words are strings. */
static bool
link_say(struct link *link, enum sent sent, int argc, const char *const *argv)
{
	size_t argvlen[4];
	int i;

	assert(argc <= 4);
	for (i = 0; i < argc; i++)
		argvlen[i] = strlen(argv[i]);
	return link_put(link, sent, argc, argv, argvlen, NULL);
}

/* What was sent and not answered; also what was never sent. */
static void
link_fail_pending(struct link *link, uint64_t sent)
{
	while (link->count > 0) {
		struct pending p = pending_take(link);

		if (p.sent == SENT_USER)
			link->hooks->reply(
				link->arg, p.context, p.end > sent ? LINK_UNSENT : LINK_UNKNOWN, NULL);
	}
}

/* At once, then 50 ms, 100 ms, ... up to the most, of each the upper half by chance. */
static int64_t
retry_ms(struct link *link)
{
	int64_t most = link->settings.retry_most_ms > 0 ? link->settings.retry_most_ms : LINK_RETRY_MAX_MS;
	int64_t ms = LINK_RETRY_MIN_MS;
	unsigned i;

	if (link->failures <= 1)
		return 0;
	for (i = 2; i < link->failures && ms < most; i++)
		ms *= 2;
	if (ms > most)
		ms = most;
	return ms / 2 + (int64_t)random_below(&link->random, (uint64_t)ms / 2 + 1);
}

static struct log_field
link_log_where(const struct link *link)
{
	return log_text(
		link->settings.role ? link->settings.role : "master", connector_where(link->connector));
}

/* NULL: it has not been changed. */
static const char *
link_log_password(const struct link *link)
{
	const struct credentials *c = &link->credentials;

	return !c->changed ? NULL : c->fallback ? "the one before" : "the new one";
}

static void
link_log_up(struct link *link)
{
	LOG_EVENT(link->log, LOG_INFO_LEVEL, "link.up", log_text("client_name", link->settings.client_name),
		link_log_where(link), log_text("password", link_log_password(link)));
}

static void
link_tell_down(struct link *link, const char *why, bool was_up)
{
	bool again = strcmp(why, link->why) == 0;
	if (!was_up && link->away_reported && again)
		return;
	link->flaps = was_up && again && link->failures > 1;
	snprintf(link->why, sizeof link->why, "%s", why);
	link->away_reported = true;
	if (!link->flaps)
		LOG_EVENT(link->log, link->ends ? LOG_INFO_LEVEL : LOG_WARNING_LEVEL, "link.down",
			log_text("client_name", link->settings.client_name), link_log_where(link),
			log_text("why", link->why));
	link->hooks->down(link->arg, link->why);
}

/* The end of an attempt or of a connection; why may lie in the stream that is freed here. */
static void
link_down(struct link *link, const char *why)
{
	bool was_up = link->state == UP;
	uint64_t sent = 0;
	char reason[WHY_MAX];

	snprintf(reason, sizeof reason, "%s", why);
	if (link->state == CONNECTING)
		connector_stop(link->connector);
	if (link->stream)
		sent = stream_sent(link->stream);
	stream_free(link->stream);
	link->stream = NULL;
	link_move(link, WAITING);
	if (was_up)
		link->stats->master_disconnects++;
	else
		link->stats->master_connect_failures++;
	if (was_up && clock_ms() - link->since_ms >= STABLE_MS)
		link->failures = 0;
	link->failures++;
	timeout_set(link->timeout, retry_ms(link));
	link_fail_pending(link, sent);
	link_tell_down(link, reason, was_up);
}

static bool
reply_begins(const struct redisReply *reply, const char *word)
{
	return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, word, strlen(word)) == 0;
}

static void
link_login_done(struct link *link)
{
	link_move(link, UP);
	link->since_ms = clock_ms();
	link->away_reported = false;
	link->suspect = false;
	link->stats->master_connects++;
	timeout_set(link->timeout, link->settings.reply_ms / 2 + 1);
	if (!link->flaps || link->credentials.changed)
		link_log_up(link);
	credentials_worked(&link->credentials);
	link->hooks->up(link->arg);
}

/* Whether these are the words of a holdfastd; a Redis refuses a login in others. */
static bool
reply_is_ours(const struct redisReply *reply)
{
	return reply_begins(reply, "NOAUTH log in first") ||
	       reply_begins(reply, "WRONGPASS unknown user or wrong password") ||
	       reply_begins(reply, "ERR AUTH: no users are configured");
}

/*
 * An error while logging in. Naming the connection is a courtesy that an ACL may forbid. The last command is
 * a PING, which shows the errors that a master has for every command: those that say "not now" or "not you"
 * end the attempt; after the others (MISCONF, BUSY, NOPERM) the link is up, and each call gets its own.
 */
static void
link_login_reply(struct link *link, enum sent sent, const struct redisReply *reply)
{
	bool failed = false;

	if (reply->type == REDIS_REPLY_ERROR)
		failed = sent == SENT_AUTH || sent == SENT_SELECT || reply_begins(reply, "NOAUTH") ||
			 reply_begins(reply, "LOADING") || reply_begins(reply, "DENIED") ||
			 reply_begins(reply, "ERR max number of clients");
	if (failed && (sent == SENT_AUTH || reply_begins(reply, "NOAUTH")))
		credentials_refused(&link->credentials);
	if (failed)
		stream_break(link->stream, reply_is_ours(reply)
						   ? "it is a holdfastd, which cannot be a master: name a "
						     "Redis or Valkey under masters:"
						   : reply->str);
	else if (sent == SENT_HELLO)
		link_login_done(link);
}

static bool
is_message(const struct redisReply *reply)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
	       reply->element[0]->type == REDIS_REPLY_STRING &&
	       strcmp(reply->element[0]->str, "message") == 0;
}

static void
on_reply(void *arg, const struct redisReply *reply)
{
	struct link *link = arg;
	struct pending p;

	link->suspect = false;
	if (link->hooks->message && is_message(reply)) {
		link->hooks->message(link->arg, reply);
		return;
	}
	if (link->count == 0) {
		/* It may be a last word before the connection is closed: "-ERR max number of clients ..." */
		stream_break(link->stream,
			reply->type == REDIS_REPLY_ERROR ? reply->str : "an answer to nothing we asked");
		return;
	}
	p = pending_take(link);
	link->due_ms = link->count > 0 ? clock_ms() : 0;
	if (p.sent == SENT_USER)
		link->hooks->reply(link->arg, p.context, LINK_ANSWERED, reply);
	else if (p.sent != SENT_PING)
		link_login_reply(link, p.sent, reply);
}

static void
link_login(struct link *link)
{
	const struct link_settings *s = &link->settings;
	const char *password = credentials_password(&link->credentials);
	char db[16];
	bool ok = true;

	snprintf(db, sizeof db, "%d", s->db);
	if (password && s->user)
		ok = link_say(link, SENT_AUTH, 3, (const char *[]){"AUTH", s->user, password});
	else if (password)
		ok = link_say(link, SENT_AUTH, 2, (const char *[]){"AUTH", password});
	if (s->db > 0)
		ok = ok && link_say(link, SENT_SELECT, 2, (const char *[]){"SELECT", db});
	ok = ok && link_say(link, SENT_NAME, 3, (const char *[]){"CLIENT", "SETNAME", s->client_name}) &&
	     link_say(link, SENT_HELLO, 1, (const char *[]){"PING"});
	if (ok)
		stream_flush(link->stream);
	else
		stream_break(link->stream, "out of memory");
}

static void
on_connected(void *arg)
{
	struct link *link = arg;

	link_move(link, LOGIN);
	link_login(link);
}

static void
on_end(void *arg, const char *why)
{
	struct link *link = arg;
	struct stream *stream = link->stream;

	if (link->state != CONNECTING) {
		link_down(link, why);
		return;
	}
	link->stream = NULL;
	connector_next(link->connector, why);
	stream_free(stream);
}

static const struct stream_hooks stream_hooks = {.connected = on_connected, .reply = on_reply, .end = on_end};

static void
on_connection(void *arg, struct redisAsyncContext *redis, struct tls *tls, const char *why)
{
	struct link *link = arg;

	if (redis) {
		link->stream = stream_new(link->base, redis, tls, &stream_hooks, link, link->stats);
		why = "out of memory";
	}
	if (!link->stream)
		link_down(link, why);
}

/* The connection is up: is the master still there? Asks when it has had nothing to say. */
static void
link_check(struct link *link)
{
	int64_t now_ms = clock_ms(), received_ms = stream_received_ms(link->stream);
	int64_t limit_ms = link->settings.reply_ms;
	int64_t silent_ms = now_ms - (link->due_ms > received_ms ? link->due_ms : received_ms);
	char why[WHY_MAX];

	if (link->flaps && now_ms - link->since_ms >= STABLE_MS) {
		link->flaps = false;
		link_log_up(link);
	}
	if (link->count > 0 && silent_ms >= limit_ms && link->suspect) {
		snprintf(why, sizeof why, "no answer for %lld ms", (long long)silent_ms);
		link_down(link, why);
		return;
	}
	/* This process may be the one that was stopped: the answers may lie in the socket, unread. */
	link->suspect = link->count > 0 && silent_ms >= limit_ms;
	if (link->count == 0 && now_ms - received_ms >= limit_ms) {
		if (!link_say(link, SENT_PING, 1, (const char *[]){"PING"}))
			stream_break(link->stream, "out of memory");
		stream_flush(link->stream);
	}
	timeout_set(link->timeout, link->suspect ? SUSPECT_MS : limit_ms / 2 + 1);
}

static void
link_connect(struct link *link)
{
	if (link->aim_host && !connector_aim(link->connector, link->aim_host, link->aim_port)) {
		timeout_set(link->timeout, LINK_RETRY_MIN_MS);
		return;
	}
	free(link->aim_host);
	link->aim_host = NULL;
	link_move(link, CONNECTING);
	timeout_set(link->timeout, link->settings.connect_ms);
	connector_start(link->connector);
}

static void
on_timeout(void *arg)
{
	struct link *link = arg;
	char why[WHY_MAX];
	const char *what;

	switch (link->state) {
	case WAITING:
		link_connect(link);
		break;
	case CONNECTING:
	case LOGIN:
		what = link->state == LOGIN ? "connected, but no answer"
		       : link->stream && stream_is_handshaking(link->stream)
			       ? "connected, but the server does not answer in TLS"
			       : "no connection";
		snprintf(why, sizeof why, "%s within %lld ms", what, (long long)link->settings.connect_ms);
		link_down(link, why);
		break;
	case UP:
		link_check(link);
		break;
	}
}

bool
link_send(struct link *link, int argc, const char *const *argv, const size_t *argvlen, void *context)
{
	if (link->state != UP ||
		stream_written(link->stream) - stream_sent(link->stream) > link->settings.output_bytes)
		return false;
	return link_put(link, SENT_USER, argc, argv, argvlen, context);
}

void
link_flush(struct link *link)
{
	if (link->state == UP)
		stream_flush(link->stream);
}

void
link_acknowledge(struct link *link)
{
	if (link->state == UP)
		stream_acknowledge(link->stream);
}

void
link_break(struct link *link, const char *why)
{
	if (link->state == LOGIN || link->state == UP)
		stream_break(link->stream, why);
}

bool
link_aim(struct link *link, const char *host, uint16_t port)
{
	char why[WHY_MAX];
	char *copy = strdup(host);

	if (!copy)
		return false;
	free(link->aim_host);
	link->aim_host = copy;
	link->aim_port = port;
	link->failures = 0;
	if (link->state == CONNECTING) {
		connector_stop(link->connector);
		stream_free(link->stream);
		link->stream = NULL;
		link_move(link, WAITING);
	}
	if (link->state == WAITING) {
		timeout_set(link->timeout, 0);
	} else {
		snprintf(why, sizeof why, "the master is at %.200s port %u now", host, port);
		stream_break(link->stream, why);
	}
	return true;
}

void
link_end(struct link *link, const char *why)
{
	link->ends = true;
	if (link->state != WAITING)
		link_down(link, why);
}

bool
link_set_password(struct link *link, const char *password)
{
	return credentials_set(&link->credentials, password);
}

bool
link_is_up(const struct link *link)
{
	return link->state == UP;
}

const char *
link_where(const struct link *link)
{
	return connector_where(link->connector);
}

/* False: out of memory; what was copied is freed with the link. */
static bool
link_copy_settings(struct link *link, const struct link_settings *settings)
{
	link->settings = *settings;
	link->settings.host = link->settings.path = NULL; /* the connector has them */
	link->settings.tls = (struct tls_settings){0};    /* and these */
	link->settings.user = settings->user ? strdup(settings->user) : NULL;
	link->settings.password = NULL;
	link->credentials.password = settings->password ? strdup(settings->password) : NULL;
	link->settings.client_name = strdup(settings->client_name);
	return link->settings.client_name && (!settings->user || link->settings.user) &&
	       (!settings->password || link->credentials.password);
}

struct link *
link_new(struct event_base *base, const struct link_settings *settings, const struct link_hooks *hooks,
	void *arg, struct log *log, struct stats *stats)
{
	struct link *link = calloc(1, sizeof *link);

	if (!link)
		return NULL;
	assert(settings->connect_ms > 0 && settings->reply_ms > 0);
	link->base = base;
	link->hooks = hooks;
	link->arg = arg;
	link->log = log;
	link->stats = stats;
	random_init(&link->random);
	link->timeout = timeout_new(base, on_timeout, link);
	link->connector = connector_new(
		base, settings->host, settings->port, settings->path, &settings->tls, on_connection, link);
	if (!link_copy_settings(link, settings) || !link->timeout || !link->connector) {
		link_free(link);
		return NULL;
	}
	if (settings->host || settings->path)
		timeout_set(link->timeout, 0);
	return link;
}

void
link_free(struct link *link)
{
	if (!link)
		return;
	stream_free(link->stream);
	connector_free(link->connector);
	timeout_free(link->timeout);
	free((char *)link->settings.user);
	credentials_done(&link->credentials);
	free((char *)link->settings.client_name);
	free(link->aim_host);
	free(link->pending);
	free(link);
}
