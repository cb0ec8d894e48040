/*
 * emit: appends actions to the running step, one function for each kind, so that the rest of the core shows
 * what it decides and not how that is written down.
 */
#ifndef CORE_EMIT_H
#define CORE_EMIT_H

#include "daemon/core/base/action.h"
#include "proto/command.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;

void emit_reply(struct core *core, conn_id conn, const struct reply *reply);
void emit_int(struct core *core, conn_id conn, int64_t n);
void emit_validity(struct core *core, conn_id conn, int64_t token, int64_t ms);
void emit_null(struct core *core, conn_id conn);
void emit_ok(struct core *core, conn_id conn);
/* The refusal of a daemon that is about to end. */
#define EMIT_DRAINING "the daemon is shutting down: connect again in a moment"
/* In front of what a request with AS has to name. */
#define EMIT_VAGUE    "with AS id a request may come late, so it has to say which hold is meant: "
void emit_error(struct core *core, conn_id conn, enum code code, const char *format, ...)
	__attribute__((cold, format(printf, 4, 5)));

void emit_push(struct core *core, conn_id conn, const struct push *push);
void emit_close(struct core *core, conn_id conn);
void emit_keep(struct core *core, conn_id conn);
void emit_call(struct core *core, const struct call *call);
void emit_listen(struct core *core, struct slice name, bool on);
void emit_move(struct core *core, const struct move *move);
void emit_watch(struct core *core, const struct process *process);
void emit_whose(struct core *core, const struct whose *whose);

/* The text escaped, and cut if it is longer than the room, which is more than 3 bytes. Returns out. */
const char *emit_text(char *out, size_t room, struct slice text);

/* A copy of the text, for a note; it lasts until the next step. NULL: out of memory. */
const char *emit_words(struct core *core, const char *text);

/* A note about nothing yet. ms -1 and token 0 are left out. Valid until the next action. */
struct note *emit_note_of(struct core *core, enum note_type type, int64_t token, int64_t ms, const char *text)
	__attribute__((returns_nonnull));

#endif
