/*
 * stream: socket, output and reply parser of one connection. Called by the link; must never block, never
 * raise SIGPIPE, and never call a hook from within a function of its own interface.
 */
#include "daemon/redis/stream.h"

#include "daemon/base/clock.h"
#include "daemon/base/stats.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 16384
#define TURN_NS    500000 /* for so long answers are told; then others have their turn */
#define KEEP_BYTES 262144 /* an output buffer that grew beyond is given back when it is empty */

#if HIREDIS_MAJOR < 1
#define ARRAY_SIZE int
#else
#define ARRAY_SIZE size_t
#endif

struct stream {
	const struct stream_hooks *hooks;
	void *arg;
	struct stats *stats;
	int fd;
	struct event *readable;
	struct event *writable;
	struct event *again;
	redisReader *reader;
	redisReplyObjectFunctions functions; /* hiredis' own, with arrays bounded */
	void *(*create_array)(const redisReadTask *task, ARRAY_SIZE elements);

	char *output;
	size_t head; /* sent up to here */
	size_t tail; /* filled up to here */
	size_t room;
	uint64_t sent;
	size_t unfinished; /* bytes since the last whole reply */
	int64_t heard_ms;
	int write_error; /* errno; what the master said before it closed is read first */
	bool is_tcp;     /* as far as is known */
	bool behind;     /* replies may be left that were read and not told; `again` is due */
	bool broken;     /* why is set; end() follows */
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

/* Tells the whole replies that there are, until it is late: then `again` goes on in the next turn. */
static void
stream_parse(struct stream *stream, int64_t until_ns)
{
	static const struct timeval next_turn = {0};

	while (!stream->broken) {
		void *reply = NULL;

		if (redisReaderGetReply(stream->reader, &reply) != REDIS_OK) {
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

static void
stream_take(struct stream *stream, const char *bytes, size_t n)
{
	stream->stats->master_input_bytes += (int64_t)n;
	stream->unfinished += n;
	stream->heard_ms = clock_ms();
	if (redisReaderFeed(stream->reader, bytes, n) != REDIS_OK)
		stream_fail(stream, "out of memory");
}

static void
stream_read(struct stream *stream)
{
	char bytes[READ_BYTES];
	ssize_t n = recv(stream->fd, bytes, sizeof bytes, MSG_DONTWAIT);

	if (n > 0)
		stream_take(stream, bytes, (size_t)n);
	else if (n == 0)
		stream_fail(stream, "the master closed the connection");
	else if (errno == ECONNRESET)
		stream_fail(stream, "connection reset by the master");
	else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		stream_fail(stream, strerror(errno));
	else if (stream->write_error && errno != EINTR)
		stream_fail(stream, strerror(stream->write_error));
}

/* What was read is told before more is read: also before the end of the connection. */
static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct stream *stream = arg;

	(void)fd;
	(void)what;
	if (!stream->behind && !stream->broken)
		stream_read(stream);
	stream_parse(stream, clock_ns() + TURN_NS);
	if (stream->write_error && !stream->broken)
		event_active(stream->readable, EV_READ, 0);
	if (stream->broken)
		stream->hooks->end(stream->arg, stream->why);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	stream_flush(arg);
}

void
stream_flush(struct stream *stream)
{
	if (stream->head == stream->tail || stream->write_error ||
		event_pending(stream->writable, EV_WRITE, NULL))
		return;
	while (stream->head < stream->tail) {
		ssize_t n = send(stream->fd, stream->output + stream->head, stream->tail - stream->head,
			MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) &&
			event_add(stream->writable, NULL) == 0)
			return;
		if (n < 0) {
			stream->write_error = errno;
			event_active(stream->readable, EV_READ, 0);
			return;
		}
		stream->head += (size_t)n;
		stream->sent += (uint64_t)n;
		stream->stats->master_output_bytes += n;
	}
	stream->head = stream->tail = 0;
	if (stream->room > KEEP_BYTES) {
		free(stream->output);
		stream->output = NULL;
		stream->room = 0;
	}
}

static bool
stream_reserve(struct stream *stream, size_t n)
{
	size_t room = stream->room ? stream->room : 4096;
	char *output;

	if (stream->room - stream->tail >= n)
		return true;
	if (stream->head > 0) {
		memmove(stream->output, stream->output + stream->head, stream->tail - stream->head);
		stream->tail -= stream->head;
		stream->head = 0;
	}
	while (room - stream->tail < n) {
		if (room > SIZE_MAX / 2)
			return false;
		room *= 2;
	}
	output = realloc(stream->output, room);
	if (!output)
		return false;
	stream->output = output;
	stream->room = room;
	return true;
}

#define HEADER_BYTES 24 /* '*' or '$', at most 20 digits, CR LF, NUL */

/* Prints a header, and says where it ends. */
static char *
header_print(char *out, char type, size_t number)
{
	char digits[HEADER_BYTES];
	char *end = digits + sizeof digits, *p = end;

	*out++ = type;
	if (number < 10) { /* nearly all are less than 100 */
		*out++ = (char)('0' + number);
	} else if (number < 100) {
		*out++ = (char)('0' + number / 10);
		*out++ = (char)('0' + number % 10);
	} else {
		for (; number > 0; number /= 10)
			*--p = (char)('0' + number % 10);
		memcpy(out, p, (size_t)(end - p));
		out += end - p;
	}
	*out++ = '\r';
	*out++ = '\n';
	return out;
}

bool
stream_write(struct stream *stream, int argc, const char *const *argv, const size_t *argvlen)
{
	size_t need = HEADER_BYTES;
	char *out;
	int i;

	for (i = 0; i < argc; i++)
		need += HEADER_BYTES + argvlen[i] + 2;
	if (!stream_reserve(stream, need))
		return false;
	out = header_print(stream->output + stream->tail, '*', (size_t)argc);
	for (i = 0; i < argc; i++) {
		out = header_print(out, '$', argvlen[i]);
		if (argvlen[i] > 0)
			memcpy(out, argv[i], argvlen[i]);
		out += argvlen[i];
		*out++ = '\r';
		*out++ = '\n';
	}
	stream->tail = (size_t)(out - stream->output);
	assert(stream->tail <= stream->room);
	return true;
}

void
stream_acknowledge(struct stream *stream)
{
	int once = 2; /* 1 would go on acknowledging each answer by itself */

	if (stream->is_tcp)
		stream->is_tcp = setsockopt(stream->fd, IPPROTO_TCP, TCP_QUICKACK, &once, sizeof once) == 0;
}

void
stream_break(struct stream *stream, const char *why)
{
	stream_fail(stream, why);
	event_active(stream->readable, EV_READ, 0);
}

/* hiredis' parser with hiredis' objects, arrays bounded. */
static bool
stream_make_reader(struct stream *stream)
{
	stream->reader = redisReaderCreate();
	if (!stream->reader)
		return false;
	stream->functions = *stream->reader->fn;
	stream->create_array = stream->functions.createArray;
	stream->functions.createArray = create_bounded_array;
	stream->reader->fn = &stream->functions;
	stream->reader->privdata = stream;
	return true;
}

struct stream *
stream_new(struct event_base *base, int fd, const struct stream_hooks *hooks, void *arg, struct stats *stats)
{
	struct stream *stream = calloc(1, sizeof *stream);

	if (!stream) {
		close(fd);
		return NULL;
	}
	stream->hooks = hooks;
	stream->arg = arg;
	stream->stats = stats;
	stream->fd = fd;
	stream->is_tcp = true;
	stream->heard_ms = clock_ms();
	stream->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, stream);
	stream->writable = event_new(base, fd, EV_WRITE, on_writable, stream);
	stream->again = evtimer_new(base, on_readable, stream);
	if (stream->readable && stream->writable && stream->again && stream_make_reader(stream) &&
		event_add(stream->readable, NULL) == 0)
		return stream;
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
	if (stream->reader)
		redisReaderFree(stream->reader);
	close(stream->fd);
	free(stream->output);
	free(stream);
}

uint64_t
stream_written(const struct stream *stream)
{
	return stream->sent + (stream->tail - stream->head);
}

uint64_t
stream_sent(const struct stream *stream)
{
	return stream->sent;
}

int64_t
stream_heard_ms(const struct stream *stream)
{
	return stream->heard_ms;
}
