/*
 * report_write: the elements that INSPECT, LOCKS and SESSIONS have in common; see report_inner.h. Called by
 * report.c.
 */
#ifndef ADMIN_REPORT_WRITE_H
#define ADMIN_REPORT_WRITE_H

#include "daemon/admin/report_inner.h"
#include "daemon/core/base/peer.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct latch_view;

/* A key with its value, or the part of both that report->form says. */
void write_int(const struct report *report, struct buffer *b, const char *key, int64_t n);
void write_text(const struct report *report, struct buffer *b, const char *key, const char *text);
void write_bulk(const struct report *report, struct buffer *b, const char *key, struct slice bytes);

/* Begins an element, or the map of INSPECT. */
void write_map(const struct report *report, struct buffer *b, size_t pairs);
/* session, client, pid, uid, address: five pairs, and with report->users one more */
void write_who(const struct report *report, struct buffer *b, session_id session, const struct peer *peer);
/* The user of the configuration; "": it is none, or has no connection now. */
const char *report_user(const struct report *report, session_id session);
/* name, kind, state, set, left, live_ms: six pairs */
void write_latch(const struct report *report, struct buffer *b, const struct latch_view *view);

/* Whether another element may be written. */
bool report_has_room(const struct report *report);

/* Adds an element to text. The keys of rows come before the first one, and all rows of a page have the same.
 * Whether there is room for another. */
bool report_add(struct report *report, report_writer *write, const void *view);
void report_put_array(const struct report *report, struct buffer *out);

#endif
