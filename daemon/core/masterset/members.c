/*
 * members: see members.h. A set as text knows no master and no state; slots know both.
 */
#include "daemon/core/masterset/members.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/move.h"
#include "proto/slice.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- a set as text ---- */

void
members_place(char out[MASTERSET_PLACE_MAX], const char *where)
{
	size_t n = 0;

	for (const char *p = where; *p != '\0' && n + 4 < MASTERSET_PLACE_MAX; p++) {
		if (*p > ' ' && *p != '%' && *p != 0x7f)
			out[n++] = *p;
		else
			n += (size_t)snprintf(
				out + n, MASTERSET_PLACE_MAX - n, "%%%02X", (unsigned)(unsigned char)*p);
	}
	assert(n < MASTERSET_PLACE_MAX);
	out[n] = '\0';
}

static bool
generation_read(struct slice word, int64_t *generation)
{
	*generation = 0;
	for (size_t i = 0; i < word.n; i++) {
		if (word.p[i] < '0' || word.p[i] > '9')
			return false;
		*generation = *generation * 10 + (word.p[i] - '0');
		if (*generation > MEMBERS_GENERATION_MAX)
			return false;
	}
	return word.n > 0;
}

/* <id>:<way> or <id>+<way> */
static bool
member_read(struct slice word, uint64_t *id, bool *came, struct slice *way)
{
	if (word.n < 18 || (word.p[16] != ':' && word.p[16] != '+'))
		return false;
	*came = word.p[16] == '+';
	*id = 0;
	for (size_t i = 0; i < 16; i++) {
		const char *digits = "0123456789abcdef";
		const char *digit = word.p[i] != '\0' ? strchr(digits, word.p[i]) : NULL;

		if (digit == NULL)
			return false;
		*id = *id << 4 | (uint64_t)(digit - digits);
	}
	for (size_t i = 17; i < word.n; i++) {
		if (word.p[i] < '!' || word.p[i] > '~')
			return false;
	}
	*way = (struct slice){word.p + 17, word.n - 17};
	return *id != 0;
}

/* The places up to the bar, or all of them; behind the bar those of servers that have left. */
static void
places_read(struct slice text, struct members *members)
{
	struct slice word = slice_word(&text);

	assert(members->left_n == 0);
	for (unsigned i = 0; i < members->n && word.n > 0 && !slice_equal(word, slice_of("|")); i++) {
		members->places[i] = word;
		word = slice_word(&text);
	}
	if (!slice_equal(word, slice_of("|")))
		return;
	while (text.n > 0 && members->left_n < MEMBERS_LEFT_MAX)
		members->left[members->left_n++] = slice_word(&text);
}

bool
members_read(struct slice set, struct slice places, struct members *members)
{
	*members = (struct members){0};
	if (set.n >= MASTERSET_TEXT_MAX || !generation_read(slice_word(&set), &members->generation))
		return false;
	while (set.n > 0 && members->n < MEMBERS_MAX) {
		uint64_t id;
		unsigned i = members->n;

		if (!member_read(slice_word(&set), &id, &members->came[i], &members->ways[i]) ||
			members_find(members, id) >= 0)
			return false;
		members->ids[i] = id;
		members->came_n += members->came[i];
		members->n++;
	}
	assert(members->n <= MEMBERS_MAX && members->came_n <= members->n);
	places_read(places, members);
	return set.n == 0 && members->n > 0;
}

int
members_find(const struct members *members, uint64_t id)
{
	for (unsigned i = 0; i < members->n; i++) {
		if (members->ids[i] == id)
			return (int)i;
	}
	return -1;
}

int
members_at(const struct members *members, struct slice place)
{
	for (unsigned i = 0; i < members->n; i++) {
		if (slice_equal(members->places[i], place))
			return (int)i;
	}
	return -1;
}

bool
members_left(const struct members *members, struct slice place)
{
	for (unsigned i = 0; i < members->left_n; i++) {
		if (slice_equal(members->left[i], place))
			return true;
	}
	return false;
}

/* The index of the lowest id from i on. */
static unsigned
members_least(const struct members *members, unsigned i)
{
	unsigned least = i;

	assert(i < members->n);
	for (unsigned k = i + 1; k < members->n; k++) {
		if (members->ids[k] < members->ids[least])
			least = k;
	}
	return least;
}

static void
members_sort(struct members *members)
{
	for (unsigned i = 0; i < members->n; i++) {
		unsigned k = members_least(members, i);
		uint64_t id = members->ids[i];
		bool came = members->came[i];
		struct slice way = members->ways[i], place = members->places[i];

		members->ids[i] = members->ids[k];
		members->came[i] = members->came[k];
		members->ways[i] = members->ways[k];
		members->places[i] = members->places[k];
		members->ids[k] = id;
		members->came[k] = came;
		members->ways[k] = way;
		members->places[k] = place;
	}
}

