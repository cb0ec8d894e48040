/*
 * span: a time span for people: "0.4s", "12s", "5m 10s", "3h 20m", "2d 4h".
 */
#ifndef CLIENT_SPAN_H
#define CLIENT_SPAN_H

#include <stdint.h>

#define SPAN_TEXT_MAX 32

/* Returns out. */
const char *span_text(char out[SPAN_TEXT_MAX], int64_t ms);

#endif
