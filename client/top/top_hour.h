/*
 * top_hour: the latest hour as one line of top: grants and the longest waits as blocks, and losses. See
 * top.h.
 */
#ifndef CLIENT_TOP_HOUR_H
#define CLIENT_TOP_HOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct top;
struct top_line;

/* Asks for the hour, if that was long ago. False: there is no answer. */
bool top_ask_hour(struct top *t, int64_t until_ms);

void top_hour_line(const struct top *t, size_t width, struct top_line *line);

#endif
