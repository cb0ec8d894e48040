/*
 * events: the EVENTS stream: every note of the core, to every connection that asked for it.
 *
 * The driver hands over each note. The stream never waits for a client: one that does not keep up reaches the
 * output limit and is cut.
 */
#ifndef ADMIN_EVENTS_H
#define ADMIN_EVENTS_H

#include "daemon/admin/context.h"
#include "daemon/core/action.h"

#include <stddef.h>

/* Each note is written to every stream in the same turn, so their number is bounded. A user may have a
 * quarter of them. The last ones are reserved for administrators, for whom the bound of a user does not
 * count. */
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

/* where: the address of note->master; NULL if it has none. */
void events_tell(struct events *events, const struct note *note, const char *where);
size_t events_streams(const struct events *events);

#endif
