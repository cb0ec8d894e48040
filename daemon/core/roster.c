/*
 * roster: open addressing with linear probing; removal moves later entries up, so there are no tombstones.
 */
#include "daemon/core/roster.h"

#include <assert.h>
#include <stdlib.h>

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
