/*
 * stream: lets hiredis connect, read and write when the event loop says so. Called by the link; must never
 * block, and never call a hook from within a function of its own interface.
 *
 * Of hiredis' event handlers the one that connects is used. The one for replies pairs them by the names of
 * commands, aborts the process when a master says what was not asked for, and cannot stop amid what was read;
 * the one for output frees the connection when a write fails, with the replies that are still unread. So
 * hiredis reads and writes through the functions that those two call themselves. Under TLS its output goes
 * out, and its reader is fed, through base/tls.h: hiredis of Debian 12 has no TLS.
 */
#include "daemon/redis/stream.h"

#include "daemon/base/clock.h"
#include "daemon/base/stats.h"
#include "daemon/base/tls.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <hiredis/async.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TLS_RECORDS 4      /* that are read before their replies are delivered */
#define TURN_NS     500000 /* answers are delivered for so long; then others have their turn */

#if HIREDIS_MAJOR < 1
#define ARRAY_SIZE int
#else
#define ARRAY_SIZE size_t
#endif

struct stream {
	const struct stream_hooks *hooks;
	void *arg;
	struct stats *stats;
	redisAsyncContext *redis; /* NULL: freed by hiredis */
	struct tls *tls;          /* NULL: plain */
	struct event *readable;
	struct event *writable;
	struct event *again;
	redisReplyObjectFunctions functions; /* hiredis' own, with arrays bounded */
	void *(*create_array)(const redisReadTask *task, ARRAY_SIZE elements);

	uint64_t written;
	uint64_t sent;
	size_t unfinished; /* bytes since the last whole reply */
	int64_t received_ms;
	bool handshaking; /* the TLS handshake is not complete */
	bool mute;   /* a write failed and why is set; what the master said before it closed is read first */
	bool behind; /* replies may be left that were read and not delivered; `again` is due */
	bool broken; /* why is set; end() follows */
	char why[256];
};

/* hiredis allocates whatever number the header of an array says, nests as deep as it is told, and frees by
 * recursion. NULL reads as "out of memory" there. */
static void *
create_bounded_array(const redisReadTask *task, ARRAY_SIZE elements)
{
	const struct stream *stream = task->privdata;
	const redisReadTask *outer;
	int depth = 0;

	for (outer = task->parent; outer; outer = outer->parent)
		depth++;
	if (depth >= STREAM_DEPTH_MAX || (size_t)elements > STREAM_ELEMENTS_MAX)
		return NULL;
	return stream->create_array(task, elements);
}

static void
stream_fail(struct stream *stream, const char *why)
{
	if (stream->broken)
		return;
	stream->broken = true;
	snprintf(stream->why, sizeof stream->why, "%s", why);
}

/* What went wrong, as hiredis has just noted it: errno is still that of REDIS_ERR_IO. */
static const char *
failure_text(const redisContext *c)
{
	if (c->err == REDIS_ERR_EOF)
		return "the master closed the connection";
	switch (c->err == REDIS_ERR_IO ? errno : 0) {
	case ECONNRESET:
		return "connection reset by the master";
	case ECONNREFUSED:
		return "connection refused";
	case ENOENT:
		return "no such socket";
	case EAGAIN: /* of a Unix socket that would not become writable */
		return "its queue of connections is full";
	default:
		return c->errstr;
	}
}

/* Tells the whole replies that there are, until it is late: then `again` goes on in the next turn. */
static void
stream_parse(struct stream *stream, int64_t until_ns)
{
	static const struct timeval next_turn = {0};

	while (!stream->broken) {
		void *reply = NULL;

		if (redisReaderGetReply(stream->redis->c.reader, &reply) != REDIS_OK) {
			stream_fail(stream, "the answer is not Redis protocol");
			return;
		}
		stream->behind = false;
		if (!reply)
			break;
		stream->unfinished = 0;
		stream->hooks->reply(stream->arg, reply);
		freeReplyObject(reply);
		if (clock_ns() >= until_ns && event_add(stream->again, &next_turn) == 0) {
			stream->behind = true;
			return;
		}
	}
	if (stream->unfinished > STREAM_REPLY_BYTES_MAX)
		stream_fail(stream, "the answer is larger than any of ours can be");
}

