/*
 * connection: see connection.h. The driver and the handlers of verbs call it. A function that a hook may call
 * must never call a hook, and none may wait for a client.
 */
#include "daemon/net/connection.h"

#include "daemon/base/clock.h"
#include "daemon/base/stats.h"
#include "daemon/net/connection_inner.h"
#include "daemon/net/connection_tls.h"
#include "daemon/net/connections.h"
#include "daemon/net/socket.h"
#include "proto/reply.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

static void connection_happened(int fd, short what, void *arg);

void
connection_line_up(struct connection *c)
{
	fair_queue_put(&c->set->fair_queue, &c->queued, FAIR_QUEUE_READY);
}

/* The connection has requests that may be served, or only its end is left. */
static void
connection_mark_pending(struct connection *c)
{
	if (c->state == CONNECTION_OPEN) {
		c->pending = true;
		connection_line_up(c);
	}
}

/* Counts the memory of its buffers. An administrator is never cut for it. */
void
connection_set_buffered(struct connection *c, size_t bytes)
{
	c->set->buffered_bytes += bytes - c->buffered;
	c->buffered = bytes;
	fair_queue_set_buffered(&c->set->fair_queue, &c->queued, bytes,
		c->identity.peer.admin ? SIZE_MAX : CONNECTION_SHARE_BYTES);
}

/* A connection that is over is reported and freed at the end of a turn. */
void
connection_cut(struct connection *c, enum end end, const char *why)
{
	if (c->state == CONNECTION_ENDED) {
		return;
	}
	if (c->state == CONNECTION_OPEN) {
		c->end = end;
		c->why = why;
	}
	c->state = CONNECTION_ENDED;
	connection_set_buffered(c, 0); /* it is freed soon */
	fair_queue_put(&c->set->fair_queue, &c->queued, FAIR_QUEUE_ENDED);
	event_del(&c->event);
}

/* Whether the client has half-closed, while a push is still due to it. */
static bool
connection_lingers(const struct connection *c)
{
	return c->state == CONNECTION_OPEN && c->eof && c->owed > 0 && !c->waits;
}

static bool
connection_can_serve(const struct connection *c)
{
	return c->state == CONNECTION_OPEN && !c->waits && buffer_length(&c->out) < c->set->out_bytes;
}

/* While the requests of a client are not served, it is read only up to CONNECTION_IN_BYTES. */
static bool
connection_reads(const struct connection *c)
{
	bool full = (c->pending || !connection_can_serve(c)) && buffer_length(&c->in) >= CONNECTION_IN_BYTES;
	return c->readable && !c->eof && !full;
}

/* Sets the events to wait for. A client that is not read now is still watched for its end (EPOLLRDHUP) and
 * for errors, which libevent delivers as EV_READ. */
void
connection_arm(struct connection *c)
{
	static const struct timeval second = {.tv_sec = 1};
	short want = EV_PERSIST | EV_ET;
	if (c->state == CONNECTION_ENDED) {
		return;
	}
	if (c->state == CONNECTION_OPEN) {
		want |= EV_READ | EV_CLOSED;
	}
	if (c->blocked) {
		want |= EV_WRITE;
	}
	if (c->blocked || connection_lingers(c)) {
		want |= EV_TIMEOUT;
	}
	if (want == c->armed) {
		return;
	}
	if (c->armed) {
		event_del(&c->event);
	}
	c->armed = want;
	event_assign(&c->event, c->set->base, c->fd, want, connection_happened, c);
	if (event_add(&c->event, want & EV_TIMEOUT ? &second : NULL) != 0) {
		connection_cut(c, END_ABANDONED, "out of memory");
	}
}

enum end
connection_hangup_end(const struct connection *c)
{
	return c->identity.local && c->identity.release ? END_GONE : END_ABANDONED;
}

/* Whether a regular end of file ends the holds depends on the listener: on a Unix socket it does by default,
 * since the peer is a local process unless it is a proxy; on TCP only by configuration. */
