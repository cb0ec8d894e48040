/*
 * masterset_wish: an administrator asks for another set of masters, at this daemon. Newcomers are looked at
 * first, in slots behind the members; then the next set is offered (masterset_change.h). A part of masterset.
 */
#include "daemon/core/masterset_change.h"

#include "daemon/core/emit.h"
#include "daemon/core/latch_data.h"
#include "daemon/core/masterset_slots.h"
#include "daemon/core/move.h"
#include "daemon/core/rules.h"
#include "daemon/core/usable.h"

#include <assert.h>
#include <string.h>

#define WISH_LOOK_MS 5000  /* so long newcomers may take to answer */
#define WISH_TELL_MS 60000 /* so long a server that has left is tried to be told so */

static void
wish_answer(struct core *core)
{
	core->masterset.wish.open = false;
	timer_arm(&core->timers, &core->masterset.wish.timer, core->now.ms + WISH_TELL_MS);
}

/* Newcomers, and servers that have left. */
static void
behind_close(struct core *core)
{
	for (unsigned i = core->settings.masters; i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].place[0] != '\0')
			master_move(core, &core->masters[i], slice_of(""), slice_of(""));
	}
}

#define wish_fails(core, code, ...)                                                                          \
	do {                                                                                                 \
		emit_error(core, (core)->masterset.wish.conn, code, __VA_ARGS__);                            \
		wish_answer(core);                                                                           \
		behind_close(core);                                                                          \
	} while (0)

static struct master *
newcomer(struct core *core, unsigned i)
{
	return &core->masters[core->settings.masters + i];
}

static bool
looking(const struct core *core)
{
	return core->masterset.wish.open && core->masterset.wish.text[0] == '\0';
}

/* The member that an administrator names: by the place here, or the one in the set. */
static struct master *
wish_old(struct core *core, struct slice place)
{
	struct members ours;
	int at;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		if (slice_equal(place, slice_of(core->masters[i].place)))
			return &core->masters[i];
	}
	at = masterset_members(core, &ours) ? members_at(&ours, place) : -1;
	return at >= 0 ? slot_of_member(core, ours.ids[at]) : NULL;
}

/* A member that stays, and cannot be used; NULL: none. */
static const struct master *
wish_unfit(const struct core *core)
{
	const struct masterset_wish *wish = &core->masterset.wish;

	/* What is to be dropped waits for its members already. */
	for (unsigned i = 0; i < core->settings.masters && wish->op != MASTERS_ABORT; i++) {
		const struct master *m = &core->masters[i];

		if ((wish->op != MASTERS_REPLACE || wish->old != i) && !master_usable(m, 0))
			return m;
	}
	return NULL;
}

static void
left_add(struct members *list, struct slice place)
{
	if (place.n > 0 && list->left_n < MEMBERS_LEFT_MAX && !members_left(list, place) &&
		members_at(list, place) < 0)
		list->left[list->left_n++] = place;
}

/* The members that stay, and where they stand. */
static void
wish_kept(const struct core *core, const struct members *ours, struct members *list)
{
	const struct masterset_wish *wish = &core->masterset.wish;

	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		int at = members_find(ours, m->id);

		if (wish->op == MASTERS_REPLACE && wish->old == i)
			continue;
		assert(at >= 0);
		list->ids[list->n] = m->id;
		list->ways[list->n] = ours->ways[at];
		list->places[list->n++] = ours->places[at].n > 0 ? ours->places[at] : slice_of(m->place);
	}
}

