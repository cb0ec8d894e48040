/* clock_jumps: see clock_jumps.h. */
#include "tests/sim/judge/clock_jumps.h"

#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define GUARDS 3 /* of the memory that jumped, and of those that may come after it */

void
clock_jumps_start(struct host *h)
{
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		h->jumps[i] = (struct clock_jumps){.known_us = 0};
}

/* Whether the daemon measured the clock by this HELLO: by one of its set, once it has agreed on that. What
 * it is told before that is about the set alone. */
static bool
is_measured(const struct host *h, const struct vote *vote)
{
	struct masterset_view set;
	struct master_view view;
	if (vote->op != CALL_HELLO || vote->outcome != OUTCOME_YES || vote->hello != HELLO_GOOD ||
		vote->agreement != AGREEMENT_AGREED || vote->master >= core_members(h->core))
		return false;
	core_view_masterset(h->core, &set);
	core_view_master(h->core, host_ms(h), vote->master, &view);
	return slice_equal(vote->masterset, slice_of(set.set)) &&
	       (view.state == MASTER_ADMITTED || view.state == MASTER_GUARDED);
}

void
clock_jumps_hello(struct host *h, const struct vote *vote)
{
	if (is_measured(h, vote))
		h->jumps[vote->master].known_us = h->asked_us;
}

/* How far the clock of a server has gone ahead since the world began, or is ahead of another one, which
 * sentinels named before it; and how long its daemon stood still. */
static int64_t
gained_us(const struct host *h, const struct server *s)
{
	const struct world *w = s->world;
	int64_t most_us = clock_error_gained_us(&s->drift, 0, w->now_us);
	for (unsigned i = 0; i < plan_servers(&w->plan) && w->plan.replicas > 0; i++) {
		const struct clock_error *other = &w->servers[i].drift;
		int64_t ahead_us = clock_error_ahead_us(&s->drift, w->now_us) -
				   clock_error_ahead_us(other, w->now_us) +
				   clock_error_apart_us(other, 0, w->now_us) + w->plan.lease_ms * 20;
		most_us = ahead_us > most_us ? ahead_us : most_us;
	}
	return most_us + clock_error_gained_us(&h->still, 0, w->now_us);
}

void
clock_jumps_note(struct host *h, const struct note *n)
{
	struct world *w = h->world;
	if (n->type != NOTE_MASTER_CLOCK_JUMP)
		return;
	assert(h->answers != NULL);
	/* Sentinels may have named another one since it answered. */
	const struct server *s = h->answers;
	h->jumps[n->master].seen = true;
	h->jumps[n->master].seen_ms = host_ms(h);
	int64_t ahead_us = gained_us(h, s);
	if (ahead_us < w->plan.margin_ms * 1000)
		world_fail(w,
			"jump: d%u says that the clock of m%u jumped, which went ahead by %" PRId64 " us",
			h->index, s->index, ahead_us);
}

bool
clock_jumps_noted(const struct host *h)
{
	const struct plan *p = &h->world->plan;
	int64_t guards_ms = GUARDS * (p->lease_ms + p->lease_ms / 100 + 2 + p->margin_ms);
	bool noted = false;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		noted |= h->jumps[i].seen && host_ms(h) - h->jumps[i].seen_ms <= guards_ms;
	return noted;
}

bool
clock_jumps_show(const struct server *s)
{
	const struct world *w = s->world;
	bool show = true;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		int64_t since_us = w->hosts[i].jumps[0].known_us;
		int64_t lost_us = clock_error_ahead_us(&s->drift, since_us) -
				  clock_error_least_us(&s->drift, since_us, w->now_us);
		show &= !w->hosts[i].alive || (since_us != 0 && lost_us <= w->plan.margin_ms * 1000);
	}
	return show;
}

bool
clock_jumps_unseen(const struct server *s)
{
	const struct world *w = s->world;
	bool unseen = false;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		int64_t since_us = w->hosts[i].jumps[0].known_us;
		int64_t gained_us = clock_error_gained_us(&s->drift, since_us, w->now_us);
		unseen |= w->hosts[i].alive && since_us != 0 && gained_us > w->plan.margin_ms * 1000;
	}
	return unseen;
}
