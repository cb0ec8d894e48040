/*
 * recent: what happened lately, as the status page shows it: losses, breaks, masters. http.c is the only
 * writer.
 *
 * Of all notes it keeps those that the log has at level info or above, the latest RECENT_MAX of them, as
 * JSON, and at most so many in a second: when a master is lost with 100,000 locks, each of them is a note.
 */
#ifndef HTTP_RECENT_H
#define HTTP_RECENT_H

#include "daemon/core/action.h"
#include "proto/buffer.h"
#include "proto/slice.h"

#include <stddef.h>
#include <stdint.h>

#define RECENT_MAX    100
#define RECENT_SECOND 50

/* All zero at first. */
struct recent {
	char *lines[RECENT_MAX];
	size_t next; /* where the next one goes */
	size_t count;
	int64_t second; /* of the latest ones, */
	size_t so_far;  /* and how many there were in it */
};

/* Keeps the note; its line (events.h) is valid until the next call. n == 0: it is not kept. where: as
 * events_tell(). */
struct slice recent_add(struct recent *recent, const struct note *note, const char *where);
/* index < recent->count; 0 is the latest */
const char *recent_line(const struct recent *recent, size_t index);
/* A line as an object, as `holdfast watch --json` prints it. */
void recent_put_json(struct buffer *out, struct slice line);
void recent_done(struct recent *recent);

#endif
