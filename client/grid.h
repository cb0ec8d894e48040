/*
 * grid: a table for people: columns as wide as needed, a bold head on terminals.
 */
#ifndef CLIENT_GRID_H
#define CLIENT_GRID_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRID_COLUMNS_MAX 12

struct grid {
	size_t columns;
	size_t cells; /* the heads included */
	size_t room;
	char **list;       /* cells, row by row */
	bool failed;       /* out of memory */
	unsigned flexible; /* a bit for each column whose cells are cut in the middle to fit a terminal */
	bool ordered;      /* the rows stay as they came; else they are sorted by their first cell */
};

/* heads ends with NULL. */
void grid_init(struct grid *g, const char *const *heads);
void grid_done(struct grid *g);

/* The next cell; control bytes are escaped. */
void grid_text(struct grid *g, struct slice text);
void grid_int(struct grid *g, int64_t n);

/* Prints everything; on a terminal the last column ends with the line. False: out of memory, or standard
 * output is closed. */
bool grid_print(struct grid *g) __attribute__((warn_unused_result));

#endif