static enum end
connection_eof_end(const struct connection *c)
{
	return c->identity.release ? END_GONE : END_ABANDONED;
}

static void
connection_write(struct connection *c)
{
	struct stats *stats = c->set->stats;
	size_t n = buffer_length(&c->out);
	if (n == 0) {
		c->blocked = false;
		return;
	}
	ssize_t put = c->tls ? tls_write(c->tls, buffer_bytes(&c->out), n)
			     : send(c->fd, buffer_bytes(&c->out), n, MSG_NOSIGNAL);
	if (put < 0 && errno != EAGAIN && errno != EINTR) {
		connection_cut(c, connection_hangup_end(c), "write failed");
		return;
	}
	if (put > 0) {
		stats->net_output_bytes += put;
		c->identity.usage.all.bytes += put;
		c->stalls = 0;
		buffer_consume(&c->out, (size_t)put);
		buffer_return(&c->out, &c->set->store);
	}
	c->blocked = buffer_length(&c->out) > 0;
}

/*
 * One client alone stays within its limits, but thousands of clients that request long lists and read none of
 * them, or send long requests without their ends, do not. The user with most bytes in buffers makes room,
 * with the largest connection first.
 */
void
connections_make_room(struct connections *set)
{
	struct fair_queue_entry *largest;
	while (set->limits.buffer_bytes > 0 && set->buffered_bytes > set->limits.buffer_bytes &&
		(largest = fair_queue_largest(&set->fair_queue))) {
		set->stats->client_output_closed++;
		connection_cut(connection_at(largest), END_ABANDONED, "buffer limit");
	}
}

/* Called once the socket has taken what it could: counts the memory of the rest. */
static void
connection_count_buffered(struct connection *c)
{
	connection_set_buffered(c, c->in.room + c->out.room);
	connections_make_room(c->set);
}

void
connection_flush(struct connection *c)
{
	if (c->state == CONNECTION_ENDED) {
		return;
	}
	connection_write(c);
	/* As a rule nothing is left in either buffer. */
	if (c->in.room + c->out.room + c->buffered > 0 && c->state != CONNECTION_ENDED) {
		connection_count_buffered(c);
	}
	if (c->state == CONNECTION_CLOSING && buffer_length(&c->out) == 0) {
		connection_cut(c, c->end, c->why);
	}
	if ((buffer_length(&c->in) > 0 || c->eof) && connection_can_serve(c) && c != c->set->serving) {
		connection_mark_pending(c);
	}
	connection_arm(c);
}

/* For all connections; it is in this file since a single connection calls it, too. */
void
connections_flush(struct connections *set)
{
	struct connection *c;
	while ((c = TAILQ_FIRST(&set->written))) {
		TAILQ_REMOVE(&set->written, c, written);
		c->is_written = false;
		set->written_count--;
		connection_flush(c);
	}
}

struct buffer *
connection_out(struct connection *c)
{
	buffer_borrow(&c->out, &c->set->store);
	return &c->out;
}

size_t
connection_unread_bytes(const struct connection *c)
{
	return buffer_length(&c->out);
}

void
connection_drop_held(struct connection *c)
{
	if (c->is_held) {
		TAILQ_REMOVE(&c->set->held, c, written);
		c->set->held_count--;
		c->is_held = false;
	}
}

void
connection_hold_back(struct connection *c)
{
	struct connections *set = c->set;
	if (!c->is_written || set->held_count >= CONNECTION_HELD_MOST) {
		return;
	}
	TAILQ_REMOVE(&set->written, c, written);
	set->written_count--;
	c->is_written = false;
	if (set->held_count == 0) {
		set->held_until_ms = set->served_ns / 1000000 + CONNECTION_HELD_MS;
	}
	TAILQ_INSERT_TAIL(&set->held, c, written);
	set->held_count++;
	c->is_held = true;
}

void
connections_release_held(struct connections *set)
{
	struct connection *c;
	while ((c = TAILQ_FIRST(&set->held))) {
		connection_drop_held(c);
		connection_touched(c);
		connection_flush(c);
	}
}

