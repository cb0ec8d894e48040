/*
 * inline: splits a line into arguments as Redis does.
 *
 * Arguments are separated by blanks. "..." may contain \n \r \t \b \a \xHH and \ before anything else; '...'
 * knows only \'. A closing quote ends the argument: a blank or the end of the line must follow.
 */
#ifndef PROTO_INLINE_H
#define PROTO_INLINE_H

#include "proto/slice.h"

#include <stddef.h>
#include <sys/types.h>

/* The number of arguments of a line (without its LF; a CR at the end is a blank); -1: a quote is not closed,
 * or is followed by another character. Changes nothing. */
ssize_t inline_count(const char *line, size_t n) __attribute__((warn_unused_result));

/* Fills argv, which has room for inline_count() slices. They point into line, where quotes and escapes are
 * undone in place. */
void inline_split(char *line, size_t n, struct slice *argv);

#endif
