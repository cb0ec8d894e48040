/* masterset_slots: see masterset_slots.h. The files masterset*.c call it. */
#include "daemon/core/masterset_slots.h"

#include "daemon/core/move.h"
#include "daemon/core/state.h"

#include <assert.h>

static bool
slot_stands(const struct members *list, unsigned at, const struct master *m)
{
	return slice_equal(list->places[at], slice_of(m->place)) &&
	       slice_equal(list->ways[at], slice_of(m->way));
}

/* A server that is neither the member it was nor at a member's place may be a new one. It must not be taken
 * for a member that lost its memory. */
static int
slot_blank(const struct members *list, const struct master *m)
{
	if (m->member != 0 && members_find(list, m->member) >= 0)
		return members_find(list, m->member);
	for (unsigned i = 0; i < list->n; i++) {
		if (slot_stands(list, i, m))
			return (int)i;
	}
	return -1;
}

int
slot_member(const struct members *list, const struct master *m)
{
	int at = members_find(list, m->id);

	return at >= 0 ? at : slot_blank(list, m);
}

/* Whether it has left: by its place here, or by its place in our set. */
static bool
slot_left(const struct members *ours, const struct members *list, const struct master *m)
{
	int was = ours != NULL ? members_find(ours, m->member) : -1;

	return members_left(list, slice_of(m->place)) || (was >= 0 && members_left(list, ours->places[was]));
}

/* By id; without a memory, or before it has answered, by place. If a master that answers late could be any
 * member, this daemon might take up a set that its configuration has left. A master that cannot be reached
 * fits: other daemons may know it by another place, or another server may have answered there for a while. */
bool
slot_fits(const struct members *ours, const struct members *list, const struct master *m)
{
	int at = members_find(list, m->id);

	if (at < 0 && m->state == MASTER_AWAY && !m->blank)
		return !slot_left(ours, list, m);
	if (m->id == 0)
		return slot_blank(list, m) >= 0;
	if (at >= 0)
		return slice_equal(list->ways[at], slice_of(m->way));
	return m->blank && slot_blank(list, m) >= 0;
}

bool
slots_fit(const struct core *core, const struct members *ours, const struct members *list)
{
	if (list->n != core->settings.masters)
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (!slot_fits(ours, list, &core->masters[i]))
			return false;
	}
	return true;
}

static bool
slot_follows(const struct members *ours, const struct members *list, const struct master *m)
{
	int was = ours != NULL ? members_find(ours, m->member) : -1;

	if (members_find(list, m->id) >= 0 || (was >= 0 && members_find(list, m->member) >= 0))
		return true;
	if (slot_left(ours, list, m))
		return true;
	return (m->id == 0 || m->blank) && slot_blank(list, m) >= 0;
}

bool
slots_follow(const struct core *core, const struct members *ours, const struct members *list)
{
	if (list->n < core->settings.masters || list->n > CORE_MASTERS_MAX || list->n % 2 == 0)
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (!slot_follows(ours, list, &core->masters[i]))
			return false;
	}
	return true;
}

bool
slots_named(const struct core *core, const struct members *list)
{
	if (list->n != core->settings.masters)
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		int at = members_at(list, slice_of(m->place));

		if (at < 0 || !slot_stands(list, (unsigned)at, m))
			return false;
	}
	return true;
}

struct master *
slot_of_member(struct core *core, uint64_t id)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (core->masters[i].id == id)
			return &core->masters[i];
	}
	return NULL;
}

/* Which members have a slot, and which slots are in use. */
struct seating {
	bool seated[MEMBERS_MAX];
	bool taken[CORE_SLOTS_MAX];
	bool told[CORE_SLOTS_MAX]; /* slot of a server that has left, to be told so */
};

static void
seat_at(struct core *core, struct seating *seating, const struct members *list, int at, struct master *m)
{
	if (at < 0 || seating->seated[at] || seating->taken[m->index])
		return;
	seating->seated[at] = true;
	seating->taken[m->index] = true;
	if (m->index >= core->settings.masters)
		return;
	if (!slice_equal(list->ways[at], slice_of(m->way)))
		master_reroute(core, m, list->places[at], list->ways[at]);
	/* It was a member before, left, and comes back: what it granted before counts no more. */
	m->moved |= list->came[at];
	core->reseat |= list->came[at];
}

/* Members that have a slot keep it: by id, else by place. */
static void
seat_known(struct core *core, struct seating *seating, const struct members *list)
{
	unsigned n = core->settings.masters;

	for (unsigned i = 0; i < n; i++)
		seat_at(core, seating, list, members_find(list, core->masters[i].id), &core->masters[i]);
	for (unsigned i = 0; i < n; i++) {
		struct master *m = &core->masters[i];

		if (members_find(list, m->id) < 0 && members_find(list, m->member) >= 0)
			seat_at(core, seating, list, members_find(list, m->member), m);
	}
	for (unsigned i = 0; i < list->n || i < n; i++)
		seat_at(core, seating, list, slot_blank(list, &core->masters[i]), &core->masters[i]);
}

/* The server in this slot has left the set: it gets a slot behind the members, if one is free. */
static void
seat_left(struct core *core, struct seating *seating, const struct members *list, const struct master *m)
{
	for (unsigned i = list->n; i < CORE_SLOTS_MAX; i++) {
		struct master *behind = &core->masters[i];

		if (behind->place[0] != '\0')
			continue;
		master_move(core, behind, slice_of(m->place), slice_of(m->way));
		behind->left = true;
		seating->told[i] = true;
		return;
	}
}

static void
seat_new(struct core *core, struct seating *seating, const struct members *list, unsigned at)
{
	for (unsigned i = 0; i < list->n; i++) {
		struct master *m = &core->masters[i];

		if (seating->taken[i])
			continue;
		if (i < core->settings.masters)
			seat_left(core, seating, list, m);
		master_move(core, m, list->places[at], list->ways[at]);
		seating->taken[i] = seating->seated[at] = true;
		return;
	}
	assert(false && "a member without a slot");
}

void
slots_take(struct core *core, const struct members *list)
{
	struct seating seating = {0};

	assert(list->n >= core->settings.masters && list->n <= CORE_MASTERS_MAX);
	for (unsigned i = core->settings.masters; i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].left)
			master_move(core, &core->masters[i], slice_of(""), slice_of(""));
	}
	seat_known(core, &seating, list);
	for (unsigned at = 0; at < list->n; at++) {
		if (!seating.seated[at])
			seat_new(core, &seating, list, at);
	}
	if (list->n > core->settings.masters)
		masters_resize(core, list->n);
	for (unsigned i = list->n; i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].place[0] != '\0' && !seating.told[i])
			master_move(core, &core->masters[i], slice_of(""), slice_of(""));
	}
}
