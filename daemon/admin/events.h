/*
 * events: the EVENTS stream: every note of the core, to every connection that asked for it.
 *
 * The driver hands over each note. A client that does not keep up runs into the output limit and is cut; the
 * stream never waits for anybody.
 */
#ifndef ADMIN_EVENTS_H
#define ADMIN_EVENTS_H

#include "daemon/admin/context.h"
#include "daemon/core/action.h"

#include <stddef.h>

/* Each note is written to every stream, in the middle of whatever caused it. One user has a quarter of the
 * room at most, and the last of it is for administrators, whom these bounds are not for. */
#define EVENTS_STREAMS_MAX  64
#define EVENTS_STREAMS_USER 16
#define EVENTS_ADMIN_ROOM   8

/* NULL: out of memory. */
struct events *events_new(void) __attribute__((warn_unused_result));
void events_free(struct events *events);

/* EVENTS [MATCH glob]; a second one changes the glob. */
context_verb events_verb;
/* The connection ends, or wants no more events. */
void events_leave(struct events *events, struct connection *connection);

/* where: the address of note->master; NULL when it has none. */
void events_tell(struct events *events, const struct note *note, const char *where);
size_t events_streams(const struct events *events);

#endif
