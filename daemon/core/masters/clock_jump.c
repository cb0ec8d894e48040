/*
 * clock_jump: see clock_jump.h. It knows nothing of single leases; scheduler.c finds them.
 */
#include "daemon/core/masters/clock_jump.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static int64_t
jump_ms(const struct core *core, const struct clock_jump *jump)
{
	bool counts = jump->at_ms != 0 && core->now.ms - jump->at_ms < terms_guard_ms(core);

	assert(jump->ms >= 0);
	return counts ? jump->ms : 0;
}

/* Nothing has been seen or taken off for a guard. */
static bool
jumps_are_over(const struct core *core, const struct master *m)
{
	bool over = true;

	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		over &= jump_ms(core, &m->jumps[i]) == 0;
	return over;
}

static void
jumps_forget(struct master *m)
{
	assert(m->off_ms >= 0);
	memset(m->jumps, 0, sizeof(m->jumps));
	m->off_ms = 0;
}

/* If a later answer shows more than this, it is another jump, even if the master has not been notified of
 * this one. */
static void
hellos_see(const struct core *core, struct master *of, unsigned link, int64_t ms)
{
	assert(link < core->settings.links);
	for (unsigned i = 0; i < core->settings.links; i++) {
		offset_jumped(&of->links[i].offset, ms);
		of->links[i].overtaken |= i != link;
	}
}

void
clock_jump_seen(struct core *core, struct master *of, unsigned link, int64_t ms)
{
	assert(ms > 0 && of->index < CORE_SLOTS_MAX);
	hellos_see(core, of, link, ms);
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		struct master *m = &core->masters[i];
		struct clock_jump *jump = &m->jumps[of->index];

		for (unsigned k = 0; k < CORE_LINKS_MAX; k++)
			m->links[k].informed = false;
		if (jumps_are_over(core, m))
			jumps_forget(m);
		jump->ms = jump_ms(core, jump) + ms;
		jump->at_ms = core->now.ms;
	}
}

/* By how much our clock may have stood still, or the clock of this master gone ahead, since it caught up; 0:
 * the clocks of no majority went ahead. If only those of a minority have, leases at the other masters last as
 * long as we counted. If this master has shown nothing itself, the result is the most that any master has
 * shown: a clock that shows less may have stepped back. */
static int64_t
lost_ms(const struct core *core, const struct master *m)
{
	int64_t own_ms = jump_ms(core, &m->jumps[m->index]), stood_ms = 0, most_ms = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		int64_t ms = jump_ms(core, &m->jumps[i]);
		unsigned as_much = 0;

		for (unsigned k = 0; k < core->settings.masters; k++)
			as_much += jump_ms(core, &m->jumps[k]) >= ms;
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
jumps_last(struct core *core, struct master *m)
{
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		if (jump_ms(core, &m->jumps[i]) > 0)
			m->jumps[i].at_ms = core->now.ms;
}

/* A master whose memory has been given up for its jump tells as much about our clock as the others. */
int64_t
clock_jump_take_off(struct core *core, struct master *m)
{
	int64_t all_ms = lost_ms(core, m), more_ms = all_ms - m->off_ms;

	assert(m->index < core->settings.masters);
	if (all_ms == 0)
		return 0;
	jumps_last(core, m);
	if (more_ms <= 0)
		return 0;
	m->off_ms = all_ms;
	return more_ms;
}

void
clock_jump_caught_up(struct master *m)
{
	/* What only a minority has shown may yet be shown by others. */
	if (m->off_ms == 0)
		return;
	jumps_forget(m);
}
