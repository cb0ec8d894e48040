/*
 * buffer: bytes that wait to be sent or understood. Grows up to a maximum, never beyond.
 *
 *     data ──────┬───────────────┬───────────────┐
 *     consumed   │ start … end   │ free          │ room
 *
 * A write that does not fit (over the maximum, or out of memory) makes the buffer `failed`; further writes do
 * nothing, so that a composer need not look after each one. An empty buffer owns no memory after
 * buffer_trim().
 */
#ifndef PROTO_BUFFER_H
#define PROTO_BUFFER_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>

#define BUFFER_STORE_MOST 32

struct buffer {
	char *data;
	size_t start; /* first byte that was not consumed */
	size_t end;   /* behind the last one written */
	size_t room;  /* allocated */
	size_t max;   /* most bytes that may wait: end - start never exceeds it */
	bool failed;  /* a write was lost; what is in the buffer ends in front of it */
};

void buffer_init(struct buffer *b, size_t max);
void buffer_done(struct buffer *b);

/* Bytes that wait. */
static inline size_t
buffer_length(const struct buffer *b)
{
	return b->end - b->start;
}

static inline char *
buffer_bytes(const struct buffer *b)
{
	return b->data == NULL ? NULL : b->data + b->start;
}

/* Room for at least n more bytes behind buffer_end(), to be claimed with buffer_wrote(). False: failed. The
 * bytes that wait may move. */
bool buffer_reserve(struct buffer *b, size_t n) __attribute__((warn_unused_result));

/* Where the next byte goes, and how many fit there without growing. */
static inline char *
buffer_end(const struct buffer *b)
{
	return b->data == NULL ? NULL : b->data + b->end;
}

static inline size_t
buffer_free(const struct buffer *b)
{
	return b->room - b->end;
}

/* n bytes were put at buffer_end(). */
void buffer_wrote(struct buffer *b, size_t n);

/* Appends; on failure nothing is appended and failed is set. */
void buffer_put(struct buffer *b, const void *p, size_t n);

/* Removes n bytes from the front. */
void buffer_consume(struct buffer *b, size_t n);

/* Takes back everything written since buffer_length() was `length`, and forgives the failure: for the error
 * that replaces an answer that did not fit. Nothing may have been consumed since. */
void buffer_rewind(struct buffer *b, size_t length);

/* Gives memory back that is far more than what waits needs; all of it when nothing waits. */
void buffer_trim(struct buffer *b);

/* Memory of buffers that were emptied, for those that are filled next. All zero in the beginning. */
struct buffer_store {
	size_t n;
	char *blocks[BUFFER_STORE_MOST];
};

/* As many as it can have, or there is memory for. */
void buffer_store_fill(struct buffer_store *store);
void buffer_store_done(struct buffer_store *store);
/* Memory for one that has none, if there is some. */
void buffer_borrow(struct buffer *b, struct buffer_store *store);
/* buffer_trim(), but what an empty one had goes to the store. */
void buffer_return(struct buffer *b, struct buffer_store *store);

#endif
