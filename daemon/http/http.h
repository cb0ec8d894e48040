/*
 * http: serves what the daemon knows of itself to browsers and to monitoring, over HTTP/1.1 (PROTOCOL.md 11).
 *
 *     listeners ──accepted──▶ client ──request──▶ pages ──a piece a turn──▶ client
 *     driver ──── note ─────▶ every client of /events
 *
 * The driver is the only user. A request is answered once, and its connection is closed. It only reads: pages
 * see the core through its views. What a client can cost is bounded: the number of connections, the bytes of
 * a request, the time for it and for taking the answer, and the work for it in one turn of the loop.
 *
 * libevent's evhttp is not used. It accepts connections itself, so its sockets would have neither the rights
 * nor the hand-over of the other listeners. It bounds neither the number of connections nor the time of a
 * request. And each of its connections sets timers of libevent, which cost every turn of the loop (loop.h).
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "daemon/core/base/action.h"
#include "daemon/net/listener.h"
#include "daemon/net/socket.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct access;
struct closer;
struct context;
struct descriptors;
struct event_base;
struct http;
struct named_rule;
struct peer;
struct record;

#define HTTP_LISTENERS_MAX 8

/* Connections at a time. If there are as many, a new one takes the place of the oldest one that has not sent
 * its request yet; so connections that say nothing keep no one out. */
#define HTTP_CLIENTS_MAX    32
/* Beyond them, connections that get no page but one about health, so that slow readers do not look like
 * a daemon that is dead. Their answers fit into any socket, so one of these connections can always be ended.
 */
#define HTTP_HEALTH_CLIENTS 8
/* Of them, streams of /events. */
#define HTTP_STREAMS_MAX    8

/* The request line with all headers. */
#define HTTP_REQUEST_MAX 8192
/* Time for the whole request; time in which an answer makes no progress; and time for the client to close
 * after it. */
#define HTTP_REQUEST_MS  10000
#define HTTP_STALLED_MS  10000
#define HTTP_LINGER_MS   2000
/* A client takes its answer at this rate at least, in bytes/ms, after HTTP_STALLED_MS. */
#define HTTP_LEAST_RATE  4
/* What a client of /events may leave unread. */
#define HTTP_STREAM_MAX  (256 << 10)

struct http_settings {
	struct socket_settings socket;
	bool names; /* its clients may see names of locks and of clients */
	bool fleet; /* and those of all hosts */
};

/* A certificate has logged a client in as this user of the configuration, whatever page it asks for then. */
typedef void http_entered(void *arg, const struct peer *peer, const char *user);

/* context is held by reference, and read only in http_turn() and later calls. entered: called with arg
 * from there; this room only reads, so the audit log is not written here. NULL: out of memory or descriptors;
 * errno says which. */
struct http *http_new(struct event_base *base, const struct context *context, struct closer *closer,
	http_entered *entered, void *arg) __attribute__((warn_unused_result));
void http_free(struct http *http);

/* Listens at these addresses and no others; see listeners_set(). */
int http_listen(struct http *http, const struct http_settings *settings, size_t count, char *error,
	size_t error_room) __attribute__((warn_unused_result));
/* Which names /metrics counts one by one; see named_set(). */
bool http_count_names(struct http *http, const struct named_rule *rules, size_t count)
	__attribute__((warn_unused_result));
/* Begins to accept. -1: out of memory. */
int http_start(struct http *http) __attribute__((warn_unused_result));
/* Accepts no client any more; answers under way go on. */
void http_drain(struct http *http);

/* There are other users: clients are those of access from now on, which lives as long as they are. */
void http_recognise(struct http *http, const struct access *access);

/* Whether a client waits for http_turn(). */
bool http_busy(const struct http *http);
/* Serves clients, each a piece, until until_ns (CLOCK_BOOTTIME) has passed. */
void http_turn(struct http *http, int64_t until_ns);

/* Tells each stream of /events, and keeps it for the next ones, if it is for people (contents.h). where: the
 * address of note->master; NULL: it has none. */
void http_tell(struct http *http, const struct note *note, const char *where);

/* For a hand-over: the sockets go to the next process, and connections end. */
void http_rest(struct http *http);
int http_resume(struct http *http) __attribute__((warn_unused_result));
/* Descriptors that http_save() passes on, at most. */
size_t http_descriptors(const struct http *http);
void http_save(const struct http *http, struct record *r, struct descriptors *given);
void http_load(struct http *http, struct record *r, struct descriptors *given);

#endif
