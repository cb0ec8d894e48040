/* gradual_leaps: see gradual_leaps.h. */
#include "tests/sim/judge/gradual_leaps.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>

static bool
is_judged(const struct host *h, const struct vote *vote)
{
	const struct plan *p = &h->world->plan;
	return h->answers != NULL && vote->time_us != 0 && h->answers->back_until_us == 0 &&
	       p->replicas == 0 && !p->changes && p->others == 0 && vote->master < CORE_SLOTS_MAX;
}

/* The rates of both clocks, and whole ms; what was answered late shows less. Of the greetings of a sixth of
 * the time that is compared one is kept, which may be the first: the rates count for as much longer. */
static void
check(struct host *h, const struct gradual_leaps *creep)
{
	struct world *w = h->world;
	const struct server *s = h->answers;
	int64_t guard_us = (w->plan.lease_ms + w->plan.margin_ms) * 1000;
	int64_t third_us = w->plan.lease_ms / 3 < 5000 ? w->plan.lease_ms * 1000 / 3 : 5000000;
	int64_t stretch_us = (guard_us + third_us) / 6;
	int64_t ahead_us = clock_error_ahead_us(&s->drift, h->answered_us) - (w->now_us - h->answered_us);
	for (unsigned i = 0; i < CREEP_SAMPLES; i++) {
		int64_t at_us = creep->samples[i].at_us, gained_us = ahead_us - creep->samples[i].ahead_us;
		int64_t fair_us =
			w->plan.margin_ms * 1000 + (w->now_us - at_us) / 45 + stretch_us / 100 + 8000;
		if (at_us != 0 && w->now_us - at_us < guard_us && gained_us > fair_us)
			world_fail(w,
				"clock: d%u does not see that the clock of m%u went ahead by %" PRId64
				" us within a guard",
				h->index, s->index, gained_us);
	}
}

static void
keep(struct host *h, struct gradual_leaps *creep, const struct measure *m)
{
	if (m->at_us == 0 || m->at_us != h->asked_us || m->at_us == creep->samples[creep->newest].at_us)
		return;
	creep->newest = (creep->newest + 1) % CREEP_SAMPLES;
	creep->samples[creep->newest].at_us = m->at_us;
	creep->samples[creep->newest].ahead_us = m->ahead_us;
}

void
gradual_leaps_answered(struct host *h, const struct vote *vote)
{
	if (!is_judged(h, vote))
		return;
	struct gradual_leaps *creep = &h->creeps[vote->master][vote->link];
	check(h, creep);
	keep(h, creep, &h->leaps[vote->master].measures[vote->link]);
}

void
gradual_leaps_note(struct host *h, const struct note *n)
{
	if (n->type != NOTE_MASTER_LEAPT)
		return;
	for (unsigned i = 0; i < CORE_LINKS_MAX; i++)
		for (unsigned k = 0; k < CREEP_SAMPLES; k++)
			h->creeps[n->master][i].samples[k].ahead_us += n->ms * 1000;
}
