/*
 * list: collects the rows of a list that comes in pages, and prints them in order: as a table, as names, or
 * as JSON. If the list could not be read to its end, the output says so.
 */
#ifndef CLIENT_LIST_H
#define CLIENT_LIST_H

#include "client/pages.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NUL-terminated texts: the name, then the other cells of the row, or its JSON. */
struct list_row {
	int64_t rank;
	char *texts;
};

struct list {
	struct list_row *rows;
	size_t count;
	size_t room;
	bool failed; /* out of memory */
};

/* Takes ownership of json. Rows are sorted by descending rank, then by name, with 9 before 10. */
void list_add_json(struct list *list, int64_t rank, struct slice name, json_t *json);

/* A row of `columns` cells for list_print_table(). Control bytes are escaped when they are printed. */
void list_add(struct list *list, int64_t rank, const struct slice *cells, size_t columns);

/* These print and free the rows, and return STATUS_DONE or an exit code. If pages are missing, the JSON list
 * ends with an element that says so. missing: how many rows are missing at most; -1: unknown. */
int list_print_json(struct list *list, const struct pages *pages, int64_t missing)
	__attribute__((warn_unused_result));
int list_print_names(struct list *list) __attribute__((warn_unused_result));
/* flexible: a bit for each column that may be cut on a terminal, as in table.h */
int list_print_table(struct list *list, const char *const *heads, unsigned flexible)
	__attribute__((warn_unused_result));

/* The sum of these fields of INFO locks, an upper bound for the elements of a list; keys ends with NULL. -1:
 * unknown. */
int64_t list_expect(struct wire *w, const char *const *keys);

/* Adds to an object why the pages ended early, and how many rows are missing. False: out of memory. */
bool list_add_error(json_t *object, const struct pages *pages, int64_t missing);
/* The same for people, on stderr. The exit code. */
int list_say_error(const struct pages *pages, size_t told, int64_t missing);

#endif
