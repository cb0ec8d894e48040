/*
 * fields: one line of `key=value key="some value"`, for an event or a connection (PROTOCOL.md 6.5).
 *
 * A value has quotes only if it needs them. Inside quotes \n \r \t \\ \" and \xHH are used, so that the text
 * is one line and can be read back exactly. Keys are literals of the daemon.
 */
#ifndef PROTO_FIELDS_H
#define PROTO_FIELDS_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
