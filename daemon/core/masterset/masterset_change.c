/* masterset_change: see masterset_change.h. masterset.c calls it with what members tell. */
#include "daemon/core/masterset/masterset_change.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_note.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/masterset_memory.h"
#include "daemon/core/masterset/masterset_request.h"
#include "daemon/core/masterset/members.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