/* The next set; false: newcomers are members, or the same server twice, and the wish has been answered. */
static bool
wish_compose(struct core *core, const struct members *ours, struct members *list)
{
	const struct masterset_wish *wish = &core->masterset.wish;
	const struct master *old = wish->op == MASTERS_REPLACE ? &core->masters[wish->old] : NULL;
	int was = old != NULL ? members_find(ours, old->member) : -1;

	*list = (struct members){.generation = core->masterset.newest + 1};
	wish_kept(core, ours, list);
	for (unsigned i = 0; i < wish->newcomers; i++) {
		const struct master *m = newcomer(core, i);
		bool same = was >= 0 && ours->ids[was] == m->id;

		if (members_find(list, m->id) >= 0 || (members_find(ours, m->id) >= 0 && !same)) {
			wish_fails(
				core, CODE_ERR, "%s is the same server as another one of the set", m->place);
			return false;
		}
		list->ids[list->n] = m->id;
		list->came[list->n] = !same;
		list->came_n += !same;
		list->ways[list->n] = slice_of(m->way);
		list->places[list->n++] = slice_of(m->place);
	}
	if (list->n == list->came_n) {
		wish_fails(core, CODE_ERR,
			"the only master cannot be replaced, as no other could vouch for the change: add two "
			"first, or "
			"change with a stop as holdfastd(8) says");
		return false;
	}
	if (was >= 0)
		left_add(list, ours->places[was]);
	if (old != NULL)
		left_add(list, slice_of(old->place));
	for (unsigned i = 0; i < ours->left_n; i++)
		left_add(list, ours->left[i]);
	return true;
}

static void
wish_offer(struct core *core)
{
	struct masterset_wish *wish = &core->masterset.wish;
	char places[MASTERSET_PLACES_MAX];
	char text[MASTERSET_TEXT_MAX];
	struct members ours, list;
	bool readable = masterset_members(core, &ours);

	assert(readable);
	if (!wish_compose(core, &ours, &list))
		return;
	assert(masterset_may_follow(&ours, &list));
	members_write(&list, text, places);
	memcpy(wish->text, text, sizeof(text));
	timer_arm(&core->timers, &wish->timer, TIMER_NEVER);
	masterset_next(core, slice_of(text), slice_of(places));
}

/* Offers the set when all newcomers have answered. */
static void
wish_go(struct core *core)
{
	struct masterset_wish *wish = &core->masterset.wish;
	const struct master *unfit = wish_unfit(core);
	char why[MASTER_REASON_MAX];

	for (unsigned i = 0; i < wish->newcomers; i++) {
		if (newcomer(core, i)->id == 0)
			return;
	}
	if (unfit != NULL) {
		master_why_not(core, unfit, 0, why, sizeof(why));
		wish_fails(core, CODE_NOMASTER, "%s, which stays, cannot be used: it %s; nothing has changed",
			unfit->place, why);
		return;
	}
	wish_offer(core);
}

void
masterset_wish_next(struct core *core)
{
	const struct masterset *set = &core->masterset;

	if (looking(core))
		wish_fails(core, CODE_ERR,
			"a change of the masters to %.*s is under way: MASTERS shows how far it is",
			members_shown(set->next.places), set->next.places);
}

void
masterset_wish_done(struct core *core)
{
	struct masterset *set = &core->masterset;
	struct members ours;
	bool readable = masterset_members(core, &ours);

	assert(readable);
	if (set->wish.open && strcmp(set->wish.text, set->text) == 0)
		emit_int(core, set->wish.conn, ours.generation);
	else if (set->wish.open)
		emit_error(core, set->wish.conn, CODE_ERR,
			"another change of the masters went before it: the set is %.*s",
			members_shown(set->places), set->places);
	wish_answer(core);
}

void
masterset_ask_behind(const struct master *m, struct call *hello)
{
	if (!m->left) {
		hello->masterset = slice_of(MASTERSET_NOBODYS);
		return;
	}
	hello->agreement = AGREEMENT_AGREED;
	hello->next.step = NEXT_LEFT;
}

/* It may come only if no daemon uses it. */
static enum membership
newcomer_told(struct core *core, struct master *m, const struct vote *vote)
{
	struct masterset *set = &core->masterset;
	struct members theirs = {0};

	if (vote->masterset.n > 0 && !members_read(vote->masterset, vote->places, &theirs)) {
		wish_fails(core, CODE_ERR, "%s stores a set of masters that cannot be read", m->place);
		return MEMBERSHIP_APART;
	}
	if (vote->greeting == GREETING_OTHERSET && vote->text.n > 0 &&
		!slice_equal(vote->masterset, slice_of(set->text))) {
		wish_fails(core, CODE_ERR,
			"%s belongs to another set of masters, whose daemons live (%.*s): %.*s", m->place,
			(int)vote->text.n, vote->text.p, (int)vote->places.n,
			vote->places.n > 0 ? vote->places.p : "");
		return MEMBERSHIP_APART;
	}
	if (theirs.generation > set->newest)
		set->newest = theirs.generation;
	m->id = vote->id;
	wish_go(core);
	return MEMBERSHIP_APART;
}

