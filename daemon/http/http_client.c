/*
 * http_client: one connection: its request, its answer piece by piece, and its events. A part of http.c.
 * Events of the descriptor only note that it is ready; client_serve() does the work, in a turn of the driver.
 */
#include "daemon/http/http_client.h"

#include "daemon/base/clock.h"
#include "daemon/base/closer.h"
#include "daemon/base/stats.h"
#include "daemon/http/http_inner.h"
#include "daemon/http/pages.h"
#include "daemon/request/context.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HTTP_HEAD_MAX 1024
/* A page loads nothing from elsewhere, and no other site shows it in a frame. */
#define HTTP_HEADERS                                                                                         \
	"Cache-Control: no-store\r\n"                                                                        \
	"Connection: close\r\n"                                                                              \
	"Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src "                \
	"'unsafe-inline'; "                                                                                  \
	"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n"                \
	"Referrer-Policy: no-referrer\r\n"                                                                   \
	"X-Content-Type-Options: nosniff\r\n"
/* The frame of a piece: its length in hexadecimal digits, and two line ends. */
#define HTTP_FRAME_MAX 24
#define HTTP_OUT_MAX   (PAGE_PIECE_BYTES + PAGE_PIECE_MAX + HTTP_HEAD_MAX + 2 * HTTP_FRAME_MAX)

/* ---- clients ---- */

static void
client_close(struct http *http, int fd, bool local)
{
	if (local) {
		closer_end(http->passing.closer, fd);
	} else {
		close(fd);
	}
}

void
client_free(struct client *c)
{
	struct http *http = c->http;
	event_del(&c->readable);
	event_del(&c->writable);
	if (c->ready) {
		TAILQ_REMOVE(&http->ready, c, waits);
	}
	TAILQ_REMOVE(&http->clients, c, entry);
	http->count--;
	http->streams -= c->state == CLIENT_STREAMING;
	page_done(&c->page);
	tls_free(c->tls);
	buffer_done(&c->in);
	buffer_done(&c->out);
	client_close(http, c->fd, c->local);
	free(c);
}

static void
client_move(struct client *c, enum client_state state)
{
	assert(state > c->state);
	c->http->streams += state == CLIENT_STREAMING;
	c->http->streams -= c->state == CLIENT_STREAMING;
	c->state = state;
	c->since_ms = clock_ms();
}

void
client_is_ready(struct client *c)
{
	if (!c->ready) {
		c->ready = true;
		TAILQ_INSERT_TAIL(&c->http->ready, c, waits);
	}
}

static void
client_came(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	client_is_ready(arg);
}

/* Waits for the socket. TLS may have to read before it can write, and the other way round. */
static void
client_wait(struct client *c)
{
	bool writes = buffer_length(&c->out) > 0;
	bool stuck = c->tls && writes && !c->blocked;
	if (c->state != CLIENT_ANSWERING || stuck) {
		event_add(&c->readable, NULL);
	}
	if (c->blocked || (writes && !stuck)) {
		event_add(&c->writable, NULL);
	}
	if (c->more && c->state != CLIENT_ANSWERING) {
		client_is_ready(c);
	}
}

struct client *
client_new(struct http *http, int fd, bool local, struct tls_context *secure)
{
	struct client *c = calloc(1, sizeof *c);
	struct tls *tls = c && secure ? tls_new(secure, fd, NULL) : NULL;
	if (!c || (secure && !tls)) {
		free(c);
		client_close(http, fd, local);
		return NULL;
	}
	c->http = http;
	c->tls = tls;
	c->handshaking = tls != NULL;
	c->fd = fd;
	c->local = local;
	if (local) {
		passing_prepare(fd);
	}
	c->since_ms = clock_ms();
	buffer_init(&c->in, HTTP_REQUEST_MAX);
	buffer_init(&c->out, HTTP_OUT_MAX);
	event_assign(&c->readable, http->base, fd, EV_READ, client_came, c);
	event_assign(&c->writable, http->base, fd, EV_WRITE, client_came, c);
	TAILQ_INSERT_TAIL(&http->clients, c, entry);
	http->count++;
	client_wait(c);
	return c;
}

void
client_recognise(struct client *c, const struct access *access)
{
	char name[TLS_NAME_MAX];
	if (c->local) {
		c->viewer.user = access_of_socket(access, c->fd, c->peer.uid);
	} else if (c->logs_in && !c->handshaking) {
		c->viewer.user = tls_peer_name(c->tls, name) ? access_find(access, slice_of(name)) : NULL;
	} else {
		return;
	}
	c->viewer.admin |= c->viewer.user && c->viewer.user->rights & RIGHT_ADMIN;
}

