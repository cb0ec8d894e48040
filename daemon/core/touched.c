#include "daemon/core/touched.h"

#include <assert.h>
#include <stdlib.h>

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
	touched_set_room(t, TOUCHED_KEPT);
}

void
touched_done(struct touched *t)
{
	free(t->list);
}

void
touched_grow(struct touched *t)
{
	touched_set_room(t, 2 * (size_t)(t->room - t->list));
}

void
touched_shrink(struct touched *t)
{
	assert(t->end == t->list);
	touched_set_room(t, TOUCHED_KEPT);
}
