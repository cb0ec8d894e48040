/* dirty: see dirty.h. */
#include "daemon/core/base/dirty.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST 256
#define AHEAD      4 /* turns by which memory is fetched */

/* False: out of memory, the room stays as it is. */
static bool
dirty_set_room(struct dirty *t, size_t room)
{
	size_t first = (size_t)(t->first - t->list), end = (size_t)(t->end - t->list);
	struct dirty_item **list;

	assert(room >= end && first <= end);
	list = realloc(t->list, room * sizeof(struct dirty_item *));
	if (list == NULL)
		return false;
	t->list = list;
	t->first = list + first;
	t->end = list + end;
	t->room = list + room;
	assert(t->list <= t->first && t->first <= t->end && t->end <= t->room);
	return true;
}

void
dirty_init(struct dirty *t, struct reserve *reserve)
{
	struct dirty_item **list = reserve_resize(reserve, NULL, ROOM_LEAST * sizeof(*list));

	*t = (struct dirty){.list = list, .first = list, .end = list, .room = list + ROOM_LEAST};
}

void
dirty_done(struct dirty *t)
{
	free(t->list);
}

/* False: there is no room for it. */
static bool
dirty_put(struct dirty *t, struct dirty_item *item)
{
	if (t->end == t->room && !dirty_set_room(t, 2 * (size_t)(t->room - t->list)))
		return false;
	assert(item->dirty && t->first <= t->end && t->end < t->room);
	*t->end++ = item;
	return true;
}

void
dirty_add(struct dirty *t, struct dirty_item *item)
{
	if (item->dirty)
		return;
	item->dirty = true;
	if (!dirty_put(t, item))
		t->missed = true;
}

void
dirty_remove(struct dirty *t, struct dirty_item *item)
{
	struct dirty_item **at = t->end;

	if (!item->dirty)
		return;
	item->dirty = false;
	/* It became dirty in this step, and most likely a moment ago. */
	while (at > t->first && at[-1] != item)
		at--;
	assert(at > t->first || t->missed);
	if (at == t->first)
		return;
	memmove(at - 1, at, (size_t)((char *)t->end - (char *)at));
	t->end--;
}

struct dirty_item *
dirty_next(struct dirty *t)
{
	struct dirty_item *item;

	if (t->first == t->end)
		return NULL;
	assert(t->first < t->end);
	item = *t->first++;
	assert(item->dirty);
	item->dirty = false;
	return item;
}

struct dirty_item *
dirty_ahead(const struct dirty *t)
{
	return t->end - t->first >= AHEAD ? t->first[AHEAD - 1] : NULL;
}

bool
dirty_missed(struct dirty *t)
{
	bool missed = t->missed;

	assert(t->first == t->end);
	t->first = t->list;
	t->end = t->list;
	t->missed = false;
	if (!missed && t->room > t->list + ROOM_LEAST)
		(void)dirty_set_room(t, ROOM_LEAST);
	return missed;
}

bool
dirty_found(struct dirty *t, struct dirty_item *item)
{
	t->missed = !dirty_put(t, item);
	return !t->missed;
}

bool
dirty_at_rest(const struct dirty *t)
{
	return t->end == t->list && !t->missed && t->room == t->list + ROOM_LEAST;
}