void
members_write(struct members *members, char *set, char *places)
{
	size_t n = (size_t)snprintf(set, MASTERSET_TEXT_MAX, "%" PRId64, members->generation), placed = 0;

	assert(members->n > 0 && members->n <= CORE_MASTERS_MAX);
	assert(members->left_n <= MEMBERS_LEFT_MAX && members->came_n <= members->n);
	members_sort(members);
	for (unsigned i = 0; i < members->n; i++) {
		const struct slice *way = &members->ways[i], *place = &members->places[i];

		n += (size_t)snprintf(set + n, MASTERSET_TEXT_MAX - n, " %016" PRIx64 "%c%.*s",
			members->ids[i], members->came[i] ? '+' : ':', (int)way->n, way->p);
		placed += (size_t)snprintf(places + placed, MASTERSET_PLACES_MAX - placed, "%s%.*s",
			i > 0 ? " " : "", (int)place->n, place->p);
		assert(n < MASTERSET_TEXT_MAX && placed < MASTERSET_PLACES_MAX);
	}
	for (unsigned i = 0; i < members->left_n; i++) {
		const struct slice *place = &members->left[i];

		if (placed + place->n + 4 > MASTERSET_PLACES_MAX)
			return;
		placed += (size_t)snprintf(places + placed, MASTERSET_PLACES_MAX - placed, "%s %.*s",
			i == 0 ? " |" : "", (int)place->n, place->p);
	}
}

int
members_shown(const char *places)
{
	const char *bar = strstr(places, " | ");

	assert(strlen(places) < MASTERSET_PLACES_MAX);
	return (int)(bar != NULL ? (size_t)(bar - places) : strlen(places));
}

/* ---- the slots of this daemon ---- */

static bool
slot_stands(const struct members *list, unsigned at, const struct master *m)
{
	assert(at < list->n);
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

unsigned
slots_shared(const struct core *core, const struct members *list)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core->settings.masters; i++)
		n += members_find(list, core->masters[i].id) >= 0;
	return n;
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
struct assignment {
	bool members[MEMBERS_MAX];
	bool taken[CORE_SLOTS_MAX];
	bool notified[CORE_SLOTS_MAX]; /* slot of a server that has left, to be notified of it */
};

static void
assign_at(
	struct core *core, struct assignment *assigned, const struct members *list, int at, struct master *m)
{
	if (at < 0 || assigned->members[at] || assigned->taken[m->index])
		return;
	assert((unsigned)at < list->n);
	assigned->members[at] = true;
	assigned->taken[m->index] = true;
	if (m->index >= core->settings.masters)
		return;
	if (!slice_equal(list->ways[at], slice_of(m->way)))
		master_reroute(core, m, list->places[at], list->ways[at]);
	/* It was a member before, left, and comes back: what it granted before counts no more. */
	m->moved |= list->came[at];
	core->quorum->reconfigured |= list->came[at];
}

/* Members that have a slot keep it: by id, else by place. */
static void
assign_known(struct core *core, struct assignment *assigned, const struct members *list)
{
	unsigned n = core->settings.masters;

	for (unsigned i = 0; i < n; i++)
		assign_at(core, assigned, list, members_find(list, core->masters[i].id), &core->masters[i]);
	for (unsigned i = 0; i < n; i++) {
		struct master *m = &core->masters[i];

		if (members_find(list, m->id) < 0 && members_find(list, m->member) >= 0)
			assign_at(core, assigned, list, members_find(list, m->member), m);
	}
	for (unsigned i = 0; i < list->n || i < n; i++)
		assign_at(core, assigned, list, slot_blank(list, &core->masters[i]), &core->masters[i]);
}

/* The server in this slot has left the set: it gets a slot behind the members, if one is free. */
static void
assign_left(
	struct core *core, struct assignment *assigned, const struct members *list, const struct master *m)
{
	for (unsigned i = list->n; i < CORE_SLOTS_MAX; i++) {
		struct master *behind = &core->masters[i];

		if (behind->place[0] != '\0')
			continue;
		assert(behind->index == i && !assigned->notified[i]);
		master_move(core, behind, slice_of(m->place), slice_of(m->way));
		behind->left = true;
		assigned->notified[i] = true;
		return;
	}
}

static void
assign_new(struct core *core, struct assignment *assigned, const struct members *list, unsigned at)
{
	assert(!assigned->members[at]);
	for (unsigned i = 0; i < list->n; i++) {
		struct master *m = &core->masters[i];

		if (assigned->taken[i])
			continue;
		if (i < core->settings.masters)
			assign_left(core, assigned, list, m);
		master_move(core, m, list->places[at], list->ways[at]);
		assigned->taken[i] = assigned->members[at] = true;
		return;
	}
	assert(false && "a member without a slot");
}

void
slots_take(struct core *core, const struct members *list)
{
	struct assignment assigned = {0};

	assert(list->n >= core->settings.masters && list->n <= CORE_MASTERS_MAX);
	for (unsigned i = core->settings.masters; i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].left)
			master_move(core, &core->masters[i], slice_of(""), slice_of(""));
	}
	assign_known(core, &assigned, list);
	for (unsigned at = 0; at < list->n; at++) {
		if (!assigned.members[at])
			assign_new(core, &assigned, list, at);
	}
	if (list->n > core->settings.masters)
		masters_resize(core, list->n);
	for (unsigned i = list->n; i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].place[0] != '\0' && !assigned.notified[i])
			master_move(core, &core->masters[i], slice_of(""), slice_of(""));
	}
	assert(core->settings.masters == list->n);
}

void
slots_reroute(struct core *core, const struct members *list)
{
	bool rerouted = false;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];
		int at = members_find(list, m->id);

		if (at < 0 || list->places[at].n == 0 || !members_left(list, slice_of(m->place)))
			continue;
		assert(!slice_equal(list->places[at], slice_of(m->place)));
		master_reroute(core, m, list->places[at], list->ways[at]);
		rerouted = true;
	}
	/* The slot in which the server answered at its new address. */
	for (unsigned i = core->settings.masters; rerouted && i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].place[0] != '\0' && !core->masters[i].left)
			master_move(core, &core->masters[i], slice_of(""), slice_of(""));
	}
}
