/*
 * record: see the header.
 */
#include "proto/record.h"

#include <assert.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_LINE SLICE("holdfast state 1\n")
#define HEAD_BYTES 6U /* the number and the length of a record */

/* Each caller gives a constant length: so it is one store, or one load. */
static inline void
put_little(char *to, uint64_t n, size_t bytes)
{
	uint64_t little = htole64(n);

	memcpy(to, &little, bytes);
}

/* buffer_put(), without a call if there is room: a ledger is written with each request. */
static inline void
put(struct buffer *out, const void *p, size_t n)
{
	if (out->failed || buffer_free(out) < n || buffer_length(out) + n > out->max) {
		buffer_put(out, p, n);
		return;
	}
	memcpy(out->data + out->end, p, n);
	out->end += n;
}

static inline uint64_t
get_little(const char *from, size_t bytes)
{
	uint64_t little = 0;

	memcpy(&little, from, bytes);
	return le64toh(little);
}

void
record_save(struct record *r, struct buffer *out)
{
	*r = (struct record){.out = out};
	buffer_put(out, FIRST_LINE.p, FIRST_LINE.n);
}

bool
record_load(struct record *r, struct slice in)
{
	*r = (struct record){.in = in};
	if (in.n < FIRST_LINE.n || memcmp(in.p, FIRST_LINE.p, FIRST_LINE.n) != 0) {
		record_fail(r, "it does not begin with \"holdfast state 1\"");
		return false;
	}
	r->in.p += FIRST_LINE.n;
	r->in.n -= FIRST_LINE.n;
	return true;
}

void
record_fail(struct record *r, const char *why, ...)
{
	va_list args;

	if (r->failed)
		return;
	r->failed = true;
	r->body.n = r->in.n = 0;
	va_start(args, why);
	vsnprintf(r->why, sizeof(r->why), why, args);
	va_end(args);
}

void
record_no_memory(struct record *r)
{
	record_fail(r, "there is no memory for it");
}

/* ---- records ---- */

void
record_begin(struct record *r, enum record_type type)
{
	char head[HEAD_BYTES] = {0};

	assert(!record_loads(r) && r->type == 0);
	put_little(head, type, 2);
	put(r->out, head, sizeof(head));
	r->begun = buffer_length(r->out) - 4;
	r->type = type;
}

void
record_end(struct record *r)
{
	size_t length = buffer_length(r->out) - r->begun - 4;

	assert(!record_loads(r) && r->type != 0);
	if (r->out->failed || length > UINT32_MAX)
		record_fail(r, "there is no memory to save it");
	else
		put_little(buffer_bytes(r->out) + r->begun, length, 4);
	r->type = 0;
}

unsigned
record_next(struct record *r)
{
	size_t length;

	assert(record_loads(r));
	if (!r->failed && r->in.n < HEAD_BYTES)
		record_fail(r, "it ends in the middle");
	if (r->failed)
		return 0;
	r->type = (unsigned)get_little(r->in.p, 2);
	length = (size_t)get_little(r->in.p + 2, 4);
	r->in.p += HEAD_BYTES;
	r->in.n -= HEAD_BYTES;
	if (r->type == 0)
		record_fail(r, "it has a record without a number");
	else if (length > r->in.n)
		record_fail(r, "its record of type %u ends in the middle", r->type);
	if (r->failed)
		return 0;
	r->body = (struct slice){r->in.p, length};
	r->in.p += length;
	r->in.n -= length;
	return r->type;
}

void
record_unknown(struct record *r)
{
	if (r->type < RECORD_OPTIONAL)
		record_fail(r, "it has a record of type %u, which this version does not know", r->type);
}

/* ---- fields ---- */

/* The next n bytes of the record; NULL: the record is older and ends before this field, or has failed. */
static const char *
take(struct record *r, size_t n)
{
	const char *p = r->body.p;

	if (r->failed || r->body.n == 0)
		return NULL;
	if (r->body.n < n) {
		record_fail(r, "a field of its record of type %u ends behind it", r->type);
		return NULL;
	}
	r->body.p += n;
	r->body.n -= n;
	return p;
}

void
record_unsigned(struct record *r, uint64_t *n)
{
	char bytes[8];
	const char *p;

	if (!record_loads(r)) {
		put_little(bytes, *n, sizeof(bytes));
		put(r->out, bytes, sizeof(bytes));
		return;
	}
	p = take(r, sizeof(bytes));
	if (p != NULL)
		*n = get_little(p, sizeof(bytes));
}

void
record_number(struct record *r, int64_t *n)
{
	uint64_t bits = (uint64_t)*n;

	record_unsigned(r, &bits);
	*n = (int64_t)bits;
}

int64_t
record_range(struct record *r, int64_t n, int64_t min, int64_t max)
{
	int64_t read = n;

	assert(record_loads(r) || (n >= min && n <= max));
	record_number(r, &read);
	if (read >= min && read <= max)
		return read;
	record_fail(r, "a number of its record of type %u is out of its range", r->type);
	return min;
}

void
record_flag(struct record *r, bool *flag)
{
	char byte = *flag ? 1 : 0;
	const char *p;

	if (!record_loads(r)) {
		put(r->out, &byte, 1);
		return;
	}
	p = take(r, 1);
	if (p == NULL)
		return;
	if (*p != 0 && *p != 1)
		record_fail(r, "a yes or no of its record of type %u is neither", r->type);
	*flag = *p == 1;
}

void
record_bytes(struct record *r, struct slice *bytes, size_t max)
{
	char head[4];
	const char *p;
	size_t n;

	if (!record_loads(r)) {
		assert(bytes->n <= max && bytes->n <= UINT32_MAX);
		put_little(head, bytes->n, sizeof(head));
		put(r->out, head, sizeof(head));
		if (bytes->n > 0)
			put(r->out, bytes->p, bytes->n);
		return;
	}
	p = take(r, sizeof(head));
	if (p == NULL)
		return;
	n = (size_t)get_little(p, sizeof(head));
	if (n > max || n > r->body.n) {
		record_fail(r, "bytes of its record of type %u are too many", r->type);
		n = 0;
	}
	*bytes = (struct slice){r->body.p, n};
	r->body.p += n;
	r->body.n -= n;
}

void
record_text(struct record *r, char *text, size_t room)
{
	struct slice bytes = slice_of(text);

	record_bytes(r, &bytes, room - 1);
	if (!record_loads(r))
		return;
	if (bytes.n > 0 && memchr(bytes.p, '\0', bytes.n) != NULL)
		record_fail(r, "a text of its record of type %u has a NUL", r->type);
	else if (bytes.p != text)
		slice_text(text, room, bytes);
}
