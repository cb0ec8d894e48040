/*
 * hash: a text as a number, where only equality matters; and keys as numbers for tables.
 *
 * Clients choose names and tags. With a hash that anybody can compute, a client could choose thousands that
 * share one, and each lookup of one of them would go through all. So names and tags are hashed with a secret.
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

static inline uint64_t
hash_turn(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void
hash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = hash_turn(v[1], 13) ^ v[0];
	v[3] = hash_turn(v[3], 16) ^ v[2];
	v[0] = hash_turn(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = hash_turn(v[1], 17) ^ v[2];
	v[3] = hash_turn(v[3], 21) ^ v[0];
	v[2] = hash_turn(v[2], 32);
}

/* The last n & 7 bytes of a text, in few steps; texts of one length have the same rest only if they are
 * equal. */
static inline uint64_t
hash_rest(const char *p, size_t n)
{
	uint64_t rest = 0;
	uint32_t four;
	uint16_t two;

	if ((n & 1) != 0)
		rest = (unsigned char)p[n & 6];
	if ((n & 2) != 0) {
		memcpy(&two, p + (n & 4), sizeof(two));
		rest = rest << 16 | two;
	}
	if ((n & 4) != 0) {
		memcpy(&four, p, sizeof(four));
		rest = rest << 32 | four;
	}
	return rest;
}

/* SipHash-1-3 (Aumasson, Bernstein): a client that does not know the secret cannot choose texts that share a
 * hash. */
static inline uint64_t
hash_secretly(const uint64_t secret[2], struct slice text)
{
	uint64_t v[4] = {secret[0] ^ UINT64_C(0x736f6d6570736575), secret[1] ^ UINT64_C(0x646f72616e646f6d),
		secret[0] ^ UINT64_C(0x6c7967656e657261), secret[1] ^ UINT64_C(0x7465646279746573)};
	uint64_t word, last = (uint64_t)text.n << 56;
	const char *p = text.p;
	size_t n = text.n;

	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		v[3] ^= word;
		hash_round(v);
		v[0] ^= word;
	}
	last |= hash_rest(p, n);
	v[3] ^= last;
	hash_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		hash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* For keys that are our own; eight bytes at a time. */
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
