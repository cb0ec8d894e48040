/* map: see map.h. The core, its sessions and the adapter (connections.c) have one each. */
#include "daemon/core/base/map.h"

#include <assert.h>
#include <stdlib.h>

#define MAP_ROOM_LEAST 64

struct map_slot {
	uint64_t key; /* 0: free */
	void *entry;
};

void
map_done(struct map *map)
{
	free(map->slots);
	*map = (struct map){0};
}

/* The slot of this number, unless another one has it. Numbers in a row are spread: side by side they would be
 * one run of slots, which each removal would go through to its end. */
static size_t
map_own(const struct map *map, uint64_t key)
{
	assert(map->room > 1);
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - __builtin_ctzll(map->room)));
}

static size_t
map_next(const struct map *map, size_t at)
{
	return (at + 1) & (map->room - 1);
}

/* There is always a free slot. */
static void
map_put(struct map *map, struct map_slot slot)
{
	size_t at = map_own(map, slot.key);

	assert(slot.key != 0 && map->count < map->room);
	while (map->slots[at].key != 0)
		at = map_next(map, at);
	map->slots[at] = slot;
}

static int
map_grow(struct map *map)
{
	struct map wider = {.room = map->room > 0 ? map->room * 2 : MAP_ROOM_LEAST, .count = map->count};

	/* map_own() needs a power of two for its shift, map_next() for its mask. */
	assert((wider.room & (wider.room - 1)) == 0);
	wider.slots = calloc(wider.room, sizeof(*wider.slots));
	if (wider.slots == NULL)
		return -1;
	for (size_t i = 0; i < map->room; i++) {
		if (map->slots[i].key != 0)
			map_put(&wider, map->slots[i]);
	}
	free(map->slots);
	*map = wider;
	return 0;
}

int
map_add(struct map *map, uint64_t key, void *entry)
{
	assert(key != 0);
	/* NULL is the answer if there is none. */
	assert(entry != NULL);
	if ((map->count + 1) * 4 > map->room * 3 && map_grow(map) != 0)
		return -1;
	map_put(map, (struct map_slot){key, entry});
	map->count++;
	assert(map->count * 4 <= map->room * 3);
	return 0;
}

/* Closes a hole: an entry that is further from its own slot than the hole moves into it, and leaves the next
 * hole. Between its own slot and the hole it could no longer be found behind the hole. */
static void
map_close(struct map *map, size_t hole)
{
	size_t mask = map->room - 1;

	assert(map->slots[hole].key != 0);
	for (size_t at = map_next(map, hole); map->slots[at].key != 0; at = map_next(map, at)) {
		size_t own = map_own(map, map->slots[at].key);

		if (((at - own) & mask) < ((at - hole) & mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole] = (struct map_slot){0};
}

void
map_remove(struct map *map, uint64_t key, const void *entry)
{
	size_t at;

	assert(map->count > 0);
	assert(map->room > 0);
	for (at = map_own(map, key); map->slots[at].key != key || map->slots[at].entry != entry;
		at = map_next(map, at))
		assert(map->slots[at].key != 0);
	map_close(map, at);
	map->count--;
}

void *
map_find(const struct map *map, uint64_t key)
{
	if (map->room == 0)
		return NULL;
	for (size_t at = map_own(map, key); map->slots[at].key != 0; at = map_next(map, at)) {
		if (map->slots[at].key == key)
			return map->slots[at].entry;
	}
	return NULL;
}

void *
map_search(const struct map *map, uint64_t key, map_same *same, const void *what)
{
	if (map->room == 0)
		return NULL;
	for (size_t at = map_own(map, key); map->slots[at].key != 0; at = map_next(map, at)) {
		if (map->slots[at].key == key && same(map->slots[at].entry, what))
			return map->slots[at].entry;
	}
	return NULL;
}
