#include "daemon/core/masterset.h"

#include "daemon/core/emit.h"
#include "daemon/core/members.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LIVING_MAX 64 /* of the text that names some daemons */

void
masterset_init(struct core *core)
{
	core->masterset = (struct masterset){.generation = 1, .serial = 1, .told = 1};
}

static struct slice
own_slice(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static bool
own_list(const struct core *core, struct members *list)
{
	return members_read(own_slice(core->masterset.text), own_slice(core->masterset.places), list);
}

/* ---- this daemon's masters ---- */

static bool
is_ours(const struct core *core, uint64_t id)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (core->masters[i].id == id)
			return true;
	}
	return false;
}

/*
 * The id of the member that a master of ours without a memory is: the member that it was in this daemon's
 * life, or the one whose place and way it has. 0: none. A server that is neither may be a new one, and must
 * not be taken for a member that lost its memory.
 */
static uint64_t
list_blank(const struct members *list, const struct master *m)
{
	if (m->member != 0 && members_find(list, m->member) >= 0)
		return m->member;
	for (unsigned i = 0; i < list->n; i++) {
		if (slice_equal(list->places[i], slice_of(m->place)) &&
			slice_equal(list->ways[i], slice_of(m->way)))
			return list->ids[i];
	}
	return 0;
}

/* Whether this master may be a member: by its id; without a memory, or before it is heard, by its place. If a
 * master that answers late passed for any member, this daemon could take up a set that its configuration has
 * left. One that cannot be reached passes: other daemons may know it by another place, or
 * another server may have answered there for a while. */
static bool
list_has(const struct members *list, const struct master *m)
{
	int at = members_find(list, m->id);

	if (at < 0 && m->state == MASTER_AWAY && !m->blank)
		return true;
	if (m->id == 0)
		return list_blank(list, m) != 0;
	if (at >= 0)
		return slice_equal(list->ways[at], slice_of(m->way));
	return m->blank && list_blank(list, m) != 0;
}

/* Whether our configuration fits this set. */
static bool
list_fits(const struct core *core, const struct members *list)
{
	if (list->n != core->settings.masters)
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (!list_has(list, &core->masters[i]))
			return false;
	}
	return true;
}

/* Whether it consists of our masters. */
static bool
list_ours(const struct core *core, const struct members *list)
{
	for (unsigned i = 0; i < list->n; i++) {
		if (!is_ours(core, list->ids[i]))
			return false;
	}
	return list_fits(core, list);
}

/* ---- what this daemon says ---- */

/* By id: the order of the configuration does not matter. False: not all have told an id, or two the same. */
static bool
ids_sorted(const struct core *core, const struct master *sorted[CORE_MASTERS_MAX])
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		unsigned at = i;

		if (m->id == 0)
			return false;
		for (; at > 0 && sorted[at - 1]->id > m->id; at--)
			sorted[at] = sorted[at - 1];
		if (at > 0 && sorted[at - 1]->id == m->id)
			return false;
		sorted[at] = m;
	}
	return true;
}

/* The set of our configuration, if none is agreed on yet. */
static void
set_compose(struct core *core)
{
	struct masterset *set = &core->masterset;
	const struct master *sorted[CORE_MASTERS_MAX];
	char text[MASTERSET_TEXT_MAX] = "";
	size_t n, placed = 0;

	if (ids_sorted(core, sorted)) {
		n = (size_t)snprintf(text, sizeof(text), "%" PRId64, set->generation);
		set->places[0] = '\0';
		for (unsigned i = 0; i < core->settings.masters; i++) {
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %016" PRIx64 ":%s", sorted[i]->id,
				sorted[i]->way);
			assert(n < sizeof(text));
			placed += (size_t)snprintf(set->places + placed, sizeof(set->places) - placed, "%s%s",
				i > 0 ? " " : "", sorted[i]->place);
			assert(placed < sizeof(set->places));
		}
	}
	if (strcmp(text, set->text) == 0)
		return;
	memcpy(set->text, text, sizeof(text));
	for (unsigned i = 0; i < core->settings.masters; i++)
		core->masters[i].agreement = AGREEMENT_NONE;
}

