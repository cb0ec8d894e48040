/*
 * glob: two matchers.
 */
#ifndef PROTO_GLOB_H
#define PROTO_GLOB_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct glob;

/*
 * Patterns for names, in LOCKS MATCH, EVENTS MATCH and the rules of the configuration:
 *
 *     *        any number of characters, '/' and ':' included
 *     ?        one character (of UTF-8; one byte where it is none)
 *     [a-z_]   one of these, by code point; [!...] or [^...] none of them; a ']' that comes first is itself
 *     \x       x itself
 *
 * glob_match() takes at most time proportional to pattern length times name length: good for a single name,
 * or for a trusted pattern. For an untrusted pattern and many names, glob_new() compiles it once, and
 * glob_takes() reads each character of a name once.
 */
#define GLOB_BYTES_MAX 512

/* Whether the whole name matches. A malformed pattern matches nothing. */
bool glob_match(struct slice pattern, struct slice name);

/* Compiles a pattern of at most GLOB_BYTES_MAX; owned by the caller, independent of the pattern's bytes.
 * NULL: the pattern is malformed or too long, or there is no memory. */
struct glob *glob_new(struct slice pattern) __attribute__((warn_unused_result));
void glob_free(struct glob *glob);

/* The result of glob_match() for the same pattern and name. */
bool glob_takes(const struct glob *glob, struct slice name);

/* What glob_takes() costs for each character of a name, 1 to GLOB_BYTES_MAX / 64 + 1: it grows with the
 * pattern.
 */
size_t glob_cost(const struct glob *glob);

/* NULL if the pattern is well-formed, else a literal for people that says what is wrong. */
const char *glob_check(struct slice pattern);

#endif