void
connection_written(struct connection *c)
{
	struct connections *set = c->set;
	if (c->state == CONNECTION_ENDED) {
		return;
	}
	connection_drop_held(c);
	if (c->out.failed) {
		set->stats->client_output_closed++;
		connection_cut(c, END_ABANDONED, "output limit");
		return;
	}
	connection_touched(c);
	if (!c->is_written) {
		c->is_written = true;
		TAILQ_INSERT_TAIL(&set->written, c, written);
		set->written_count++;
	}
	if (set->written_count >= CONNECTION_WRITE_COUNT ||
		buffer_length(&c->out) > set->limits.output_bytes / 2) {
		connections_flush(set);
	}
}

void
connection_reply(struct connection *c, const struct reply *reply)
{
	if (reply->type == REPLY_ERROR) {
		c->identity.answered = reply->code;
	}
	reply_write(connection_out(c), c->identity.protocol, reply);
	connection_written(c);
}

void
connection_error(struct connection *c, enum code code, const char *format, ...)
{
	struct reply error;
	va_list args;
	va_start(args, format);
	reply_verror(&error, code, format, args);
	va_end(args);
	connection_reply(c, &error);
}

void
connection_close(struct connection *c, enum end end, const char *why)
{
	if (c->state != CONNECTION_OPEN) {
		return;
	}
	c->state = CONNECTION_CLOSING;
	c->end = end;
	c->why = why;
	c->stalls = 0;
	connection_written(c);
}

void
connection_answered(struct connection *c)
{
	assert(c->waits);
	c->waits = false;
	/* What has come meanwhile is served before more is read, also while the answer is not written yet. */
	if (buffer_length(&c->in) > 0 && c != c->set->serving) {
		connection_mark_pending(c);
	}
}

bool
connection_waits(const struct connection *c)
{
	return c->waits;
}

void
connection_owe(struct connection *c)
{
	c->owed++;
}

/* A wait may have been cancelled through another connection of its session. Then one push more is due than
 * will come, and CONNECTION_OWED_S ends that. */
void
connection_paid(struct connection *c)
{
	c->owed -= c->owed > 0;
	c->stalls = 0;
}

bool
connection_is_finished(const struct connection *c)
{
	return c->finished || c->hung_up;
}

struct identity *
connection_identity(struct connection *c)
{
	return &c->identity;
}

static void
connection_finish(struct connection *c)
{
	if (!c->finished) {
		c->finished = true;
		c->set->hooks->finished(c->set->arg, c);
	}
}

static void
connection_refuse(struct connection *c, const struct reply *error)
{
	c->set->stats->client_protocol_errors++;
	connection_reply(c, error);
	connection_close(c, END_ABANDONED, "protocol error");
}

/* Serves the parsed request. Returns its approximate cost, in words of requests. */
static size_t
connection_serve_one(struct connection *c)
{
	struct connections *set = c->set;
	size_t before = buffer_length(&c->out);
	set->hooks->request(set->arg, c, &set->request);
	size_t after = buffer_length(&c->out);
	size_t words = set->request.argc + (after > before ? after - before : after) / CONNECTION_WORD_BYTES;
	set->spent += words;
	return words;
}

/* Serves the requests in data; returns the number of bytes that were used. */
static size_t
connection_serve_bytes(struct connection *c, char *data, size_t n)
{
	struct connections *set = c->set;
	size_t used = 0, words = 0;
	bool enough = false;
	set->serving = c;
	for (int served = 1; !enough && connection_can_serve(c); served++) {
		struct reply error;
		ssize_t took = request_parse(
			&c->parser, data + used, n - used, &set->limits.request, &set->request, &error);
		if (took < 0) {
			connection_refuse(c, &error);
		}
		if (took <= 0) {
			break;
		}
		used += (size_t)took;
		if (set->request.argc > 0) {
			words += connection_serve_one(c);
		}
		enough = served >= CONNECTION_TURN_MAX || words >= CONNECTION_TURN_WORDS ||
			 connections_late(set);
	}
	set->serving = NULL;
	/* A reset behind the bytes raises no event of its own. An answer finds it, connections_probe() does
	 * if a request waits, and without a request one more read. */
	c->readable = c->readable || words == 0;
	if (enough) {
		if (used < n || c->eof) {
			connection_mark_pending(c);
		}
	} else if (connection_can_serve(c) && c->eof && c->owed == 0) {
		/* What is left is a part of a request whose rest will not come. */
		connection_close(c, connection_eof_end(c), "end of file");
	}
	return used;
}

