/*
 * answer: parses what a daemon sends (RESP2 and RESP3) into a small tree, for the client.
 *
 * A hostile or broken peer cannot exceed the limits: depth, elements and bytes are bounded, and memory is
 * allocated only for elements that have arrived.
 */
#ifndef PROTO_ANSWER_H
#define PROTO_ANSWER_H

#include "proto/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ANSWER_DEPTH_MAX    12 /* COMMAND DOCS has nine */
#define ANSWER_BYTES_MAX    (64UL * 1024 * 1024)
#define ANSWER_ELEMENTS_MAX (4UL * 1024 * 1024)

enum answer_type {
	ANSWER_NULL,   /* $-1, *-1, _ */
	ANSWER_INT,    /* n */
	ANSWER_FLAG,   /* n: 0 or 1 */
	ANSWER_STATUS, /* text: a simple string, +OK */
	ANSWER_TEXT,   /* text: a bulk or verbatim string; doubles and big numbers as text */
	ANSWER_ERROR,  /* text: with its code, "NOTHELD ..." */
	ANSWER_ARRAY,  /* items, count; also a set */
	ANSWER_MAP,    /* items: key, value, key, value ...; count: keys plus values */
	ANSWER_PUSH    /* items, count: out of band, no answer to a request */
};

struct answer {
	enum answer_type type;
	int64_t n;
	struct slice text; /* points into the parsed bytes */
	const struct answer *items;
	size_t count;
};

struct answer_limits {
	size_t bytes;    /* of one answer, <= ANSWER_BYTES_MAX */
	size_t elements; /* of one answer, nested ones included, <= ANSWER_ELEMENTS_MAX */
};

/* One per connection: the state of the scan, and the memory of the tree. Zeroed at the beginning. */
struct answer_parser {
	size_t seen;    /* bytes of complete elements */
	size_t scanned; /* bytes after those that are known to contain no end of line */
	size_t elements;
	size_t depth;
	size_t left[ANSWER_DEPTH_MAX]; /* elements still missing, per open aggregate */
	struct answer *tree;
	size_t room;
};

void answer_done(struct answer_parser *parser);

/*
 * data[0] is the first byte that was not consumed. Between calls the bytes may move, and more may arrive.
 *
 *   > 0  the length of one answer in bytes; *out is valid until the next call and as long as data is. With
 *        out NULL it is only checked, and no tree is built.
 *     0  more is needed.
 *    -1  malformed, or out of memory: *fault is a literal that says why. Close the connection.
 */
ssize_t answer_parse(struct answer_parser *parser, const char *data, size_t n,
	const struct answer_limits *limits, const struct answer **out, const char **fault)
	__attribute__((warn_unused_result));

/* The value of a key in a map, or in the flat array that RESP2 has for a map; NULL: no such key. */
const struct answer *answer_get(const struct answer *map, const char *key);

/* The text or number of a key; `absent` when it is missing, null or of another type. */
struct slice answer_get_text(const struct answer *map, const char *key);
int64_t answer_get_int(const struct answer *map, const char *key, int64_t absent);

/* The value of a line `key:value`, as in the text of INFO; empty: no such line. */
struct slice answer_info(struct slice text, const char *key);

/* Whether the answer is a time that a daemon can tell, from 0 to a year in ms; or a token. Another number, as
 * any other answer, is not one of holdfastd's: it must not be reckoned with. */
bool answer_is_ms(const struct answer *answer);
bool answer_is_token(const struct answer *answer);

/* The code at the start of an error; CODE_COUNT: an unknown code. *rest: the text after it. */
enum code answer_code(const struct answer *answer, struct slice *rest);

/* Whether the answer, or NULL, is an error with this code. */
bool answer_is_error(const struct answer *answer, enum code code);

/* True for a push of this name with at least `count` elements, the name included. */
bool answer_is_push(const struct answer *answer, const char *name, size_t count);

#endif
