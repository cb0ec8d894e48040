/*
 * emit: appends actions to the running step, one function for each kind, so that the rest of the core shows
 * what it decides and not how that is written down.
 */
#ifndef CORE_EMIT_H
#define CORE_EMIT_H

#include "daemon/core/state.h"

void emit_reply(struct core *core, conn_id conn, const struct reply *reply);
void emit_int(struct core *core, conn_id conn, int64_t n);
void emit_validity(struct core *core, conn_id conn, int64_t token, int64_t ms);
void emit_null(struct core *core, conn_id conn);
void emit_ok(struct core *core, conn_id conn);
/* The refusal of a daemon that is about to end. */
#define EMIT_DRAINING "the daemon is shutting down: connect again in a moment"
void emit_error(struct core *core, conn_id conn, enum code code, const char *format, ...)
	__attribute__((cold, format(printf, 4, 5)));

void emit_push(struct core *core, conn_id conn, const struct push *push);
void emit_close(struct core *core, conn_id conn);
void emit_call(struct core *core, const struct call *call);
void emit_listen(struct core *core, struct slice name, bool on);
void emit_move(struct core *core, const struct master *m);
void emit_watch(struct core *core, const struct process *process);

/* NULL-safe: r and s may be absent. ms -1 and token 0 are left out. */
void emit_note(struct core *core, enum note_type type, const struct resource *r, const struct session *s,
	int64_t token, int64_t ms, const char *text);

/* The same, for a hold or a wait that has an owner tag. */
void emit_tag_note(struct core *core, enum note_type type, const struct resource *r, const struct session *s,
	struct slice owner, int64_t token, int64_t ms, const char *text);

/* About a latch. */
void emit_latch_note(struct core *core, enum note_type type, const struct latch *l, session_id session,
	int64_t ms, const char *text);

/* About a master. */
void emit_master_note(struct core *core, enum note_type type, const struct master *m, int64_t token,
	int64_t ms, const char *text);

/* The same for events that come many times in a row. It is noted again only after a pause of NOTE_PAUSE_MS,
 * or, if it is news, NOTE_NEWS_MS after it was noted last. */
#define NOTE_PAUSE_MS 10000
#define NOTE_NEWS_MS  1000
void emit_master_stretch(struct core *core, enum note_type type, const struct master *m,
	struct stretch *stretch, bool news, int64_t ms, const char *text);

/* The next of this step's pseudo-random numbers, and one in [low, high]. */
uint64_t core_chance(struct core *core);
int64_t core_jitter(struct core *core, int64_t low, int64_t high);

/* An attempt number greater than all before it, partly random: a copy of this process draws others. */
uint64_t core_attempt(struct core *core);

#endif
