/*
 * events: see events.h.
 */
#include "daemon/admin/events.h"

#include "daemon/admin/note.h"
#include "daemon/base/clock.h"
#include "proto/composer.h"
#include "proto/glob.h"

#include <bsd/sys/queue.h>
#include <stdlib.h>

struct events_stream {
	LIST_ENTRY(events_stream) entry;
	struct connection *connection;
	struct glob *match; /* NULL: every event */
};

struct events {
	LIST_HEAD(events_list, events_stream) streams;
	size_t count;
};

static void
stream_free(struct events_stream *stream)
{
	if (stream) {
		glob_free(stream->match);
		free(stream);
	}
}

/* NULL: out of memory. */
static struct events_stream *
stream_new(struct connection *c, struct slice match)
{
	struct events_stream *stream = calloc(1, sizeof *stream);
	if (!stream) {
		return NULL;
	}
	stream->connection = c;
	stream->match = match.n > 0 ? glob_new(match) : NULL;
	if (match.n > 0 && !stream->match) {
		free(stream);
		return NULL;
	}
	return stream;
}

struct events *
events_new(void)
{
	return calloc(1, sizeof(struct events));
}

void
events_free(struct events *events)
{
	if (!events) {
		return;
	}
	while (!LIST_EMPTY(&events->streams)) {
		struct events_stream *stream = LIST_FIRST(&events->streams);
		LIST_REMOVE(stream, entry);
		stream_free(stream);
	}
	free(events);
}

void
events_leave(struct events *events, struct connection *c)
{
	struct events_stream *stream;
	if (!connection_identity(c)->streams) {
		return;
	}
	connection_identity(c)->streams = false;
	LIST_FOREACH (stream, &events->streams, entry) {
		if (stream->connection == c) {
			LIST_REMOVE(stream, entry);
			stream_free(stream);
			events->count--;
			return;
		}
	}
}

static size_t
events_of_user(const struct events *events, uint64_t user)
{
	const struct events_stream *stream;
	size_t count = 0;
	LIST_FOREACH (stream, &events->streams, entry) {
		count += connection_identity(stream->connection)->peer.user == user;
	}
	return count;
}

/* True: c was answered with the refusal. */
static bool
events_full(const struct events *events, struct connection *c)
{
	const struct peer *peer = &connection_identity(c)->peer;
	size_t room = EVENTS_STREAMS_MAX - (peer->admin ? 0 : EVENTS_ADMIN_ROOM);
	if (events->count >= room) {
		connection_error(c, CODE_LIMIT, "%zu connections ask for EVENTS, as many as may%s",
			events->count, peer->admin ? "" : ": the rest are for administrators");
	} else if (!peer->admin && events_of_user(events, peer->user) >= EVENTS_STREAMS_USER) {
		connection_error(c, CODE_LIMIT,
			"at most %d connections of one user may ask for EVENTS: RESET one",
			EVENTS_STREAMS_USER);
	} else {
		return false;
	}
	return true;
}

void
events_verb(struct context *context, struct connection *c, const struct command *command)
{
	struct events *events = context->events;
	events_leave(events, c);
	if (events_full(events, c)) {
		return;
	}
	struct events_stream *stream = stream_new(c, command->match);
	if (!stream) {
		connection_error(c, CODE_LIMIT, "out of memory: try again later");
		return;
	}
	LIST_INSERT_HEAD(&events->streams, stream, entry);
	events->count++;
	connection_identity(c)->streams = true;
	connection_reply(c, &(struct reply){.type = REPLY_OK});
}

static bool
stream_wants(const struct events_stream *stream, const struct note *note)
{
	return !stream->match || (note->name.n > 0 && glob_takes(stream->match, note->name));
}

void
events_tell(struct events *events, const struct note *note, const char *where)
{
	struct events_stream *stream;
	struct fields line;
	char text[NOTE_LINE_MAX];
	if (events->count == 0) {
		return;
	}
	fields_init(&line, text, sizeof text);
	note_line(note, where, clock_wall_us() / 1000, &line);
	LIST_FOREACH (stream, &events->streams, entry) {
		if (stream_wants(stream, note)) {
			struct connection *c = stream->connection;
			event_write(connection_out(c), connection_identity(c)->protocol, fields_line(&line));
			connection_written(c);
		}
	}
}

size_t
events_streams(const struct events *events)
{
	return events->count;
}
