/*
 * printer: prints a struct conf as YAML with every key and its help, and tells what a reload would change.
 */
#ifndef CONF_PRINTER_H
#define CONF_PRINTER_H

#include <stdio.h>

struct conf;
struct conf_change;

/*
 * Prints the effective values as YAML with every key and its help. The output loads to the same values,
 * except for passwords, which are never printed. -1 and errno: ENOMEM, or why writing failed.
 */
int conf_print(const struct conf *conf, FILE *to) __attribute__((warn_unused_result));

/* The value of this key at the top as YAML, in as many lines as it takes, for free(). NULL: out of memory. */
char *conf_print_key(const struct conf *conf, const char *name) __attribute__((warn_unused_result));

/*
 * Calls each for every difference, in the order of schema.def. For keys that a running daemon can adopt, it
 * compares from (the values now) with to; for the others, boot (the values at the start) with to. Returns how
 * many differences need a restart; -1: out of memory, and not all were told.
 */
int conf_diff(const struct conf *boot, const struct conf *from, const struct conf *to,
	void (*each)(void *arg, const struct conf_change *change), void *arg)
	__attribute__((warn_unused_result));

#endif
