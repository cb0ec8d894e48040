/*
 * json_output: JSON on standard output, one value and a newline.
 */
#ifndef CLIENT_JSON_OUTPUT_H
#define CLIENT_JSON_OUTPUT_H

#include "proto/answer.h"

#include <jansson.h>
#include <stdbool.h>

/* Arguments as for json_pack(). STATUS_DONE or an exit code. */
int json_output_print(const char *format, ...) __attribute__((warn_unused_result));

/* Takes ownership of value; NULL is reported as out of memory. Flushes, so that a pipe gets it at once.
 * STATUS_DONE or an exit code. */
int json_output_print_json(json_t *value) __attribute__((warn_unused_result));

/* Writes JSON text without a newline. Characters that control a terminal are escaped. */
bool json_output_write(const char *text) __attribute__((warn_unused_result));

/* Converts an answer: maps become objects, arrays remain arrays, bytes that are not UTF-8 are escaped.
 * `since` is added to held_ms and age_ms as an RFC 3339 time, null if there is no holder. NULL: out of
 * memory. */
json_t *json_output_of(const struct answer *answer);

/* Bytes as a JSON string, escaped in the same way. */
json_t *json_output_text(struct slice text);

#endif