/* Serves bytes that were read before and not yet served. */
static void
connection_serve_buffered(struct connection *c)
{
	/* An empty buffer has no memory. At the end of file the parser still has to find it empty. */
	char *data = buffer_length(&c->in) > 0 ? buffer_bytes(&c->in) : c->set->scratch;
	c->pending = false;
	buffer_consume(&c->in, connection_serve_bytes(c, data, buffer_length(&c->in)));
	buffer_trim(&c->in);
	connection_settle_fd(c);
}

/* Takes the bytes that were read: serves them in place, unless older bytes wait. */
static void
connection_take(struct connection *c, size_t n)
{
	struct connections *set = c->set;
	if (buffer_length(&c->in) == 0) {
		size_t used = connection_serve_bytes(c, set->scratch, n);
		buffer_put(&c->in, set->scratch + used, n - used);
	} else {
		buffer_put(&c->in, set->scratch, n);
		if (!c->in.failed) {
			connection_serve_buffered(c);
		}
	}
	if (c->in.failed) {
		connection_cut(c, END_ABANDONED, "out of memory");
	} else {
		connection_settle_fd(c);
	}
	if (c->in.room + c->buffered > 0 && c->state == CONNECTION_OPEN) {
		connection_count_buffered(c);
	}
}

/*
 * Only the latest passed descriptor is held, until the requests it came with are served. A short read has
 * read everything that was there, unless an end of file or another descriptor comes after it.
 */
static ssize_t
connection_receive(struct connection *c)
{
	struct connections *set = c->set;
	int passed = PASSING_NONE;
	if (c->tls) {
		return connection_receive_tls(c);
	}
	ssize_t n = c->identity.local
			    ? passing_read(&set->passing, c->fd, set->scratch, sizeof set->scratch, &passed)
			    : recv(c->fd, set->scratch, sizeof set->scratch, 0);
	if (passed != PASSING_NONE) {
		connection_drop_fd(c);
		c->passed_fd = passed;
	}
	if (n < (ssize_t)sizeof set->scratch && !c->hung_up && passed == PASSING_NONE) {
		c->readable = n < 0 && errno == EINTR;
	}
	return n;
}

/* Finds out whether the client has closed the connection or half-closed it. */
static void
connection_watch(struct connection *c)
{
	struct pollfd at = {.fd = c->fd, .events = POLLRDHUP};
	if (poll(&at, 1, 0) <= 0) {
		return;
	}
	if (at.revents & (POLLHUP | POLLERR)) {
		connection_cut(c, connection_hangup_end(c), "hang-up");
	} else if (at.revents & POLLRDHUP) {
		connection_finish(c);
	}
}

static void
connection_read(struct connection *c)
{
	ssize_t n = connection_receive(c);
	if (n < 0) {
		if (errno == EMFILE) {
			connection_out_of_numbers(c);
		} else if (errno != EAGAIN && errno != EINTR) {
			connection_cut(c, connection_hangup_end(c), c->tls ? tls_why(c->tls) : "reset");
		}
		return;
	}
	if (n > 0) {
		c->set->stats->net_input_bytes += n;
		c->identity.usage.all.bytes += n;
		connection_take(c, (size_t)n);
		return;
	}
	c->eof = true;
	connection_watch(c);
	if (c->state == CONNECTION_OPEN) {
		connection_finish(c);
		connection_mark_pending(c);
	}
}