/* What has become known may change what we offer. */
static void
set_recompose(struct core *core)
{
	struct masterset *set = &core->masterset;
	char before[MASTERSET_TEXT_MAX];

	if (set->agreed)
		return;
	memcpy(before, set->text, sizeof(before));
	set_compose(core);
	set->serial += strcmp(before, set->text) != 0;
}

static enum agreement
least_agreement(const struct core *core)
{
	enum agreement least = AGREEMENT_AGREED;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (core->masters[i].agreement < least)
			least = core->masters[i].agreement;
	}
	return least;
}

/* The step that masters are asked for: the next one after that which all of them have taken. */
static enum agreement
next_step(const struct core *core)
{
	const struct masterset *set = &core->masterset;

	if (set->agreed)
		return AGREEMENT_AGREED;
	if (set->text[0] == '\0')
		return AGREEMENT_NONE;
	return least_agreement(core) < AGREEMENT_ACCEPTED ? (enum agreement)(least_agreement(core) + 1)
							  : AGREEMENT_AGREED;
}

void
masterset_ask(struct core *core, const struct master *m, unsigned link, struct call *hello)
{
	struct masterset *set = &core->masterset;
	struct members ours;

	core->masters[m->index].links[link].set_serial = set->serial;
	hello->id = core_chance(core) | 1;
	hello->masterset = own_slice(set->text);
	hello->places = own_slice(set->places);
	hello->agreement = next_step(core);
	if (!set->agreed)
		return;
	/* A member that lost its memory gets it back; a server that may be none does not. */
	if (own_list(core, &ours) && members_find(&ours, m->id) >= 0)
		hello->id = m->id;
	else if (list_blank(&ours, m) != 0)
		hello->id = list_blank(&ours, m);
	else
		hello->agreement = AGREEMENT_NONE;
}

bool
masterset_news(struct core *core)
{
	struct masterset *set = &core->masterset;
	bool news = set->told != set->serial;

	set->told = set->serial;
	return news;
}

/* ---- what masters say ---- */

static void
set_usable(struct core *core)
{
	struct masterset *set = &core->masterset;
	bool usable = set->agreed;

	for (unsigned i = 0; i < core->settings.masters; i++)
		usable = usable && !core->masters[i].other;
	core->retry |= usable != set->usable;
	set->usable = usable;
}

static uint32_t
tag_of(const char *text)
{
	uint64_t hash = hash_text(own_slice(text));
	uint32_t tag = (uint32_t)(hash ^ hash >> 32);

	return tag != 0 ? tag : 1;
}

static void
set_agreed(struct core *core)
{
	struct masterset *set = &core->masterset;

	set->agreed = true;
	set->tag = tag_of(set->text);
	set->serial++;
	emit_note(core, NOTE_MASTERS_AGREED, NULL, NULL, 0, -1, set->places);
}

static void
copy_slice(char *to, size_t room, struct slice from)
{
	size_t n = from.n < room ? from.n : room - 1;

	if (n > 0)
		memcpy(to, from.p, n);
	to[n] = '\0';
}

/* A master says that this set is agreed on, and our configuration fits it. */
static void
set_adopt(struct core *core, struct master *from, const struct members *list, const struct vote *vote)
{
	struct masterset *set = &core->masterset;

	copy_slice(set->text, sizeof(set->text), vote->masterset);
	copy_slice(set->places, sizeof(set->places), vote->places);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		m->member = members_find(list, m->id) >= 0 && !m->blank ? m->id : 0;
		m->agreement = AGREEMENT_NONE;
		m->enrolled = false;
		m->other = false;
	}
	from->member = from->id;
	set_agreed(core);
	from->enrolled = vote->greeting == GREETING_GOOD;
}

/* Leaves the set if no lease here rests on it: others have agreed on one that our configuration does not fit.
 * Ours may be the next one when their daemons are gone. */
