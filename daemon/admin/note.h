/*
 * note: puts the notes of the core into words, for the log and for EVENTS, and counts them.
 *
 * The driver hands over each ACTION_NOTE. Nothing here decides what happens.
 */
#ifndef ADMIN_NOTE_H
#define ADMIN_NOTE_H

#include "daemon/base/log.h"
#include "daemon/core/action.h"
#include "proto/fields.h"

struct stats;

/* "lock.granted" */
const char *note_name(enum note_type type);
/* Notes that clients can cause at will are thinned out (log_gate()), with a gate for each type. */
struct note_gates {
	struct log_gate of[NOTE_COUNT];
};

/* where: the address of note->master; NULL if it has none. */
void note_log(const struct note *note, const char *where, struct note_gates *gates, struct log *log);
void note_count(const struct note *note, struct stats *stats);

/* Longest line. A line with every byte of every field escaped would be longer; fields that do not fit are
 * left out. */
#define NOTE_LINE_MAX 4096
/* `lock.granted name=a session=7 token=5 ttl_ms=9000 at_ms=1760000000123`; at_ms: wall clock
 * (PROTOCOL.md 6.5) */
void note_line(const struct note *note, const char *where, int64_t at_ms, struct fields *line);

#endif
