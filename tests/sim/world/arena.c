/* arena: see arena.h. */
#include "tests/sim/world/arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 262144
#define PIECE_MOST  (PIECE_STEP * PIECE_SIZES)

static size_t
size_class(size_t size)
{
	return (size - 1) / PIECE_STEP;
}

static void *
piece_new(struct arena *all, size_t size)
{
	size_t class = size_class(size), bytes = (class + 1) * PIECE_STEP;
	struct piece *piece = all->free[class];
	if (piece != NULL) {
		all->free[class] = piece->next;
		return piece;
	}
	if (all->fresh_n < bytes) {
		all->fresh = malloc(BLOCK_BYTES);
		assert(all->fresh != NULL);
		all->fresh_n = BLOCK_BYTES;
	}
	void *p = all->fresh;
	all->fresh += bytes;
	all->fresh_n -= bytes;
	return p;
}

static void
piece_free(struct arena *all, void *p, size_t size)
{
	struct piece *piece = p;
	piece->next = all->free[size_class(size)];
	all->free[size_class(size)] = piece;
}

void *
arena_alloc(void *arg, void *p, size_t old_size, size_t size)
{
	struct arena *all = arg;
	bool was_small = p != NULL && old_size <= PIECE_MOST, small = size <= PIECE_MOST;
	if (size == 0) {
		if (was_small && old_size > 0)
			piece_free(all, p, old_size);
		else if (!was_small)
			free(p);
		return NULL;
	}
	if (p != NULL && !was_small && !small)
		return realloc(p, size);
	if (was_small && small && size_class(old_size) == size_class(size))
		return p;
	void *fresh = small ? piece_new(all, size) : malloc(size);
	assert(fresh != NULL);
	if (p == NULL)
		return fresh;
	memcpy(fresh, p, old_size < size ? old_size : size);
	if (was_small)
		piece_free(all, p, old_size);
	else
		free(p);
	return fresh;
}
