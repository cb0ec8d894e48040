/*
 * name: checks the name of a lock (PROTOCOL.md 2), of an owner, of a connection; the kinds of lock; and
 * patterns for names.
 */
#ifndef PROTO_NAME_H
#define PROTO_NAME_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Each returns NULL if the text is valid, else a literal for people that says what is wrong, e.g. "it
 * contains a space".
 */

/* 1..max bytes of UTF-8, no control characters, no space, does not begin with '}' (which would make the hash
 * tag of its keys at a master empty). */
const char *name_check(struct slice name, size_t max);

/* The same, but it may begin with '}': OWNER tags and ASYNC ids. */
const char *name_check_tag(struct slice tag, size_t max);

/* 0..max bytes of UTF-8 without control characters: WHY. */
const char *name_check_text(struct slice text, size_t max);

/* 0..max printable ASCII characters without space: the name of a connection, as in Redis. */
const char *name_check_label(struct slice label, size_t max);

/*
 * The kinds of lock, with the same words in protocol, core, scripts, logs and manual: KIND(id, word). While a
 * name is in use, it is either a lock with exclusive and shared holds, or a semaphore with counted permits. A
 * request for the other of these two is refused with WRONGKIND.
 */
#define KINDS(KIND)                                                                                          \
	KIND(EXCLUSIVE, "exclusive") /* one holder */                                                        \
	KIND(SHARED, "shared")       /* any number of holders, and none that is exclusive */                 \
	KIND(PERMITS, "permits")     /* holders of k of n permits each */

enum kind {
#define KIND(id, word) KIND_##id,
	KINDS(KIND)
#undef KIND
		KIND_COUNT
};

const char *kind_word(enum kind kind);

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
