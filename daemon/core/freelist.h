/*
 * grave: where objects rest between their end and the next step, because actions may still point into them;
 * and their memory, which comes back: what a LOCK and an UNLOCK need has been there since the last ones.
 */
#ifndef CORE_FREELIST_H
#define CORE_FREELIST_H

#include "daemon/core/state.h"

/* Zeroed memory for an object that begins with a struct freelist_link. To be retired, or given to free().
 * NULL: none left.
 */
void *freelist_new(struct core *core, size_t bytes) __attribute__((warn_unused_result));
/* The same for what must not fail: never NULL (reserve.h). */
void *grave_must(struct core *core, size_t bytes) __attribute__((returns_nonnull, warn_unused_result));

void freelist_retire(struct core *core, struct freelist_link *dead);

/* Frees the buried, or keeps their memory. Only at the start of a step. */
void freelist_flush(struct core *core);

/* The core's own end: frees all of that. */
void freelist_done(struct core *core);

#endif
