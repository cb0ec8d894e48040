/*
 * recent: what happened lately.
 */
#ifndef HTTP_RECENT_H
#define HTTP_RECENT_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct note;
struct recent;
struct viewer;

/* Keeps the note; its line (events.h) is valid until the next call. n == 0: it is not stored. where: as
 * events_tell(). */
struct slice recent_add(struct recent *recent, const struct note *note, const char *where);
/* Whether the viewer may see the note of this line. */
bool recent_is_for(struct slice line, const struct viewer *viewer);
/* index < recent->count; 0 is the latest */
const char *recent_line(const struct recent *recent, size_t index);
void recent_done(struct recent *recent);

#endif
