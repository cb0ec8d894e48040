/*
 * arena: an allocator for many small, short-lived pieces. A freed piece is reused for the same size. Large
 * pieces come from malloc(). Memory for small pieces is never returned to the system.
 */
#ifndef SIM_ARENA_H
#define SIM_ARENA_H

#include <stddef.h>

#define PIECE_STEP  16
#define PIECE_SIZES 32 /* up to 512 bytes */

struct piece {
	struct piece *next;
};

/* Zero-initialized: empty. */
struct arena {
	struct piece *free[PIECE_SIZES];
	char *fresh; /* not used yet */
	size_t fresh_n;
};

/* As lua_Alloc: arg is a struct arena. */
void *arena_alloc(void *arg, void *p, size_t old_size, size_t size);

#endif
