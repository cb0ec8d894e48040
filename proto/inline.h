/*
 * inline: takes a line apart as Redis does.
 *
 * Arguments are separated by blanks. "..." may contain \n \r \t \b \a \xHH and \ before anything else; '...'
 * knows only \'. A closing quote ends the argument: a blank or the end of the line must follow.
 */
#ifndef PROTO_INLINE_H
#define PROTO_INLINE_H

#include "proto/slice.h"

#include <stddef.h>
#include <sys/types.h>

/* How many arguments the line has (without its LF; a CR at the end is a blank), or -1: a quote is not closed,
 * or something follows it. Changes nothing. */
ssize_t inline_count(const char *line, size_t n) __attribute__((warn_unused_result));

/* Fills argv, which has room for inline_count() slices. They point into line, where quotes and escapes are
 * undone. */
void inline_split(char *line, size_t n, struct slice *argv);

#endif
