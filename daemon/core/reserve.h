/*
 * reserve: memory set aside for what must not fail.
 *
 * A lease whose end goes unnoticed, or a decision that is never told, is worse than a daemon that stops (R7).
 * If there is no memory for such a thing, the reserve is given back to the system for it. The core begins
 * nothing new until it has a reserve again. If there is no memory even then, the process ends.
 */
#ifndef CORE_RESERVE_H
#define CORE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

#define RESERVE_BYTES ((size_t)1 << 20)

struct reserve {
	void *memory; /* never written to; NULL: there is none */
};

/* Fills the reserve unless it is full. False: out of memory. */
bool reserve_fill(struct reserve *reserve);
/* Gives it back to the system. */
void reserve_free(struct reserve *reserve);

/* As realloc(), but never NULL. */
void *reserve_resize(struct reserve *reserve, void *memory, size_t bytes)
	__attribute__((returns_nonnull, warn_unused_result));

/* The same for a list with room for *room things of this size. It gets room for first things if it had none,
 * else for twice as many, or for a few more if there is no memory for that. */
void *reserve_grow(struct reserve *reserve, void *list, size_t *room, size_t size, size_t first)
	__attribute__((returns_nonnull, warn_unused_result));

#endif