static void
set_leave(struct core *core)
{
	struct masterset *set = &core->masterset;

	if (!set->agreed || core->counts.leases > 0 || core->bids > 0)
		return;
	set->agreed = false;
	set->tag = 0;
	set->text[0] = '\0';
	for (unsigned i = 0; i < core->settings.masters; i++) {
		core->masters[i].member = 0;
		core->masters[i].enrolled = false;
	}
	set_compose(core);
	set->serial++;
}

static void
places_ours(const struct core *core, char *out, size_t room)
{
	size_t n = 0;

	for (unsigned i = 0; i < core->settings.masters && n < room; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s", i > 0 ? " " : "", core->masters[i].place);
}

/* It is not one of ours: this daemon takes no new lease. */
static enum membership
set_other(struct core *core, struct master *m, struct slice places, const char *what)
{
	struct masterset *set = &core->masterset;
	char here[MASTERSET_WHY_MAX / 2];

	places_ours(core, here, sizeof(here));
	(void)snprintf(set->why, sizeof(set->why), "%s: theirs: %.*s; here: %s", what,
		(int)(places.n < MASTERSET_WHY_MAX / 2 ? places.n : MASTERSET_WHY_MAX / 2),
		places.n > 0 ? places.p : "", here);
	m->other = true;
	set_leave(core);
	set_usable(core);
	return MEMBERSHIP_OTHER;
}

/* It has our set, or none. After a refusal this daemon is not registered there under our set, which could
 * lapse while our leases last: it is greeted again first. */
static enum membership
set_ours(struct core *core, struct master *m, const struct vote *vote)
{
	m->other = false;
	set_usable(core);
	return vote->greeting == GREETING_GOOD ? MEMBERSHIP_FINE : MEMBERSHIP_AGAIN;
}

/* We have agreed on a set, and it has another, or none. */
static enum membership
told_agreed(struct core *core, struct master *m, const struct vote *vote, const struct members *theirs)
{
	struct masterset *set = &core->masterset;
	struct members ours;
	bool readable = own_list(core, &ours);

	assert(readable);
	if (theirs->generation > ours.generation && vote->agreement == AGREEMENT_AGREED &&
		list_fits(core, theirs)) {
		set_adopt(core, m, theirs, vote);
		return set_ours(core, m, vote);
	}
	/* It has not heard what we would say now. */
	if (m->links[vote->link].set_serial != set->serial && list_has(&ours, m))
		return MEMBERSHIP_AGAIN;
	if (m->blank)
		return set_other(core, m, own_slice(set->places),
			"is new, and the masters have agreed on others: name those in `masters:`");
	return set_other(core, m, vote->places,
		"belongs to another set of masters: make `masters:` the same everywhere");
}

/* We have agreed on none, and it has another set than the one that we offer. */
static enum membership
told_forming(struct core *core, struct master *m, const struct vote *vote, const struct members *theirs)
{
	if (vote->agreement == AGREEMENT_AGREED && list_fits(core, theirs)) {
		set_adopt(core, m, theirs, vote);
		return set_ours(core, m, vote);
	}
	if (vote->agreement == AGREEMENT_AGREED)
		return set_other(core, m, vote->places,
			"belongs to another set of masters: make `masters:` the same everywhere");
	if (m->links[vote->link].set_serial != core->masterset.serial)
		return MEMBERSHIP_AGAIN;
	if (core->masterset.text[0] == '\0')
		return set_ours(core, m, vote); /* its set may be the one that we will offer */
	return set_other(core, m, vote->places,
		"is being taken into another set of masters: make `masters:` the same everywhere");
}

/* How far our own set has come, by what it says. */
static void
told_ours(struct core *core, struct master *m, const struct vote *vote)
{
	struct masterset *set = &core->masterset;
	enum agreement step = next_step(core);

	if (set->agreed) {
		m->member = m->id;
		m->enrolled = vote->agreement == AGREEMENT_AGREED && vote->greeting == GREETING_GOOD;
		return;
	}
	/* Under guard its memory may be older than what it forgot. */
	m->agreement = vote->admitted ? vote->agreement : AGREEMENT_NONE;
	if (vote->agreement == AGREEMENT_AGREED || least_agreement(core) >= AGREEMENT_ACCEPTED) {
		for (unsigned i = 0; i < core->settings.masters; i++)
			core->masters[i].member = core->masters[i].agreement > 0 ? core->masters[i].id : 0;
		m->member = m->id;
		set_agreed(core);
	} else if (next_step(core) != step) {
		set->serial++;
	}
}

static void
told_id(struct core *core, struct master *m, const struct vote *vote)
{
	m->blank = vote->masterset.n == 0;
	if (m->id == vote->id && core->masterset.text[0] != '\0')
		return;
	m->id = vote->id;
	m->agreement = AGREEMENT_NONE;
	set_recompose(core);
}

/* Our next set follows each one that was agreed on. An offer of the same masters may be ours. */
static void
told_generation(struct core *core, const struct members *theirs, enum agreement agreement)
{
	struct masterset *set = &core->masterset;
	int64_t generation = theirs->generation;

	if (agreement == AGREEMENT_AGREED)
		generation++;
	else if (!list_ours(core, theirs))
		return;
	if (generation > set->generation)
		set->generation = generation;
	set_recompose(core);
}

static bool
id_twice(const struct core *core, const struct master *m)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (&core->masters[i] != m && core->masters[i].id == m->id)
			return true;
	}
	return false;
}

