/*
 * recent: what happened lately.
 */
#include "daemon/http/recent.h"

#include "daemon/admin/events.h"
#include "daemon/base/clock.h"
#include "daemon/http/contents.h"
#include "daemon/net/access.h"
#include "proto/escape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct slice
recent_add(struct recent *recent, const struct note *note, const char *where)
{
	int64_t wall_ms = clock_wall_us() / 1000;
	char line[NOTE_LINE_MAX];
	struct fields fields;
	if (note_level(note) == LOG_DEBUG_LEVEL) {
		return SLICE("");
	}
	if (wall_ms / 1000 != recent->second) {
		recent->second = wall_ms / 1000;
		recent->so_far = 0;
	}
	if (recent->so_far++ >= RECENT_SECOND) {
		return SLICE("");
	}
	fields_init(&fields, line, sizeof line);
	note_line(note, where, wall_ms, &fields);
	char *copy = strndup(fields.text, fields.n);
	if (!copy) {
		return SLICE("");
	}
	free(recent->lines[recent->next]);
	recent->lines[recent->next] = copy;
	recent->next = (recent->next + 1) % RECENT_MAX;
	recent->count += recent->count < RECENT_MAX;
	return slice_of(copy);
}

bool
recent_is_for(struct slice line, const struct viewer *viewer)
{
	char scratch[NOTE_LINE_MAX];
	struct slice key, value;
	bool deadlock = false;
	if (viewer_names_all(viewer)) {
		return true;
	}
	while (!deadlock && fields_next(&line, scratch, &key, &value)) {
		deadlock = slice_equal(key, SLICE("lock.deadlock"));
		if (value.p && slice_equal(key, SLICE("name"))) {
			return viewer_names(viewer, value);
		}
	}
	return false;
}

const char *
recent_line(const struct recent *recent, size_t index)
{
	assert(index < recent->count);
	return recent->lines[(recent->next + RECENT_MAX - 1 - index) % RECENT_MAX];
}

void
recent_done(struct recent *recent)
{
	for (size_t i = 0; i < RECENT_MAX; i++) {
		free(recent->lines[i]);
	}
	*recent = (struct recent){0};
}
