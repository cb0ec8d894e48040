/*
 * events: see events.h.
 */
#include "daemon/admin/events.h"

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/stats.h"
#include "daemon/net/connections.h"
#include "daemon/request/context.h"
#include "proto/glob.h"
#include "proto/name.h"
#include "proto/record.h"
#include "proto/reply.h"

#include <bsd/sys/queue.h>
#include <stdlib.h>
#include <string.h>

/* ---- notes in words ---- */

static const struct {
	const char *name;
	enum log_level level;
	const char *ms; /* the name of its duration; "": it has none */
} note_rows[NOTE_COUNT] = {
#define NOTE(id, name, level, ms, help) [NOTE_##id] = {name, LOG_##level##_LEVEL, ms},
#include "daemon/core/base/note.def"
};

enum log_level
note_level(const struct note *note)
{
	return note_rows[note->type].level;
}

bool
note_is_for(const struct note *note, const struct viewer *viewer)
{
	if (!viewer_may(viewer, RIGHT_SEE)) {
		return false;
	}
	return viewer_names_all(viewer) ||
	       (note->name.n > 0 && note->type != NOTE_DEADLOCK && viewer_names(viewer, note->name));
}

static struct log_field
log_absent(void)
{
	return log_text(NULL, NULL);
}

/* The session may have ended by the time an operator reads the line: so the line has the address of the
 * client, too. */
static struct log_field
log_peer(const char *key, const char *text)
{
	return log_text(text[0] ? key : NULL, text);
}

/* Clients, or the end of a master, can cause any number of these notes, up to one for each name and session.
 */
static bool
note_is_of_many(const struct note *note)
{
	return note->name.n > 0 || note->session != 0;
}

/* Many holds that end by themselves must not hide one that was taken. */
static struct log_gate *
note_gate(const struct note *note, struct note_gates *gates)
{
	bool ends = note->text && (strcmp(note->text, "lease") == 0 || strcmp(note->text, "maxhold") == 0 ||
					  strcmp(note->text, "claim") == 0);
	return note->type == NOTE_LOST && ends ? &gates->ends : &gates->of[note->type];
}

/* A line of each grant would be long with it, and INSPECT shows it. */
static bool
note_says_why(const struct note *note)
{
	return note->type == NOTE_LONG_HOLD && note->why.n > 0;
}

void
note_log(const struct note *note, const char *where, bool meant, struct note_gates *gates, struct log *log)
{
	enum log_level level = meant ? LOG_INFO_LEVEL : note_rows[note->type].level;
	/* Most notes are not logged, and this is called for each hold that begins or ends. */
	if (!log_wants(log, level)) {
		return;
	}
	if (note_is_of_many(note) && !log_gate(log, note_gate(note, gates), note_rows[note->type].level,
					     note_rows[note->type].name)) {
		gates->left_out = true;
		return;
	}
	LOG_EVENT(log, level, note_rows[note->type].name, log_text(where ? "master" : NULL, where),
		note->name.n ? log_bytes("name", note->name.p, note->name.n) : log_absent(),
		note->owner.n ? log_bytes("owner", note->owner.p, note->owner.n) : log_absent(),
		note->session ? log_number("session", (int64_t)note->session) : log_absent(),
		note->peer && note->peer->pid > 0 ? log_number("pid", note->peer->pid) : log_absent(),
		note->peer ? log_peer("client", note->peer->name) : log_absent(),
		note->peer ? log_peer("address", note->peer->address) : log_absent(),
		note->token ? log_number("token", note->token) : log_absent(),
		note->ms >= 0 ? log_number(note_rows[note->type].ms, note->ms) : log_absent(),
		note_says_why(note) ? log_bytes("why", note->why.p, note->why.n) : log_absent(),
		log_text("text", note->text));
}

int64_t
note_gates_tell(struct note_gates *gates, struct log *log, int64_t now_ms)
{
	int64_t next_ms = INT64_MAX;
	if (!gates->left_out) {
		return next_ms;
	}
	for (int type = 0; type <= NOTE_COUNT; type++) {
		int row = type < NOTE_COUNT ? type : NOTE_LOST;
		struct log_gate *gate = type < NOTE_COUNT ? &gates->of[type] : &gates->ends;
		int64_t at_ms = log_gate_tell(log, gate, note_rows[row].level, note_rows[row].name, now_ms);
		next_ms = at_ms < next_ms ? at_ms : next_ms;
	}
	gates->left_out = next_ms != INT64_MAX;
	return next_ms;
}

/* The counter of each reason for a loss. */
static const struct {
	const char *word;
	size_t offset;
} loss_counters[] = {
	{"expired", offsetof(struct stats, lost_expired)},
	{"taken", offsetof(struct stats, lost_taken)},
	{"refused", offsetof(struct stats, lost_refused)},
	{"lease", offsetof(struct stats, lost_lease)},
	{"maxhold", offsetof(struct stats, lost_maxhold)},
	{"claim", offsetof(struct stats, lost_claim)},
	{"broken", offsetof(struct stats, lost_broken)},
	{"shortened", offsetof(struct stats, lost_shortened)},
	{"cloned", offsetof(struct stats, lost_cloned)},
};

