/*
 * leap: see leap.h. It knows nothing of single leases; scheduler.c finds them.
 */
#include "daemon/core/masters/leap.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static int64_t
leap_ms(const struct core *core, const struct leap *leap)
{
	bool counts = leap->at_ms != 0 && core->now.ms - leap->at_ms < terms_guard_ms(core);

	assert(leap->ms >= 0);
	return counts ? leap->ms : 0;
}

/* Nothing has been seen or taken off for a guard. */
static bool
leaps_are_over(const struct core *core, const struct master *m)
{
	bool over = true;

	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		over &= leap_ms(core, &m->leaps[i]) == 0;
	return over;
}

static void
leaps_forget(struct master *m)
{
	assert(m->off_ms >= 0);
	memset(m->leaps, 0, sizeof(m->leaps));
	m->off_ms = 0;
}

/* If a later answer shows more than this, it is another leap, even if the master has not been told of this
 * one. */
static void
greetings_see(const struct core *core, struct master *of, unsigned link, int64_t ms)
{
	assert(link < core->settings.links);
	for (unsigned i = 0; i < core->settings.links; i++) {
		offset_leapt(&of->links[i].offset, ms);
		of->links[i].overtaken |= i != link;
	}
}

void
leap_seen(struct core *core, struct master *of, unsigned link, int64_t ms)
{
	assert(ms > 0 && of->index < CORE_SLOTS_MAX);
	greetings_see(core, of, link, ms);
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		struct master *m = &core->masters[i];
		struct leap *leap = &m->leaps[of->index];

		for (unsigned k = 0; k < CORE_LINKS_MAX; k++)
			m->links[k].informed = false;
		if (leaps_are_over(core, m))
			leaps_forget(m);
		leap->ms = leap_ms(core, leap) + ms;
		leap->at_ms = core->now.ms;
	}
}

/* By how much our clock may have stood still, or the clock of this master gone ahead, since it caught up; 0:
 * the clocks of no majority went ahead. If only those of a minority have, leases at the other masters last as
 * long as we counted. If this master has shown nothing itself, the result is the most that any master has
 * shown: a clock that shows less may have stepped back. */
static int64_t
lost_ms(const struct core *core, const struct master *m)
{
	int64_t own_ms = leap_ms(core, &m->leaps[m->index]), stood_ms = 0, most_ms = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		int64_t ms = leap_ms(core, &m->leaps[i]);
		unsigned as_much = 0;

		for (unsigned k = 0; k < core->settings.masters; k++)
			as_much += leap_ms(core, &m->leaps[k]) >= ms;
		if (as_much >= quorum_majority(core) && ms > stood_ms)
			stood_ms = ms;
		if (ms > most_ms)
			most_ms = ms;
	}
	assert(stood_ms <= most_ms && own_ms <= most_ms);
	if (stood_ms == 0)
		return 0;
	if (own_ms == 0)
		return most_ms;
	return own_ms > stood_ms ? own_ms : stood_ms;
}

/* What has been taken off and what it was taken off for count equally long. */
static void
leaps_last(struct core *core, struct master *m)
{
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		if (leap_ms(core, &m->leaps[i]) > 0)
			m->leaps[i].at_ms = core->now.ms;
}

/* A master whose memory has been given up for its leap tells as much about our clock as the others. */
int64_t
leap_take_off(struct core *core, struct master *m)
{
	int64_t all_ms = lost_ms(core, m), more_ms = all_ms - m->off_ms;

	assert(m->index < core->settings.masters);
	if (all_ms == 0)
		return 0;
	leaps_last(core, m);
	if (more_ms <= 0)
		return 0;
	m->off_ms = all_ms;
	return more_ms;
}

void
leap_caught_up(struct master *m)
{
	/* What only a minority has shown may yet be shown by others. */
	if (m->off_ms == 0)
		return;
	leaps_forget(m);
}
