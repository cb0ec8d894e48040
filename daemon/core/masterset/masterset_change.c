/* masterset_change: see masterset_change.h. masterset.c calls it with what members tell. */
#include "daemon/core/masterset/masterset_change.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_note.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/masterset_request.h"
#include "daemon/core/masterset/members.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- texts ---- */

uint32_t
masterset_tag(const char *text)
{
	uint64_t hash = hash_text(slice_of(text));
	uint32_t tag = (uint32_t)(hash ^ hash >> 32);

	return tag != 0 ? tag : 1;
}

void
masterset_copy(char *to, size_t room, struct slice from)
{
	size_t n = from.n < room ? from.n : room - 1;

	assert(room > 0);
	if (n > 0)
		memmove(to, from.p, n);
	to[n] = '\0';
}

/* ---- what members remember ---- */

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

/* ---- the next set ---- */

static bool
next_read(const struct core *core, struct members *next)
{
	const struct masterset *set = core->masterset;

	return set->next.text[0] != '\0' &&
	       members_read(slice_of(set->next.text), slice_of(set->next.places), next);
}

/* Whether the master is a member of our set that stays. */
static bool
stays(const struct members *next, const struct master *m)
{
	int at = members_find(next, m->id);

	return at >= 0 && !next->came[at];
}

bool
masterset_may_follow(const struct members *ours, const struct members *next)
{
	unsigned n = next->came_n == 2 ? ours->n + 2 : ours->n;

	if (next->generation <= ours->generation || next->n != n || n > CORE_MASTERS_MAX ||
		next->came_n > 2 || next->n - next->came_n < ours->n / 2 + 1)
		return false;
	for (unsigned i = 0; i < next->n; i++) {
		if (next->came[i] == (members_find(ours, next->ids[i]) >= 0))
			return false;
	}
	return true;
}

/* The least and the greatest step that members that stay have reported; a member that has not answered has
 * taken none. */
static enum next_step
least_step(const struct core *core, const struct members *next)
{
	enum next_step least = NEXT_ACCEPTED;
	unsigned staying = 0;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];

		if (!stays(next, m))
			continue;
		staying++;
		if (m->next_step < least)
			least = m->next_step;
	}
	return staying < next->n - next->came_n ? NEXT_NONE : least;
}

static enum next_step
most_step(const struct core *core, const struct members *next)
{
	enum next_step most = NEXT_NONE;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];

		if (stays(next, m) && m->next_step > most)
			most = m->next_step;
	}
	return most;
}

/* If a member that stays has accepted the next set, no other next set can come into force, and offers of
 * other sets are only in the way. */
static enum next_step
step_for(const struct core *core, const struct members *next, const struct master *m)
{
	if (m->next_step == NEXT_NONE && most_step(core, next) == NEXT_ACCEPTED)
		return m->blank ? NEXT_ACCEPTED : NEXT_INSISTED;
	return least_step(core, next) == NEXT_NONE ? NEXT_OFFERED : NEXT_ACCEPTED;
}

void
masterset_ask_next(const struct core *core, const struct master *m, struct call *hello)
{
	const struct masterset *set = core->masterset;
	struct members next;

	assert(m->index < core->settings.masters);
	if (!next_read(core, &next))
		return;
	hello->next = (struct next_set){.set = slice_of(set->next.text),
		.places = slice_of(set->next.places),
		.step = step_for(core, &next, m),
		.tag = set->next.tag};
}

static void
next_forget(struct core *core)
{
	core->masterset->next.text[0] = '\0';
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		m->next_step = NEXT_NONE;
		m->next_known = m->next_rival = false;
		m->memory.accepted = 0;
		m->unacknowledged[0] = '\0';
	}
}

static void
next_drop(struct core *core)
{
	struct masterset *set = core->masterset;

	if (set->next.text[0] != '\0') {
		masterset_copy(set->dropped, sizeof(set->dropped), slice_of(set->next.places));
		(void)emit_note_of(core, NOTE_MASTERS_DROPPED, 0, -1, set->dropped);
	}
	next_forget(core);
}

void
masterset_next(struct core *core, struct slice text, struct slice places)
{
	struct masterset *set = core->masterset;
	struct members next;
	bool readable = members_read(text, places, &next);

	assert(readable && text.n < sizeof(set->next.text));
	assert(set->agreed);
	if (next.generation > set->newest)
		set->newest = next.generation;
	next_drop(core);
	masterset_copy(set->next.text, sizeof(set->next.text), text);
	masterset_copy(set->next.places, sizeof(set->next.places), places);
	set->next.tag = masterset_tag(set->next.text);
	set->next.serial = ++set->serial;
	(void)emit_note_of(core, NOTE_MASTERS_CHANGE, 0, -1, set->next.places);
	masterset_request_next(core);
}

static bool
text_after(struct slice one, const char *other)
{
	size_t n = strlen(other), least = one.n < n ? one.n : n;
	int order = memcmp(one.p, other, least);

	return order > 0 || (order == 0 && one.n > n);
}