/* ---- answers ---- */

static const char *
status_word(unsigned status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 431:
		return "Request Header Fields Too Large";
	default:
		return "Service Unavailable";
	}
}

/* length < 0: unknown. */
static void
client_head(struct client *c, unsigned status, const char *type, int64_t length)
{
	char head[HTTP_HEAD_MAX];
	char size[64] = "";
	if (length >= 0) {
		snprintf(size, sizeof size, "Content-Length: %lld\r\n", (long long)length);
	} else if (c->request.minor > 0) {
		c->chunked = true;
		snprintf(size, sizeof size, "Transfer-Encoding: chunked\r\n");
	}
	int n = snprintf(head, sizeof head, "HTTP/1.1 %u %s\r\nContent-Type: %s\r\n%s%s" HTTP_HEADERS "\r\n",
		status, status_word(status), type, size, status == 405 ? "Allow: GET, HEAD\r\n" : "");
	assert(n > 0 && n < (int)sizeof head);
	buffer_put(&c->out, head, (size_t)n);
}

static void
client_refuse(struct client *c, unsigned status, const char *text)
{
	client_head(c, status, "text/plain; charset=utf-8", (int64_t)strlen(text));
	if (!c->request.head) {
		buffer_put(&c->out, text, strlen(text));
	}
	c->whole = true;
}

static void
client_put(struct client *c, const struct buffer *piece)
{
	char frame[HTTP_FRAME_MAX];
	if (c->request.head || buffer_length(piece) == 0) {
		return;
	}
	if (c->chunked) {
		int n = snprintf(frame, sizeof frame, "%zx\r\n", buffer_length(piece));
		buffer_put(&c->out, frame, (size_t)n);
	}
	buffer_put(&c->out, buffer_bytes(piece), buffer_length(piece));
	if (c->chunked) {
		buffer_put(&c->out, "\r\n", 2);
	}
}

/* Makes the next piece. Its head tells the length if the first piece is all. */
static void
client_make(struct client *c, bool first)
{
	struct buffer piece;
	buffer_init(&piece, PAGE_PIECE_MAX);
	bool more = c->page.kind->piece(&c->page, &piece);
	if (first) {
		bool known = !more && !c->page.kind->streams;
		client_head(c, c->page.status, c->page.type, known ? (int64_t)buffer_length(&piece) : -1);
	}
	client_put(c, &piece);
	c->whole = !more || c->request.head;
	if (piece.failed) {
		c->out.failed = true;
	}
	buffer_done(&piece);
	if (c->whole && c->page.kind->streams && !c->request.head) {
		c->whole = false;
		client_move(c, CLIENT_STREAMING);
	} else if (c->whole && c->chunked && !c->request.head) {
		buffer_put(&c->out, "0\r\n\r\n", 5);
	}
}

/* The request is there, or cannot be one. */
static void
client_answer(struct client *c)
{
	const struct http_request *request = &c->request;
	const struct page_kind *kind = request->status == 200 ? pages_find(request->path) : NULL;
	client_move(c, CLIENT_ANSWERING);
	c->answer_ms = c->since_ms;
	if (request->status != 200) {
		client_refuse(c, request->status, request->why);
	} else if (!kind) {
		client_refuse(c, 404, "there is no such page: see /\n");
	} else if (c->spare && !kind->health) {
		client_refuse(c, 503,
			"as many clients as may are connected: only /healthz and /readyz are answered\n");
	} else if (kind->names && !c->names) {
		client_refuse(c, 403,
			"this page shows names, and this address does not: set names: yes at it under http:, "
			"or "
			"use a Unix socket\n");
	} else if (kind->names && !c->local && !c->tls && !request->by_address) {
		client_refuse(
			c, 403, "pages with names are for the numeric address or localhost in the URL\n");
	} else if (kind->names && c->logs_in && !c->viewer.user) {
		client_refuse(c, 403,
			"this page shows names, and your certificate names no user: add its common name to "
			"users:\n");
	} else if (kind->names && !viewer_may(&c->viewer, RIGHT_SEE)) {
		client_refuse(c, 403,
			"this page shows names, and your user may not see them: add see to its may: under "
			"users:\n");
	} else if (kind->streams && c->http->streams >= HTTP_STREAMS_MAX) {
		client_refuse(c, 503, "as many browsers follow the events as may\n");
	} else {
		c->page.recent = &c->http->recent;
		c->page.named = &c->http->named;
		c->page.viewer = &c->viewer;
		const char *wrong = page_begin(&c->page, kind, c->http->context, request);
		if (wrong) {
			client_refuse(c, 400, wrong);
		} else {
			client_make(c, true);
		}
	}
}