enum membership
masterset_told_behind(struct core *core, struct master *m, const struct vote *vote)
{
	if (m->left)
		master_move(core, m, slice_of(""), slice_of(""));
	else if (looking(core) && m->index < core->settings.masters + core->masterset.wish.newcomers)
		return newcomer_told(core, m, vote);
	return MEMBERSHIP_APART;
}

bool
masterset_known_twin(struct core *core, struct master *m)
{
	const struct masterset_wish *wish = &core->masterset.wish;
	const struct master *twin = master_twin(core, m, true);

	if (m->index < core->settings.masters || !looking(core) || twin == NULL || twin->id == 0)
		return false;
	if (wish->op != MASTERS_REPLACE || wish->old != twin->index) {
		wish_fails(
			core, CODE_ERR, "%s is the server that the set knows as %s", m->place, twin->place);
		return true;
	}
	m->id = twin->id;
	wish_go(core);
	return true;
}

void
masterset_timer(struct core *core)
{
	const struct masterset_wish *wish = &core->masterset.wish;
	char why[MASTER_REASON_MAX];

	if (!looking(core)) {
		if (!wish->open && core->masterset.next.text[0] == '\0')
			behind_close(core);
		return;
	}
	for (unsigned i = 0; i < wish->newcomers; i++) {
		const struct master *m = newcomer(core, i);

		if (m->id != 0)
			continue;
		master_why_not(core, m, 0, why, sizeof(why));
		wish_fails(
			core, CODE_NOMASTER, "%s cannot be used: it %s; nothing has changed", m->place, why);
		return;
	}
}

void
masterset_drain(struct core *core, const struct reply *refusal)
{
	if (!core->masterset.wish.open)
		return;
	emit_reply(core, core->masterset.wish.conn, refusal);
	wish_answer(core);
}

/* Why nothing can be changed now, if so. */
static bool
asked_early(struct core *core, conn_id conn)
{
	const struct masterset *set = &core->masterset;

	if (!masterset_usable(core))
		emit_error(core, conn, CODE_NOMASTER, "%s",
			masterset_refused(core) ? masterset_why(core)
						: "no set of masters is agreed on: INFO masters says why");
	else if (strncmp(core->masters[0].way, "embedded", 8) == 0)
		emit_error(core, conn, CODE_ERR,
			"the only master is private to this daemon: name masters in `masters:` and restart");
	else if (set->newest >= MEMBERS_GENERATION_MAX)
		emit_error(core, conn, CODE_ERR, "the generation of the set of masters cannot grow any more");
	else
		return false;
	return true;
}

static bool
asked_late(struct core *core, conn_id conn)
{
	const struct masterset *set = &core->masterset;

	if (set->next.text[0] != '\0')
		emit_error(core, conn, CODE_ERR,
			"a change of the masters to %.*s is under way: MASTERS shows how far it is",
			members_shown(set->next.places), set->next.places);
	else if (set->wish.open)
		emit_error(
			core, conn, CODE_ERR, "a change of the masters is under way: newcomers are greeted");
	else
		return false;
	return true;
}

