/*
 * hash: a text as a number, where it only matters whether two are the same; and keys as numbers for tables.
 */
#ifndef CORE_HASH_H
#define CORE_HASH_H

#include "proto/slice.h"

#include <stdint.h>
#include <string.h>

/* FNV-1a; never 0. */
static inline uint64_t
hash_text(struct slice text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < text.n; i++)
		hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(1099511628211);
	return hash | 1;
}

/* Any bytes, eight at a time. */
static inline unsigned
hash_key(const void *key, size_t n)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	const unsigned char *p = key;
	uint64_t hash = n * odd, word;

	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = (hash ^ word) * odd;
		hash ^= hash >> 32;
	}
	for (word = 0; n > 0; n--)
		word = word << 8 | p[n - 1];
	hash = (hash ^ word) * odd;
	return (unsigned)(hash >> 32);
}

#endif
