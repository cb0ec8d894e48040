/* change_list: see change_list.h. */
#include "daemon/core/base/change_list.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define KEPT 256

static bool
list_grow(struct change_list *list)
{
	size_t room = list->room == 0 ? KEPT : 2 * list->room;
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
	if (list->room <= KEPT)
		return;
	things = realloc(list->things, KEPT * sizeof(*things));
	if (things == NULL)
		return;
	list->things = things;
	list->room = KEPT;
}

bool
change_list_at_rest(const struct change_list *list)
{
	return list->n == 0 && list->room <= KEPT && !list->missed;
}

void
change_list_done(struct change_list *list)
{
	free(list->things);
}
