/*
 * output: collects cells and prints them in columns; prints JSON. Objects of the client's own are made with
 * jansson, and those of answers by proto/json.
 */
#include "client/output.h"

#include "client/message.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"
#include "proto/json.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- tables ---- */

#define CELL_MAX   600 /* bytes of an escaped cell, with its NUL */
#define LINE_WIDTH 80

#define PRINT_BYTES (64UL * 1024) /* that are printed at once */

#define FLEXIBLE_LEAST 7 /* characters that remain of a cut cell */

struct table_cell {
	const char *text;
	uint32_t n;     /* bytes */
	uint32_t width; /* characters; wide ones count as one */
};

/* Memory of cells, one after the other. */
struct table_block {
	struct table_block *next;
	size_t used;
	char text[64 * 1024];
};

void
table_init(struct table *t, const char *const *heads)
{
	memset(t, 0, sizeof(*t));
	while (heads[t->columns] != NULL) {
		t->columns++;
	}
	assert(t->columns <= TABLE_COLUMNS_MAX);
	for (size_t i = 0; i < t->columns; i++) {
		table_text(t, slice_of(heads[i]));
	}
}

void
table_done(struct table *t)
{
	while (t->blocks != NULL) {
		struct table_block *next = t->blocks->next;

		free(t->blocks);
		t->blocks = next;
	}
	free(t->list);
}

/* Makes room for one more cell, and for its text. False: out of memory. */
static bool
table_reserve(struct table *t)
{
	struct table_block *block = t->blocks;

	if (t->cells == t->room) {
		size_t room = t->room == 0 ? 64 : t->room * 2;
		struct table_cell *list = reallocarray(t->list, room, sizeof(*list));

		if (list == NULL) {
			return false;
		}
		t->list = list;
		t->room = room;
	}
	if (block == NULL || sizeof(block->text) - block->used < CELL_MAX) {
		block = malloc(sizeof(*block));
		if (block == NULL) {
			return false;
		}
		block->next = t->blocks;
		block->used = 0;
		t->blocks = block;
	}
	return true;
}

/* Characters, not bytes; wide ones count as one. A cell is escaped, so it is UTF-8, in which each character
 * has one byte that does not continue another. */
static size_t
width(const char *text, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	}
	return count;
}

static void
table_add(struct table *t, const char *text, size_t n)
{
	t->list[t->cells++] = (struct table_cell){text, (uint32_t)n, (uint32_t)width(text, n)};
}

void
table_text(struct table *t, struct slice text)
{
	size_t n;
	char *cell;

	if (!table_reserve(t)) {
		t->failed = true;
		return;
	}
	cell = t->blocks->text + t->blocks->used;
	n = escape_text(cell, CELL_MAX, text, ESCAPE_PLAIN);
	t->blocks->used += n + 1;
	table_add(t, cell, n);
}

void
table_refer(struct table *t, struct slice text)
{
	if (text.n >= CELL_MAX || escape_plain_run(text) < text.n) {
		table_text(t, text);
	} else if (table_reserve(t)) {
		table_add(t, text.p, text.n);
	} else {
		t->failed = true;
	}
}

void
table_int(struct table *t, int64_t n)
{
	char text[NUMBER_TEXT_MAX];

	table_text(t, slice_of(number_text(text, n)));
}

