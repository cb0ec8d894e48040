/*
 * http: see http.h. It has the sockets, the turns and the times; http_client.c has the connections.
 */
#include "daemon/http/http_inner.h"

#include "daemon/admin/events.h"
#include "daemon/base/clock.h"
#include "daemon/base/loop.h"
#include "daemon/http/contents.h"
#include "daemon/http/http_client.h"
#include "daemon/http/recent.h"
#include "daemon/http/status.h"
#include "daemon/net/listeners.h"
#include "daemon/request/context.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HTTP_TICK_MS 1000

/* ---- clients ---- */

/* The oldest client that has not sent its request, or has its answer. NULL: there is none. */
static struct client *
http_idle(const struct http *http)
{
	struct client *c;
	TAILQ_FOREACH (c, &http->clients, entry) {
		if (c->state == CLIENT_READING || c->state == CLIENT_LINGERING) {
			return c;
		}
	}
	return NULL;
}

/* On a Unix socket the rights of a client say whether it sees all hosts. */
static bool
http_names(const struct http *http, const struct listener *listener, bool *fleet)
{
	*fleet = false;
	if (listener_local(listener)) {
		return true;
	}
	for (size_t i = 0; i < http->name_count; i++) {
		if (strcmp(http->names[i], listener_address(listener)) == 0) {
			*fleet = http->fleets[i];
			return true;
		}
	}
	return false;
}

static void
http_accepted(void *arg, struct listener *listener, int fd, const struct peer *peer)
{
	struct http *http = arg;
	passing_saw(&http->passing, fd);
	bool spare = http->count >= HTTP_CLIENTS_MAX;
	if (spare) {
		struct client *idle = http_idle(http);
		if (!idle && http->count == HTTP_CLIENTS_MAX + HTTP_HEALTH_CLIENTS) {
			listener_end_client(listener, fd);
			return;
		}
		if (idle) {
			spare = idle->spare || http->count > HTTP_CLIENTS_MAX;
			client_free(idle);
		}
	}
	if (TAILQ_EMPTY(&http->clients)) {
		timeout_set(http->tick, HTTP_TICK_MS);
	}
	struct client *c = client_new(http, fd, listener_local(listener), listener_tls(listener));
	if (c) {
		c->logs_in = listener_logs_in(listener);
		c->spare = spare;
		c->peer = *peer;
		c->viewer = (struct viewer){.admin = peer->admin, .number = quota_uid_number(peer->uid)};
		c->names = http_names(http, listener, &c->viewer.fleet);
		client_recognise(c, http->context->access);
	}
}

static void
http_paused(void *arg, struct listener *listener, int error)
{
	struct http *http = arg;
	(void)listener;
	(void)error;
	passing_saw(&http->passing, -1);
}

static const struct listener_hooks http_hooks = {.accepted = http_accepted, .paused = http_paused};

/* ---- turns ---- */

bool
http_busy(const struct http *http)
{
	return !TAILQ_EMPTY(&http->ready);
}

void
http_turn(struct http *http, int64_t until_ns)
{
	while (!TAILQ_EMPTY(&http->ready)) {
		struct client *c = TAILQ_FIRST(&http->ready);
		TAILQ_REMOVE(&http->ready, c, waits);
		c->ready = false;
		if (!client_serve(c)) {
			client_free(c);
		}
		if (clock_ns() >= until_ns) {
			break;
		}
	}
}

/* ---- time ---- */

static bool
client_is_late(const struct client *c, int64_t now_ms)
{
	static const int64_t most_ms[] = {
		[CLIENT_READING] = HTTP_REQUEST_MS,
		[CLIENT_ANSWERING] = HTTP_STALLED_MS,
		[CLIENT_STREAMING] = HTTP_STALLED_MS,
		[CLIENT_LINGERING] = HTTP_LINGER_MS,
	};
	/* A stream without events has nothing to take. */
	bool waits = c->state != CLIENT_STREAMING || buffer_length(&c->out) > 0;
	/* Each byte is some progress, so the whole answer has a least rate, too. */
	bool slow = c->state == CLIENT_ANSWERING &&
		    now_ms - c->answer_ms >= HTTP_STALLED_MS + c->sent / HTTP_LEAST_RATE;
	return slow || (waits && now_ms - c->since_ms >= most_ms[c->state]);
}

/* Sends an event to every stream; a note only to those that may see it. */
static void
streams_tell(struct http *http, const struct buffer *event, const struct note *note)
{
	struct client *c;
	TAILQ_FOREACH (c, &http->clients, entry) {
		bool sees = !note || note_is_for(note, &c->viewer);
		if (c->state == CLIENT_STREAMING && !event->failed && sees) {
			client_tell(c, buffer_bytes(event), buffer_length(event));
		}
	}
}

