/*
 * hash: a text as a number, where it only matters whether two are the same.
 */
#ifndef CORE_HASH_H
#define CORE_HASH_H

#include "proto/slice.h"

#include <stdint.h>

/* FNV-1a; never 0. */
static inline uint64_t
hash_text(struct slice text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < text.n; i++)
		hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(1099511628211);
	return hash | 1;
}

#endif
