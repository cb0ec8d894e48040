/*
 * map: see map.h. In both tables removal moves later entries up, so there are no tombstones.
 */
#include "daemon/core/map.h"

#include <assert.h>
#include <stdlib.h>

/* ---- rosters ---- */

#define ROSTER_ROOM_MIN 64

void
roster_done(struct roster *roster)
{
	free(roster->places);
	*roster = (struct roster){0};
}

static size_t
roster_home(const struct roster *roster, conn_id id)
{
	return (size_t)id & (roster->room - 1);
}

/* Where id is, or would go. There is always a free place. */
static size_t
roster_seek(const struct roster *roster, conn_id id)
{
	size_t at = roster_home(roster, id);
	while (roster->places[at].id != 0 && roster->places[at].id != id) {
		at = (at + 1) & (roster->room - 1);
	}
	return at;
}

static int
roster_grow(struct roster *roster)
{
	struct roster wider = {
		.room = roster->room ? roster->room * 2 : ROSTER_ROOM_MIN, .count = roster->count};
	wider.places = calloc(wider.room, sizeof *wider.places);
	if (!wider.places) {
		return -1;
	}
	for (size_t i = 0; i < roster->room; i++) {
		if (roster->places[i].id != 0) {
			wider.places[roster_seek(&wider, roster->places[i].id)] = roster->places[i];
		}
	}
	free(roster->places);
	*roster = wider;
	return 0;
}

int
roster_add(struct roster *roster, conn_id id, void *entry)
{
	assert(id != 0);
	if ((roster->count + 1) * 4 > roster->room * 3 && roster_grow(roster) != 0) {
		return -1;
	}
	size_t at = roster_seek(roster, id);
	assert(roster->places[at].id == 0);
	roster->places[at] = (struct roster_place){id, entry};
	roster->count++;
	return 0;
}

void
roster_remove(struct roster *roster, conn_id id)
{
	assert(roster->room > 0);
	size_t mask = roster->room - 1;
	size_t hole = roster_seek(roster, id);
	assert(roster->places[hole].id == id);
	roster->count--;
	for (size_t at = (hole + 1) & mask; roster->places[at].id != 0; at = (at + 1) & mask) {
		size_t home = roster_home(roster, roster->places[at].id);
		/* An entry between its own place and the hole could no longer be found behind the hole. */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			roster->places[hole] = roster->places[at];
			hole = at;
		}
	}
	roster->places[hole] = (struct roster_place){0};
}

void *
roster_find(const struct roster *roster, conn_id id)
{
	if (roster->room == 0) {
		return NULL;
	}
	const struct roster_place *place = &roster->places[roster_seek(roster, id)];
	return place->id == id && id != 0 ? place->entry : NULL;
}

/* ---- indexes ---- */

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
