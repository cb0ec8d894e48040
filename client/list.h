/*
 * list: reads a list from the daemon, page after page (PROTOCOL.md 6.2), and collects its rows, to print them
 * in order: as a table, as names, or as JSON. If the list could not be read to its end, the output says so.
 */
#ifndef CLIENT_LIST_H
#define CLIENT_LIST_H

#include "client/wire/wire.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGES_WORDS_MAX 3
#define PAGES_KEYS_MAX  32 /* of a row; further ones are ignored */
#define SILENT_TEXT_MAX 256

/*
 *     pages_begin(&pages, &wire, 1, (const char *const[]){"LOCKS"});
 *     while (pages_next(&pages) != NULL)
 *         while ((element = pages_element(&pages)) != NULL)
 *             ...
 *     pages.whole: that was all of it
 */
struct pages {
	struct wire *w;
	const char *words[PAGES_WORDS_MAX + 4]; /* the request, FLEET, ROWS, and CURSOR */
	size_t n;
	char cursor[NUMBER_TEXT_MAX]; /* of the next page */
	int64_t until_ms;             /* CLOCK_BOOTTIME, for all of it; 0: as long as the daemon answers */
	bool begun;                   /* at least one page has arrived */
	bool whole;                   /* the last page has arrived */
	const struct answer *answer;  /* to the last request; NULL: none, and w->why says why */
	bool ahead;                   /* each page is asked for while the one before is read */
	bool asked;                   /* the next one has been asked for */
	bool fleet;                   /* of all daemons; false once the daemon has refused that */
	bool rows;            /* without keys, which is faster; false once the daemon has refused that */
	struct slice refusal; /* why it did; a part of refused */
	char refused[WIRE_TEXT_MAX];
	bool unasked;                 /* no master carried the question to one of silent */
	char silent[SILENT_TEXT_MAX]; /* hosts whose daemons did not answer, with commas between */
	const struct answer *page;    /* the latest one; NULL: none */
	size_t at;                    /* how many of its elements were taken */
	struct answer element;        /* made of a row: a map of these pairs */
	struct answer pairs[2 * PAGES_KEYS_MAX];
};

/* words: the request, held by reference. HELLO has been answered. Sends nothing yet. */
void pages_begin(struct pages *pages, struct wire *w, size_t n, const char *const *words);

/* Asks for the lists of all daemons, or if the daemon refuses that, for its own. Before the first page. */
void pages_of_fleet(struct pages *pages);

/* The elements of the next page of LOCKS or SESSIONS, or the whole map of INSPECT; valid until the next call.
 * NULL: the list is over, or the request failed. */
const struct answer *pages_next(struct pages *pages);

/* Adds the hosts of these silent daemons to a text, with commas between. Whether no master carried the
 * question to one of them. */
bool silent_add(char text[SILENT_TEXT_MAX], const struct answer *silent);
/* Says that they are missing, and why. */
void silent_why(char *out, size_t room, const char *text, bool unasked);

/* The next element of this page, as a map, valid until the next call; NULL: there is none. */
const struct answer *pages_element(struct pages *pages);

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

/* A row with the JSON of the element. Rows are sorted by descending rank, then by name, with 9 before 10. */
void list_add_json(struct list *list, int64_t rank, struct slice name, const struct answer *element);

/* A row of `columns` cells for list_print_table(). Control bytes are escaped when they are printed. */
void list_add(struct list *list, int64_t rank, const struct slice *cells, size_t columns);

/* These print and free the rows, and return STATUS_DONE or an exit code. If pages are missing, the JSON list
 * ends with an element that says so. missing: how many rows are missing at most; -1: unknown. */
int list_print_json(struct list *list, const struct pages *pages, int64_t missing)
	__attribute__((warn_unused_result));
int list_print_names(struct list *list) __attribute__((warn_unused_result));
/* flexible: a bit for each column that may be cut on a terminal, as in struct table */
int list_print_table(struct list *list, const char *const *heads, unsigned flexible)
	__attribute__((warn_unused_result));

struct address;
struct options;

/* The sum of these fields of INFO locks, an upper bound for the elements of a list; keys ends with NULL. -1:
 * unknown. */
int64_t list_expect(struct wire *w, const char *const *keys);

/* Adds to an object why the pages ended early, and how many rows are missing. False: out of memory. */
bool list_add_error(json_t *object, const struct pages *pages, int64_t missing);
/* The same for people, on stderr. The exit code. */
int list_report_error(const struct pages *pages, size_t told, int64_t missing);

#endif
