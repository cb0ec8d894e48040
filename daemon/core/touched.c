#include "daemon/core/touched.h"

#include "daemon/core/state.h"

#include <assert.h>
#include <stdlib.h>

#define KEPT 256

/* False: it stays as it is. */
static bool
touched_set_room(struct touched *t, size_t room)
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
touched_init(struct touched *t, struct reserve *reserve)
{
	struct resource **list = reserve_resize(reserve, NULL, KEPT * sizeof(*list));

	*t = (struct touched){.list = list, .first = list, .end = list, .room = list + KEPT};
}

void
touched_done(struct touched *t)
{
	free(t->list);
}

/* False: there is no room for it. */
static bool
touched_put(struct touched *t, struct resource *r)
{
	if (t->end == t->room && !touched_set_room(t, 2 * (size_t)(t->room - t->list)))
		return false;
	*t->end++ = r;
	return true;
}

void
touched_add(struct core *core, struct resource *r)
{
	struct touched *t = &core->touched;

	if (r->dirty)
		return;
	r->dirty = true;
	if (!touched_put(t, r))
		t->missed = true;
}

/* All on the list have had their turn: whoever is dirty still was missed. */
static void
touched_find(struct core *core)
{
	struct touched *t = &core->touched;
	struct resource *r;

	t->first = t->list;
	t->end = t->list;
	if (!t->missed)
		return;
	t->missed = false;
	for (r = names_first(&core->names); r != NULL && !t->missed; r = names_next(&core->names, r))
		t->missed = r->dirty && !touched_put(t, r);
}

struct resource *
touched_next(struct core *core)
{
	struct touched *t = &core->touched;

	if (t->first == t->end)
		touched_find(core);
	if (t->first == t->end) {
		if (t->room > t->list + KEPT)
			(void)touched_set_room(t, KEPT);
		return NULL;
	}
	(*t->first)->dirty = false;
	return *t->first++;
}

bool
touched_at_rest(const struct core *core)
{
	const struct touched *t = &core->touched;

	return t->end == t->list && !t->missed && t->room == t->list + KEPT;
}
