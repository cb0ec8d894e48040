/*
 * names: the resources, by their names.
 *
 * A table of chains that grows and shrinks by one chain at a time (linear hashing): of a million names the
 * one that comes next takes no longer than any other, where a table that doubles would let everybody wait for
 * the move. What a name costs is a pointer and the hash in its resource, and a pointer for its chain: with
 * half as many chains a renewal took a tenth longer, for the names it passed. Adding cannot fail: without
 * memory the chains become longer.
 *
 *     chains 0..n-1: a hash belongs to chain hash & mask, or if that is not there yet, to the one that will
 * be cut in two for it, hash & mask/2
 */
#ifndef CORE_NAMES_H
#define CORE_NAMES_H

#include "daemon/core/scan.h"
#include "proto/slice.h"

#include <stddef.h>
#include <stdint.h>

struct resource;

#define NAMES_FIRST_LOG 6 /* so many chains at first, as a power of two */
#define NAMES_PER_CHAIN 1 /* on average, before there is one chain more */
#define NAMES_SPARE     4 /* as many times the chains that there are names for are too many */
#define NAMES_PIECES    26

struct names {
	uint64_t secret[2]; /* clients choose names: they must not choose the chain too (hash.h) */
	size_t count;
	uint32_t n;    /* chains */
	uint32_t mask; /* the power of two that is not below n, less one */
	/* Of chains: the first as many as there are at first, each other as many as all before it. */
	struct resource **pieces[NAMES_PIECES];
	struct resource *first[1 << NAMES_FIRST_LOG];
};

/* secret: unpredictable; copied. */
void names_init(struct names *names, const uint64_t secret[2]);

/* Frees the chains. There are no names any more. */
void names_done(struct names *names);

/* NULL: none of this name. */
struct resource *names_find(const struct names *names, struct slice name);

/* Its name is not there yet. */
void names_add(struct names *names, struct resource *r);
void names_remove(struct names *names, struct resource *r);

/* All of them, in an order that means nothing: the one after r, NULL: after the last one. None is added on
 * the way; who removes one asks for the next one first. */
struct resource *names_first(const struct names *names);
struct resource *names_next(const struct names *names, const struct resource *r);

/* A scan of all names in parts, while names come and go: see scan.h. */
scan_cursor names_scan(const struct names *names, scan_cursor cursor, size_t looks,
	bool (*each)(void *arg, struct resource *r), void *arg);

#endif
