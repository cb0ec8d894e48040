/*
 * top_data: asks the daemon what the screen of top shows. See top.h.
 */
#ifndef CLIENT_TOP_DATA_H
#define CLIENT_TOP_DATA_H

#include <stdbool.h>
#include <stdint.h>

struct answer;
struct top;

/* Sets the message of the screen. */
__attribute__((format(printf, 2, 3))) void top_say(struct top *t, const char *format, ...);

/* Connects if it has to, and asks for everything that the screen shows. False: message says why not. */
bool top_ask(struct top *t);

void top_refuse(struct top *t, const struct answer *answer);
void top_rows_free(struct top *t);
/* False: out of memory. */
bool top_row_add(struct top *t, const struct answer *lock);

/* Sorts again, after a change of t->sort. */
void top_sort(struct top *t);
/* Sends BREAK for this hold, and writes the result to t->message. */
void top_break(struct top *t, const char *name, int64_t token);
void top_done(struct top *t);

#endif
