/*
 * queue: the parts that wait for one name.
 *
 * Callers have locked the mutex of the handle.
 */
#ifndef C_QUEUE_H
#define C_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct holdfast;
struct part;

/* The part waits from now on: as the front of its name, at the daemon, or behind that. */
void queue_enter(struct part *part);

/* The part waits no more. all: those behind are to ask by themselves, else the next one when it is the front.
 */
void queue_leave(struct part *part, bool all);

/* A part behind the front becomes one itself. */
void queue_step_out(struct part *part);

/* The daemon's rule for the name bounds each wait without a bound of its own: also for those behind. */
void queue_bound(struct part *part, int64_t wait_ms);

/* How many parts are before this one behind the front, and itself; 0: it is the front. */
int64_t queue_position(const struct part *part);

/* The next part behind that of the same queue; of a front the first; NULL: there is none. */
struct part *queue_next(const struct part *part);

/* Frees what is left. The parts are not there any more. */
void queue_forget(struct holdfast *hf);

#endif
