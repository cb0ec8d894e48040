/*
 * engine: the connection of a handle, and the thread that serves it.
 *
 * Callers have locked the mutex of the handle.
 */
#ifndef C_ENGINE_H
#define C_ENGINE_H

#include "client/c/library.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends a request. */
void engine_ask(struct holdfast *hf, struct part *part, enum asked what, size_t n, const char *const *words,
	int64_t now_ms);

/* Makes the thread of the handle, if there is none yet. False: it cannot be made. */
bool engine_start(struct holdfast *hf) __attribute__((warn_unused_result));

/* Does what is due now, in any thread, and sends. */
void engine_step(struct holdfast *hf, int64_t now_ms);

#endif
