/*
 * json: writes JSON, as `holdfast --json` prints it. It does no I/O.
 */
#ifndef HTTP_JSON_H
#define HTTP_JSON_H

#include "proto/answer.h"
#include "proto/buffer.h"
#include "proto/slice.h"

#include <stdint.h>

/* A string. Bytes that are not UTF-8 become \xHH, and then control characters do as well. */
void json_put_text(struct buffer *out, struct slice text);
void json_put_number(struct buffer *out, int64_t n);
/* "key": of a member, after a comma unless it is the first. */
void json_put_key(struct buffer *out, const char *key, bool first);

/* Any answer. A map with held_ms or age_ms also gets since, the time when that began, in UTC; null if nobody
 * holds it. wall_us: the time now. */
void json_put_answer(struct buffer *out, const struct answer *answer, int64_t wall_us);

#endif
