/*
 * events: puts the notes of the core into words, for the log, for counters, and for the EVENTS stream, which
 * goes to every connection that asked for it.
 *
 * The driver hands over each ACTION_NOTE. Nothing here decides what happens. The stream never waits for a
 * client: one that does not keep up reaches the output limit and is cut.
 */
#ifndef ADMIN_EVENTS_H
#define ADMIN_EVENTS_H

#include "daemon/base/log.h"
#include "daemon/core/base/action.h"
#include "daemon/request/context.h"
#include "proto/escape.h"

#include <stddef.h>

struct connection;
struct connections;
struct events;
struct record;
struct stats;
struct viewer;

/* Notes of which there can be any number are thinned out (log_gate()), with a gate for each type. All zero at
 * first. */
struct note_gates {
	struct log_gate of[NOTE_COUNT];
	struct log_gate ends; /* NOTE_LOST of holds whose own LEASE, MAXHOLD or CLAIM was over */
	bool left_out;        /* some line is left out, and no line has said so yet */
};

/* At which level the log has it. */
enum log_level note_level(const struct note *note);
/* Whether the viewer may see it: it is about one of its names. The circle of a deadlock has other names. */
bool note_is_for(const struct note *note, const struct viewer *viewer);
/* where: the address of note->master; NULL if it has none. meant: this daemon has left its masters, so
 * MASTER_AWAY is no warning. */
void note_log(
	const struct note *note, const char *where, bool meant, struct note_gates *gates, struct log *log);
/* At the end of a turn: says how many lines were left out. Returns when it has to be called again at the
 * latest. */
int64_t note_gates_tell(struct note_gates *gates, struct log *log, int64_t now_ms);
void note_count(const struct note *note, struct stats *stats);

/* Longest line. A line with every byte of every field escaped would be longer; fields that do not fit are
 * left out. */
#define NOTE_LINE_MAX 4096
/* `lock.granted name=a session=7 token=5 valid_ms=9000 at_ms=1760000000123 level=debug`; at_ms: wall clock.
 * It and the level are the last fields (PROTOCOL.md 6.5). */
void note_line(const struct note *note, const char *where, int64_t at_ms, struct fields *line);

/* Each note is written to every stream in the same turn, so their number is bounded. A user may have a
 * quarter of them. The last ones are reserved for administrators, for whom the bound of a user does not
 * count. */
#define EVENTS_STREAMS_MAX  64
#define EVENTS_STREAMS_USER 16
#define EVENTS_ADMIN_ROOM   8

/* NULL: out of memory. */
struct events *events_new(void) __attribute__((warn_unused_result));
void events_free(struct events *events);

/* The connection ends, or wants no more events. */
void events_leave(struct events *events, struct connection *connection);

/* where: the address of note->master; NULL if it has none. */
void events_tell(struct events *events, const struct note *note, const char *where);
size_t events_streams(const struct events *events);

/* A record for each stream, for the next process of this daemon, after those of the connections. */
void events_save(const struct events *events, struct record *r);
/* The stream of the current record; its connection was loaded before. */
void events_load(struct events *events, struct record *r, const struct connections *connections);

context_verb events_verb; /* EVENTS [MATCH glob]; a second one changes the glob */

#endif
