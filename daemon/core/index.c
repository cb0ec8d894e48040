/* index: see index.h. */
#include "daemon/core/index.h"

#include <stdlib.h>

#define ROOM_LEAST 64

struct index {
	const uint64_t *secret;
	index_hash *hash;
	size_t count;
	size_t mask; /* places - 1; at most half of the places are taken */
	void *places[];
};

struct index *
index_new(const uint64_t secret[2], index_hash *hash, size_t count)
{
	size_t room = ROOM_LEAST;
	struct index *index;

	while (room < 4 * count)
		room *= 2;
	index = calloc(1, sizeof(*index) + room * sizeof(void *));
	if (index == NULL)
		return NULL;
	index->secret = secret;
	index->hash = hash;
	index->mask = room - 1;
	return index;
}

void
index_free(struct index *index)
{
	free(index);
}

size_t
index_count(const struct index *index)
{
	return index->count;
}

bool
index_put(struct index *index, void *thing)
{
	size_t at = index->hash(index->secret, thing) & index->mask;

	if (2 * (index->count + 1) > index->mask)
		return false;
	while (index->places[at] != NULL)
		at = (at + 1) & index->mask;
	index->places[at] = thing;
	index->count++;
	return true;
}

/* Closes a hole: an object that is further from its own place than the hole moves into it, and leaves the
 * next hole. */
static void
index_close(struct index *index, size_t hole)
{
	size_t mask = index->mask;

	for (size_t at = (hole + 1) & mask; index->places[at] != NULL; at = (at + 1) & mask) {
		size_t own = index->hash(index->secret, index->places[at]) & mask;

		if (((at - own) & mask) < ((at - hole) & mask))
			continue;
		index->places[hole] = index->places[at];
		hole = at;
	}
	index->places[hole] = NULL;
}

void
index_remove(struct index *index, const void *thing)
{
	size_t at = index->hash(index->secret, thing) & index->mask;

	while (index->places[at] != thing)
		at = (at + 1) & index->mask;
	index_close(index, at);
	index->count--;
}

void *
index_find(const struct index *index, uint64_t hash, index_same *same, const void *key)
{
	void *thing;

	for (size_t at = hash & index->mask; (thing = index->places[at]) != NULL;
		at = (at + 1) & index->mask) {
		if (same(thing, key))
			return thing;
	}
	return NULL;
}
