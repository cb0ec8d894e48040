/*
 * map: hash tables: how keys become numbers, tables of objects, and the way through a table in parts.
 *
 * Resources have a table of their own (resource.h), objects with a key of fixed size have one of uthash.h.
 */
#ifndef CORE_MAP_H
#define CORE_MAP_H

#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A hash: a text as a number, where only equality matters; and keys as numbers for tables.
 *
 * Clients choose names and tags. With a public hash a client could choose thousands of them with the same
 * value, and each lookup of one would go through all. So names and tags are hashed with a secret.
 */

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
	assert(bits > 0 && bits < 64);
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

/* For keys that are our own. */
static inline unsigned
hash_key(const void *key, size_t n)
{
	return slice_hash((struct slice){key, n});
}

/* Tables of uthash.h: adding fails if there is no memory. */
#define HASH_NONFATAL_OOM            1
#define HASH_FUNCTION(key, n, hashv) ((hashv) = hash_key((key), (n)))
#include <uthash.h>

/*
 * A scan: the way through a hash table in parts, while elements come and go and the table grows and shrinks.
 *
 * The scan goes through the hashes in the order of their reversed bits, as SCAN of Redis does. A chain has
 * the hashes that end in the same bits: reversed, they are one range. So wherever chains begin and end when
 * the scan goes on, all hashes before the cursor have been met, and none behind it.
 *
 *     reversed hashes   0 ─────── met ─────── cursor ─────── to be met ─────── 2^32
 *
 * An element that is there from the beginning to the end is met exactly once, any other at most once. Every
 * number is a cursor, so clients may send what they like.
 */

typedef uint32_t scan_cursor; /* 0: the beginning, and behind the end */

struct scan {
	scan_cursor cursor;
	size_t budget; /* left in this part; each chain costs one, and each element */
	bool enough;   /* the part ends with this chain */
};

static inline uint32_t
scan_reverse(uint32_t bits)
{
	bits = (bits & 0x55555555) << 1 | (bits >> 1 & 0x55555555);
	bits = (bits & 0x33333333) << 2 | (bits >> 2 & 0x33333333);
	bits = (bits & 0x0f0f0f0f) << 4 | (bits >> 4 & 0x0f0f0f0f);
	return __builtin_bswap32(bits);
}

/* Whether an element of the chain at the cursor has still to be met. */
static inline bool
scan_meets(struct scan *scan, uint32_t hash)
{
	if (scan_reverse(hash) < scan->cursor)
		return false;
	scan->budget -= scan->budget > 0;
	return true;
}

/* The cursor behind the chain of this one. bits: how many low bits the hashes of a chain share. */
static inline scan_cursor
scan_behind(scan_cursor cursor, unsigned bits)
{
	assert(bits <= 32);
	return bits == 0 ? 0 : ((cursor >> (32 - bits)) + 1) << (32 - bits);
}

/* The chain at the cursor has been passed: moves to the next one. False: the part ends here. */
static inline bool
scan_pass(struct scan *scan, unsigned bits)
{
	scan_cursor behind = scan_behind(scan->cursor, bits);

	/* Each part goes further, so a scan ends. */
	assert(behind == 0 || behind > scan->cursor);
	scan->cursor = behind;
	scan->budget -= scan->budget > 0;
	return scan->cursor != 0 && scan->budget > 0 && !scan->enough;
}

/*
 * A map finds what its owner keeps by a number: for a connection by its number, or for one of many holds or
 * waits of a session by a hash of bytes that clients chose. It owns nothing of what it points to.
 *
 * Open addressing with linear probing: an entry is at the slot of its number, or at the next slot that was
 * free. Removal moves later entries up, so there are no tombstones. Numbers of connections are handed out in
 * order and never twice: spread by the golden ratio they have next to no collisions, and cost 21 to 43 bytes
 * each. With thousands of connections in turn, nothing of one is in a cache any more: finding it takes one
 * miss here and one at the thing itself.
 */

struct map_slot;

/* All zero at first. */
struct map {
	struct map_slot *slots;
	size_t room; /* a power of two, or 0 */
	size_t count;
};

typedef bool map_same(const void *entry, const void *what);

/* Frees its slots. */
void map_done(struct map *map);

/* -1: out of memory, and nothing has changed. key: not 0. */
int map_add(struct map *map, uint64_t key, void *entry) __attribute__((warn_unused_result));
/* The entry must be there with this key. */
void map_remove(struct map *map, uint64_t key, const void *entry);

/* The entry with this key; NULL: none. */
void *map_find(const struct map *map, uint64_t key);
/* The same if several may have this key: the one for which same() is true. */
void *map_search(const struct map *map, uint64_t key, map_same *same, const void *what);

#endif
