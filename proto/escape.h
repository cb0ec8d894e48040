/*
 * escape: makes bytes of strangers safe to print: in replies, logs and on terminals.
 *
 * Printable characters stay as they are, UTF-8 included. Control characters, also those of ISO 6429's upper
 * half, become \n \r \t or \xHH, and so does every byte that is not UTF-8. Escaped text is one line and moves
 * no cursor.
 */
#ifndef PROTO_ESCAPE_H
#define PROTO_ESCAPE_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

/* Longest escape of one byte: \xHH */
#define ESCAPE_BYTE_MAX 4

enum escape_style {
	ESCAPE_PLAIN, /* backslash and quote stay: for people, cannot be undone */
	ESCAPE_QUOTED /* \\ and \" too: for the inside of "...", can be undone */
};

/*
 * Writes text into out, which has room for `room` bytes (>= 1), and closes it with NUL. What does not fit is
 * cut between characters. Returns the length without the NUL.
 */
size_t escape_text(char *out, size_t room, struct slice text, enum escape_style style);

/* The bytes of the character at p that is written as it is; 0: it is escaped, whatever the style. n > 0. */
size_t escape_printable(const char *p, size_t n);

/* How long escape_text() would make it, given room. */
size_t escape_length(struct slice text, enum escape_style style);

/* Undoes ESCAPE_QUOTED; out has room for text.n bytes. Returns the length, or -1 when text is not the inside
 * of a quoted string. out may be text.p. */
ptrdiff_t escape_undo(char *out, struct slice text);

/* Whether text would be changed by ESCAPE_QUOTED, has a blank or an '=', or is empty: then key=value needs
 * quotes. */
bool escape_needed(struct slice text);

#endif
