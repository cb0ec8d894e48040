/*
 * contents: what the pages show, and how it is written. All of it sees the core through its views, and
 * changes nothing.
 *
 *     metrics    /metrics
 *     lists      /locks.json and /sessions.json, and the rows of locks of the status page
 *     overview   /top.json, /hour.json and /lock.json, of all hosts
 *     status     / and /events, for people
 *     state      of these: the daemon and its masters at a glance
 *     recent     of these: what happened lately
 */
#ifndef HTTP_CONTENTS_H
#define HTTP_CONTENTS_H

#include "daemon/core/base/action.h"
#include "daemon/http/page.h"
#include "proto/answer.h"
#include "proto/buffer.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct named;
struct viewer;

/* ---- lists: what LOCKS, SESSIONS and INSPECT answer, as JSON ---- */

page_piece lists_locks;
page_piece lists_sessions;

/* A function that writes one element; map: as LOCKS has it. */
typedef void lists_element(struct buffer *out, const struct answer *map, bool first);

/* ---- overview: what TOP, HOUR, INSPECT and HISTORY answer, as JSON: of all hosts, if the viewer may see
 * them ----
 */

/* The first locks, those first that are waited for longest, with what each daemon says of itself. */
page_piece overview_top;
/* HOUR. */
page_piece overview_hour;
/* One name: INSPECT, its first page, and the holds that have ended. */
page_piece overview_lock;

/* ---- recent ---- */

/* Of all notes it keeps those that the log has at level info or above, the latest RECENT_MAX of them, as
 * JSON, and at most so many in a second: when a master is lost with 100,000 locks, each of them is a note.
 * http.c is the only writer. */
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

/* ---- status ---- */

/* The page is status.html, with the state of the daemon and the first locks filled in, so that it can be read
 * without scripts; its script follows /events and fetches the lists. */

/* Locks that the page has before its script runs. */
#define STATUS_LOCKS 200

/* The parts of status.html between its marks <!--state-->, <!--events--> and <!--locks-->; made by make. */
#define STATUS_PARTS 4
extern const char *const status_parts[STATUS_PARTS];

page_piece status_page;
/* The state, then what happened lately, the latest last. */
page_piece status_events;

/* No event is longer: a line with every byte escaped, or the state with all masters. */
#define STATUS_EVENT_MAX 65536

#endif
