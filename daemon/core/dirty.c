/*
 * dirty: see dirty.h. Any noun whose change matters to a name calls dirty_add(); schedule.c empties the list.
 */
#include "daemon/core/dirty.h"

#include "daemon/core/state.h"

#include <assert.h>
#include <stdlib.h>

#define KEPT 256

/* False: out of memory, the room stays as it is. */
static bool
dirty_set_room(struct dirty *t, size_t room)
{
	size_t first = (size_t)(t->first - t->list), end = (size_t)(t->end - t->list);
	struct resource **list;

	assert(room > 0);
	list = realloc(t->list, room * sizeof(struct resource *));
	if (list == NULL)
		return false;
	t->list = list;
	t->first = list + first;
	t->end = list + end;
	t->room = list + room;
	return true;
}

void
dirty_init(struct dirty *t, struct reserve *reserve)
{
	struct resource **list = reserve_resize(reserve, NULL, KEPT * sizeof(*list));

	*t = (struct dirty){.list = list, .first = list, .end = list, .room = list + KEPT};
}

void
dirty_done(struct dirty *t)
{
	free(t->list);
}

/* False: there is no room for it. */
static bool
dirty_put(struct dirty *t, struct resource *r)
{
	if (t->end == t->room && !dirty_set_room(t, 2 * (size_t)(t->room - t->list)))
		return false;
	*t->end++ = r;
	return true;
}

void
dirty_add(struct core *core, struct resource *r)
{
	struct dirty *t = &core->dirty;

	if (r->dirty)
		return;
	r->dirty = true;
	if (!dirty_put(t, r))
		t->missed = true;
}

/* All names on the list have had their turn: those that are still dirty were missed. */
static void
dirty_find(struct core *core)
{
	struct dirty *t = &core->dirty;
	struct resource *r;

	t->first = t->list;
	t->end = t->list;
	if (!t->missed)
		return;
	t->missed = false;
	for (r = names_first(&core->names); r != NULL && !t->missed; r = names_next(&core->names, r))
		t->missed = r->dirty && !dirty_put(t, r);
}

struct resource *
dirty_next(struct core *core)
{
	struct dirty *t = &core->dirty;

	if (t->first == t->end)
		dirty_find(core);
	if (t->first == t->end) {
		if (t->room > t->list + KEPT)
			(void)dirty_set_room(t, KEPT);
		return NULL;
	}
	(*t->first)->dirty = false;
	return *t->first++;
}

bool
dirty_at_rest(const struct core *core)
{
	const struct dirty *t = &core->dirty;

	return t->end == t->list && !t->missed && t->room == t->list + KEPT;
}
