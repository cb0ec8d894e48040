#include "daemon/core/touched.h"

#include "daemon/core/state.h"

#include <assert.h>
#include <stdlib.h>

#define KEPT 256

static void
touched_set_room(struct touched *t, size_t room)
{
	size_t first = (size_t)(t->first - t->list), end = (size_t)(t->end - t->list);

	t->list = realloc(t->list, room * sizeof(struct resource *));
	assert(t->list != NULL);
	t->first = t->list + first;
	t->end = t->list + end;
	t->room = t->list + room;
}

void
touched_init(struct touched *t)
{
	*t = (struct touched){.list = NULL};
	touched_set_room(t, KEPT);
}

void
touched_done(struct touched *t)
{
	free(t->list);
}

void
touched_add(struct core *core, struct resource *r)
{
	struct touched *t = &core->touched;

	if (r->dirty)
		return;
	r->dirty = true;
	*t->end++ = r;
	if (t->end == t->room)
		touched_set_room(t, 2 * (size_t)(t->room - t->list));
}

/* All have had their turn. */
static void
touched_rest(struct touched *t)
{
	t->first = t->list;
	t->end = t->list;
	if (t->room > t->list + KEPT)
		touched_set_room(t, KEPT);
}

struct resource *
touched_next(struct core *core)
{
	struct touched *t = &core->touched;

	if (t->first == t->end) {
		touched_rest(t);
		return NULL;
	}
	(*t->first)->dirty = false;
	return *t->first++;
}

bool
touched_at_rest(const struct core *core)
{
	return core->touched.end == core->touched.list && core->touched.room == core->touched.list + KEPT;
}
