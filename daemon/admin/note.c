/*
 * note: see note.h.
 */
#include "daemon/admin/note.h"

#include "daemon/base/log.h"
#include "daemon/base/stats.h"

#include <string.h>

static const struct {
	const char *name;
	enum log_level level;
} note_rows[NOTE_COUNT] = {
#define NOTE(id, name, level) [NOTE_##id] = {name, LOG_##level##_LEVEL},
	NOTES(NOTE)
#undef NOTE
};

const char *
note_name(enum note_type type)
{
	return note_rows[type].name;
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

/* Clients can cause any number of these notes, up to one for each name and session, so they are thinned out.
 * A lost lock is not, since an operator may have to know of each; but a hold that ended by its own LEASE or
 * MAXHOLD is. */
static bool
note_is_of_many(const struct note *note)
{
	bool own = note->text && (strcmp(note->text, "lease") == 0 || strcmp(note->text, "maxhold") == 0);
	return (note->name.n > 0 || note->session != 0) && (note->type != NOTE_LOST || own);
}

void
note_log(const struct note *note, const char *where, struct note_gates *gates, struct log *log)
{
	/* Most notes are not logged, and this is called for each hold that begins or ends. */
	if (!log_wants(log, note_rows[note->type].level))
		return;
	if (note_is_of_many(note) &&
		!log_gate(log, &gates->of[note->type], note_rows[note->type].level, note_name(note->type)))
		return;
	LOG_EVENT(log, note_rows[note->type].level, note_name(note->type),
		log_text(where ? "master" : NULL, where),
		note->name.n ? log_bytes("name", note->name.p, note->name.n) : log_absent(),
		note->owner.n ? log_bytes("owner", note->owner.p, note->owner.n) : log_absent(),
		note->session ? log_number("session", (int64_t)note->session) : log_absent(),
		note->peer && note->peer->pid > 0 ? log_number("pid", note->peer->pid) : log_absent(),
		note->peer ? log_peer("client", note->peer->name) : log_absent(),
		note->peer ? log_peer("address", note->peer->address) : log_absent(),
		note->token ? log_number("token", note->token) : log_absent(),
		note->ttl_ms >= 0 ? log_number("ttl_ms", note->ttl_ms) : log_absent(),
		log_text("text", note->text));
}

void
note_count(const struct note *note, struct stats *stats)
{
	switch (note->type) {
	case NOTE_GRANTED:
		stats->locks_granted++;
		break;
	case NOTE_LOST:
		stats->locks_lost++;
		break;
	case NOTE_TIMEOUT:
		stats->locks_timed_out++;
		break;
	case NOTE_DEADLOCK:
		stats->locks_deadlocked++;
		break;
	default:
		break;
	}
}

void
note_line(const struct note *note, const char *where, int64_t at_ms, struct fields *line)
{
	fields_word(line, note_name(note->type));
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
	if (note->ttl_ms >= 0) {
		fields_int(line, "ttl_ms", note->ttl_ms);
	}
	if (note->text) {
		fields_text(line, "text", slice_of(note->text));
	}
	fields_int(line, "at_ms", at_ms);
}
