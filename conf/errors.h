/*
 * errors: the bounded list of errors of a configuration. Errors beyond the bound are only counted.
 */
#ifndef CONF_ERRORS_H
#define CONF_ERRORS_H

#include "conf/conf.h"

/* A position in a file. Lines and columns count from 1; line 0: no position. */
struct place {
	const char *file;
	size_t line;
	size_t column;
};

void errors_init(struct conf_errors *errors);

/* Adds "file:line:column: " and the text. Control characters are escaped as \xNN. */
void errors_add(struct conf_errors *errors, struct place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define QUOTE_MAX 80

/* The text in quotes, shortened, with unprintable characters escaped; returns out. */
const char *errors_quote(char out[QUOTE_MAX], const char *text);

#endif
