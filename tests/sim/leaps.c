/* leaps: see leaps.h. */
#include "tests/sim/leaps.h"

#include "tests/sim/world.h"

#include <inttypes.h>

static int64_t
guard_ms(const struct world *w)
{
	return w->plan.lease_ms + w->plan.lease_ms / 100 + 2 + w->plan.margin_ms;
}

static int64_t
third_us(const struct world *w)
{
	return (w->plan.lease_ms / 3 < 5000 ? w->plan.lease_ms / 3 : 5000) * 1000;
}

void
leaps_start(struct host *h)
{
	for (unsigned i = 0; i < PLAN_MASTERS_MAX; i++)
		h->leaps[i] = (struct leaps){.newest = 0};
}

/* As the core keeps its samples: of eight stretches of time, which are a guard and a third of a lease
 * together at least. */
void
leaps_vote(struct host *h, const struct vote *vote)
{
	struct world *w = h->world;
	struct leaps *l = &h->leaps[vote->master];
	int64_t stretch_us = (guard_ms(w) * 1000 + third_us(w)) / (LEAPS_GREETINGS - 2);
	/* It left before. */
	int64_t sent_us = w->now_us - third_us(w) > 1 ? w->now_us - third_us(w) : 1;
	if (vote->op != CALL_HELLO || vote->outcome != OUTCOME_YES || vote->greeting != GREETING_GOOD ||
		(l->greeted_us[l->newest] != 0 && sent_us - l->greeted_us[l->newest] <= stretch_us * 5 / 4))
		return;
	l->newest = (l->newest + 1) % LEAPS_GREETINGS;
	l->greeted_us[l->newest] = sent_us;
}

/* When the oldest of the greetings that it remembers left. */
static int64_t
remembers_us(const struct leaps *l, int64_t now_us)
{
	int64_t since_us = now_us;
	for (unsigned i = 0; i < LEAPS_GREETINGS; i++)
		if (l->greeted_us[i] != 0 && l->greeted_us[i] < since_us)
			since_us = l->greeted_us[i];
	return since_us;
}

/* How far the clock of a server may be ahead of what it, or another one that sentinels named before it, was
 * at any of those greetings. Keys that were copied there end by that clock. */
static int64_t
most_ahead_us(const struct server *s, int64_t from_us)
{
	const struct world *w = s->world;
	int64_t most_us = drift_apart_us(&s->drift, from_us, w->now_us);
	for (unsigned i = 0; i < plan_servers(&w->plan) && w->plan.replicas > 0; i++) {
		const struct drift *other = &w->servers[i].drift;
		int64_t ahead_us = drift_ahead_us(&s->drift, w->now_us) - drift_ahead_us(other, w->now_us) +
				   drift_apart_us(other, from_us, w->now_us) + w->plan.lease_ms * 20;
		most_us = ahead_us > most_us ? ahead_us : most_us;
	}
	return most_us;
}

void
leaps_note(struct host *h, const struct note *n)
{
	struct world *w = h->world;
	if (n->type != NOTE_MASTER_LEAPT)
		return;
	struct leaps *l = &h->leaps[n->master];
	const struct server *s = host_way(h, (unsigned)n->master)->server;
	int64_t margin_us = w->plan.margin_ms * 1000, from_us = remembers_us(l, w->now_us);
	int64_t still_us = drift_gained_us(&h->still, from_us, w->now_us);
	int64_t gained_us = drift_gained_us(&s->drift, from_us, w->now_us) + still_us;
	int64_t most_us = most_ahead_us(s, from_us) + still_us;
	l->seen_us = w->now_us;
	l->gained_us = most_us;
	/* An answer may be overtaken by the answer to a later greeting, while the clock steps back. */
	if (gained_us < margin_us && !excuse(w, EXCUSE_LEAP_OVERTAKEN, most_us >= margin_us))
		world_fail(w,
			"leap: d%u says that the clock of m%u leapt, which went ahead by %" PRId64 " us",
			h->index, s->index, most_us);
}

bool
leaps_withholds(const struct host *h, unsigned master)
{
	const struct leaps *l = &h->leaps[master];
	return l->seen_us != 0 && h->world->now_us - l->seen_us <= guard_ms(h->world) * 1010;
}

int64_t
leaps_shorten_us(const struct host *h)
{
	const struct world *w = h->world;
	int64_t most_us = 0;
	unsigned leapt = 0;
	for (unsigned i = 0; i < h->masters; i++) {
		if (!leaps_withholds(h, i))
			continue;
		leapt++;
		most_us = h->leaps[i].gained_us > most_us ? h->leaps[i].gained_us : most_us;
	}
	return leapt >= plan_majority(&w->plan) ? most_us : 0;
}
