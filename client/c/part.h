/*
 * part: the requests and answers about one name of a lock.
 *
 * Callers have locked the mutex of the handle.
 */
#ifndef C_PART_H
#define C_PART_H

#include "client/c/library.h"
#include "proto/slice.h"

#include <stdint.h>

struct answer;
struct holdfast_holder;

/* Its turn among the names of its lock has come. */
void part_begin(struct part *part, int64_t now_ms);

/* Does what is due. Requests are sent if the connection is there. */
void part_step(struct part *part, int64_t now_ms);

/* When part_step() has to be called again; INT64_MAX: after an event. */
int64_t part_next(const struct part *part, int64_t now_ms);

/* Begins to give it back, unless that has begun. */
void part_end(struct part *part);

/* The connection is gone. */
void part_cut(struct part *part, int64_t now_ms);

/* An answer to a request about the part; and a push, which names it. */
void part_answer(
	struct part *part, enum asked what, int64_t sent_ms, const struct answer *answer, int64_t now_ms);
void part_push(struct holdfast *hf, const struct answer *push, int64_t now_ms);

/* Asks for another end of the hold; 0: to share it. */
void part_extend(struct part *part, int64_t lease_ms, int64_t now_ms);

/* The part of this handle with the tag; NULL: there is none. */
struct part *part_find(struct holdfast *hf, struct slice tag);

/* Another locker had the name until the end of the wait; the holder may be unknown. */
void part_timeout(struct part *part, const struct holdfast_holder *holder);

#endif
