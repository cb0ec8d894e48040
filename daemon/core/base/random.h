/*
 * random: what of a step is drawn and not decided: jitter, and the numbers of attempts.
 */
#ifndef CORE_RANDOM_H
#define CORE_RANDOM_H

#include <stdint.h>

struct core;

/* The next of this step's pseudo-random numbers, and one in [low, high]. */
uint64_t core_random(struct core *core);
int64_t core_jitter(struct core *core, int64_t low, int64_t high);

/* An attempt number greater than all before it, partly random: a copy of this process draws others. */
uint64_t core_attempt(struct core *core);

#endif
