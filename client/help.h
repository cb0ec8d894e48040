/*
 * help: prints --help, made from task.def and option.def.
 */
#ifndef CLIENT_HELP_H
#define CLIENT_HELP_H

#include "client/options.h"

#include <stdio.h>

/* The help of one task; TASK_COUNT: of holdfast itself. */
void help_print(FILE *out, enum task task);

#endif