static void
streams_tell_state(struct http *http)
{
	struct buffer event;
	if (http->streams > 0) {
		buffer_init(&event, 2 * STATUS_EVENT_MAX);
		status_put_state(http->context, &event);
		streams_tell(http, &event, NULL);
		buffer_done(&event);
	}
}

static void
http_ticked(void *arg)
{
	struct http *http = arg;
	struct client *c, *next;
	int64_t now_ms = clock_ms();
	for (c = TAILQ_FIRST(&http->clients); c; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (client_is_late(c, now_ms)) {
			client_free(c);
		}
	}
	streams_tell_state(http);
	if (!TAILQ_EMPTY(&http->clients)) {
		timeout_set(http->tick, HTTP_TICK_MS);
	}
}

void
http_tell(struct http *http, const struct note *note, const char *where)
{
	struct buffer event;
	named_note(&http->named, note);
	/* No client of HTTP wants most notes, and this is called for each hold that begins or ends. */
	if (note_level(note) == LOG_DEBUG_LEVEL || http->listeners.count == 0) {
		return;
	}
	struct slice line = recent_add(&http->recent, note, where);
	if (line.n > 0 && http->streams > 0) {
		buffer_init(&event, 2 * STATUS_EVENT_MAX);
		status_put_note(&event, line);
		streams_tell(http, &event, note);
		buffer_done(&event);
	}
}

/* ---- all of it ---- */

struct http *
http_new(struct event_base *base, const struct context *context, struct closer *closer, http_entered *entered,
	void *arg)
{
	struct http *http = calloc(1, sizeof *http);
	if (!http) {
		return NULL;
	}
	http->base = base;
	http->context = context;
	http->entered = entered;
	http->arg = arg;
	http->passing.closer = closer;
	http->listeners =
		(struct listeners){.base = base, .hooks = &http_hooks, .arg = http, .closer = closer};
	TAILQ_INIT(&http->clients);
	TAILQ_INIT(&http->ready);
	http->tick = timeout_new(base, http_ticked, http);
	if (!http->tick) {
		int why = errno;
		free(http);
		errno = why;
		return NULL;
	}
	return http;
}

static void
http_end_clients(struct http *http)
{
	while (!TAILQ_EMPTY(&http->clients)) {
		client_free(TAILQ_FIRST(&http->clients));
	}
}

void
http_free(struct http *http)
{
	if (!http) {
		return;
	}
	listeners_close(&http->listeners);
	http_end_clients(http);
	recent_done(&http->recent);
	named_done(&http->named);
	timeout_free(http->tick);
	free(http);
}

int
http_listen(
	struct http *http, const struct http_settings *settings, size_t count, char *error, size_t error_room)
{
	struct socket_settings sockets[HTTP_LISTENERS_MAX] = {{0}};
	assert(count <= HTTP_LISTENERS_MAX);
	for (size_t i = 0; i < count; i++) {
		sockets[i] = settings[i].socket;
	}
	int failed = listeners_set(&http->listeners, sockets, count, error, error_room);
	if (failed) {
		return failed;
	}
	http->name_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (settings[i].names) {
			http->fleets[http->name_count] = settings[i].fleet;
			socket_address_of(&settings[i].socket, http->names[http->name_count++]);
		}
	}
	return 0;
}

bool
http_count_names(struct http *http, const struct named_rule *rules, size_t count)
{
	return named_set(&http->named, rules, count);
}

void
http_recognise(struct http *http, const struct access *access)
{
	struct client *c;
	TAILQ_FOREACH (c, &http->clients, entry) {
		client_recognise(c, access);
	}
}

int
http_start(struct http *http)
{
	return listeners_start(&http->listeners);
}

void
http_drain(struct http *http)
{
	listeners_close(&http->listeners);
}

/* ---- a hand-over ---- */

void
http_rest(struct http *http)
{
	listeners_rest(&http->listeners);
	http_end_clients(http);
}

int
http_resume(struct http *http)
{
	return listeners_resume(&http->listeners);
}

size_t
http_descriptors(const struct http *http)
{
	return 2 * http->listeners.count;
}

void
http_save(const struct http *http, struct record *r, struct descriptors *given)
{
	listeners_save(&http->listeners, r, RECORD_HTTP_LISTENER, given, true);
}

void
http_load(struct http *http, struct record *r, struct descriptors *given)
{
	listeners_load(&http->listeners, r, given);
}
