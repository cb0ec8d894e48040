/* alloc: see alloc.h. A retired object must not be read or written by its noun again. */
#include "daemon/core/base/alloc.h"

#include "daemon/core/base/base.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FEW 64

bool
reserve_fill(struct reserve *reserve)
{
	if (reserve->memory == NULL)
		reserve->memory = malloc(reserve->bytes != 0 ? reserve->bytes : RESERVE_BYTES);
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

	/* realloc() of nothing would free what there is. */
	assert(bytes > 0);
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

	assert(size > 0 && first > 0);
	if (grown != NULL) {
		*room = twice;
		return grown;
	}
	*room += FEW;
	return reserve_resize(reserve, list, *room * size);
}

/* malloc() gives memory in sizes of 24, 40, 56, ... bytes. A row keeps memory of one such size. */
#define ROW_STEP  16
#define ROW_EXTRA 8

/* Free objects per size. Under a sanitizer everything is freed, so that it sees each use after the end. */
#if defined(__SANITIZE_ADDRESS__)
#define FREE_MOST 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define FREE_MOST 0
#endif
#endif
#ifndef FREE_MOST
#define FREE_MOST 1024
#endif

/* The row for so many bytes; 0: no row, it is too much. */
static size_t
row_of(size_t bytes)
{
	size_t row = bytes <= ROW_STEP + ROW_EXTRA ? 1 : (bytes - ROW_EXTRA + ROW_STEP - 1) / ROW_STEP;

	assert(row >= 1 && row * ROW_STEP + ROW_EXTRA >= bytes);
	return row < FREELIST_ROWS ? row : 0;
}

/* Memory of an ended object. */
struct freelist_item {
	struct freelist_item *next;
};

void *
freelist_new(struct core *core, size_t bytes)
{
	size_t row = row_of(bytes);
	struct freelist_row *of_size = &core->freelist[row];
	struct freelist_link *freed = (void *)of_size->free;

	assert((of_size->free == NULL) == (of_size->free_count == 0));
	/* Memory that is too large for a row is not reused. */
	assert(freed == NULL || row > 0);
	assert(bytes >= sizeof(struct freelist_item));
	if (freed == NULL) {
		freed = calloc(1, row == 0 ? bytes : row * ROW_STEP + ROW_EXTRA);
		if (freed == NULL)
			return NULL;
	} else {
		of_size->free = of_size->free->next;
		of_size->free_count--;
		memset(freed, 0, bytes);
	}
	freed->row = (uint8_t)row;
	return freed;
}

void *
freelist_must(struct core *core, size_t bytes)
{
	void *memory = freelist_new(core, bytes);

	if (memory == NULL) {
		reserve_free(&core->reserve);
		memory = freelist_new(core, bytes);
	}
	assert(memory != NULL && "out of memory, and the reserve is used up");
	return memory;
}

void
freelist_retire(struct core *core, struct freelist_link *dead)
{
	size_t row = dead->row;
	struct freelist_item *item = (void *)dead;

	assert(row < FREELIST_ROWS);
	assert((core->freelist_used >> row & 1) == (core->freelist[row].dead != NULL));
	if (core->freelist[row].dead == NULL)
		core->freelist_used |= UINT64_C(1) << row;
	item->next = core->freelist[row].dead;
	core->freelist[row].dead = item;
}

static void
row_empty(struct freelist_row *row, size_t most)
{
	while (row->dead != NULL) {
		struct freelist_item *dead = row->dead;

		row->dead = dead->next;
		if (row->free_count >= most) {
			free(dead);
			continue;
		}
		dead->next = row->free;
		row->free = dead;
		row->free_count++;
	}
	assert(row->free_count <= most);
}

void
freelist_flush(struct core *core)
{
	/* Actions of a running step may point into what has ended. */
	assert(core->actions == NULL);
	while (core->freelist_used != 0) {
		int row = __builtin_ctzll(core->freelist_used);

		row_empty(&core->freelist[row], row == 0 ? 0 : FREE_MOST);
		core->freelist_used &= core->freelist_used - 1;
	}
}

void
freelist_done(struct core *core)
{
	freelist_flush(core);
	assert(core->freelist_used == 0);
	for (size_t row = 0; row < FREELIST_ROWS; row++) {
		while (core->freelist[row].free != NULL) {
			struct freelist_item *item = core->freelist[row].free;

			core->freelist[row].free = item->next;
			free(item);
		}
	}
}