/* Whether the next set that this member tells goes before the one known here. If a member that stays has
 * accepted a set, no other set has a chance. */
static bool
next_better(const struct core *core, const struct master *m, const struct vote *vote,
	const struct members *theirs)
{
	struct members next;

	if (!next_read(core, &next))
		return true;
	if (vote->next.step == NEXT_ACCEPTED && stays(&next, m))
		return true;
	if (most_step(core, &next) == NEXT_ACCEPTED)
		return false;
	return vote->next.step == NEXT_ACCEPTED || theirs->generation > next.generation ||
	       (theirs->generation == next.generation &&
		       text_after(vote->next.set, core->masterset->next.text));
}

/* Whether what this member reported of the next set counts: it did within a lease, and it remembers. A member
 * that lost its memory counts only after its guard. Until then it knows no leases, as the newcomers do not,
 * so leases of the next set might find no majority to be renewed at. */
static bool
step_counts(const struct core *core, const struct master *m)
{
	return memory_fresh(core, m) && m->state == MASTER_ADMITTED;
}

/* Whether all members that stay have accepted it, and each said so once more after all of them had: one may
 * have forgotten it before the last one said so. And all living daemons must know of it. */
static bool
next_decided(struct core *core, const struct members *next)
{
	uint64_t since = 0;

	for (unsigned i = 0; i < next->n; i++) {
		const struct master *m = slot_of_member(core, next->ids[i]);

		if (next->came[i])
			continue;
		if (m == NULL || m->memory.accepted == 0 || !m->next_known || !step_counts(core, m))
			return false;
		since = m->memory.accepted > since ? m->memory.accepted : since;
	}
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];

		if (stays(next, m) && m->memory.asked < since)
			return false;
	}
	return true;
}

static void
next_take(struct core *core)
{
	struct masterset_next next = core->masterset->next;

	assert(next.text[0] != '\0');
	masterset_take(core, slice_of(next.text), slice_of(next.places));
}

static void
next_answered(struct core *core, struct master *m, const struct vote *vote)
{
	struct masterset *set = core->masterset;
	const struct master_link *l = &m->links[vote->link];

	assert(set->next.text[0] != '\0');
	m->next_step = vote->next.step;
	m->next_known = l->set_serial >= set->next.serial && vote->unacknowledged.n == 0;
	if (m->next_step < NEXT_ACCEPTED)
		m->memory.accepted = 0;
	else if (m->memory.accepted == 0)
		m->memory.accepted = ++set->serial;
	masterset_copy(m->unacknowledged, sizeof(m->unacknowledged), vote->unacknowledged);
}

void
masterset_answered_next(struct core *core, struct master *m, const struct vote *vote)
{
	struct masterset *set = core->masterset;
	struct members ours, theirs, next;
	enum next_step before, step = m->next_step;

	assert(m->enrolled && core->masterset->agreed);
	m->next_step = NEXT_NONE;
	m->next_known = m->next_rival = false;
	m->unacknowledged[0] = '\0';
	if (vote->next.set.n > 0 && members_read(vote->next.set, vote->next.places, &theirs) &&
		masterset_members(core, &ours) && masterset_may_follow(&ours, &theirs)) {
		set->newest = theirs.generation > set->newest ? theirs.generation : set->newest;
		if (!slice_equal(vote->next.set, slice_of(set->next.text)) &&
			next_better(core, m, vote, &theirs))
			masterset_next(core, vote->next.set, vote->next.places);
	}
	if (!next_read(core, &next))
		return;
	/* Only what this answer tells beyond the last one is news. */
	m->next_step = step;
	before = least_step(core, &next);
	m->next_step = NEXT_NONE;
	if (slice_equal(vote->next.set, slice_of(set->next.text)))
		next_answered(core, m, vote);
	else
		m->next_rival = vote->next.step == NEXT_ACCEPTED;
	if (next_decided(core, &next))
		next_take(core);
	else if (least_step(core, &next) > before)
		set->serial++;
}

bool
masterset_changes(const struct core *core)
{
	return core->masterset->next.text[0] != '\0';
}

bool
masterset_accepted(const struct core *core)
{
	struct members next;

	return next_read(core, &next) && most_step(core, &next) == NEXT_ACCEPTED;
}

const char *
masterset_role(const struct core *core, const struct master *m)
{
	struct members next;

	assert(m->place[0] != '\0');
	if (m->index >= core->settings.masters)
		return m->left ? "left" : "joining";
	return next_read(core, &next) && members_find(&next, m->id) < 0 ? "leaving" : "member";
}

bool
masterset_waits(const struct core *core, const struct master *m)
{
	return m->index < core->settings.masters && core->masterset->next.text[0] != '\0' && m->enrolled &&
	       !m->next_known;
}

void
masterset_changed(struct core *core)
{
	struct masterset *set = core->masterset;

	assert(set->agreed);
	if (strcmp(set->next.text, set->text) == 0)
		next_forget(core);
	else
		next_drop(core);
	masterset_request_done(core);
	assert(!masterset_changes(core));
}
