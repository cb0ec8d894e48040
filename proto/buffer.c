/*
 * buffer: see the header. Used by connections of the daemon and by the client, for both directions.
 */
#include "proto/buffer.h"

#include <assert.h>
#include <stdlib.h>

/* Small enough for thousands of connections, large enough for nearly every request and answer. */
#define BUFFER_ROOM_MIN 512

void
buffer_init(struct buffer *b, size_t max)
{
	*b = (struct buffer){.max = max};
}

void
buffer_done(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){.max = b->max};
}

/* Moves the waiting bytes to the front of the memory. */
static void
compact(struct buffer *b)
{
	size_t length = buffer_length(b);

	if (b->start == 0)
		return;
	memmove(b->data, b->data + b->start, length);
	b->start = 0;
	b->end = length;
}

bool
buffer_reserve(struct buffer *b, size_t n)
{
	size_t length = buffer_length(b);
	size_t room = b->room;
	char *data;

	if (b->failed)
		return false;
	if (b->room - b->end >= n && n <= b->max - length)
		return true;
	if (n > b->max - length) {
		b->failed = true;
		return false;
	}
	compact(b);
	if (b->room - b->end >= n)
		return true;
	if (room < BUFFER_ROOM_MIN)
		room = BUFFER_ROOM_MIN;
	while (room < length + n)
		room *= 2;
	data = realloc(b->data, room);
	if (data == NULL) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->room = room;
	return true;
}

void
buffer_wrote(struct buffer *b, size_t n)
{
	assert(n <= b->room - b->end);
	b->end += n;
}

void
buffer_put(struct buffer *b, const void *p, size_t n)
{
	if (n == 0 || !buffer_reserve(b, n))
		return;
	memcpy(b->data + b->end, p, n);
	b->end += n;
}

void
buffer_consume(struct buffer *b, size_t n)
{
	assert(n <= buffer_length(b));
	b->start += n;
	if (b->start == b->end) {
		b->start = 0;
		b->end = 0;
	}
}

void
buffer_rewind(struct buffer *b, size_t length)
{
	assert(length <= buffer_length(b));
	b->end = b->start + length;
	b->failed = false;
}

void
buffer_trim(struct buffer *b)
{
	size_t length = buffer_length(b);
	char *data;

	if (length == 0) {
		free(b->data);
		b->data = NULL;
		b->room = 0;
		b->start = 0;
		b->end = 0;
		return;
	}
	if (b->room / 4 < length || b->room <= BUFFER_ROOM_MIN)
		return;
	compact(b);
	data = realloc(b->data, length > BUFFER_ROOM_MIN ? length : BUFFER_ROOM_MIN);
	if (data == NULL)
		return;
	b->data = data;
	b->room = length > BUFFER_ROOM_MIN ? length : BUFFER_ROOM_MIN;
}

void
buffer_store_fill(struct buffer_store *store)
{
	while (store->n < BUFFER_STORE_MOST) {
		char *block = malloc(BUFFER_ROOM_MIN);

		if (block == NULL)
			return;
		store->blocks[store->n++] = block;
	}
}

void
buffer_store_done(struct buffer_store *store)
{
	while (store->n > 0)
		free(store->blocks[--store->n]);
}

void
buffer_borrow(struct buffer *b, struct buffer_store *store)
{
	if (b->data != NULL || store->n == 0 || b->max < BUFFER_ROOM_MIN)
		return;
	b->data = store->blocks[--store->n];
	b->room = BUFFER_ROOM_MIN;
}

void
buffer_return(struct buffer *b, struct buffer_store *store)
{
	if (buffer_length(b) == 0 && b->room == BUFFER_ROOM_MIN && store->n < BUFFER_STORE_MOST) {
		store->blocks[store->n++] = b->data;
		b->data = NULL;
		b->room = 0;
		b->start = 0;
		b->end = 0;
	} else {
		buffer_trim(b);
	}
}