static void
count_loss(const char *reason, struct stats *stats)
{
	stats->locks_lost++;
	for (size_t i = 0; i < sizeof loss_counters / sizeof *loss_counters; i++) {
		if (strcmp(loss_counters[i].word, reason) == 0) {
			++*(int64_t *)(void *)((char *)stats + loss_counters[i].offset);
		}
	}
}

static void
count_grant(const struct note *note, struct stats *stats)
{
	stats->locks_granted++;
	stats->granted_exclusive += note->kind == KIND_EXCLUSIVE;
	stats->granted_shared += note->kind == KIND_SHARED;
	stats->granted_permits += note->kind == KIND_PERMITS;
	buckets_add(&stats->wait_granted, note->span_ms * 1000);
}

static void
count_held(const struct note *note, struct stats *stats)
{
	if (note->span_ms >= 0) {
		buckets_add(&stats->held, note->span_ms * 1000);
	}
}

void
note_count(const struct note *note, struct stats *stats)
{
	switch (note->type) {
	case NOTE_GRANTED:
		count_grant(note, stats);
		break;
	case NOTE_RELEASED:
	case NOTE_WITHHELD:
		count_held(note, stats);
		break;
	case NOTE_LOST:
		count_loss(note->text, stats);
		count_held(note, stats);
		break;
	case NOTE_TIMEOUT:
		stats->locks_timed_out++;
		buckets_add(&stats->wait_timeout, note->ms * 1000);
		break;
	case NOTE_DEADLOCK:
		stats->locks_deadlocked++;
		break;
	case NOTE_SLOW_WAIT:
		stats->slow_waits++;
		break;
	case NOTE_LONG_HOLD:
		stats->long_holds++;
		break;
	case NOTE_STALLED:
		stats->stalls++;
		break;
	default:
		break;
	}
}

void
note_line(const struct note *note, const char *where, int64_t at_ms, struct fields *line)
{
	fields_word(line, note_rows[note->type].name);
	if (where) {
		fields_text(line, "master", slice_of(where));
	}
	if (note->name.n) {
		fields_text(line, "name", note->name);
	}
	if (note->session) {
		fields_int(line, "session", (int64_t)note->session);
	}
	if (note->owner.n) {
		fields_text(line, "owner", note->owner);
	}
	if (note->token) {
		fields_int(line, "token", note->token);
	}
	if (note->ms >= 0) {
		fields_int(line, note_rows[note->type].ms, note->ms);
	}
	if (note_says_why(note)) {
		fields_text(line, "why", note->why);
	}
	if (note->text) {
		fields_text(line, "text", slice_of(note->text));
	}
	fields_int(line, "at_ms", at_ms);
	fields_text(line, "level", slice_of(log_level_name(note_rows[note->type].level)));
}

/* ---- the stream ---- */

struct events_stream {
	LIST_ENTRY(events_stream) entry;
	struct connection *connection;
	struct glob *match; /* NULL: every event */
	size_t text_n;
	char text[]; /* of match */
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
	struct events_stream *stream = calloc(1, sizeof *stream + match.n);
	if (!stream) {
		return NULL;
	}
	stream->connection = c;
	stream->text_n = match.n;
	if (match.n > 0) {
		memcpy(stream->text, match.p, match.n);
	}
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

static void
stream_begin(struct events *events, struct events_stream *stream)
{
	LIST_INSERT_HEAD(&events->streams, stream, entry);
	events->count++;
	connection_identity(stream->connection)->streams = true;
}

void
events_verb(struct context *context, struct connection *c, const struct command *command)
{
	struct events *events = context->events;
	events_leave(events, c);
	if (events_full(events, c)) {
		return;
	}
	connections_strained(context->connections);
	struct events_stream *stream = stream_new(c, command->match);
	if (!stream) {
		connection_error(c, CODE_LIMIT, "out of memory: try again later");
		return;
	}
	stream_begin(events, stream);
	connection_reply(c, &(struct reply){.type = REPLY_OK});
}

static bool
stream_wants(const struct events_stream *stream, const struct note *note)
{
	const struct viewer viewer = connection_viewer(stream->connection);
	return note_is_for(note, &viewer) &&
	       (!stream->match || (note->name.n > 0 && glob_takes(stream->match, note->name)));
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

/* ---- saved and loaded ---- */

static void
stream_fields(struct record *r, conn_id *conn, struct slice *match)
{
	record_unsigned(r, conn);
	record_bytes(r, match, GLOB_BYTES_MAX);
}

void
events_save(const struct events *events, struct record *r)
{
	const struct events_stream *stream;
	LIST_FOREACH (stream, &events->streams, entry) {
		conn_id conn = connection_identity(stream->connection)->id;
		struct slice match = {stream->text, stream->text_n};
		record_begin(r, RECORD_STREAM);
		stream_fields(r, &conn, &match);
		record_end(r);
	}
}

void
events_load(struct events *events, struct record *r, const struct connections *connections)
{
	conn_id conn = 0;
	struct slice match = {NULL, 0};
	stream_fields(r, &conn, &match);
	struct connection *c = r->failed ? NULL : connections_find(connections, conn);
	if (!c || connection_identity(c)->streams) {
		return; /* it has ended */
	}
	struct events_stream *stream = stream_new(c, match);
	if (!stream) {
		record_no_memory(r);
		return;
	}
	stream_begin(events, stream);
}
