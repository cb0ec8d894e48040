/*
 * glob: patterns for names, in LOCKS MATCH, EVENTS MATCH and the rules of the configuration.
 *
 *     *        any number of characters, '/' and ':' included
 *     ?        one character (of UTF-8; one byte where it is none)
 *     [a-z_]   one of these, by code point; [!...] or [^...] none of them; a ']' that comes first is meant
 * itself \x       x itself
 *
 * Matching takes time in the order of pattern length times name length, whatever the pattern.
 */
#ifndef PROTO_GLOB_H
#define PROTO_GLOB_H

#include "proto/slice.h"

#include <stdbool.h>

/* Whether the whole name matches. A malformed pattern matches nothing. */
bool glob_match(struct slice pattern, struct slice name);

/* NULL when the pattern is well-formed, else what is wrong, for people; a literal. */
const char *glob_check(struct slice pattern);

#endif
