/*
 * reserve: see reserve.h.
 */
#include "daemon/core/reserve.h"

#include <assert.h>
#include <stdlib.h>

#define FEW 64

bool
reserve_fill(struct reserve *reserve)
{
	if (reserve->memory == NULL)
		reserve->memory = malloc(RESERVE_BYTES);
	return reserve->memory != NULL;
}

void
reserve_free(struct reserve *reserve)
{
	free(reserve->memory);
	reserve->memory = NULL;
}

void *
reserve_resize(struct reserve *reserve, void *memory, size_t bytes)
{
	void *resized = realloc(memory, bytes);

	if (resized == NULL) {
		reserve_free(reserve);
		resized = realloc(memory, bytes);
	}
	assert(resized != NULL && "out of memory, and the reserve is used up");
	return resized;
}

void *
reserve_grow(struct reserve *reserve, void *list, size_t *room, size_t size, size_t first)
{
	size_t twice = *room == 0 ? first : 2 * *room;
	void *grown = realloc(list, twice * size);

	if (grown != NULL) {
		*room = twice;
		return grown;
	}
	*room += FEW;
	return reserve_resize(reserve, list, *room * size);
}
