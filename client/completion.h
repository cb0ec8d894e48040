/*
 * completion: prints the completion scripts for bash, zsh and fish, made from task.def and option.def.
 */
#ifndef CLIENT_COMPLETION_H
#define CLIENT_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

/* False if the shell is none of the three. */
bool completion_print(FILE *out, const char *shell) __attribute__((warn_unused_result));

#endif
