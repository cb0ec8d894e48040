/*
 * help: prints the usage of holdfast and of its verbs from options.def, and finds the known word that is
 * nearest to a misspelled one.
 */
#ifndef CLIENT_HELP_H
#define CLIENT_HELP_H

#include "client/options.h"
#include "proto/slice.h"

#include <stdio.h>

struct guess guess_begin(struct slice text);

/* Words of more than WORD_BYTES_MAX bytes are never chosen. Of equally near words the first is chosen. */
void guess_try(struct guess *g, const char *word);

/* Prints the help of one task; TASK_COUNT: of holdfast itself. */
void help_print(FILE *out, enum task task);

#endif
