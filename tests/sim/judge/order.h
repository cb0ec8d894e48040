/*
 * order: checks that calls about one name leave on each connection in the order in which the daemon made
 * them, in any commands. If a release arrived after the next acquire, it would end the new lease or keep
 * others waiting.
 */
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

#include "daemon/core/base/call.h"
#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_MOST 64 /* calls of one name in a turn */

struct world;

/* The calls for a connection that have not left. */
struct order {
	struct order_line {
		unsigned left;
		unsigned n;
		bool lost;
		struct order_call {
			uint64_t attempt;
			enum call_op op;
		} made[ORDER_MOST];
	} of[PLAN_NAMES_MAX + 1];
};

void order_made(struct order *order, const struct call *call);
/* All calls have left. */
void order_over(struct order *order);
/* These calls leave in one command. */
void order_left(struct world *world, struct order *order, const struct call *calls, size_t n);

#endif
