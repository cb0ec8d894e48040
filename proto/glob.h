/*
 * glob: patterns for names, in LOCKS MATCH, EVENTS MATCH and the rules of the configuration.
 *
 *     *        any number of characters, '/' and ':' included
 *     ?        one character (of UTF-8; one byte where it is none)
 *     [a-z_]   one of these, by code point; [!...] or [^...] none of them; a ']' that comes first is meant
 * itself \x       x itself
 *
 * glob_match takes time in the order of pattern length times name length, whatever the pattern: fine for one
 * name, or for a pattern that can be trusted. Where somebody else's pattern meets many names, glob_new reads
 * it once, and glob_takes looks at each character of a name once.
 */
#ifndef PROTO_GLOB_H
#define PROTO_GLOB_H

#include "proto/slice.h"

#include <stdbool.h>

#define GLOB_BYTES_MAX 512

/* Whether the whole name matches. A malformed pattern matches nothing. */
bool glob_match(struct slice pattern, struct slice name);

/* A pattern of at most GLOB_BYTES_MAX, read; owned by the caller, and independent of the pattern's bytes.
 * NULL: it is malformed or longer, or there is no memory. */
struct glob *glob_new(struct slice pattern) __attribute__((warn_unused_result));
void glob_free(struct glob *glob);

/* What glob_match says of the same pattern and name. */
bool glob_takes(const struct glob *glob, struct slice name);

/* NULL when the pattern is well-formed, else what is wrong, for people; a literal. */
const char *glob_check(struct slice pattern);

#endif