static void
connection_stalled(struct connection *c)
{
	c->stalls++;
	if (!c->blocked && connection_lingers(c)) {
		if (c->stalls >= CONNECTION_OWED_S) {
			connection_close(c, connection_eof_end(c), "end of file");
		}
		return;
	}
	if (c->stalls >= (c->state == CONNECTION_CLOSING ? CONNECTION_CLOSE_S : CONNECTION_STALL_S)) {
		c->set->stats->client_output_closed++;
		connection_cut(c, END_ABANDONED, "does not read");
	}
}

/* Reads or serves, then prepares what comes next. */
static void
connection_go_on(struct connection *c)
{
	if (c->pending) {
		connection_serve_buffered(c);
	}
	if (c->state == CONNECTION_OPEN && !c->pending && connection_reads(c)) {
		connection_read(c);
	}
	if (c->state != CONNECTION_OPEN) {
		return;
	}
	if (c->pending || connection_reads(c)) {
		connection_line_up(c);
	}
	/* The end of file may have been reported already, and is not reported twice. */
	if (c->readable && !connection_reads(c)) {
		c->readable = !c->eof;
		connection_watch(c);
	}
}

void
connection_serve(struct connection *c)
{
	short what = c->events;
	connection_touched(c);
	c->events = 0;
	c->set->spent += CONNECTION_VISIT_WORDS;
	if (what & (EV_READ | EV_CLOSED)) {
		c->readable = true;
		c->hung_up = c->hung_up || what & EV_CLOSED;
	}
	if (what & EV_TIMEOUT) {
		connection_stalled(c);
	}
	if (what & EV_WRITE) {
		connection_flush(c);
		c->readable = c->readable || c->tls; /* a handshake may have waited for it */
	}
	if (c->state == CONNECTION_OPEN) {
		connection_go_on(c);
	}
	connection_arm(c);
	int64_t begun_ns = c->set->served_ns;
	c->set->served_ns = clock_ns();
	usage_served(&c->identity.usage, begun_ns, c->set->served_ns);
}

/* Only notes the event, so that connections_serve() knows which connections come next. */
static void
connection_happened(int fd, short what, void *arg)
{
	(void)fd;
	struct connection *c = arg;
	struct connections *set = c->set;
	if (set->arrived_count < set->arrived_room) {
		set->arrived[set->arrived_count++] = (struct arrival){c, what};
	} else {
		c->events |= what;
		connection_line_up(c);
	}
}

/* ---- the descriptor that a client has passed with its bytes: passing.h ---- */

int
connection_take_fd(struct connection *c)
{
	int fd = c->passed_fd;
	c->passed_fd = PASSING_NONE;
	c->set->held_fds -= c->holds_fd;
	c->holds_fd = false;
	return fd;
}

void
connection_drop_fd(struct connection *c)
{
	int fd = connection_take_fd(c);
	if (fd >= 0) {
		close(fd); /* of a kind that does not wait */
	}
}

/*
 * A descriptor belongs to the request it came with: if no bytes are left to serve, that request has been
 * served. The number of descriptors that are held until then is bounded, since limits.clients does not count
 * them.
 */
void
connection_settle_fd(struct connection *c)
{
	if (c->passed_fd == PASSING_NONE) {
		return;
	}
	if (buffer_length(&c->in) == 0) {
		connection_drop_fd(c);
	} else if (c->passed_fd >= 0 && !c->holds_fd) {
		if (c->set->held_fds >= CONNECTION_HELD_FDS) {
			connection_drop_fd(c);
			c->passed_fd = PASSING_LOST;
			return;
		}
		c->holds_fd = true;
		c->set->held_fds++;
	}
}

/* The next one would be lost, too, so the client is answered so, and has to come again. */
void
connection_out_of_numbers(struct connection *c)
{
	connection_error(c, CODE_LIMIT,
		"this daemon has too few descriptors left to take those that were passed: try again later");
	connection_close(c, END_ABANDONED, "out of descriptors");
	c->readable = false;
}
