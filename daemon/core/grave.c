#include "daemon/core/grave.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Sizes in which malloc() gives memory: 24, 40, 56, ... bytes. A row keeps what is of one size. */
#define ROW_STEP  16
#define ROW_EXTRA 8

/* Kept of one size. Under a sanitizer everything is freed, so that it sees who comes too late. */
#if defined(__SANITIZE_ADDRESS__)
#define KEPT_MOST 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define KEPT_MOST 0
#endif
#endif
#ifndef KEPT_MOST
#define KEPT_MOST 1024
#endif

/* The row for so many bytes; 0: for none, it is too much. */
static size_t
row_of(size_t bytes)
{
	size_t row = bytes <= ROW_STEP + ROW_EXTRA ? 1 : (bytes - ROW_EXTRA + ROW_STEP - 1) / ROW_STEP;

	return row < GRAVE_ROWS ? row : 0;
}

/* What has been an object. */
struct buried {
	struct buried *next;
};

void *
grave_new(struct core *core, size_t bytes)
{
	size_t row = row_of(bytes);
	struct graves *kept = &core->graves[row];
	struct grave *grave = (void *)kept->free;

	assert(bytes >= sizeof(struct buried));
	if (grave == NULL) {
		grave = calloc(1, row == 0 ? bytes : row * ROW_STEP + ROW_EXTRA);
		if (grave == NULL)
			return NULL;
	} else {
		kept->free = kept->free->next;
		kept->free_count--;
		memset(grave, 0, bytes);
	}
	grave->row = (uint8_t)row;
	return grave;
}

void *
grave_must(struct core *core, size_t bytes)
{
	void *memory = grave_new(core, bytes);

	if (memory == NULL) {
		reserve_free(&core->reserve);
		memory = grave_new(core, bytes);
	}
	assert(memory != NULL && "out of memory, and the reserve is used up");
	return memory;
}

void
grave_bury(struct core *core, struct grave *dead)
{
	size_t row = dead->row;
	struct buried *buried = (void *)dead;

	assert(row < GRAVE_ROWS);
	if (core->graves[row].dead == NULL)
		core->graves_used |= UINT64_C(1) << row;
	buried->next = core->graves[row].dead;
	core->graves[row].dead = buried;
}

static void
row_empty(struct graves *row, size_t most)
{
	while (row->dead != NULL) {
		struct buried *dead = row->dead;

		row->dead = dead->next;
		if (row->free_count >= most) {
			free(dead);
			continue;
		}
		dead->next = row->free;
		row->free = dead;
		row->free_count++;
	}
}

void
grave_empty(struct core *core)
{
	while (core->graves_used != 0) {
		int row = __builtin_ctzll(core->graves_used);

		row_empty(&core->graves[row], row == 0 ? 0 : KEPT_MOST);
		core->graves_used &= core->graves_used - 1;
	}
}

void
grave_done(struct core *core)
{
	grave_empty(core);
	for (size_t row = 0; row < GRAVE_ROWS; row++) {
		while (core->graves[row].free != NULL) {
			struct buried *kept = core->graves[row].free;

			core->graves[row].free = kept->next;
			free(kept);
		}
	}
}
