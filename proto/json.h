/*
 * json: texts, answers and events as JSON. The daemon's pages and the client call it; it does no I/O.
 */
#ifndef PROTO_JSON_H
#define PROTO_JSON_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct answer;
struct buffer;

/*
 * As JSON (json.c): texts, answers and events. `holdfast --json` and the pages of HTTP (PROTOCOL.md 11) print
 * the same, by these functions. They append to a buffer; without memory it fails. What could control a
 * terminal is written as \uHHHH.
 */

/* Longest line of an event. */
#define JSON_LINE_MAX 8192

/* A string. Bytes that are not UTF-8 become \xHH, and then control characters do as well. */
void json_put_text(struct buffer *out, struct slice text);
void json_put_number(struct buffer *out, int64_t n);
/* A wall-clock time in ms as an RFC 3339 time in UTC; null if it is none. */
void json_put_time(struct buffer *out, int64_t at_ms);
/* "key": of a member, after a comma unless it is the first. */
void json_put_key(struct buffer *out, const char *key, bool first);

/* Any answer. A map with held_ms or age_ms also gets since, the time when that began; null if it is not held.
 * wall_us: the time now. */
void json_put_answer(struct buffer *out, const struct answer *answer, int64_t wall_us);

/* The line of an event, key=value (PROTOCOL.md 6.5), as an object; what is longer is cut. */
void json_put_line(struct buffer *out, struct slice line);

#endif
