/*
 * top_lines: makes lines of what the daemon said, and prints them in batches. See top.h.
 */
#ifndef CLIENT_TOP_LINES_H
#define CLIENT_TOP_LINES_H

#include <stddef.h>
#include <stdint.h>

struct top;
struct top_line;
struct top_row;

/* Adds a text, escaped, and cut or filled up to so many characters; wide 0: as it is. */
void top_cell(struct top_line *line, const char *from, size_t wide);

/* What is shown above the locks, line by line. */
size_t top_head_count(const struct top *t);
void top_head(const struct top *t, size_t i, size_t width, struct top_line *line);
/* The heads of the columns, and a row, for this width. */
void top_heads(const struct top *t, size_t width, struct top_line *line);
void top_row_line(const struct top *t, const struct top_row *row, size_t width, struct top_line *line);

/* Prints pages; iterations 0: without end. An exit code. */
int top_batch(struct top *t, int64_t delay_ms, int64_t iterations) __attribute__((warn_unused_result));

#endif
