/* map: see map.h. The core, its sessions and the adapter (connections.c) have one each. */
#include "daemon/core/base/map.h"

#include <assert.h>
#include <stdlib.h>

#define MAP_ROOM_LEAST 64

struct map_place {
	uint64_t key; /* 0: free */
	void *entry;
};

void
map_done(struct map *map)
{
	free(map->places);
	*map = (struct map){0};
}

/* The place of this number, unless another one has it. */
static size_t
map_own(const struct map *map, uint64_t key)
{
	return (size_t)key & (map->room - 1);
}

static size_t
map_next(const struct map *map, size_t at)
{
	return (at + 1) & (map->room - 1);
}

/* There is always a free place. */
static void
map_put(struct map *map, struct map_place place)
{
	size_t at = map_own(map, place.key);

	assert(place.key != 0 && map->count < map->room);
	while (map->places[at].key != 0)
		at = map_next(map, at);
	map->places[at] = place;
}

static int
map_grow(struct map *map)
{
	struct map wider = {.room = map->room > 0 ? map->room * 2 : MAP_ROOM_LEAST, .count = map->count};

	/* The place of a number is found by a mask. */
	assert((wider.room & (wider.room - 1)) == 0);
	wider.places = calloc(wider.room, sizeof(*wider.places));
	if (wider.places == NULL)
		return -1;
	for (size_t i = 0; i < map->room; i++) {
		if (map->places[i].key != 0)
			map_put(&wider, map->places[i]);
	}
	free(map->places);
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
	map_put(map, (struct map_place){key, entry});
	map->count++;
	assert(map->count * 4 <= map->room * 3);
	return 0;
}

/* Closes a hole: an entry that is further from its own place than the hole moves into it, and leaves the next
 * hole. Between its own place and the hole it could no longer be found behind the hole. */
static void
map_close(struct map *map, size_t hole)
{
	size_t mask = map->room - 1;

	assert(map->places[hole].key != 0);
	for (size_t at = map_next(map, hole); map->places[at].key != 0; at = map_next(map, at)) {
		size_t own = map_own(map, map->places[at].key);

		if (((at - own) & mask) < ((at - hole) & mask))
			continue;
		map->places[hole] = map->places[at];
		hole = at;
	}
	map->places[hole] = (struct map_place){0};
}

void
map_remove(struct map *map, uint64_t key, const void *entry)
{
	size_t at;

	assert(map->count > 0);
	assert(map->room > 0);
	for (at = map_own(map, key); map->places[at].key != key || map->places[at].entry != entry;
		at = map_next(map, at))
		assert(map->places[at].key != 0);
	map_close(map, at);
	map->count--;
}

void *
map_find(const struct map *map, uint64_t key)
{
	if (map->room == 0)
		return NULL;
	for (size_t at = map_own(map, key); map->places[at].key != 0; at = map_next(map, at)) {
		if (map->places[at].key == key)
			return map->places[at].entry;
	}
	return NULL;
}

void *
map_search(const struct map *map, uint64_t key, map_same *same, const void *what)
{
	if (map->room == 0)
		return NULL;
	for (size_t at = map_own(map, key); map->places[at].key != 0; at = map_next(map, at)) {
		if (map->places[at].key == key && same(map->places[at].entry, what))
			return map->places[at].entry;
	}
	return NULL;
}
