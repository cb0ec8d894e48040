/*
 * notes: what the core tells of a session and of a name, for the log, EVENTS and the counters.
 */
#ifndef CORE_NOTES_H
#define CORE_NOTES_H

#include "daemon/core/base/action.h"
#include "daemon/core/base/peer.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct resource;
struct session;

/* "session 7 (deploy)", the latter with the session's client name cut to a few characters. Returns out. */
#define EMIT_LABEL_MAX 17 /* bytes of that name, NUL included */
#define EMIT_WHO_MAX   (EMIT_LABEL_MAX + 32)
const char *emit_who(char out[EMIT_WHO_MAX], const struct session *s);

/* NULL-safe: r and s may be absent. ms -1 and token 0 are left out. Returns the note, until the next one. */
struct note *emit_note(struct core *core, enum note_type type, const struct resource *r,
	const struct session *s, int64_t token, int64_t ms, const char *text);

/* The same, for a hold or a wait that has an owner tag. */
void emit_tag_note(struct core *core, enum note_type type, const struct resource *r, const struct session *s,
	struct slice owner, int64_t token, int64_t ms, const char *text);

#endif
