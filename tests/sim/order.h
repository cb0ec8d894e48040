/*
 * order: calls about one name leave on each connection in the order in which the daemon made them, in
 * whatever commands they travel: a release that arrives behind the acquire that follows it would keep others
 * waiting, or end what was just taken.
 */
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

#include "daemon/core/call.h"
#include "tests/sim/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_MOST 64 /* calls of one name in a turn */

struct world;

/* What was made for a connection and has not left. */
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
/* All has left. */
void order_over(struct order *order);
/* In one command. */
void order_left(struct world *world, struct order *order, const struct call *calls, size_t n);

#endif
