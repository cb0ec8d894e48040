/*
 * buffer: bytes that wait to be sent or parsed. It grows up to a maximum.
 *
 *     data ──────┬───────────────┬───────────────┐
 *     consumed   │ start … end   │ free          │ room
 *
 * A write that does not fit (over the maximum, or out of memory) makes the buffer `failed`. Further writes do
 * nothing, so that the composer need not check each write. An empty buffer owns no memory after
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
	size_t end;   /* behind the last byte written */
	size_t room;  /* allocated */
	size_t max;   /* end - start never exceeds it */
	bool failed;  /* a write was lost; the buffer ends before it */
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

/* Makes room for at least n more bytes at buffer_end(); buffer_wrote() claims them. False: failed. The bytes
 * that wait may move. */
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

/* Removes everything that was written since buffer_length() was `length`, and clears `failed`: for the error
 * that replaces an answer that did not fit. Nothing may have been consumed since. */
void buffer_rewind(struct buffer *b, size_t length);

/* Frees memory if far more is allocated than the waiting bytes need, and all of it if none wait. */
void buffer_trim(struct buffer *b);

/* Memory of emptied buffers, for reuse by others. Zeroed at the beginning. */
struct buffer_store {
	size_t n;
	char *blocks[BUFFER_STORE_MOST];
};

/* Fills the store with blocks, as far as there is memory. */
void buffer_store_fill(struct buffer_store *store);
void buffer_store_done(struct buffer_store *store);
/* Gives a block of the store, if there is one, to a buffer without memory. */
void buffer_borrow(struct buffer *b, struct buffer_store *store);
/* As buffer_trim(), but the memory of an empty buffer goes to the store. */
void buffer_return(struct buffer *b, struct buffer_store *store);

#endif
