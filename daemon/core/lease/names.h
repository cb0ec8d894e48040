/*
 * names: the table of resources, by their names.
 *
 * A table of chains that grows and shrinks by one chain at a time (linear hashing). So with a million names
 * the next one takes no longer than any other; in a table that doubles, every client would wait for the move.
 * A name costs a pointer and the hash in its resource, and a pointer for its chain; with half as many chains
 * a renewal took a tenth longer. Adding cannot fail: without memory the chains become longer.
 *
 *     chains 0..n-1: a hash belongs to chain hash & mask; if that one is not there yet,
 *                    to chain hash & mask/2, which will be split for it
 */
#ifndef CORE_NAMES_H
#define CORE_NAMES_H

#include "daemon/core/base/map.h"
#include "proto/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resource;

#define NAMES_FIRST_LOG 6 /* log2 of the number of chains at first */
#define NAMES_PER_CHAIN 1 /* names per chain, on average, before one more is added */
#define NAMES_SPARE     4 /* chains are removed when there are more than this many per name */
#define NAMES_PIECES    26

struct names {
	uint64_t secret[2]; /* clients choose names, but must not choose chains (map.h) */
	size_t count;
	uint32_t n;    /* chains */
	uint32_t mask; /* the least power of two that is not below n, less one */
	/* Of chains: the first piece has as many as there are at first, each further one as many as all
	 * before it. */
	struct resource **pieces[NAMES_PIECES];
	struct resource *first[1 << NAMES_FIRST_LOG];
};

/* secret: unpredictable; copied. */
void names_init(struct names *names, const uint64_t secret[2]);

/* Frees the chains. There must be no names any more. */
void names_done(struct names *names);

uint32_t names_hash(const struct names *names, struct slice name);

/* NULL: no such name. The second one is for a name whose hash is known already. */
struct resource *names_find(const struct names *names, struct slice name);
struct resource *names_find_hashed(const struct names *names, struct slice name, uint32_t hash);

/* The name must not be there yet, and r->hash is its hash. */
void names_add(struct names *names, struct resource *r);
void names_remove(struct names *names, struct resource *r);

/* All names, in an arbitrary order: the one after r; NULL: r was the last. None may be added on the way.
 * Before one is removed, the next one has to be fetched. */
struct resource *names_first(const struct names *names);
struct resource *names_next(const struct names *names, const struct resource *r);

/* Scans all names in parts, while names come and go: see map.h. */
scan_cursor names_scan(const struct names *names, scan_cursor cursor, size_t budget,
	bool (*each)(void *arg, struct resource *r), void *arg);

#endif
