/*
 * escape: text that is safe to print, in replies, in logs, in events and on terminals.
 *
 * Printable characters remain, including UTF-8. Control characters, also those of ISO 6429's upper half, and
 * bytes that are not UTF-8 become \n \r \t or \xHH. Escaped text is one line and moves no cursor.
 *
 * An event or a connection is such a line of `key=value key="some value"` (PROTOCOL.md 6.5). A value has
 * quotes only if it needs them. Inside quotes \n \r \t \\ \" and \xHH are used, so that the line can be read
 * back exactly. Keys are literals of the daemon.
 */
#ifndef PROTO_ESCAPE_H
#define PROTO_ESCAPE_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the character at p, 1..4, and its code point; 0: the bytes are not UTF-8: overlong, a
 * surrogate, beyond U+10FFFF or cut off. n >= 1. */
size_t utf8_next(const char *p, size_t n, uint32_t *character);

/* Longest escape of one byte: \xHH */
#define ESCAPE_BYTE_MAX 4

enum escape_style {
	ESCAPE_PLAIN, /* backslash and quote remain: for people, cannot be undone */
	ESCAPE_QUOTED /* \\ and \" are escaped: for the inside of "...", can be undone */
};

/*
 * Writes text into out (`room` bytes, >= 1) and ends it with NUL. Text that does not fit is cut between
 * characters. Returns the length without the NUL.
 */
size_t escape_text(char *out, size_t room, struct slice text, enum escape_style style);

/* How many bytes at the head are ASCII that ESCAPE_PLAIN keeps as it is: as a rule, all of them. */
size_t escape_plain_run(struct slice text);

/* The length of the character at p if it needs no escape; 0: it is escaped in every style. n > 0. */
size_t escape_printable(const char *p, size_t n);

/* The length that escape_text() returns if there is enough room. */
size_t escape_length(struct slice text, enum escape_style style);

/* Undoes ESCAPE_QUOTED; out has room for text.n bytes and may be text.p. Returns the length, or -1 if text is
 * not the inside of a quoted string. */
ptrdiff_t escape_undo(char *out, struct slice text);

/* A line under construction, in memory of the caller. A field that does not fit is omitted as a whole. */
struct fields {
	char *text;
	size_t room;
	size_t n;
};

/* Starts an empty line in `room` bytes. */
void fields_init(struct fields *f, char *text, size_t room);

/* A bare word, such as the name of an event. */
void fields_word(struct fields *f, const char *word);
void fields_text(struct fields *f, const char *key, struct slice value);
void fields_int(struct fields *f, const char *key, int64_t value);

static inline struct slice
fields_line(const struct fields *f)
{
	return (struct slice){f->text, f->n};
}

/*
 * Reads the next field from *line and advances it. False: end of line, or malformed (then line->n is not 0).
 * A bare word is a key with value.p NULL. Quoted values are unescaped into scratch, which has room for
 * line->n bytes. key and value point into line or scratch.
 */
bool fields_next(struct slice *line, char *scratch, struct slice *key, struct slice *value)
	__attribute__((warn_unused_result));

#endif
