/*
 * master_note: what the core tells of a master, for the log, EVENTS and the counters.
 */
#ifndef CORE_MASTER_NOTE_H
#define CORE_MASTER_NOTE_H

#include "daemon/core/base/action.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct master;
struct stretch;

/* About a master. */
void emit_master_note(struct core *core, enum note_type type, const struct master *m, int64_t token,
	int64_t ms, const char *text);

/* The same for events that come many times in a row. It is noted again only after a pause of NOTE_PAUSE_MS,
 * or, if it is news, NOTE_NEWS_MS after it was noted last. */
#define NOTE_PAUSE_MS 10000
#define NOTE_NEWS_MS  1000
void emit_master_stretch(struct core *core, enum note_type type, const struct master *m,
	struct stretch *stretch, bool news, int64_t ms, const char *text);

#endif
