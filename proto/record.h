/*
 * record: the form in which a daemon saves its state for the next process: a stream of typed records.
 *
 *     "holdfast state 1\n"   then for each record: its number (2 bytes), its length (4 bytes), its fields
 *
 * A field is a number (8 bytes), a yes or no (1 byte), or bytes with their length before them (4 bytes); all
 * are little-endian. One function describes the fields of a thing, for both directions: while a state is
 * saved it writes them, while a state is loaded it reads them.
 *
 *     static void
 *     thing_fields(struct record *r, struct thing *t)
 *     {
 *             record_number(r, &t->size);
 *             record_flag(r, &t->full);
 *     }
 *
 * Versions: new fields go to the end of a record. An older record ends before them, and they keep the value
 * that they had; a newer record has more of them, and the rest is skipped. So versions that are neighbours
 * read each other's states. What breaks that changes the number in the first line.
 *
 * Hostile bytes: a record whose length goes beyond the input, a field that ends behind its record, a number
 * out of its range make the whole stream failed. Reading goes on with zeros then, so that a reader needs to
 * check once at the end of each record.
 */
#ifndef PROTO_RECORD_H
#define PROTO_RECORD_H

#include "proto/buffer.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_type {
#define RECORD(id, number) RECORD_##id = (number),
#include "proto/record.def"
#undef RECORD
};

#define RECORD_OPTIONAL 1024U /* records with this number or a greater one may be left unread */

/* Why a state cannot be read, for people. */
#define RECORD_WHY_MAX 160

struct record {
	struct buffer *out; /* saving: where the records go; NULL: loading */
	size_t begun;       /* saving: where the length of the current record stands, from the start of out */
	struct slice in;    /* loading: the records after the current one */
	struct slice body;  /* loading: the fields of the current record that have not been read */
	unsigned type;      /* of the current record; 0: none */
	bool failed;
	char why[RECORD_WHY_MAX]; /* failed: why */
};

/* Saves to this buffer, whose maximum is the caller's. The first line is written. */
void record_save(struct record *r, struct buffer *out);

/* Loads from these bytes, which have to live as long as r is used. False: they do not begin as a state that
 * this version reads; r->why says so. */
bool record_load(struct record *r, struct slice in) __attribute__((warn_unused_result));

static inline bool
record_loads(const struct record *r)
{
	return r->out == NULL;
}

/* Saving: a record of this type begins, after the one before it has been ended. */
void record_begin(struct record *r, enum record_type type);
void record_end(struct record *r);

/* Loading: enters the next record, and skips what is left of the current one. Its type; 0: the
 * stream has failed, also because it ends without RECORD_END. */
unsigned record_next(struct record *r);

/* Loading: this version does not know the current record. The stream has failed, unless the record is
 * optional. */
void record_unknown(struct record *r);

/* The stream has failed, unless it has before. why: printf, one clause. */
void record_fail(struct record *r, const char *why, ...) __attribute__((cold, format(printf, 2, 3)));
/* The same, for want of memory. */
void record_no_memory(struct record *r) __attribute__((cold));

/* ---- fields, in both directions; a field that an older record lacks keeps its value ---- */

void record_number(struct record *r, int64_t *n);
void record_unsigned(struct record *r, uint64_t *n);
void record_flag(struct record *r, bool *flag);
/* A number in min..max, for members of any integer type: loading, it returns the number that was read;
 * saving, it writes and returns n.   t->kind = (enum kind)record_range(r, t->kind, 0, KIND_LAST); */
int64_t record_range(struct record *r, int64_t n, int64_t min, int64_t max);
/* At most max bytes. Loading: they point into the input. */
void record_bytes(struct record *r, struct slice *bytes, size_t max);
/* A text with its NUL in an array of `room` bytes. */
void record_text(struct record *r, char *text, size_t room);

#endif
