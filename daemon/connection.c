/*
 * connection: see connection.h. The driver and the verbs' handlers call it; it must never call a hook from
 * within what a hook may call, and never wait for a client.
 */
#include "daemon/connection_inner.h"

#include "daemon/base/stats.h"
#include "daemon/passing.h"
#include "proto/composer.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

static void connection_arrived(int fd, short what, void *arg);
static void connection_happened(int fd, short what, void *arg);

static void
connection_mark_ready(struct connection *c)
{
	if (!c->is_ready && c->state == CONNECTION_OPEN) {
		c->is_ready = true;
		c->set->ready_count++;
		TAILQ_INSERT_TAIL(&c->set->ready, c, ready);
	}
}

static void
connection_unmark_ready(struct connection *c)
{
	if (c->is_ready) {
		c->is_ready = false;
		c->set->ready_count--;
		TAILQ_REMOVE(&c->set->ready, c, ready);
	}
}

/* A connection that is over is told and freed at the end of the turn. */
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
	connection_unmark_ready(c);
	TAILQ_INSERT_TAIL(&c->set->ended, c, ready);
	c->set->ended_count++;
	event_del(&c->event);
}

/* Nothing more comes from the client, but something is still due to it. */
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

/*
 * What to wait for. A client that is not read at the moment is still watched: edge-triggered, for its end
 * (EPOLLRDHUP) and for errors, which libevent delivers as EV_READ.
 */
void
connection_arm(struct connection *c)
{
	static const struct timeval second = {.tv_sec = 1};
	short want = EV_PERSIST;
	if (c->state == CONNECTION_ENDED) {
		return;
	}
	/* Requests that are left for the next turn count too: a turn serves fewer than one read may bring. */
	bool full = (c->is_ready || !connection_can_serve(c)) && buffer_length(&c->in) >= CONNECTION_IN_BYTES;
	if (c->state == CONNECTION_OPEN) {
		want |= c->eof || full ? EV_READ | EV_CLOSED | EV_ET : EV_READ;
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
	event_assign(&c->event, c->set->base, c->fd, want,
		want == (EV_PERSIST | EV_READ) ? connection_arrived : connection_happened, c);
	if (event_add(&c->event, want & EV_TIMEOUT ? &second : NULL) != 0) {
		connection_cut(c, END_ABANDONED, "out of memory");
	}
}

static enum end
connection_hangup_end(const struct connection *c)
{
	return c->identity.local && c->identity.release ? END_GONE : END_ABANDONED;
}

/* An end of file in good order ends the holds if the listener says so: a Unix socket by default, since its
 * peer is a local process unless it is a proxy; TCP only by configuration. */
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
		return;
	}
	ssize_t put = send(c->fd, buffer_bytes(&c->out), n, MSG_NOSIGNAL);
	if (put < 0 && errno != EAGAIN && errno != EINTR) {
		connection_cut(c, connection_hangup_end(c), "write failed");
		return;
	}
	if (put > 0) {
		stats->net_output_bytes += put;
		c->stalls = 0;
		buffer_consume(&c->out, (size_t)put);
		buffer_return(&c->out, &c->set->store);
	}
	c->blocked = buffer_length(&c->out) > 0;
}

/*
 * After its socket took what it would: counts the memory of what is left. Each client alone is within its
 * limits; thousands that ask for long lists and read none of them, or send all but the end of long requests,
 * are not.
 */
static void
connection_count_kept(struct connection *c)
{
	struct connections *set = c->set;
	size_t kept = c->in.room + c->out.room;
	set->kept_bytes += kept - c->kept;
	c->kept = kept;
	if (set->limits.buffer_bytes > 0 && set->kept_bytes > set->limits.buffer_bytes &&
		kept > CONNECTION_SHARE_BYTES && !c->identity.peer.admin) {
		set->stats->client_output_closed++;
		connection_cut(c, END_ABANDONED, "buffer limit");
	}
}

void
connection_flush(struct connection *c)
{
	if (c->state == CONNECTION_ENDED) {
		return;
	}
	connection_write(c);
	if (c->state != CONNECTION_ENDED) {
		connection_count_kept(c);
	}
	if (c->state == CONNECTION_CLOSING && buffer_length(&c->out) == 0) {
		connection_cut(c, c->end, c->why);
	}
	if ((buffer_length(&c->in) > 0 || c->eof) && connection_can_serve(c) && c != c->set->serving) {
		connection_mark_ready(c);
	}
	connection_arm(c);
}

/* Of all, but called when one has written, too. */
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
connection_written(struct connection *c)
{
	struct connections *set = c->set;
	if (c->state == CONNECTION_ENDED) {
		return;
	}
	if (c->out.failed) {
		set->stats->client_output_closed++;
		connection_cut(c, END_ABANDONED, "output limit");
		return;
	}
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
	connection_unmark_ready(c);
	c->state = CONNECTION_CLOSING;
	c->end = end;
	c->why = why;
	c->stalls = 0;
	connection_written(c);
}

void
connection_wait(struct connection *c)
{
	assert(!c->waits);
	c->waits = true;
}

