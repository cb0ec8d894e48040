/*
 * table: prints a table for people: columns as wide as needed, a bold head on terminals.
 */
#ifndef CLIENT_TABLE_H
#define CLIENT_TABLE_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_COLUMNS_MAX 12

struct table {
	size_t columns;
	size_t cells; /* the heads included */
	size_t room;
	char **list;       /* cells, row by row */
	bool failed;       /* out of memory */
	unsigned flexible; /* a bit for each column whose cells are cut in the middle to fit a terminal */
	bool ordered;      /* rows keep their order; otherwise they are sorted by their first cell */
};

/* heads ends with NULL. */
void table_init(struct table *g, const char *const *heads);
void table_done(struct table *g);

/* Adds the next cell; control bytes are escaped. */
void table_text(struct table *g, struct slice text);
void table_int(struct table *g, int64_t n);

/* Prints the table; on a terminal the last column is cut at the width of the line. False: out of memory, or
 * standard output is closed. */
bool table_print(struct table *g) __attribute__((warn_unused_result));

#endif
