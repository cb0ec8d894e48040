/* names: see names.h. */
#include "daemon/core/lease/names.h"

#include "daemon/core/base/map.h"
#include "daemon/core/lease/resource.h"
#include "proto/name.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST (1U << NAMES_FIRST_LOG)
#define AHEAD 16 /* chains by which a walk prefetches */

/* The chain of this number. Chain 2^k is the first of its piece. */
static struct resource **
chain_at(const struct names *names, uint32_t at)
{
	unsigned log = 31 - (unsigned)__builtin_clz(at | FIRST >> 1);

	assert(at < FIRST || names->pieces[log - NAMES_FIRST_LOG + 1] != NULL);
	return at < FIRST ? &names->pieces[0][at]
			  : &names->pieces[log - NAMES_FIRST_LOG + 1][at - (1U << log)];
}

static uint32_t
chain_of(const struct names *names, uint32_t hash)
{
	uint32_t at = hash & names->mask;

	return at < names->n ? at : hash & names->mask >> 1;
}

void
names_init(struct names *names, const uint64_t secret[2])
{
	memset(names, 0, sizeof(*names));
	memcpy(names->secret, secret, sizeof(names->secret));
	names->pieces[0] = names->first;
	names->n = FIRST;
	names->mask = FIRST - 1;
}

void
names_done(struct names *names)
{
	assert(names->count == 0);
	for (size_t i = 1; i < NAMES_PIECES; i++)
		free(names->pieces[i]);
}

uint32_t
names_hash(const struct names *names, struct slice name)
{
	return (uint32_t)hash_secretly(names->secret, name);
}

struct resource *
names_find(const struct names *names, struct slice name)
{
	return names_find_hashed(names, name, names_hash(names, name));
}

struct resource *
names_find_hashed(const struct names *names, struct slice name, uint32_t hash)
{
	struct resource *r = *chain_at(names, chain_of(names, hash));

	while (r != NULL && (r->hash != hash || !slice_equal(resource_name(r), name)))
		r = r->next;
	return r;
}

static size_t
names_pieces(const struct names *names)
{
	size_t n = 1;

	while (n < NAMES_PIECES && names->pieces[n] != NULL)
		n++;
	return n;
}

/* Room for twice as many chains. False: out of memory, or no piece is left. */
static bool
names_make_room(struct names *names)
{
	size_t piece = names_pieces(names);

	assert(names->n == (uint64_t)names->mask + 1);
	if (piece == NAMES_PIECES)
		return false;
	names->pieces[piece] = malloc(names->n * sizeof(struct resource *));
	if (names->pieces[piece] == NULL)
		return false;
	names->mask = names->mask << 1 | 1;
	return true;
}

/* One chain more: it takes its names from the chain that had them until now. */
static void
names_grow(struct names *names)
{
	struct resource **from, **to, *r;

	/* One chain for each number below the mask, and at most one more. */
	assert(names->n >= FIRST && names->n <= (uint64_t)names->mask + 1);
	if (names->n > names->mask && !names_make_room(names))
		return;
	from = chain_at(names, names->n & names->mask >> 1);
	to = chain_at(names, names->n);
	names->n++;
	*to = NULL;
	while ((r = *from) != NULL) {
		if (chain_of(names, r->hash) != names->n - 1) {
			from = &r->next;
			continue;
		}
		*from = r->next;
		r->next = *to;
		*to = r;
	}
}

/* One chain less: its names go back to the chain that they came from. */
static void
names_shrink(struct names *names)
{
	uint32_t last = --names->n, half = names->mask >> 1;
	size_t piece = names_pieces(names) - 1;
	struct resource **from = chain_at(names, last), **to = chain_at(names, last & half);

	assert(last >= FIRST && last > half);
	while (*to != NULL)
		to = &(*to)->next;
	*to = *from;
	if (last > half + 1)
		return;
	/* It was the first chain of its piece. */
	names->mask = half;
	free(names->pieces[piece]);
	names->pieces[piece] = NULL;
}

/* Called when a name comes and not when one goes, so that all can be removed during a walk through them. */
static void
names_fit(struct names *names)
{
	if (names->count / NAMES_PER_CHAIN >= names->n)
		names_grow(names);
	else if (names->n > FIRST && names->count < names->n / NAMES_SPARE)
		names_shrink(names);
}

void
names_add(struct names *names, struct resource *r)
{
	struct resource **chain;

	names_fit(names);
	chain = chain_at(names, chain_of(names, r->hash));
	r->next = *chain;
	*chain = r;
	names->count++;
}

void
names_remove(struct names *names, struct resource *r)
{
	struct resource **at = chain_at(names, chain_of(names, r->hash));

	assert(names->count > 0);
	while (*at != r) {
		assert(*at != NULL);
		at = &(*at)->next;
	}
	*at = r->next;
	names->count--;
}

/* Prefetches a name while others are visited: it may be anywhere in memory, and a walk would spend half of
 * its time waiting for that. */
static void
names_fetch(const struct resource *r)
{
	if (r == NULL)
		return;
	__builtin_prefetch(r);
	__builtin_prefetch((const char *)r + 64);
}

/* The first name in this chain or a later one. */
static struct resource *
names_from(const struct names *names, uint32_t chain)
{
	for (; chain < names->n; chain++) {
		struct resource *r = *chain_at(names, chain);

		if (chain + AHEAD < names->n)
			names_fetch(*chain_at(names, chain + AHEAD));
		if (r != NULL)
			return r;
	}
	return NULL;
}

struct resource *
names_first(const struct names *names)
{
	return names_from(names, 0);
}

struct resource *
names_next(const struct names *names, const struct resource *r)
{
	return r->next != NULL ? r->next : names_from(names, chain_of(names, r->hash) + 1);
}

/* How many low bits of a hash decide that a name belongs to this chain. */
static unsigned
chain_bits(const struct names *names, uint32_t chain)
{
	unsigned bits = 32 - (unsigned)__builtin_clz(names->mask);

	assert(chain < names->n);
	return (chain | ((names->mask >> 1) + 1)) < names->n ? bits : bits - 1;
}

scan_cursor
names_scan(const struct names *names, scan_cursor cursor, size_t budget,
	bool (*each)(void *arg, struct resource *r), void *arg)
{
	struct scan scan = {.cursor = cursor, .budget = budget};
	bool more = true;

	while (more) {
		uint32_t chain = chain_of(names, scan_reverse(scan.cursor));
		unsigned bits = chain_bits(names, chain);
		uint32_t next = scan_reverse(scan_behind(scan.cursor, bits));

		names_fetch(*chain_at(names, chain_of(names, next)));
		for (struct resource *r = *chain_at(names, chain); r != NULL; r = r->next) {
			if (scan_meets(&scan, r->hash))
				scan.enough |= !each(arg, r);
		}
		more = scan_pass(&scan, bits);
	}
	return scan.cursor;
}
