/*
 * errors: the list of what is wrong with a file. Bounded: the rest is counted.
 */
#ifndef CONF_ERRORS_H
#define CONF_ERRORS_H

#include "conf/conf.h"

/* Where in the file; line 0: nowhere in particular. Lines and columns count from 1. */
struct place {
	const char *file;
	size_t line;
	size_t column;
};

void errors_init(struct conf_errors *errors);

/* Adds "file:line:column: " and the text. Control characters come out as \xNN. */
void errors_add(struct conf_errors *errors, struct place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define QUOTE_MAX 80

/* What was read, in quotes, shortened and with everything unprintable escaped; returns out. */
const char *errors_quote(char out[QUOTE_MAX], const char *text);

#endif
