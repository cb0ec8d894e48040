/*
 * span: a time span for people: "0.4s", "12s", "5m10s", "3h20m", "2d4h".
 */
#ifndef CLIENT_SPAN_H
#define CLIENT_SPAN_H

#include <stdint.h>

#define SPAN_TEXT_MAX 32

/* Returns out. */
const char *span_text(char out[SPAN_TEXT_MAX], int64_t ms);

#endif
