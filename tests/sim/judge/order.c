/* order: see order.h. */
#include "tests/sim/judge/order.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

/* Of the two latches the first has the name of a lock; for one name, they go together. */
static unsigned
index_of(struct slice name)
{
	for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
		if (slice_equal(name, slice_of(checker_name(i))))
			return i;
	return PLAN_NAMES_MAX;
}

void
order_made(struct order *o, const struct call *call)
{
	if (call->name.n == 0)
		return;
	struct order_line *line = &o->of[index_of(call->name)];
	if (line->n == ORDER_MOST) {
		line->lost = true; /* looked at no more until the turn is over */
		return;
	}
	line->made[line->n].attempt = call->attempt;
	line->made[line->n++].op = call->op;
}

void
order_left(struct world *w, struct order *o, const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (calls[i].name.n == 0)
			continue;
		struct order_line *line = &o->of[index_of(calls[i].name)];
		const struct order_call *next = &line->made[line->left];
		if (!line->lost && (line->left == line->n || next->attempt != calls[i].attempt ||
					   next->op != calls[i].op))
			world_fail(w, "order: a call about %.*s leaves before one that was made before it",
				(int)calls[i].name.n, calls[i].name.p);
		line->left += line->left < line->n;
	}
}

void
order_over(struct order *o)
{
	for (unsigned i = 0; i <= PLAN_NAMES_MAX; i++) {
		o->of[i].n = o->of[i].left = 0;
		o->of[i].lost = false;
	}
}
