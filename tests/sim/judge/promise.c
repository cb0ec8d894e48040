/* promise: see promise.h. */
#include "tests/sim/judge/promise.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const texts[PROMISE_COUNT] = {
#define PROMISE(id, off, text) text,
	PROMISES(PROMISE)
#undef PROMISE
};

static const unsigned stands_on[PROMISE_COUNT] = {
#define PROMISE(id, off, text) off,
	PROMISES(PROMISE)
#undef PROMISE
};

void
promises_draw(struct world *w)
{
	for (int i = 0; i < PROMISE_COUNT; i++)
		for (unsigned name = 0; name <= PLAN_ANY_NAME; name++)
			if (!plan_breaks_any(&w->plan, stands_on[i], name))
				w->promises->of[i].names |= 1U << name;
}

bool
promised(const struct world *w, enum promise promise, unsigned name)
{
	struct promise_count *n = &w->promises->of[promise];
	bool judged = (n->names & 1U << name) != 0;
	n->checks++;
	n->judged += judged;
	return judged;
}

void
promises_add(struct promises *sum, const struct promises *more)
{
	for (int i = 0; i < PROMISE_COUNT; i++) {
		sum->of[i].checks += more->of[i].checks;
		sum->of[i].judged += more->of[i].judged;
	}
}

void
promises_print(const struct promises *promises)
{
	for (int i = 0; i < PROMISE_COUNT; i++) {
		const struct promise_count *n = &promises->of[i];
		printf("judged: %10" PRIu64 " of %10" PRIu64 ", %7.3f %%, %s\n", n->judged, n->checks,
			n->checks > 0 ? 100.0 * (double)n->judged / (double)n->checks : 100.0, texts[i]);
	}
}
