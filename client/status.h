/*
 * status: the exit codes of holdfast, from status.def.
 */
#ifndef CLIENT_STATUS_H
#define CLIENT_STATUS_H

#include "proto/reply.h"

enum status {
#define STATUS(id, number, meaning) STATUS_##id = (number),
#include "client/status.def"
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

#endif
