/*
 * table: collects cells, then prints them in columns.
 */
#include "client/table.h"

#include "proto/escape.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CELL_MAX   600
#define LINE_WIDTH 80

#define FLEXIBLE_LEAST 7 /* characters that remain of a cut cell */

void
table_init(struct table *g, const char *const *heads)
{
	memset(g, 0, sizeof(*g));
	while (heads[g->columns] != NULL) {
		g->columns++;
	}
	assert(g->columns <= TABLE_COLUMNS_MAX);
	for (size_t i = 0; i < g->columns; i++) {
		table_text(g, slice_of(heads[i]));
	}
}

void
table_done(struct table *g)
{
	for (size_t i = 0; i < g->cells; i++) {
		free(g->list[i]);
	}
	free(g->list);
}

void
table_text(struct table *g, struct slice text)
{
	char cell[CELL_MAX];

	if (g->cells == g->room) {
		size_t room = g->room == 0 ? 64 : g->room * 2;
		char **list = reallocarray(g->list, room, sizeof(*list));

		if (list == NULL) {
			g->failed = true;
			return;
		}
		g->list = list;
		g->room = room;
	}
	(void)escape_text(cell, sizeof(cell), text, ESCAPE_PLAIN);
	g->list[g->cells] = strdup(cell);
	if (g->list[g->cells] == NULL) {
		g->failed = true;
		return;
	}
	g->cells++;
}

void
table_int(struct table *g, int64_t n)
{
	char text[NUMBER_TEXT_MAX];

	table_text(g, (struct slice){text, number_print(text, n)});
}

/* Characters, not bytes; wide ones count as one. */
static size_t
width(const char *text)
{
	size_t n = strlen(text);
	size_t count = 0;
	uint32_t character;

	while (n > 0) {
		size_t step = utf8_next(text, n, &character);

		step = step == 0 ? 1 : step;
		text += step;
		n -= step;
		count++;
	}
	return count;
}

static int
row_compare(const void *a, const void *b)
{
	/* 9 before 10, in numbers and in names alike. */
	return strverscmp(**(char **const *)a, **(char **const *)b);
}

/* The columns of the terminal on standard output; 0: not a terminal. */
static size_t
line_width(void)
{
	struct winsize size = {0};

	if (isatty(STDOUT_FILENO) != 1) {
		return 0;
	}
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : LINE_WIDTH;
}

/* The length in bytes of the first `most` characters. */
static size_t
bytes_of(const char *text, size_t most)
{
	size_t n = strlen(text), used = 0;
	uint32_t character;

	while (used < n && most-- > 0) {
		size_t step = utf8_next(text + used, n - used, &character);

		used += step == 0 ? 1 : step;
	}
	return used;
}

/* Prints at most `most` characters, at least three: of a longer text its beginning and its end. */
static void
print_cell(const char *text, size_t most)
{
	size_t n = width(text), end = (most - 1) / 2;

	if (n <= most) {
		(void)fputs(text, stdout);
		return;
	}
	(void)printf("%.*s…%s", (int)bytes_of(text, most - 1 - end), text, text + bytes_of(text, n - end));
}

static void
print_row(const struct table *g, char *const *row, const size_t *widths)
{
	for (size_t c = 0; c < g->columns; c++) {
		size_t n = width(row[c]);

		print_cell(row[c], widths[c]);
		if (c + 1 < g->columns) {
			(void)printf("%*s", (int)(widths[c] - (n < widths[c] ? n : widths[c]) + 2), "");
		}
	}
}

/* The widest column that may become narrower; columns: none. */
static size_t
widest(const struct table *g, const size_t *widths)
{
	size_t found = g->columns;

	for (size_t c = 0; c < g->columns; c++) {
		if ((g->flexible >> c & 1) != 0 && widths[c] > FLEXIBLE_LEAST &&
			(found == g->columns || widths[c] > widths[found])) {
			found = c;
		}
	}
	return found;
}

/* On a terminal, narrows flexible columns until the rows fit its width, if possible. */
static void
table_fit(const struct table *g, size_t *widths)
{
	size_t most = line_width(), all = 2 * (g->columns - 1), c;

	for (size_t i = 0; i < g->columns; i++) {
		all += widths[i];
	}
	while (most > 0 && all > most && (c = widest(g, widths)) < g->columns) {
		widths[c]--;
		all--;
	}
}

static void
print_rows(const struct table *g, char ***rows, size_t n)
{
	size_t widths[TABLE_COLUMNS_MAX] = {0};
	bool bold = isatty(STDOUT_FILENO) == 1;

	for (size_t i = 0; i < g->cells; i++) {
		size_t w = width(g->list[i]);

		if (w > widths[i % g->columns]) {
			widths[i % g->columns] = w;
		}
	}
	table_fit(g, widths);
	(void)fputs(bold ? "\033[1m" : "", stdout);
	print_row(g, g->list, widths);
	(void)fputs(bold ? "\033[0m\n" : "\n", stdout);
	for (size_t i = 0; i < n; i++) {
		print_row(g, rows[i], widths);
		(void)putchar('\n');
	}
}

bool
table_print(struct table *g)
{
	size_t n = g->cells / g->columns - 1;
	char ***rows;

	if (g->failed) {
		return false;
	}
	rows = calloc(n + 1, sizeof(*rows));
	if (rows == NULL) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		rows[i] = g->list + (i + 1) * g->columns;
	}
	if (!g->ordered) {
		qsort(rows, n, sizeof(*rows), row_compare);
	}
	print_rows(g, rows, n);
	free(rows);
	return fflush(stdout) == 0;
}