/* What has been decrypted raises no event: it is read to its end, or `readable` comes again. */
static void
stream_read_tls(struct stream *stream)
{
	redisReader *reader = stream->redis->c.reader;
	char room[TLS_RECORD_BYTES];
	int records = 0;
	ssize_t n;

	do {
		n = tls_read(stream->tls, room, sizeof room);
		if (n > 0 && redisReaderFeed(reader, room, (size_t)n) != REDIS_OK) {
			stream_fail(stream, "out of memory");
			return;
		}
	} while (n > 0 && ++records < TLS_RECORDS && tls_may_have_more(stream->tls));
	if (n == 0)
		stream_fail(stream, "the master closed the connection");
	else if (n < 0 && errno != EAGAIN)
		stream_fail(stream, tls_why(stream->tls));
	else if (n > 0 && tls_may_have_more(stream->tls))
		event_active(stream->readable, EV_READ, 0);
}

/* Up to 16 KB, or a few records of TLS. */
static void
stream_read(struct stream *stream)
{
	redisContext *c = &stream->redis->c;
	size_t n = c->reader->len;

	if (stream->tls) {
		stream_read_tls(stream);
	} else if (redisBufferRead(c) != REDIS_OK) {
		stream_fail(stream, failure_text(c));
		return;
	}
	n = c->reader->len - n;
	if (n > 0) {
		stream->stats->master_input_bytes += (int64_t)n;
		stream->unfinished += n;
		stream->received_ms = clock_ms();
	} else if (stream->mute) {
		stream->broken = true;
	}
}

/* Goes on with the handshake; may end the stream, which is gone then. */
static void
stream_handshake(struct stream *stream)
{
	bool done = tls_handshake(stream->tls) == 0;

	if (!done && errno == EAGAIN) {
		if (tls_wants_write(stream->tls))
			event_add(stream->writable, NULL);
		return;
	}
	stream->handshaking = false;
	if (done) {
		stream->hooks->connected(stream->arg);
	} else {
		stream_fail(stream, tls_why(stream->tls));
		stream->hooks->end(stream->arg, stream->why);
	}
}

/* What was read is delivered before more is read: also before the end of the connection. */
static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct stream *stream = arg;

	(void)fd;
	(void)what;
	if (stream->handshaking && !stream->broken) {
		stream_handshake(stream);
		return;
	}
	if (!stream->behind && !stream->broken)
		stream_read(stream);
	stream_parse(stream, clock_ns() + TURN_NS);
	if (stream->mute && !stream->broken)
		event_active(stream->readable, EV_READ, 0);
	if (stream->broken)
		stream->hooks->end(stream->arg, stream->why);
}

/* hiredis frees a connection that did not come about. */
static void
on_cleanup(void *arg)
{
	struct stream *stream = arg;

	stream_fail(stream, failure_text(&stream->redis->c));
	event_del(stream->writable);
	stream->redis = NULL;
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct stream *stream = arg;

	(void)fd;
	(void)what;
	if (stream->redis->c.flags & REDIS_CONNECTED && stream->handshaking) {
		stream_handshake(stream);
		return;
	}
	if (stream->redis->c.flags & REDIS_CONNECTED) {
		stream_flush(stream);
		return;
	}
	redisAsyncHandleWrite(stream->redis);
	if (stream->broken)
		stream->hooks->end(stream->arg, stream->why);
	else if (!(stream->redis->c.flags & REDIS_CONNECTED) || event_add(stream->readable, NULL) != 0)
		event_add(stream->writable, NULL);
	else if (stream->handshaking)
		stream_handshake(stream);
	else
		stream->hooks->connected(stream->arg);
}

/* As redisBufferWrite(). */
static bool
stream_send_tls(struct stream *stream, int *done)
{
	redisContext *c = &stream->redis->c;
	size_t unsent = sdslen(c->obuf);
	ssize_t n = tls_write(stream->tls, c->obuf, unsent);

	if (n < 0 && errno != EAGAIN)
		return false;
	if (n > 0) {
		unsent -= (size_t)n;
		memmove(c->obuf, c->obuf + n, unsent + 1);
		sdssetlen(c->obuf, unsent);
	}
	*done = unsent == 0;
	return true;
}

void
stream_flush(struct stream *stream)
{
	redisContext *c = &stream->redis->c;
	size_t unsent = sdslen(c->obuf);
	int done = 0;
	bool ok;

	if (unsent == 0 || stream->mute || event_pending(stream->writable, EV_WRITE, NULL))
		return;
	ok = stream->tls ? stream_send_tls(stream, &done) : redisBufferWrite(c, &done) == REDIS_OK;
	if (!ok)
		snprintf(stream->why, sizeof stream->why, "%s",
			stream->tls ? tls_why(stream->tls) : failure_text(c));
	unsent -= sdslen(c->obuf);
	stream->sent += unsent;
	stream->stats->master_output_bytes += (int64_t)unsent;
	if (ok && (done || event_add(stream->writable, NULL) == 0))
		return;
	stream->mute = true;
	c->err = 0; /* or it would not read either */
	event_active(stream->readable, EV_READ, 0);
}

