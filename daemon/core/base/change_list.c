/* change_list: see change_list.h. */
#include "daemon/core/base/change_list.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define ROOM_AT_REST 256

static bool
list_grow(struct change_list *list)
{
	size_t room = list->room == 0 ? ROOM_AT_REST : 2 * list->room;
	void **things = realloc(list->things, room * sizeof(*things));

	if (things == NULL)
		return false;
	list->things = things;
	list->room = room;
	return true;
}

bool
change_list_add(struct change_list *list, void *thing)
{
	if (list->n == list->room && !list_grow(list)) {
		list->missed = true;
		return false;
	}
	assert(list->n < list->room);
	list->things[list->n++] = thing;
	return true;
}

void
change_list_rest(struct change_list *list)
{
	void **things;

	assert(list->n == 0 && !list->missed);
	if (list->room <= ROOM_AT_REST)
		return;
	things = realloc(list->things, ROOM_AT_REST * sizeof(*things));
	if (things == NULL)
		return;
	list->things = things;
	list->room = ROOM_AT_REST;
}

bool
change_list_at_rest(const struct change_list *list)
{
	return list->n == 0 && list->room <= ROOM_AT_REST && !list->missed;
}

void
change_list_done(struct change_list *list)
{
	free(list->things);
}
