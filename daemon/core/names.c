#include "daemon/core/names.h"

#include "daemon/core/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST (1U << NAMES_FIRST_LOG)

/* By its number. Chain 2^k is the first one of its piece. */
static struct resource **
chain_at(const struct names *names, uint32_t at)
{
	unsigned log = 31 - (unsigned)__builtin_clz(at | FIRST >> 1);

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
	TAILQ_INIT(&names->all);
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

struct resource *
names_find(const struct names *names, struct slice name)
{
	uint32_t hash = (uint32_t)hash_secretly(names->secret, name);
	struct resource *r = *chain_at(names, chain_of(names, hash));

	while (r != NULL && (r->hash != hash || !slice_equal(resource_name(r), name)))
		r = r->next;
	return r;
}

/* Twice as many chains as there are. False: they cannot be had. */
static bool
names_make_room(struct names *names)
{
	size_t piece = 1;

	while (piece < NAMES_PIECES && names->pieces[piece] != NULL)
		piece++;
	if (piece == NAMES_PIECES)
		return false;
	names->pieces[piece] = malloc(names->n * sizeof(struct resource *));
	if (names->pieces[piece] == NULL)
		return false;
	names->mask = names->mask << 1 | 1;
	return true;
}

/* One chain more: it takes its names from the one that had them until now. */
static void
names_grow(struct names *names)
{
	struct resource **from, **to, *r;

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

void
names_add(struct names *names, struct resource *r)
{
	struct slice name = resource_name(r);
	struct resource **chain;

	r->hash = (uint32_t)hash_secretly(names->secret, name);
	if (names->count / NAMES_PER_CHAIN >= names->n)
		names_grow(names);
	chain = chain_at(names, chain_of(names, r->hash));
	r->next = *chain;
	*chain = r;
	TAILQ_INSERT_TAIL(&names->all, r, in_names);
	names->count++;
}

void
names_remove(struct names *names, struct resource *r)
{
	struct resource **at = chain_at(names, chain_of(names, r->hash));

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	TAILQ_REMOVE(&names->all, r, in_names);
	names->count--;
}

struct resource *
names_first(const struct names *names)
{
	return TAILQ_FIRST(&names->all);
}

struct resource *
names_next(const struct resource *r)
{
	return TAILQ_NEXT(r, in_names);
}