static int
row_compare(const void *a, const void *b)
{
	/* 9 before 10, in numbers and in names alike. */
	return strverscmp((*(struct table_cell *const *)a)->text, (*(struct table_cell *const *)b)->text);
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
bytes_of(const struct table_cell *cell, size_t most)
{
	size_t used = 0;
	uint32_t character;

	while (used < cell->n && most-- > 0) {
		size_t step = utf8_next(cell->text + used, cell->n - used, &character);

		used += step == 0 ? 1 : step;
	}
	return used;
}

/* Writes at most `most` characters, at least three: of a longer text its beginning and its end. */
static void
print_cell(struct buffer *out, const struct table_cell *cell, size_t most)
{
	size_t end = (most - 1) / 2;

	if (cell->width <= most) {
		buffer_put(out, cell->text, cell->n);
		return;
	}
	size_t rest = bytes_of(cell, cell->width - end);

	buffer_put(out, cell->text, bytes_of(cell, most - 1 - end));
	buffer_put(out, "…", strlen("…"));
	buffer_put(out, cell->text + rest, cell->n - rest);
}

static void
print_blanks(struct buffer *out, size_t n)
{
	if (buffer_reserve(out, n)) {
		memset(buffer_end(out), ' ', n);
		buffer_wrote(out, n);
	}
}

static void
print_row(struct buffer *out, const struct table *t, const struct table_cell *row, const size_t *widths)
{
	for (size_t c = 0; c < t->columns; c++) {
		size_t n = row[c].width;

		print_cell(out, &row[c], widths[c]);
		if (c + 1 < t->columns) {
			print_blanks(out, widths[c] - (n < widths[c] ? n : widths[c]) + 2);
		}
	}
}

/* Prints what the buffer has. False: no memory, or standard output is closed. */
static bool
print_out(struct buffer *out)
{
	size_t n = buffer_length(out);
	bool printed = !out->failed && fwrite(buffer_bytes(out), 1, n, stdout) == n;

	buffer_consume(out, n);
	return printed;
}

/* The widest column that may become narrower; columns: none. */
static size_t
widest(const struct table *t, const size_t *widths)
{
	size_t found = t->columns;

	for (size_t c = 0; c < t->columns; c++) {
		if ((t->flexible >> c & 1) != 0 && widths[c] > FLEXIBLE_LEAST &&
			(found == t->columns || widths[c] > widths[found])) {
			found = c;
		}
	}
	return found;
}

/* On a terminal, narrows flexible columns until the rows fit its width, if possible. */
static void
table_fit(const struct table *t, size_t *widths)
{
	size_t most = line_width(), all = 2 * (t->columns - 1), c;

	for (size_t i = 0; i < t->columns; i++) {
		all += widths[i];
	}
	while (most > 0 && all > most && (c = widest(t, widths)) < t->columns) {
		widths[c]--;
		all--;
	}
}

static bool
print_rows(const struct table *t, const struct table_cell *const *rows, size_t n)
{
	size_t widths[TABLE_COLUMNS_MAX] = {0};
	struct slice bold = isatty(STDOUT_FILENO) == 1 ? SLICE("\033[1m") : SLICE("");
	struct slice plain = bold.n > 0 ? SLICE("\033[0m\n") : SLICE("\n");
	struct buffer out;
	bool printed = true;

	for (size_t i = 0; i < t->cells; i++) {
		if (t->list[i].width > widths[i % t->columns]) {
			widths[i % t->columns] = t->list[i].width;
		}
	}
	table_fit(t, widths);
	buffer_init(&out, SIZE_MAX / 4);
	buffer_put(&out, bold.p, bold.n);
	print_row(&out, t, t->list, widths);
	buffer_put(&out, plain.p, plain.n);
	for (size_t i = 0; printed && i < n; i++) {
		print_row(&out, t, rows[i], widths);
		buffer_put(&out, "\n", 1);
		printed = buffer_length(&out) < PRINT_BYTES || print_out(&out);
	}
	printed = printed && print_out(&out);
	buffer_done(&out);
	return printed;
}

bool
table_print(struct table *t)
{
	size_t n = t->cells / t->columns - 1;
	const struct table_cell **rows;
	bool printed;

	if (t->failed) {
		return false;
	}
	rows = calloc(n + 1, sizeof(*rows));
	if (rows == NULL) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		rows[i] = t->list + (i + 1) * t->columns;
	}
	if (!t->ordered) {
		qsort(rows, n, sizeof(*rows), row_compare);
	}
	printed = print_rows(t, rows, n);
	free(rows);
	return fflush(stdout) == 0 && printed;
}

/* ---- JSON ---- */

/* DEL can only occur inside of strings, and is printed as \u007f. */
bool
json_output_write(const char *text)
{
	size_t n = strlen(text);

	while (n > 0) {
		size_t plain = 0, step;
		uint32_t c;

		while (plain < n && (step = escape_printable(text + plain, n - plain)) > 0) {
			plain += step;
		}
		if (fwrite(text, 1, plain, stdout) != plain) {
			return false;
		}
		text += plain;
		n -= plain;
		if (n > 0) {
			step = utf8_next(text, n, &c);
			if (step == 0 || printf("\\u%04x", (unsigned)c) < 0) {
				return false;
			}
			text += step;
			n -= step;
		}
	}
	return true;
}

