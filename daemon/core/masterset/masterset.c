/*
 * masterset: see masterset.h. registration.c calls it with each HELLO; the other files masterset_*.c are
 * parts of it. A lease is never taken on a set that is not agreed on.
 */
#include "daemon/core/masterset/masterset.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_note.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/masterset_change.h"
#include "daemon/core/masterset/masterset_copies.h"
#include "daemon/core/masterset/masterset_memory.h"
#include "daemon/core/masterset/masterset_request.h"
#include "daemon/core/masterset/members.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void
masterset_init(struct core *core)
{
	*core->masterset = (struct masterset){.generation = 1, .serial = 1, .announced = 1};
	timer_init(&core->masterset->request.timer, TIMER_MASTERS);
}

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

static struct slice
own_slice(const char *text)
{
	return (struct slice){text, strlen(text)};
}

bool
masterset_members(const struct core *core, struct members *list)
{
	return members_read(own_slice(core->masterset->text), own_slice(core->masterset->places), list);
}

/* Whether the list consists of our masters. */
static bool
list_ours(struct core *core, const struct members *list)
{
	for (unsigned i = 0; i < list->n; i++) {
		if (slot_of_member(core, list->ids[i]) == NULL)
			return false;
	}
	return slots_fit(core, NULL, list);
}

/* ---- what this daemon tells ---- */

/* The masters of our configuration. False: not all have reported an id, or two have reported the same. */
static bool
list_compose(const struct core *core, struct members *list)
{
	*list = (struct members){.generation = core->masterset->generation};
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];

		if (m->id == 0 || members_find(list, m->id) >= 0)
			return false;
		list->ids[i] = m->id;
		list->ways[i] = slice_of(m->way);
		list->places[i] = slice_of(m->place);
		list->n++;
	}
	assert(list->n == core->settings.masters);
	return true;
}

/* The set of our configuration, if none is agreed on yet. */
static void
set_compose(struct core *core)
{
	struct masterset *set = core->masterset;
	char text[MASTERSET_TEXT_MAX] = "";
	struct members list;

	/* A set that is agreed on is not composed anew. */
	assert(!set->agreed);
	if (list_compose(core, &list))
		members_write(&list, text, set->places);
	if (strcmp(text, set->text) == 0)
		return;
	memcpy(set->text, text, sizeof(text));
	for (unsigned i = 0; i < core->settings.masters; i++)
		core->masters[i].agreement = AGREEMENT_NONE;
}

