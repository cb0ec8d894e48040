/*
 * duration: a time span for people: "0.4s", "12s", "5m 10s", "3h 20m", "2d 4h".
 */
#ifndef CLIENT_DURATION_H
#define CLIENT_DURATION_H

#include <stdint.h>

#define DURATION_TEXT_MAX 32

/* Returns out. */
const char *duration_text(char out[DURATION_TEXT_MAX], int64_t ms);

#endif
