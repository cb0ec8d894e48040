/*
 * escape: makes untrusted bytes safe to print, in replies, in logs and on terminals.
 *
 * Printable characters remain, including UTF-8. Control characters, also those of ISO 6429's upper half, and
 * bytes that are not UTF-8 become \n \r \t or \xHH. Escaped text is one line and moves no cursor.
 */
#ifndef PROTO_ESCAPE_H
#define PROTO_ESCAPE_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

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

/* The length of the character at p if it needs no escape; 0: it is escaped in every style. n > 0. */
size_t escape_printable(const char *p, size_t n);

/* The length that escape_text() returns if there is enough room. */
size_t escape_length(struct slice text, enum escape_style style);

/* Undoes ESCAPE_QUOTED; out has room for text.n bytes and may be text.p. Returns the length, or -1 if text is
 * not the inside of a quoted string. */
ptrdiff_t escape_undo(char *out, struct slice text);

/* Whether text needs quotes in key=value: ESCAPE_QUOTED would change it, it has a blank or an '=', or it is
 * empty. */
bool escape_needed(struct slice text);

#endif