static void
asked_abort(struct core *core, conn_id conn)
{
	struct masterset *set = &core->masterset;
	if (!set->wish.open && set->next.text[0] == '\0') {
		emit_error(core, conn, CODE_ERR, "no change of the masters is under way");
		return;
	}
	if (masterset_accepted(core)) {
		emit_error(core, conn, CODE_ERR,
			"the change to %.*s is accepted: it will be in force in a moment; change the set "
			"back after "
			"that",
			members_shown(set->next.places), set->next.places);
		return;
	}
	if (set->wish.open)
		wish_fails(core, CODE_ERR,
			"MASTERS ABORT was asked for: MASTERS shows the set that is in force");
	set->wish.op = MASTERS_ABORT;
	set->wish.newcomers = 0;
	set->wish.text[0] = '\0';
	if (set->next.text[0] == '\0') {
		struct members ours;

		emit_int(core, conn, masterset_members(core, &ours) ? ours.generation : 0);
		return;
	}
	set->wish.conn = conn;
	set->wish.open = true;
	wish_go(core);
}

/* The first of these that cannot be a newcomer. */
static bool
asked_wrongly(struct core *core, conn_id conn, const struct masters_ask *ask, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct master *m = wish_old(core, ask->places[i]);
		bool way = m != NULL && ask->op == MASTERS_REPLACE && m == wish_old(core, ask->old) &&
			   !slice_equal(ask->ways[i], slice_of(m->way));

		if (m == NULL || way)
			continue;
		emit_error(core, conn, CODE_ERR, "%.*s is a member of the set already", (int)ask->places[i].n,
			ask->places[i].p);
		return true;
	}
	if (n == 2 && slice_equal(ask->places[0], ask->places[1])) {
		emit_error(core, conn, CODE_ERR, "%.*s is named twice: give two servers",
			(int)ask->places[0].n, ask->places[0].p);
		return true;
	}
	return false;
}

static bool
asked_unfit(struct core *core, conn_id conn, const struct masters_ask *ask)
{
	unsigned masters = core->settings.masters;

	if (ask->op == MASTERS_REPLACE && wish_old(core, ask->old) == NULL)
		emit_error(core, conn, CODE_ERR, "%.*s is no member of the set: its members are %.*s",
			(int)ask->old.n, ask->old.p, members_shown(core->masterset.places),
			core->masterset.places);
	else if (ask->op == MASTERS_ADD && masters + 2 > CORE_MASTERS_MAX)
		emit_error(core, conn, CODE_ERR, "the set would have %u masters: 1 to %d are allowed",
			masters + 2, CORE_MASTERS_MAX);
	else if (ask->op == MASTERS_ADD && latch_known(core))
		emit_error(core, conn, CODE_ERR,
			"latches are known here, and are kept by one master alone: wait until they are over");
	else if (ask->op == MASTERS_ADD && rules_single(&core->rules))
		emit_error(core, conn, CODE_ERR,
			"a rule has interop: redisson, and Redisson's locks have a single master: no other "
			"can be added");
	else
		return asked_wrongly(core, conn, ask, ask->op == MASTERS_ADD ? 2 : 1);
	return true;
}

void
masterset_asked(struct core *core, const struct conn *conn, const struct masters_ask *ask)
{
	struct masterset_wish *wish = &core->masterset.wish;
	const struct master *unfit;
	char why[MASTER_REASON_MAX];

	if (asked_early(core, conn->id))
		return;
	if (ask->op == MASTERS_ABORT) {
		asked_abort(core, conn->id);
		return;
	}
	if (asked_late(core, conn->id) || asked_unfit(core, conn->id, ask))
		return;
	wish->op = ask->op;
	wish->old = ask->op == MASTERS_REPLACE ? wish_old(core, ask->old)->index : 0;
	unfit = wish_unfit(core);
	if (unfit != NULL) {
		master_why_not(core, unfit, 0, why, sizeof(why));
		emit_error(core, conn->id, CODE_NOMASTER,
			"%s, which stays, cannot be used: it %s; nothing has changed", unfit->place, why);
		return;
	}
	behind_close(core);
	wish->open = true;
	wish->conn = conn->id;
	wish->newcomers = ask->op == MASTERS_ADD ? 2 : 1;
	wish->text[0] = '\0';
	for (unsigned i = 0; i < wish->newcomers; i++)
		master_move(core, newcomer(core, i), ask->places[i], ask->ways[i]);
	timer_arm(&core->timers, &wish->timer, core->now.ms + WISH_LOOK_MS);
}
