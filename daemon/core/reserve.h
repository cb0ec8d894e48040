/*
 * reserve: memory set aside for what must not fail.
 *
 * A lease whose end nobody notices, or a decision that nobody is told, is worse than a daemon that stops
 * (R7). If there is no memory left for such a thing, the reserve is given back to the system for it. The
 * core begins nothing new until it has a reserve again. Without memory even then the process ends.
 */
#ifndef CORE_RESERVE_H
#define CORE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

#define RESERVE_BYTES ((size_t)1 << 20)

struct reserve {
	void *memory; /* never written to; NULL: there is none */
};

/* Has it, again or still. False: it cannot be had. */
bool reserve_fill(struct reserve *reserve);
/* Gives it back to the system. */
void reserve_free(struct reserve *reserve);

/* As realloc(), but never NULL. */
void *reserve_resize(struct reserve *reserve, void *memory, size_t bytes)
	__attribute__((returns_nonnull, warn_unused_result));

/* The same for a list of *room things of this size, which gets room for more: first if it had none, else for
 * twice as many, or for a few if there is no memory for that. */
void *reserve_grow(struct reserve *reserve, void *list, size_t *room, size_t size, size_t first)
	__attribute__((returns_nonnull, warn_unused_result));

#endif
