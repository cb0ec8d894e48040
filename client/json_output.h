/*
 * json_output: JSON on standard output, one value and a newline.
 */
#ifndef CLIENT_JSON_OUTPUT_H
#define CLIENT_JSON_OUTPUT_H

#include "proto/answer.h"

#include <jansson.h>
#include <stdbool.h>

/* What json_pack() takes. STATUS_DONE or an exit code. */
int json_output_print(const char *format, ...) __attribute__((warn_unused_result));

/* Takes value over; NULL is out of memory. STATUS_DONE or an exit code. Flushed, so that a pipe gets it at
 * once. */
int json_output_print_json(json_t *value) __attribute__((warn_unused_result));

/* JSON text, without a newline. Characters that a terminal takes for more than text are escaped. */
bool json_output_write(const char *text) __attribute__((warn_unused_result));

/* An answer as JSON: maps become objects, arrays arrays, bytes that are not UTF-8 are escaped. Beside
 * held_ms and age_ms there is `since`, in RFC 3339; null where nobody holds. NULL: out of memory. */
json_t *json_output_of(const struct answer *answer);

/* Bytes as a JSON string, escaped likewise. */
json_t *json_output_text(struct slice text);

#endif
