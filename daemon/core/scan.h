/*
 * scan: the way through a hash table in parts, while elements come and go and the table grows and shrinks.
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
#ifndef CORE_SCAN_H
#define CORE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t scan_cursor; /* 0: the beginning, and behind the end */

struct scan {
	scan_cursor cursor;
	size_t looks; /* left in this part; each chain costs one, and each element */
	bool enough;  /* the part ends with this chain */
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
	scan->looks -= scan->looks > 0;
	return true;
}

/* The cursor behind the chain of this one; the chain has the hashes that share so many low bits. */
static inline scan_cursor
scan_behind(scan_cursor cursor, unsigned bits)
{
	return bits == 0 ? 0 : ((cursor >> (32 - bits)) + 1) << (32 - bits);
}

/* The chain at the cursor has been looked at: moves to the next one. False: the part ends here. */
static inline bool
scan_pass(struct scan *scan, unsigned bits)
{
	scan->cursor = scan_behind(scan->cursor, bits);
	scan->looks -= scan->looks > 0;
	return scan->cursor != 0 && scan->looks > 0 && !scan->enough;
}

#endif
