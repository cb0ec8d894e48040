/*
 * slice: a pointer to bytes of another owner, with their number.
 *
 * Not NUL-terminated; valid as long as its owner says. An absent value has n == 0.
 */
#ifndef PROTO_SLICE_H
#define PROTO_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
	const char *p;
	size_t n;
};

#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})

static inline struct slice
slice_of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static inline bool
slice_equal(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Copies at most the first room - 1 bytes, and adds NUL. */
static inline void
slice_text(char *to, size_t room, struct slice from)
{
	size_t n = from.n < room ? from.n : room - 1;

	if (n > 0)
		memcpy(to, from.p, n);
	to[n] = '\0';
}

#endif
