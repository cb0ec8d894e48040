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

#endif
