/*
 * output: tables and JSON on standard output, and the outcome of a run as JSON for --status-fd.
 */
#ifndef CLIENT_OUTPUT_H
#define CLIENT_OUTPUT_H

#include "proto/answer.h"
#include "proto/slice.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_COLUMNS_MAX 12

struct table_block;
struct table_cell;

/* A table for people: columns as wide as needed, a bold head on terminals. */
struct table {
	size_t columns;
	size_t cells; /* the heads included */
	size_t room;
	struct table_cell *list; /* row by row */
	struct table_block *blocks;
	bool failed;       /* out of memory */
	unsigned flexible; /* a bit for each column whose cells are cut in the middle to fit a terminal */
	bool ordered;      /* rows keep their order; otherwise they are sorted by their first cell */
};

/* heads ends with NULL. */
void table_init(struct table *t, const char *const *heads);
void table_done(struct table *t);

/* Adds the next cell; control bytes are escaped. */
void table_text(struct table *t, struct slice text);
void table_int(struct table *t, int64_t n);
/* The same, with a text that lives as long as the table and ends with NUL: it is copied only to escape it. */
void table_refer(struct table *t, struct slice text);

/* Prints the table; on a terminal the last column is cut at the width of the line. False: out of memory, or
 * standard output is closed. */
bool table_print(struct table *t) __attribute__((warn_unused_result));

/* Prints one JSON value and a newline. Arguments as for json_pack(). STATUS_DONE or an exit code. */
int json_output_print(const char *format, ...) __attribute__((warn_unused_result));

/* Takes ownership of value; NULL is reported as out of memory. Flushes, so that a pipe gets it at once.
 * STATUS_DONE or an exit code. */
int json_output_print_json(json_t *value) __attribute__((warn_unused_result));

/* Print an answer (see json_output_of()), or the line of an event, and a newline. STATUS_DONE or an exit
 * code. */
int json_output_print_answer(const struct answer *answer) __attribute__((warn_unused_result));
int json_output_print_line(struct slice line) __attribute__((warn_unused_result));

/* Writes JSON text without a newline. Characters that control a terminal are escaped. */
bool json_output_write(const char *text) __attribute__((warn_unused_result));

/* An answer as json_put_answer() writes it. NULL: out of memory. */
json_t *json_output_of(const struct answer *answer);

/* A wall-clock time in ms, likewise. */
json_t *json_output_time(int64_t at_ms);

/* Bytes as a JSON string, likewise. */
json_t *json_output_text(struct slice text);

/* The outcome of a run for --status-fd: OUTCOME(id, word). The exit code alone is ambiguous, because the
 * command may exit with any code that holdfast uses. */
#define OUTCOMES(OUTCOME)                                                                                    \
	OUTCOME(FAILED, "failed")       /* no lock, or no command; the exit code says why */                 \
	OUTCOME(BUSY, "busy")           /* another session has the lock */                                   \
	OUTCOME(ENDED, "ended")         /* the command ended by itself */                                    \
	OUTCOME(TIMED_OUT, "timed_out") /* --max-run stopped it */                                           \
	OUTCOME(LOST, "lost")           /* the lock was lost while it ran */

enum outcome {
#define OUTCOME(id, word) OUTCOME_##id,
	OUTCOMES(OUTCOME)
#undef OUTCOME
		OUTCOME_COUNT
};

struct record {
	const char *name;
	enum outcome outcome;
	int exit;   /* ours */
	bool ended; /* the command has ended, with child_status as waitpid(2) gives it */
	int child_status;
	const char *reason; /* of a loss, in one word; NULL: it was not lost */
	int64_t token;      /* 0: never granted */
	int64_t waited_ms;  /* until the lock was granted, or the wait was given up */
	int64_t held_ms;
};

/*
 * Moves the descriptor away, so that the command does not inherit it. Returns the descriptor to write to, or
 * -1 and errno if fd is not open.
 */
int record_open(int64_t fd) __attribute__((warn_unused_result));

/* Writes the object and a newline. False and errno on failure. */
bool record_write(int fd, const struct record *r) __attribute__((warn_unused_result));

#endif
