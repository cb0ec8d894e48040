/*
 * main_options: the command line of holdfastd. main.c calls it first.
 */
#ifndef DAEMON_MAIN_OPTIONS_H
#define DAEMON_MAIN_OPTIONS_H

#include <stdio.h>

struct options;

/* -1: invalid; an error was written to stderr. Texts point into argv. */
int options_parse(struct options *options, int argc, char **argv) __attribute__((warn_unused_result));
void options_help(FILE *to);

#endif
