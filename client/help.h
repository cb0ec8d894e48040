/*
 * help: --help, from the tables.
 */
#ifndef CLIENT_HELP_H
#define CLIENT_HELP_H

#include "client/options.h"

#include <stdio.h>

/* Of one task; TASK_COUNT: of holdfast. */
void help_print(FILE *out, enum task task);

#endif
