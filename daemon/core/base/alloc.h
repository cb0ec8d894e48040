/*
 * alloc: the core's memory: a freelist for objects that end, and a reserve for what must not fail.
 *
 * An object that ends is retained until the next step, because actions may still point into it. Then its
 * memory is retained for new objects: a LOCK and an UNLOCK reuse what the last ones left.
 *
 * A lease whose end goes unnoticed, or a decision that is never reported, is worse than a daemon that stops
 * (R7). If there is no memory for such a thing, the reserve is given back to the system for it. The core
 * begins nothing new until it has a reserve again. If there is no memory even then, the process ends. Other
 * rooms have reserves of their own.
 */
#ifndef CORE_ALLOC_H
#define CORE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct freelist_item;

#define RESERVE_BYTES ((size_t)1 << 20)

struct reserve {
	void *memory; /* never written to; NULL: there is none */
	size_t bytes; /* so many; 0: RESERVE_BYTES */
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

#define FREELIST_ROWS 64

/* First member of each object that is retired to the freelist. The freelist then overwrites the first eight
 * bytes: other small members may share them, but none that is read after the object has ended. */
struct freelist_link {
	uint8_t row; /* the freelist's row to which its memory belongs, see alloc.c */
};

/* Memory of one size. */
struct freelist_row {
	struct freelist_item *dead; /* ended in this step: actions may point into them */
	struct freelist_item *free; /* can be used again */
	size_t free_count;
};

/* Zeroed memory for an object that begins with a struct freelist_link. To be given to freelist_retire() or
 * free(). NULL: out of memory. */
void *freelist_new(struct core *core, size_t bytes) __attribute__((warn_unused_result));
/* The same for objects whose allocation must not fail: never NULL. */
void *freelist_must(struct core *core, size_t bytes) __attribute__((returns_nonnull, warn_unused_result));

void freelist_retire(struct core *core, struct freelist_link *dead);

/* Frees the retired objects, or keeps their memory. Only at the start of a step. */
void freelist_flush(struct core *core);

/* For core_free(): frees all of it. */
void freelist_done(struct core *core);

#endif
