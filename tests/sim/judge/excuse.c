/* excuse: see excuse.h. */
#include "tests/sim/judge/excuse.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const texts[EXCUSE_COUNT] = {
#define EXCUSE(id, off, text) text,
	EXCUSES(EXCUSE)
#undef EXCUSE
};

static const unsigned stands_on[EXCUSE_COUNT] = {
#define EXCUSE(id, off, text) off,
	EXCUSES(EXCUSE)
#undef EXCUSE
};

bool
excuse(const struct world *w, enum excuse id, bool taken)
{
	taken = taken && plan_breaks_any(&w->plan, stands_on[id]);
	w->excuses->of[id].looks++;
	w->excuses->of[id].taken += taken;
	return taken;
}

void
excuses_add(struct excuses *sum, const struct excuses *more)
{
	for (int i = 0; i < EXCUSE_COUNT; i++) {
		sum->of[i].looks += more->of[i].looks;
		sum->of[i].taken += more->of[i].taken;
	}
}

void
excuses_print(const struct excuses *excuses)
{
	for (int i = 0; i < EXCUSE_COUNT; i++) {
		const struct excuse_count *n = &excuses->of[i];
		printf("not judged: %8" PRIu64 " of %10" PRIu64 ", %6.3f %%, %s\n", n->taken, n->looks,
			n->looks > 0 ? 100.0 * (double)n->taken / (double)n->looks : 0.0, texts[i]);
	}
}
