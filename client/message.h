/*
 * message: what holdfast tells: messages to people on stderr, and the exit codes of options.def.
 *
 * An error says what happened, where, and what to do.
 */
#ifndef CLIENT_MESSAGE_H
#define CLIENT_MESSAGE_H

#include "proto/reply.h"

#include <stdint.h>

/* Prints one line, "holdfast: ...". Control bytes in the result are escaped. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

#define DURATION_TEXT_MAX 32

/* A duration for people: "0.4s", "12s", "5m 10s", "3h 20m", "2d 4h". Returns out. */
const char *duration_text(char out[DURATION_TEXT_MAX], int64_t ms);

enum status {
#define STATUS(id, number, meaning) STATUS_##id = (number),
#include "client/options.def"
#undef STATUS
};

struct status_entry {
	int number;
	const char *meaning;
};

/* Every exit code with its meaning, in ascending order; the last one has meaning NULL. */
const struct status_entry *status_list(void);

/* The exit code for an error reply. CODE_COUNT, an unknown code, is STATUS_INTERNAL. */
int status_of_code(enum code code);

/* The same for an error of the daemon: a name that is too long is a LIMIT for which it does not help to come
 * again. */
int status_of_error(enum code code, struct slice text);

#endif
