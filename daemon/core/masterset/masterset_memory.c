/* masterset_memory: see masterset_memory.h. masterset.c calls it with what members tell. */
#include "daemon/core/masterset/masterset_memory.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/masterset_change.h"
#include "daemon/core/masterset/members.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static bool
within_lease(const struct core *core, int64_t ms)
{
	return core->now.ms - ms < core->settings.lease_max_ms;
}

void
memory_answered(struct core *core, struct master *m, const struct vote *vote)
{
	const struct master_link *l = &m->links[vote->link];
	struct memory *memory = &m->memory;

	assert(m->index < core->settings.masters);
	if (vote->hello == HELLO_GOOD && vote->incarnation != memory->incarnation)
		*memory =
			(struct memory){.incarnation = vote->incarnation, .reported_ms = memory->reported_ms};
	memory->asked_ms = l->hello_sent_ms;
	memory->asked = l->set_serial;
	memory->earlier = false;
	/* If the set there is not agreed on, it does not count as a memory of the set agreed on here. */
	if (vote->agreement == AGREEMENT_AGREED)
		memory->blank = 0;
	else if (memory->blank == 0)
		memory->blank = ++core->masterset->serial;
	if (vote->agreement < AGREEMENT_AGREED)
		memory->enrolled = 0;
}

void
memory_reported(struct core *core, struct master *m, const struct vote *vote)
{
	struct memory *memory = &m->memory;

	/* memory_answered() comes first. */
	assert(memory->asked_ms == m->links[vote->link].hello_sent_ms);
	memory->reported_ms = m->links[vote->link].hello_sent_ms;
	if (!m->enrolled)
		memory->enrolled = 0;
	else if (memory->enrolled == 0)
		memory->enrolled = ++core->masterset->serial;
}

bool
memory_fresh(const struct core *core, const struct master *m)
{
	return m->memory.enrolled != 0 && within_lease(core, m->memory.asked_ms);
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

		if (other == m || !memory_fresh(core, other) || other->memory.asked < m->memory.blank)
			continue;
		if (other->next_rival)
			return false;
		enrolled++;
	}
	return enrolled >= memory_need(core);
}

/* Whether all others answer, and tell our set or none; or, if they come with our set, an earlier set that
 * they had left. What a copy tells is no memory of its own. */
static bool
others_silent(const struct core *core, const struct master *m)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *other = &core->masters[i];
		const struct memory *memory = &other->memory;

		if (other == m)
			continue;
		if ((memory->enrolled == 0 && memory->blank == 0 && !memory->earlier && !other->copied) ||
			other->next_rival || !within_lease(core, memory->asked_ms) ||
			memory->asked < m->memory.blank)
			return false;
	}
	return true;
}

/* Whether a majority of the members before reported our set again after all of these had reported it. */
static bool
majority_since(const struct core *core, const struct members *ours, uint64_t since)
{
	unsigned before = ours->came_n == 2 ? ours->n - 2 : ours->n, enrolled = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		int at = members_find(ours, m->id);

		enrolled += at >= 0 && !ours->came[at] && memory_fresh(core, m) &&
			    m->memory.enrolled <= since && m->memory.asked >= since;
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

	assert(at < ours->n && core->masterset->agreed);
	if (memory_fresh(core, m) && !masterset_changes(core))
		return true;
	if (ours->came[at])
		return newcomer_may_have(core, ours);
	if (memory->blank != 0 && (memory_others(core, m) || others_silent(core, m)))
		return true;
	return memory->reported_ms != 0 && within_lease(core, memory->reported_ms) &&
	       (!masterset_changes(core) || (memory->blank == 0 && memory->enrolled == 0));
}

bool
masterset_unsure(const struct core *core)
{
	struct members ours;

	if (!core->masterset->agreed || !masterset_members(core, &ours))
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

bool
memory_lacks_others(const struct core *core, const struct master *m)
{
	bool lacks = false;

	if (!core->masterset->agreed || m->memory.blank == 0)
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *other = &core->masters[i];

		if (other == m || (other->memory.asked >= m->memory.blank &&
					  within_lease(core, other->memory.asked_ms)))
			continue;
		if (other->state != MASTER_AWAY && other->state != MASTER_REFUSED)
			return false; /* its answer is to come */
		lacks = true;
	}
	return lacks;
}

unsigned
memory_waiting(const struct core *core)
{
	struct members ours;
	unsigned n = 0;

	if (!core->masterset->agreed || !masterset_members(core, &ours))
		return 0;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		int at = slot_member(&ours, m);

		n += m->state != MASTER_AWAY && m->memory.enrolled == 0 && at >= 0 &&
		     !memory_may_have(core, &ours, m, (unsigned)at);
	}
	return n;
}
