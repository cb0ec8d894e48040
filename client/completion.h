/*
 * completion: writes completion scripts. The files in packaging/completions are this output.
 */
#ifndef CLIENT_COMPLETION_H
#define CLIENT_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

/* Prints the completion script for a shell. False if the shell is none of the three. */
bool completion_print(FILE *out, const char *shell) __attribute__((warn_unused_result));

#endif
