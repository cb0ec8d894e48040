/* masterset_memory: see masterset_memory.h. masterset.c and masterset_change.c call it. */
#include "daemon/core/masterset_memory.h"

#include "daemon/core/masterset_change.h"
#include "daemon/core/masterset_slots.h"
#include "daemon/core/state.h"

static bool
within_lease(const struct core *core, int64_t ms)
{
	return core->now.ms - ms < core->settings.lease_max_ms;
}

void
memory_heard(struct core *core, struct master *m, const struct vote *vote)
{
	const struct master_link *l = &m->links[vote->link];
	struct memory *memory = &m->memory;

	if (vote->greeting == GREETING_GOOD && vote->incarnation != memory->incarnation)
		*memory = (struct memory){.incarnation = vote->incarnation, .told_ms = memory->told_ms};
	memory->heard_ms = l->greeting_ms;
	memory->heard = l->set_serial;
	memory->earlier = false;
	/* If the set there is not agreed on, it does not count as a memory of the set agreed on here. */
	if (vote->agreement == AGREEMENT_AGREED)
		memory->blank = 0;
	else if (memory->blank == 0)
		memory->blank = ++core->masterset.serial;
	if (vote->agreement < AGREEMENT_AGREED)
		memory->enrolled = 0;
}

void
memory_told(struct core *core, struct master *m, const struct vote *vote)
{
	struct memory *memory = &m->memory;

	memory->told_ms = m->links[vote->link].greeting_ms;
	if (!m->enrolled)
		memory->enrolled = 0;
	else if (memory->enrolled == 0)
		memory->enrolled = ++core->masterset.serial;
}

bool
memory_fresh(const struct core *core, const struct master *m)
{
	return m->memory.enrolled != 0 && within_lease(core, m->memory.heard_ms);
}

/* So many that each majority of all masters has one of them. */
static unsigned
memory_need(const struct core *core)
{
	return core->settings.masters - (core->settings.masters / 2 + 1) + 1;
}

/* Whether so many masters other than this one tell our set, and none has accepted another next set. */
static bool
memory_others(const struct core *core, const struct master *m)
{
	unsigned enrolled = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *other = &core->masters[i];

		if (other == m || !memory_fresh(core, other) || other->memory.heard < m->memory.blank)
			continue;
		if (other->next_rival)
			return false;
		enrolled++;
	}
	return enrolled >= memory_need(core);
}

/* Whether all others answer, and tell our set or none; or, if they come with our set, an earlier set that
 * they had left. */
static bool
others_silent(const struct core *core, const struct master *m)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *other = &core->masters[i];
		const struct memory *memory = &other->memory;

		if (other == m)
			continue;
		if ((memory->enrolled == 0 && memory->blank == 0 && !memory->earlier) || other->next_rival ||
			!within_lease(core, memory->heard_ms) || memory->heard < m->memory.blank)
			return false;
	}
	return true;
}

/* Whether a majority of the members before told our set again after all of these had told it. */
static bool
majority_since(const struct core *core, const struct members *ours, uint64_t since)
{
	unsigned before = ours->came_n == 2 ? ours->n - 2 : ours->n, enrolled = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		int at = members_find(ours, m->id);

		enrolled += at >= 0 && !ours->came[at] && memory_fresh(core, m) &&
			    m->memory.enrolled <= since && m->memory.heard >= since;
	}
	return enrolled >= before / 2 + 1;
}

static bool
newcomer_may_have(const struct core *core, const struct members *ours)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];

		if (m->memory.enrolled != 0 && majority_since(core, ours, m->memory.enrolled))
			return true;
	}
	return false;
}

bool
memory_may_have(const struct core *core, const struct members *ours, const struct master *m, unsigned at)
{
	const struct memory *memory = &m->memory;

	if (memory_fresh(core, m) && !masterset_changes(core))
		return true;
	if (ours->came[at])
		return newcomer_may_have(core, ours);
	if (memory->blank != 0 && (memory_others(core, m) || others_silent(core, m)))
		return true;
	return memory->told_ms != 0 && within_lease(core, memory->told_ms) &&
	       (!masterset_changes(core) || (memory->blank == 0 && memory->enrolled == 0));
}

bool
masterset_unsure(const struct core *core)
{
	struct members ours;

	if (!core->masterset.agreed || !masterset_members(core, &ours))
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		int at = slot_member(&ours, m);

		if (at >= 0 && m->state != MASTER_AWAY && m->memory.enrolled == 0 &&
			(m->memory.blank != 0 || ours.came[at]))
			return true;
	}
	return false;
}

unsigned
memory_waiting(const struct core *core)
{
	struct members ours;
	unsigned n = 0;

	if (!core->masterset.agreed || !masterset_members(core, &ours))
		return 0;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		int at = slot_member(&ours, m);

		n += m->state != MASTER_AWAY && m->memory.enrolled == 0 && at >= 0 &&
		     !memory_may_have(core, &ours, m, (unsigned)at);
	}
	return n;
}