/* What has become known may change our offer. */
static void
set_recompose(struct core *core)
{
	struct masterset *set = core->masterset;
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

/* The step that masters are asked for: the one after the step that all of them have taken. */
static enum agreement
next_step(const struct core *core)
{
	const struct masterset *set = core->masterset;

	if (set->agreed)
		return AGREEMENT_AGREED;
	if (set->text[0] == '\0')
		return AGREEMENT_NONE;
	return least_agreement(core) < AGREEMENT_ACCEPTED ? (enum agreement)(least_agreement(core) + 1)
							  : AGREEMENT_AGREED;
}

/* A member that lost its memory gets the set back; a server that may be no member does not. */
static void
tell_agreed(struct core *core, const struct master *m, struct call *hello)
{
	struct members ours;
	int at = masterset_members(core, &ours) ? slot_member(&ours, m) : -1;

	assert(core->masterset->agreed);
	if (at < 0)
		return;
	hello->id = ours.ids[at];
	if (memory_may_have(core, &ours, m, (unsigned)at))
		hello->agreement = AGREEMENT_AGREED;
	masterset_ask_next(core, m, hello);
}

void
masterset_ask(struct core *core, const struct master *m, unsigned link, struct call *hello)
{
	struct masterset *set = core->masterset;
	struct master_link *l = &core->masters[m->index].links[link];

	assert(hello->op == CALL_HELLO && hello->master == m->index);
	hello->id = core_random(core) | 1;
	hello->masterset = own_slice(set->text);
	hello->places = own_slice(set->places);
	if (m->index >= core->settings.masters)
		masterset_ask_behind(m, hello);
	else if (set->agreed)
		tell_agreed(core, m, hello);
	else if (set->text[0] == '\0' && masterset_refused(core))
		hello->masterset = own_slice(MASTERSET_UNMATCHED);
	else
		hello->agreement = next_step(core);
	l->set_serial = set->serial;
	l->set_step = hello->agreement;
}

bool
masterset_news(struct core *core)
{
	struct masterset *set = core->masterset;
	bool news = set->announced != set->serial;

	set->announced = set->serial;
	return news;
}

/* ---- what masters tell ---- */

static void
set_usable(struct core *core)
{
	struct masterset *set = core->masterset;
	bool usable = set->agreed;

	for (unsigned i = 0; i < core->settings.masters; i++)
		usable = usable && !core->masters[i].other;
	core->retry |= usable != set->usable;
	set->usable = usable;
}

static void
set_agreed(struct core *core)
{
	struct masterset *set = core->masterset;

	assert(set->text[0] != '\0');
	set->agreed = true;
	core->quorum->set_tag = masterset_tag(set->text);
	set->serial++;
	core_changed(core, CHANGE_SET);
	(void)emit_note_of(core, NOTE_MASTERS_AGREED, 0, -1, set->places);
}

void
masterset_take(struct core *core, struct slice text, struct slice places)
{
	struct masterset *set = core->masterset;
	struct members ours, list;
	bool known = set->agreed && masterset_members(core, &ours),
	     readable = members_read(text, places, &list);

	assert(readable);
	if (!slots_fit(core, known ? &ours : NULL, &list))
		slots_take(core, &list);
	else if (known || core->settings.follow)
		slots_reroute(core, &list);
	masterset_copy(set->text, sizeof(set->text), text);
	masterset_copy(set->places, sizeof(set->places), places);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		m->member = members_find(&list, m->id) >= 0 && !m->blank ? m->id : 0;
		m->agreement = AGREEMENT_NONE;
		m->enrolled = false;
		m->memory.enrolled = 0;
		m->other = false;
	}
	set_agreed(core);
	masterset_changed(core);
	assert(set->agreed && core->quorum->set_tag != 0);
}

/* The master has our set, or none. After a refusal this daemon is not registered there, and its registration
 * under our set could lapse while our leases last: the master is sent HELLO again first. */
static enum membership
set_ours(struct core *core, struct master *m, const struct vote *vote)
{
	m->other = false;
	set_usable(core);
	return vote->hello == HELLO_GOOD ? MEMBERSHIP_FINE : MEMBERSHIP_AGAIN;
}

/* A master tells that this set is agreed on, and our masters are its members, or were. */
static enum membership
set_adopt(struct core *core, struct master *from, const struct vote *vote)
{
	uint64_t id = from->id;

	/* Nothing else makes this daemon take up the set of others. */
	assert(vote->agreement == AGREEMENT_AGREED && vote->masterset.n > 0);
	masterset_take(core, vote->masterset, vote->places);
	if (from->id != id)
		return MEMBERSHIP_APART; /* it has left: another server is in its slot */
	from->member = id;
	from->enrolled = vote->hello == HELLO_GOOD;
	memory_reported(core, from, vote);
	return set_ours(core, from, vote);
}

/* The generation of a later set that others have agreed on, or may have, with a majority of our members; 0:
 * none known. An offer gives way to our agreed set, unless it replaced a later set there. */
static int64_t
set_later(const struct members *ours, const struct members *theirs, const struct master *m,
	const struct vote *vote)
{
	unsigned both = 0;

	if (vote->agreement == AGREEMENT_OFFERED && vote->hello == HELLO_OTHERSET &&
		m->links[vote->link].set_step == AGREEMENT_AGREED)
		return ours->generation + 1;
	for (unsigned i = 0; i < theirs->n; i++)
		both += members_find(ours, theirs->ids[i]) >= 0;
	return vote->agreement >= AGREEMENT_ACCEPTED && theirs->generation > ours->generation &&
			       both > ours->n / 2
		       ? theirs->generation
		       : 0;
}

/* Whether our set can win no lease any more. Of several masters, most belong to a later set by the ids that
 * they tell now; one that lost its memory has another id there than in our set. At the only master other
 * daemons made a set anew, at the same place, after it had lost its memory; or it went back to a memory in
 * which it had accepted a set, which gives way only to an offer. */
