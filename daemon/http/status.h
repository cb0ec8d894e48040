/*
 * status: the status page / and its events, for people. The page is status.html, with the state of the daemon
 * and the first locks filled in, so that it can be read without scripts; its script follows /events and
 * fetches the lists.
 */
#ifndef HTTP_STATUS_H
#define HTTP_STATUS_H

#include "daemon/http/page.h"

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

/* Append an event: the state; and a note, by its line. Without memory out fails. */
void status_put_state(const struct context *context, struct buffer *out);
void status_put_note(struct buffer *out, struct slice line);

#endif
