/*
 * options: the command line of holdfastd. main is the only user.
 */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

struct options {
	const char *config;    /* -c; NULL: the default file if it exists */
	const char *log_level; /* --log-level; NULL: as configured */
	bool test;             /* -t: check the configuration and stop */
	bool print_config;
	bool version;
	bool help;
};

/* -1: invalid; an error was written to stderr. Texts point into argv. */
int options_parse(struct options *options, int argc, char **argv) __attribute__((warn_unused_result));
void options_help(FILE *to);

#endif
