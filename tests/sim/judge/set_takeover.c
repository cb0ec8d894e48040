/* set_takeover: see set_takeover.h. */
#include "tests/sim/judge/set_takeover.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t
generation_of(struct slice set)
{
	int64_t n = 0;
	for (size_t i = 0; i < set.n && set.p[i] >= '0' && set.p[i] <= '9'; i++)
		n = n * 10 + (set.p[i] - '0');
	return n;
}

static void
accepted(struct host *h, struct set_takeover_of *of, int64_t generation)
{
	if (of->since_us == 0 || of->generation != generation) {
		of->since_us = h->world->now_us;
		of->again_us = 0;
	}
	of->generation = generation;
	if (h->asked_us > of->again_us)
		of->again_us = h->asked_us;
}

void
set_takeover_vote(struct host *h, const struct vote *vote)
{
	struct set_takeover *d = &h->decided;
	if (!h->world->plan.changes || h->answers == NULL || vote->outcome != OUTCOME_YES ||
		(vote->op != CALL_HELLO && vote->op != CALL_ADMIT))
		return;
	struct set_takeover_of *of = &d->of[h->answers->index];
	int64_t generation = generation_of(vote->masterset);
	if (vote->op == CALL_HELLO && vote->agreement == AGREEMENT_AGREED && generation > d->told)
		d->told = generation;
	/* On another link a later answer may have come before it: then it takes nothing back. */
	bool latest = h->answered_us >= of->answered_us;
	if (latest)
		of->answered_us = h->answered_us;
	if (latest && (vote->op == CALL_ADMIT || vote->hello == HELLO_GOOD))
		of->guarded = vote->op == CALL_HELLO && !vote->admitted;
	if (vote->op == CALL_ADMIT || vote->hello != HELLO_GOOD)
		return;
	if (vote->next.step == NEXT_ACCEPTED)
		accepted(h, of, generation_of(vote->next.set));
	else if (latest)
		of->since_us = 0;
}

/* The servers of a set that were members of the one before. */
static unsigned
staying(const struct masterset_view *view, unsigned *servers)
{
	const char *id = strchr(view->set, ' '), *place = view->places;
	unsigned n = 0;
	for (; id != NULL && n < PLAN_MASTERS_MAX; id = strchr(id + 1, ' ')) {
		const char *digit = strchr(place, '-');
		if (digit == NULL || strlen(id) < 18)
			break;
		if (id[17] == ':')
			servers[n++] = (unsigned)(digit[1] - '1');
		place = digit + 1;
	}
	return n;
}

static void
check(struct host *h, const struct masterset_view *view)
{
	const struct set_takeover *d = &h->decided;
	unsigned servers[PLAN_MASTERS_MAX], n = staying(view, servers);
	int64_t all_us = 0;
	for (unsigned i = 0; i < n; i++)
		if (d->of[servers[i]].since_us > all_us)
			all_us = d->of[servers[i]].since_us;
	for (unsigned i = 0; i < n; i++) {
		const struct set_takeover_of *of = &d->of[servers[i]];
		if (of->since_us == 0 || of->generation != view->generation || of->again_us < all_us)
			world_fail(h->world,
				"set: d%u takes set %" PRId64
				", and m%u has not said %s that it has accepted it",
				h->index, view->generation, servers[i],
				of->since_us == 0 ? "to it" : "once more");
		else if (of->guarded)
			world_fail(h->world, "set: d%u takes set %" PRId64 " while m%u is guarded", h->index,
				view->generation, servers[i]);
	}
}

void
set_takeover_step(struct host *h)
{
	struct set_takeover *d = &h->decided;
	struct masterset_view view;
	if (!h->world->plan.changes)
		return;
	core_view_masterset(h->core, &view);
	if (view.generation == d->generation)
		return;
	if (d->generation != 0 && view.agreed && view.generation > d->generation && view.generation > d->told)
		check(h, &view);
	d->generation = view.agreed ? view.generation : 0;
}