/* ---- the socket ---- */

/* A step of the handshake may be the last one, or fail. */
static void
client_handshake(struct client *c, bool failed)
{
	struct stats *stats = c->http->context->stats;
	if (tls_is_up(c->tls)) {
		c->handshaking = false;
		stats->tls_handshakes++;
		client_recognise(c, c->http->context->access);
		if (c->viewer.user) {
			c->http->entered(c->http->arg, &c->peer, c->viewer.user->name);
		}
	} else if (failed) {
		stats->tls_failures++;
	}
}

/* As recv(). */
static ssize_t
client_receive(struct client *c, char *to, size_t room)
{
	int passed = PASSING_NONE;
	if (c->local) {
		ssize_t got = passing_read(&c->http->passing, c->fd, to, room, &passed);
		if (passed >= 0) {
			close(passed); /* of a kind that does not wait */
		}
		return got;
	}
	if (!c->tls) {
		return recv(c->fd, to, room, MSG_DONTWAIT);
	}
	ssize_t n = tls_read(c->tls, to, room);
	int error = errno;
	bool waits = n < 0 && error == EAGAIN;
	if (c->handshaking) {
		client_handshake(c, n <= 0 && !waits);
	}
	c->more = n > 0 && tls_may_have_more(c->tls);
	c->blocked = waits && tls_wants_write(c->tls);
	errno = error;
	return n;
}

/* As send(). */
static ssize_t
client_send(struct client *c, const char *from, size_t n)
{
	if (!c->tls) {
		return send(c->fd, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	ssize_t sent = tls_write(c->tls, from, n);
	c->blocked = sent < 0 && errno == EAGAIN && tls_wants_write(c->tls);
	return sent;
}

/* False: the client is gone. */
static bool
client_read(struct client *c)
{
	/* A full buffer was answered. */
	size_t left = HTTP_REQUEST_MAX - buffer_length(&c->in);
	if (!buffer_reserve(&c->in, left)) {
		return false;
	}
	ssize_t n = client_receive(c, buffer_end(&c->in), left);
	if (n <= 0) {
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	}
	buffer_wrote(&c->in, (size_t)n);
	if (http_request_read(&c->request, (struct slice){buffer_bytes(&c->in), buffer_length(&c->in)},
		    buffer_length(&c->in) == HTTP_REQUEST_MAX)) {
		client_answer(c);
	}
	return true;
}

/* Whatever comes after the request is ignored. False: the client is gone. */
static bool
client_drop_input(struct client *c)
{
	char text[4096];
	ssize_t n = client_receive(c, text, sizeof text);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* False: the client is gone. */
static bool
client_write(struct client *c)
{
	while (buffer_length(&c->out) > 0) {
		ssize_t n = client_send(c, buffer_bytes(&c->out), buffer_length(&c->out));
		if (n < 0) {
			return errno == EAGAIN || errno == EINTR;
		}
		buffer_consume(&c->out, (size_t)n);
		c->sent += n;
		c->since_ms = clock_ms();
	}
	buffer_trim(&c->out);
	return true;
}

/* The work of one turn. False: the client has to be freed. */
bool
client_serve(struct client *c)
{
	if (c->state == CLIENT_READING && !client_read(c)) {
		return false;
	}
	if ((c->state == CLIENT_LINGERING || c->state == CLIENT_STREAMING) && !client_drop_input(c)) {
		return false;
	}
	if (c->state == CLIENT_ANSWERING && !c->whole && buffer_length(&c->out) < PAGE_PIECE_BYTES) {
		client_make(c, false);
	}
	if (c->out.failed || !client_write(c)) {
		return false;
	}
	if (c->state == CLIENT_ANSWERING && buffer_length(&c->out) == 0) {
		if (!c->whole) {
			client_is_ready(c);
			return true;
		}
		/* A close with unread bytes would reset the connection, and the client might lose the answer.
		 */
		if (c->tls) {
			tls_end(c->tls);
		}
		shutdown(c->fd, SHUT_WR);
		client_move(c, CLIENT_LINGERING);
	}
	client_wait(c);
	return true;
}

/* ---- events ---- */

void
client_tell(struct client *c, const char *text, size_t n)
{
	struct buffer piece;
	if (buffer_length(&c->out) + n > HTTP_STREAM_MAX) {
		c->out.failed = true;
	} else {
		buffer_init(&piece, n);
		buffer_put(&piece, text, n);
		client_put(c, &piece);
		c->out.failed |= piece.failed;
		buffer_done(&piece);
	}
	client_is_ready(c);
}
