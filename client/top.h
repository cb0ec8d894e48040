/*
 * top: the verb top, a live screen of the daemon. Private to its three files.
 *
 *     top_data.c    asks the daemon: INFO, LOCKS, INSPECT, BREAK
 *     top_lines.c   makes lines of it, and prints them in batches
 *     top.c         draws them on a terminal, and does what the keys say
 */
#ifndef CLIENT_TOP_H
#define CLIENT_TOP_H

#include "client/options.h"
#include "client/process.h"
#include "client/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_NAME_MAX 513 /* bytes of a name, NUL included */
#define TOP_TEXT_MAX 512

enum top_sort {
	TOP_WAITERS, /* most waiters first */
	TOP_LONGEST, /* longest wait first */
	TOP_HELD,    /* longest hold first */
	TOP_NAME
};

struct top_row {
	char *texts; /* name, state, holder and why, each with a NUL */
	const char *name, *state, *holder, *why;
	int64_t token; /* of the oldest hold; 0: none */
	int64_t held_ms;
	int64_t waiters;
	int64_t longest_ms; /* of the waits; 0: none */
};

/* What INFO said. */
struct top_info {
	int64_t at_ms; /* CLOCK_BOOTTIME; 0: not asked yet */
	int64_t requests, granted, timed_out, lost;
	int64_t clients, sessions, held, withheld, waiters, up_s;
	char version[32];
	char masters[TOP_TEXT_MAX];
};

struct top {
	const struct options *o;
	const struct address *a;
	struct wire wire;
	enum top_sort sort;
	char filter[TOP_NAME_MAX]; /* a glob; "": every name */
	char detail[TOP_NAME_MAX]; /* the name that is shown alone; "": the list */
	struct top_info info, before;
	struct top_row *rows; /* sorted */
	size_t count, room;
	char **lines; /* of the detail */
	size_t line_count;
	int64_t detail_token;       /* of its oldest hold; 0: none */
	char message[TOP_TEXT_MAX]; /* for the next screen; "": none */
	int refused; /* the exit code of the error with which the latest request was answered; 0: none */
};

/* Connects if it has to, and asks for everything that the screen shows. False: message says why not. */
bool top_ask(struct top *t);
/* Sorts again, after a change of t->sort. */
void top_sort(struct top *t);
/* Sends BREAK for this hold, and writes the result to t->message. */
void top_break(struct top *t, const char *name, int64_t token);
void top_done(struct top *t);

/* A line under construction: characters, not bytes, count for its width. */
#define TOP_LINE_BYTES 4096
struct top_line {
	char bytes[TOP_LINE_BYTES];
	size_t n;
	size_t width; /* of what is in it */
};

/* Adds a text, escaped, and cut or filled up to so many characters; wide 0: as it is. */
void top_cell(struct top_line *line, const char *from, size_t wide);

/* What is shown above the locks, line by line. */
#define TOP_HEAD 4
void top_head(const struct top *t, size_t i, struct top_line *line);
/* The heads of the columns, and a row, for this width. */
void top_heads(size_t width, struct top_line *line);
void top_row_line(const struct top_row *row, size_t width, struct top_line *line);

/* Prints pages; iterations 0: without end. An exit code. */
int top_batch(struct top *t, int64_t delay_ms, int64_t iterations) __attribute__((warn_unused_result));

#endif