static bool
set_is_replaced(const struct core *core, const struct members *ours, const struct members *theirs,
	const struct vote *vote)
{
	if (vote->agreement < AGREEMENT_ACCEPTED)
		return false;
	if (core->settings.masters == 1)
		return slots_named(core, theirs);
	return theirs->generation > ours->generation && slots_shared(core, theirs) > ours->n / 2;
}

/* Leaves the set if no lease here depends on it, and if it is over, replaced, or no longer that of our
 * configuration. Our list may become the next set when the other set's daemons are gone. One server of
 * several that belongs to another set proves nothing. */
static void
set_leave(struct core *core, const struct master *m, const struct members *theirs, const struct vote *vote)
{
	struct masterset *set = core->masterset;
	struct members ours;
	int64_t over;

	if (!set->agreed || core->counts.leases > 0 || core->acquires > 0 || !masterset_members(core, &ours))
		return;
	assert(core->quorum->set_tag != 0);
	over = set_later(&ours, theirs, m, vote);
	if (slots_named(core, &ours) && over == 0 && !set_is_replaced(core, &ours, theirs, vote))
		return;
	if (over > set->over)
		set->over = over;
	set->agreed = false;
	core->quorum->set_tag = 0;
	set->text[0] = '\0';
	core_changed(core, CHANGE_SET);
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

	out[0] = '\0';
	for (unsigned i = 0; i < core->settings.masters && n < room; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s", i > 0 ? " " : "", core->masters[i].place);
}

static bool
place_in(struct slice place, struct slice list)
{
	while (list.n > 0)
		if (slice_equal(slice_word(&list), place))
			return true;
	return false;
}

/* Room for the places in a refusal that only one list has. */
#define LIST_MAX 160

/* The places of one list that the other one lacks: with all of them the text might be cut before these. All,
 * if it has all. */
static void
places_only(char out[LIST_MAX], struct slice list, struct slice other)
{
	struct slice rest = list, place;
	size_t n = 0;

	out[0] = '\0';
	while ((place = slice_word(&rest)).n > 0 && n < LIST_MAX)
		if (!place_in(place, other))
			n += (size_t)snprintf(
				out + n, LIST_MAX - n, "%s%.*s", n > 0 ? " " : "", SLICE_ARG(place));
	if (n == 0)
		slice_text(out, LIST_MAX, list);
}

/* The master is not one of ours: this daemon takes no new lease. theirs: the master's set, n == 0: none that
 * can be read. what: what is wrong and, behind a colon, what to do. In what the lists differ comes before
 * that, and the ids of daemons that live there after it: if the lists were changed everywhere but on one
 * host, these lead to that host. */
static enum membership
set_other(struct core *core, struct master *m, const struct members *theirs, const struct vote *vote,
	struct slice places, const char *what)
{
	struct masterset *set = core->masterset;
	struct slice alive = vote->hello == HELLO_OTHERSET ? vote->text : SLICE("");
	size_t cause = strcspn(what, ":");
	char ours[MASTERSET_WHY_MAX], here[LIST_MAX], there[LIST_MAX];

	places_ours(core, ours, sizeof(ours));
	places_only(here, slice_of(ours), places);
	places_only(there, places, slice_of(ours));
	(void)snprintf(set->why, sizeof(set->why), "%.*s: theirs: %s; here: %s%s%s%.*s%s", (int)cause, what,
		there, here, what + cause, alive.n > 0 ? " (alive there: " : "",
		(int)(alive.n < MASTERSET_LIVING_MAX ? alive.n : MASTERSET_LIVING_MAX),
		alive.n > 0 ? alive.p : "", alive.n > 0 ? ")" : "");
	m->other = true;
	set_leave(core, m, theirs, vote);
	set_usable(core);
	return MEMBERSHIP_OTHER;
}

/* A set that is agreed on elsewhere. The list here is wrong, or the data of the server is. */
static enum membership
set_foreign(struct core *core, struct master *m, const struct vote *vote, const struct members *theirs)
{
	char key[MASTERSET_KEY_MAX], what[MASTERSET_KEY_MAX + 120];

	masterset_node_key(core, m, key, sizeof(key));
	(void)snprintf(what, sizeof(what),
		"belongs to another set of masters: make `masters:` the same everywhere, or DEL %s there if "
		"its data is a copy",
		key);
	return set_other(core, m, theirs, vote, vote->places, what);
}

/* Whether the master has a later set than ours. */
static bool
list_follows(const struct core *core, const struct members *ours, const struct members *theirs,
	const struct vote *vote)
{
	const struct masterset *set = core->masterset;

	if (vote->agreement != AGREEMENT_AGREED || theirs->generation <= ours->generation)
		return false;
	return slice_equal(vote->masterset, own_slice(set->next.text)) || slots_fit(core, ours, theirs) ||
	       slots_follow(core, ours, theirs);
}

/* A member has not taken our set yet: it has none, or an earlier one. */
static enum membership
answer_earlier(
	struct core *core, struct master *m, const struct vote *vote, const struct members *ours, unsigned at)
{
	assert(core->masterset->agreed && at < ours->n);
	if (!m->blank)
		memory_reported(core, m, vote);
	m->other = false;
	set_usable(core);
	return memory_may_have(core, ours, m, at) ? MEMBERSHIP_AGAIN : MEMBERSHIP_APART;
}

/* We have agreed on a set, and the master has another, or none. */
static enum membership
answer_agreed(struct core *core, struct master *m, const struct vote *vote, const struct members *theirs)
{
	struct masterset *set = core->masterset;
	struct members ours;
	bool readable = masterset_members(core, &ours);
	int at = slot_member(&ours, m);

	assert(set->agreed);
	assert(readable);
	m->memory.earlier = at >= 0 && ours.came[at] && !m->blank && theirs->generation < ours.generation;
	if (list_follows(core, &ours, theirs, vote))
		return set_adopt(core, m, vote);
	/* The master has not heard what we would tell now. */
	if (m->links[vote->link].set_serial != set->serial && slot_fits(NULL, &ours, m))
		return MEMBERSHIP_AGAIN;
	if (m->links[vote->link].set_step < AGREEMENT_AGREED && at >= 0 && slot_fits(NULL, &ours, m) &&
		(m->blank || theirs->generation < ours.generation))
		return answer_earlier(core, m, vote, &ours, (unsigned)at);
	if (m->blank)
		return set_other(core, m, theirs, vote, own_slice(set->places),
			"is new, and the masters have agreed on others: name those in `masters:`");
	return set_foreign(core, m, vote, theirs);
}

/* We have not agreed on a set, and the master has another one than we offer. */
static enum membership
answer_forming(struct core *core, struct master *m, const struct vote *vote, const struct members *theirs)
{
	bool agreed = vote->agreement == AGREEMENT_AGREED, over = theirs->generation < core->masterset->over;

	assert(!core->masterset->agreed && vote->masterset.n > 0);
	if (agreed && !over &&
		(slots_fit(core, NULL, theirs) ||
			(core->settings.follow && slots_follow(core, NULL, theirs))))
		return set_adopt(core, m, vote);
	if (agreed)
		return set_foreign(core, m, vote, theirs);
	if (m->links[vote->link].set_serial != core->masterset->serial)
		return MEMBERSHIP_AGAIN;
	if (core->masterset->text[0] == '\0')
		return set_ours(core, m, vote); /* its set may be the one that we will offer */
	return set_other(core, m, theirs, vote, vote->places,
		"is being taken into another set of masters: make `masters:` the same everywhere");
}

/* The master stores our set, which is agreed on here. If the set is only offered there, it does not count as
 * stored. */
static enum membership
answer_enrolled(struct core *core, struct master *m, const struct vote *vote)
{
	struct members ours;
	int at = masterset_members(core, &ours) ? members_find(&ours, m->id) : -1;

	assert(core->masterset->agreed);
	m->member = m->id;
	if (vote->agreement != AGREEMENT_AGREED || vote->hello != HELLO_GOOD) {
		(void)set_ours(core, m, vote);
		return vote->agreement == AGREEMENT_AGREED || at < 0 ||
				       memory_may_have(core, &ours, m, (unsigned)at)
			       ? MEMBERSHIP_AGAIN
			       : MEMBERSHIP_APART;
	}
	m->enrolled = true;
	memory_reported(core, m, vote);
	masterset_answered_next(core, m, vote);
	return m->enrolled ? set_ours(core, m, vote) : MEMBERSHIP_AGAIN;
}

/* How far our own set has come, by what this master tells. */
static enum membership
answer_ours(struct core *core, struct master *m, const struct vote *vote)
{
	struct masterset *set = core->masterset;
	enum agreement step = next_step(core);

	if (set->agreed)
		return answer_enrolled(core, m, vote);
	/* Under guard, its memory may be older than what it forgot. */
	m->agreement = vote->admitted ? vote->agreement : AGREEMENT_NONE;
	memory_reported(core, m, vote);
	if (vote->agreement == AGREEMENT_AGREED || least_agreement(core) >= AGREEMENT_ACCEPTED) {
		for (unsigned i = 0; i < core->settings.masters; i++)
			core->masters[i].member = core->masters[i].agreement > 0 ? core->masters[i].id : 0;
		m->member = m->id;
		set_agreed(core);
		return MEMBERSHIP_AGAIN;
	}
	if (next_step(core) != step)
		set->serial++;
	return set_ours(core, m, vote);
}

static void
answer_id(struct core *core, struct master *m, const struct vote *vote)
{
	m->blank = vote->masterset.n == 0;
	if (m->id == vote->id && core->masterset->text[0] != '\0')
		return;
	m->id = vote->id;
	m->agreement = AGREEMENT_NONE;
	set_recompose(core);
}

/* Our next set comes after each one that was agreed on. An offer of the same masters may be ours. */
static void
answer_generation(struct core *core, const struct members *theirs, enum agreement agreement)
{
	struct masterset *set = core->masterset;
	int64_t generation = theirs->generation;

	if (generation > set->newest)
		set->newest = generation;
	if (agreement == AGREEMENT_AGREED)
		generation++;
	else if (!list_ours(core, theirs))
		return;
	if (generation > set->generation && generation <= MEMBERS_GENERATION_MAX)
		set->generation = generation;
	set_recompose(core);
}

static enum membership
set_answered(struct core *core, struct master *m, const struct vote *vote)
{
	struct masterset *set = core->masterset;
	struct members theirs = {0};

	assert(m->index < core->settings.masters);
	if (vote->masterset.n > 0 && !members_read(vote->masterset, vote->places, &theirs))
		return set_other(core, m, &theirs, vote, vote->places,
			"stores a set of masters that cannot be read: delete it as holdfastd(8) says");
	if (masterset_copied(core, m, vote, &theirs)) {
		set_usable(core);
		return MEMBERSHIP_COPY;
	}
	answer_id(core, m, vote);
	answer_generation(core, &theirs, vote->agreement);
	if (slice_equal(vote->masterset, own_slice(set->text)) && set->text[0] != '\0')
		return answer_ours(core, m, vote);
	if (set->agreed)
		return answer_agreed(core, m, vote, &theirs);
	m->agreement = AGREEMENT_NONE;
	return m->blank ? set_ours(core, m, vote) : answer_forming(core, m, vote, &theirs);
}

enum membership
masterset_answered(struct core *core, struct master *m, const struct vote *vote)
{
	bool before = m->enrolled;
	unsigned waiting;
	enum membership membership;

	if (m->index >= core->settings.masters)
		return masterset_answered_behind(core, m, vote);
	m->enrolled = false;
	memory_answered(core, m, vote);
	waiting = memory_waiting(core);
	membership = set_answered(core, m, vote);
	/* What this master reported allows another one to have the set. */
	core->masterset->serial += memory_waiting(core) < waiting;
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
masterset_usable(const struct core *core)
{
	assert(!core->masterset->usable || core->masterset->agreed);
	return core->masterset->usable;
}

bool
masterset_agreed(const struct core *core)
{
	return core->masterset->agreed;
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
	assert(masterset_refused(core));
	return core->masterset->why;
}