int
json_output_print_json(json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	bool printed = text != NULL && json_output_write(text) && putchar('\n') != EOF && fflush(stdout) == 0;

	free(text);
	json_decref(value);
	if (!printed) {
		message("cannot print JSON: no memory, or standard output is closed");
		return STATUS_INTERNAL;
	}
	return STATUS_DONE;
}

int
json_output_print(const char *format, ...)
{
	json_t *value;
	va_list list;

	va_start(list, format);
	value = json_vpack_ex(NULL, 0, format, list);
	va_end(list);
	return json_output_print_json(value);
}

static void
json_begin(struct buffer *b)
{
	buffer_init(b, SIZE_MAX / 4);
}

/* Prints the text of the buffer and a newline, and frees it. */
static int
json_end(struct buffer *b)
{
	size_t n;
	bool printed;

	buffer_put(b, "\n", 1);
	n = buffer_length(b);
	printed = !b->failed && fwrite(buffer_bytes(b), 1, n, stdout) == n && fflush(stdout) == 0;
	buffer_done(b);
	if (!printed) {
		message("cannot print JSON: no memory, or standard output is closed");
	}
	return printed ? STATUS_DONE : STATUS_INTERNAL;
}

int
json_output_print_answer(const struct answer *answer)
{
	struct buffer b;

	json_begin(&b);
	json_put_answer(&b, answer, clock_wall_us());
	return json_end(&b);
}

int
json_output_print_line(struct slice line)
{
	struct buffer b;

	json_begin(&b);
	json_put_line(&b, line);
	return json_end(&b);
}

/* The value of the text of the buffer, which is freed. NULL: out of memory. */
static json_t *
json_take(struct buffer *b)
{
	json_t *value = b->failed ? NULL
				  : json_loadb(buffer_bytes(b), buffer_length(b),
					    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	buffer_done(b);
	return value;
}

json_t *
json_output_text(struct slice text)
{
	struct buffer b;

	json_begin(&b);
	json_put_text(&b, text);
	return json_take(&b);
}

json_t *
json_output_time(int64_t at_ms)
{
	struct buffer b;

	json_begin(&b);
	json_put_time(&b, at_ms);
	return json_take(&b);
}

json_t *
json_output_of(const struct answer *answer)
{
	struct buffer b;

	json_begin(&b);
	json_put_answer(&b, answer, clock_wall_us());
	return json_take(&b);
}

/* ---- the outcome of a run ---- */

int
record_open(int64_t fd)
{
	int ours = fcntl((int)fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	/* The command keeps its standard streams. Any other descriptor is closed for it, so that the reader
	 * sees the end. */
	if (ours >= 0 && fd > STDERR_FILENO) {
		(void)close((int)fd);
	}
	return ours;
}

static json_t *
number_or_null(bool there, int64_t n)
{
	return there ? json_integer(n) : json_null();
}

static json_t *
record_json(const struct record *r)
{
	static const char *const words[] = {
#define OUTCOME(id, word) word,
		OUTCOMES(OUTCOME)
#undef OUTCOME
	};
	bool exited = r->ended && WIFEXITED(r->child_status);
	bool killed = r->ended && WIFSIGNALED(r->child_status);

	return json_pack("{s:s, s:s, s:s?, s:i, s:o, s:o, s:o, s:I, s:I}", "name", r->name, "outcome",
		words[r->outcome], "reason", r->reason, "exit", r->exit, "command_exit",
		number_or_null(exited, exited ? WEXITSTATUS(r->child_status) : 0), "command_signal",
		number_or_null(killed, killed ? WTERMSIG(r->child_status) : 0), "token",
		number_or_null(r->token != 0, r->token), "waited_ms", (json_int_t)r->waited_ms, "held_ms",
		(json_int_t)r->held_ms);
}

bool
record_write(int fd, const struct record *r)
{
	json_t *value = record_json(r);
	bool written;

	errno = ENOMEM;
	written = value != NULL && json_dumpfd(value, fd, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0 &&
		  write(fd, "\n", 1) == 1;
	json_decref(value);
	return written;
}