void
connection_answered(struct connection *c)
{
	assert(c->waits);
	c->waits = false;
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

/* A wait may have been cancelled through another connection of its session: then one more is due than comes,
 * and CONNECTION_OWED_S ends it. */
void
connection_paid(struct connection *c)
{
	c->owed -= c->owed > 0;
	c->stalls = 0;
}

bool
connection_is_finished(const struct connection *c)
{
	return c->finished;
}

struct identity *
connection_identity(struct connection *c)
{
	return &c->identity;
}

int
connection_take_fd(struct connection *c)
{
	int fd = c->passed_fd;
	c->passed_fd = PASSING_NONE;
	c->set->kept_fds -= c->keeps_fd;
	c->keeps_fd = false;
	return fd;
}

void
connection_drop_fd(struct connection *c)
{
	int fd = connection_take_fd(c);
	if (fd >= 0) {
		close(fd);
	}
}

/*
 * A descriptor belongs to the request it came with: once nothing is left to serve, that one is served. What
 * is kept until then is bounded, since limits.clients does not count it.
 */
static void
connection_settle_fd(struct connection *c)
{
	if (buffer_length(&c->in) == 0) {
		connection_drop_fd(c);
	} else if (c->passed_fd >= 0 && !c->keeps_fd) {
		if (c->set->kept_fds >= CONNECTION_KEPT_FDS) {
			connection_drop_fd(c);
			c->passed_fd = PASSING_LOST;
			return;
		}
		c->keeps_fd = true;
		c->set->kept_fds++;
	}
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

/* Serves what is in data; returns how much of it is done with. */
static size_t
connection_serve_bytes(struct connection *c, char *data, size_t n)
{
	struct connections *set = c->set;
	size_t used = 0;
	int served = 0;
	set->serving = c;
	while (served < CONNECTION_TURN_MAX && connection_can_serve(c)) {
		struct reply error;
		ssize_t took = request_parse(
			&c->parser, data + used, n - used, &set->limits.request, &set->request, &error);
		if (took < 0) {
			connection_refuse(c, &error);
		}
		if (took <= 0) {
			break;
		}
		served++;
		used += (size_t)took;
		if (set->request.argc > 0) {
			set->hooks->request(set->arg, c, &set->request);
		}
	}
	set->serving = NULL;
	if (served == CONNECTION_TURN_MAX) {
		if (used < n || c->eof) {
			connection_mark_ready(c);
		}
	} else if (connection_can_serve(c) && c->eof && c->owed == 0) {
		/* What is left is a part of a request, and the rest of it will not come. */
		connection_close(c, connection_eof_end(c), "end of file");
	}
	return used;
}

void
connection_serve(struct connection *c)
{
	/* An empty buffer has no memory; at the end of file it still has to be found empty. */
	char *data = buffer_length(&c->in) > 0 ? buffer_bytes(&c->in) : c->set->scratch;
	size_t used = connection_serve_bytes(c, data, buffer_length(&c->in));
	buffer_consume(&c->in, used);
	buffer_trim(&c->in);
	connection_settle_fd(c);
}

/* Takes what was read: served right from where it lies, unless something is waiting before it. */
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
			connection_serve(c);
		}
	}
	if (c->in.failed) {
		connection_cut(c, END_ABANDONED, "out of memory");
	} else {
		connection_settle_fd(c);
	}
	/* Nothing in and nothing out is the rule. */
	if (c->in.room + c->kept > 0 && c->state == CONNECTION_OPEN) {
		connection_count_kept(c);
	}
}

/* One passed descriptor is kept, the latest, until the requests it came with are served. */
static ssize_t
connection_receive(struct connection *c)
{
	struct connections *set = c->set;
	int passed;
	if (!c->identity.local) {
		return recv(c->fd, set->scratch, sizeof set->scratch, 0);
	}
	ssize_t n = passing_read(c->fd, set->scratch, sizeof set->scratch, &passed);
	if (passed != PASSING_NONE) {
		connection_drop_fd(c);
		c->passed_fd = passed;
	}
	return n;
}

/* Looks how far the other end has gone: closed for good, or only done with sending. */
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
		if (errno != EAGAIN && errno != EINTR) {
			connection_cut(c, connection_hangup_end(c), "reset");
		}
		return;
	}
	if (n > 0) {
		c->set->stats->net_input_bytes += n;
		connection_take(c, (size_t)n);
		return;
	}
	c->eof = true;
	connection_watch(c);
	if (c->state == CONNECTION_OPEN) {
		connection_finish(c);
		connection_mark_ready(c);
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

static void
connection_happened(int fd, short what, void *arg)
{
	(void)fd;
	struct connection *c = arg;
	if (what & EV_TIMEOUT) {
		connection_stalled(c);
	}
	if (what & EV_WRITE) {
		connection_flush(c);
	}
	if (c->state == CONNECTION_OPEN && what & (EV_READ | EV_CLOSED)) {
		if (c->armed & EV_ET) {
			connection_watch(c);
		} else {
			connection_read(c);
		}
	}
	connection_arm(c);
}

void
connection_arrive(struct connection *c)
{
	connection_happened(c->fd, EV_READ, c);
}

/* Noted only, so that connections_serve() knows whose turn comes next. */
static void
connection_arrived(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct connection *c = arg;
	struct connections *set = c->set;
	if (set->arrived_count < set->arrived_room) {
		set->arrived[set->arrived_count++] = c;
	} else {
		connection_arrive(c);
	}
}