static enum membership
set_told(struct core *core, struct master *m, const struct vote *vote)
{
	struct masterset *set = &core->masterset;
	struct members theirs = {0};

	if (vote->masterset.n > 0 && !members_read(vote->masterset, vote->places, &theirs))
		return set_other(core, m, vote->places,
			"stores a set of masters that cannot be read: delete it as holdfastd(8) says");
	told_id(core, m, vote);
	if (id_twice(core, m))
		return set_other(core, m, vote->places,
			"has the id of another master, perhaps with a copy of its data: delete `id`, `set`, "
			"`places` and `agreement` of NAMESPACE:node there");
	told_generation(core, &theirs, vote->agreement);
	if (slice_equal(vote->masterset, own_slice(set->text)) && set->text[0] != '\0') {
		told_ours(core, m, vote);
		if (set->agreed && !m->enrolled)
			return MEMBERSHIP_AGAIN;
		return set_ours(core, m, vote);
	}
	if (set->agreed)
		return told_agreed(core, m, vote, &theirs);
	m->agreement = AGREEMENT_NONE;
	return m->blank ? set_ours(core, m, vote) : told_forming(core, m, vote, &theirs);
}

/* If the lists were changed everywhere but on one host, the ids lead to that host. The lists behind them may
 * be cut off. */
static void
why_living(struct core *core, struct slice daemons)
{
	char *why = core->masterset.why, lists[MASTERSET_WHY_MAX];
	size_t at = strcspn(why, ":");

	memcpy(lists, why + at, strlen(why + at) + 1);
	(void)snprintf(why + at, MASTERSET_WHY_MAX - at, " (alive there: %.*s)%s",
		(int)(daemons.n < LIVING_MAX ? daemons.n : LIVING_MAX), daemons.p, lists);
}

enum membership
masterset_told(struct core *core, struct master *m, const struct vote *vote)
{
	bool before = m->enrolled;
	enum membership membership;

	m->enrolled = false;
	membership = set_told(core, m, vote);
	if (membership == MEMBERSHIP_OTHER && vote->greeting == GREETING_OTHERSET && vote->text.n > 0)
		why_living(core, vote->text);
	core->retry |= m->enrolled && !before;
	return membership;
}

void
masterset_away(struct core *core, struct master *m)
{
	m->other = false;
	set_usable(core);
}

bool
masterset_refused(const struct core *core)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (core->masters[i].other)
			return true;
	}
	return false;
}

const char *
masterset_why(const struct core *core)
{
	return core->masterset.why;
}

/* PLACEHOLDER until branch `change` */
void
masterset_asked(struct core *core, const struct conn *conn, const struct masters_ask *ask)
{
	(void)ask;
	emit_error(core, conn->id, CODE_ERR, "placeholder");
}
