/*
 * freelist: keeps ended objects until the next step, because actions may still point into them, and then
 * keeps their memory for new objects: a LOCK and an UNLOCK reuse what the last ones left.
 */
#ifndef CORE_FREELIST_H
#define CORE_FREELIST_H

#include "daemon/core/state.h"

/* Zeroed memory for an object that begins with a struct freelist_link. To be given to freelist_retire() or
 * free(). NULL: out of memory. */
void *freelist_new(struct core *core, size_t bytes) __attribute__((warn_unused_result));
/* The same for objects whose allocation must not fail: never NULL (reserve.h). */
void *grave_must(struct core *core, size_t bytes) __attribute__((returns_nonnull, warn_unused_result));

void freelist_retire(struct core *core, struct freelist_link *dead);

/* Frees the retired objects, or keeps their memory. Only at the start of a step. */
void freelist_flush(struct core *core);

/* For core_free(): frees all of it. */
void freelist_done(struct core *core);

#endif