#define HEADER_BYTES 24 /* '*' or '$', at most 20 digits, CR LF */

/* Prints a header, and says where it ends. */
static char *
header_print(char *out, char type, size_t number)
{
	char digits[HEADER_BYTES];
	char *end = digits + sizeof digits, *p = end;

	*out++ = type;
	do
		*--p = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	memcpy(out, p, (size_t)(end - p));
	out += end - p;
	*out++ = '\r';
	*out++ = '\n';
	return out;
}

/* Straight into hiredis' buffer: were hiredis to print it, a first acquire would take a fifth more
 * instructions. */
bool
stream_write(struct stream *stream, int argc, const char *const *argv, const size_t *argvlen)
{
	redisContext *c = &stream->redis->c;
	size_t need = HEADER_BYTES, before = sdslen(c->obuf);
	char *room, *out;
	int i;

	for (i = 0; i < argc; i++)
		need += HEADER_BYTES + argvlen[i] + 2;
	room = sdsMakeRoomFor(c->obuf, need);
	if (!room)
		return false;
	c->obuf = room;
	out = header_print(room + before, '*', (size_t)argc);
	for (i = 0; i < argc; i++) {
		out = header_print(out, '$', argvlen[i]);
		if (argvlen[i] > 0)
			memcpy(out, argv[i], argvlen[i]);
		out += argvlen[i];
		*out++ = '\r';
		*out++ = '\n';
	}
	*out = 0;
	assert((size_t)(out - room) <= before + need);
	sdssetlen(room, (size_t)(out - room));
	stream->written += sdslen(room) - before;
	return true;
}

void
stream_acknowledge(struct stream *stream)
{
	const redisContext *c = &stream->redis->c;
	int once = 2; /* 1 would go on acknowledging each answer by itself */

	if (c->connection_type == REDIS_CONN_TCP)
		(void)setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &once, sizeof once);
}

void
stream_break(struct stream *stream, const char *why)
{
	stream_fail(stream, why);
	event_active(stream->readable, EV_READ, 0);
}

struct stream *
stream_new(struct event_base *base, redisAsyncContext *redis, struct tls *tls,
	const struct stream_hooks *hooks, void *arg, struct stats *stats)
{
	const char *why = redis->err ? failure_text(&redis->c) : NULL;
	struct stream *stream = calloc(1, sizeof *stream);
	redisReader *reader = redis->c.reader;

	if (!stream) {
		tls_free(tls);
		redisAsyncFree(redis);
		return NULL;
	}
	stream->hooks = hooks;
	stream->arg = arg;
	stream->stats = stats;
	stream->redis = redis;
	stream->tls = tls;
	stream->handshaking = tls != NULL;
	stream->received_ms = clock_ms();
	stream->functions = *reader->fn;
	stream->create_array = stream->functions.createArray;
	stream->functions.createArray = create_bounded_array;
	reader->fn = &stream->functions;
	reader->privdata = stream;
	redis->ev.data = stream;
	redis->ev.cleanup = on_cleanup;
	stream->readable = event_new(base, redis->c.fd, EV_READ | EV_PERSIST, on_readable, stream);
	stream->writable = event_new(base, redis->c.fd, EV_WRITE, on_writable, stream);
	stream->again = evtimer_new(base, on_readable, stream);
	if (stream->readable && stream->writable && stream->again) {
		if (why)
			stream_break(stream, why);
		if (why || event_add(stream->writable, NULL) == 0)
			return stream;
	}
	stream_free(stream);
	return NULL;
}

void
stream_free(struct stream *stream)
{
	if (!stream)
		return;
	if (stream->readable)
		event_free(stream->readable);
	if (stream->writable)
		event_free(stream->writable);
	if (stream->again)
		event_free(stream->again);
	tls_free(stream->tls);
	if (stream->redis) {
		stream->redis->ev.cleanup = NULL;
		redisAsyncFree(stream->redis);
	}
	free(stream);
}

bool
stream_is_handshaking(const struct stream *stream)
{
	return stream->handshaking && stream->redis && stream->redis->c.flags & REDIS_CONNECTED;
}

uint64_t
stream_written(const struct stream *stream)
{
	return stream->written;
}

uint64_t
stream_sent(const struct stream *stream)
{
	return stream->sent;
}

int64_t
stream_received_ms(const struct stream *stream)
{
	return stream->received_ms;
}
