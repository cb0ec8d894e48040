/*
 * slow: waits and holds that last longer than the rule says, noted once.
 */
#ifndef CORE_SLOW_H
#define CORE_SLOW_H

#include <stdint.h>

struct core;
struct grant;
struct terms;
struct waiter;

/* Arms the timer for the first of their ends. */
void terms_arm(struct core *core, struct terms *t);

/* From now on it is noted when the rule's long-hold is reached, also if it has been. */
void grant_watch(struct core *core, struct grant *g);

/* The timer of its terms: notes it, with how many wait, if it is reached now. */
void slow_note_hold(struct core *core, struct grant *g);

/* When its rule's slow-wait is reached; TIMER_NEVER: not, or that is noted. */
int64_t slow_wait_at(const struct waiter *w);

/* Notes it, with the reason why the wait has not ended. */
void slow_note_wait(struct core *core, struct waiter *w);

#endif
