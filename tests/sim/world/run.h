/*
 * run: runs one plan as one world, in a process of its own, so that a failed assertion ends only this world.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "tests/sim/judge/promise.h"
#include "tests/sim/judge/rule.h"
#include "tests/sim/judge/verdict.h"
#include "tests/sim/world/plan.h"

#include <stdbool.h>

struct outcome_of_run {
	bool good;
	uint64_t hash;
	uint64_t grants;
	uint64_t answers;
	struct recorded recorded; /* of these the history has judged; none if anything else failed */
	int64_t worst_us;         /* longest time that a waiter could be served and was not */
	struct promises promises;
	struct failure failure;
};

/* In this process. A failed assertion ends it, after a line with the seed. */
void run_here(const struct plan *plan, struct outcome_of_run *out);

/* In a child process. A failed assertion is a failure like any other. */
void run_apart(const struct plan *plan, struct outcome_of_run *out);

/* In a child process that prints the last lines of its trace, and why it failed. */
void run_print(const struct plan *plan, unsigned lines);

/* In a child process that prints its history, as tests/history/HISTORY.md has it, and why it failed. */
void run_history(const struct plan *plan);

/* Reduces a failing plan to the smallest plan found that still fails, in any way. */
void run_shrink(struct plan *plan);

#endif
