/* roll: see roll.h. */
#include "tests/sim/roll.h"

#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

void
roll_begin(struct host *h)
{
	struct world *w = h->world;
	bool other = w->plan.rolls && w->phase == PHASE_FAULTS && rng_percent(&w->rng, 40);
	h->call_settings.layout = other ? "y" : "x";
}

void
roll_leased(struct host *h, unsigned name)
{
	struct world *w = h->world;
	for (const struct hold *of = w->checker.holds; of != NULL && w->plan.rolls; of = of->next)
		if (strcmp(of->layout, h->call_settings.layout) != 0 && held_until_us(of) > w->now_us &&
			!of->tainted)
			world_fail(w,
				"roll: d%u has a lease of %s by its rules, and by other rules somebody "
				"relies on %s for "
				"%" PRId64 " us more",
				h->index, checker_name(name), checker_name(of->name),
				held_until_us(of) - w->now_us);
}
