/*
 * run: one plan as one world, in a process of its own, so that a failed assertion ends only that.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "tests/sim/excuse.h"
#include "tests/sim/plan.h"

#include <stdbool.h>

struct outcome_of_run {
	bool good;
	uint64_t hash;
	uint64_t grants;
	uint64_t answers;
	int64_t worst_us; /* that a waiter was kept by nothing */
	struct excuses excuses;
	char why[400];
};

/* In this process; a failed assertion ends it, after a line that says of which seed. */
void run_here(const struct plan *plan, struct outcome_of_run *out);

/* In a child. An assertion that fails is a failure like any other. */
void run_apart(const struct plan *plan, struct outcome_of_run *out);

/* Runs it in a child that prints the last lines of its trace. */
void run_print(const struct plan *plan, unsigned lines);

/* The smallest plan found that still fails, in some way, from one that does. */
void run_shrink(struct plan *plan);

#endif
