/*
 * masterset_request: an administrator asks this daemon for another set of masters. It checks newcomers
 * first, in slots behind the members; then it offers the next set (masterset.h). A part of masterset.
 */
#include "daemon/core/masterset/masterset_request.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/event.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/masterset_change.h"
#include "daemon/core/masterset/members.h"
#include "daemon/core/masterset/move.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define REQUEST_CHECK_MS  5000  /* so long newcomers may take to answer */
#define REQUEST_NOTIFY_MS 60000 /* so long this daemon tries to notify a server that has left */

static void
request_answer(struct core *core)
{
	core->masterset->request.open = false;
	timer_arm(&core->timers, &core->masterset->request.timer, core->now.ms + REQUEST_NOTIFY_MS);
}

/* Closes the slots of newcomers and of servers that have left. */
static void
behind_close(struct core *core)
{
	assert(core->masters != NULL);
	for (unsigned i = core->settings.masters; i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].place[0] != '\0')
			master_move(core, &core->masters[i], slice_of(""), slice_of(""));
	}
}

#define request_fails(core, code, ...)                                                                       \
	do {                                                                                                 \
		emit_error(core, (core)->masterset->request.conn, code, __VA_ARGS__);                        \
		request_answer(core);                                                                        \
		behind_close(core);                                                                          \
	} while (0)

static struct master *
newcomer(struct core *core, unsigned i)
{
	assert(i < MASTERS_NEW_MAX && core->settings.masters + i < CORE_SLOTS_MAX);
	return &core->masters[core->settings.masters + i];
}

static bool
checking(const struct core *core)
{
	return core->masterset->request.open && core->masterset->request.text[0] == '\0';
}

/* The member that an administrator names: by its place here, or by its place in the set. */
static struct master *
request_old(struct core *core, struct slice place)
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

/* A member that stays and cannot be used; NULL: none. */
static const struct master *
request_unfit(const struct core *core)
{
	const struct masterset_request *request = &core->masterset->request;

	/* A next set that is to be dropped waits for its members already. */
	for (unsigned i = 0; i < core->settings.masters && request->op != MASTERS_ABORT; i++) {
		const struct master *m = &core->masters[i];

		if ((request->op != MASTERS_REPLACE || request->old != i) && !master_usable(m, 0))
			return m;
	}
	return NULL;
}

static void
left_add(struct members *list, struct slice place)
{
	assert(list->left_n <= MEMBERS_LEFT_MAX);
	if (place.n > 0 && list->left_n < MEMBERS_LEFT_MAX && !members_left(list, place) &&
		members_at(list, place) < 0)
		list->left[list->left_n++] = place;
}

/* The members that stay, with their places. Only the old member of a REPLACE may not have answered yet, as
 * the others can be used. */
static void
request_staying(struct core *core, const struct members *ours, struct members *list)
{
	const struct masterset_request *request = &core->masterset->request;

	for (unsigned i = 0; i < ours->n; i++) {
		const struct master *m = slot_of_member(core, ours->ids[i]);

		if (request->op == MASTERS_REPLACE && (m == NULL || m->index == request->old))
			continue;
		list->ids[list->n] = ours->ids[i];
		list->ways[list->n] = ours->ways[i];
		list->places[list->n++] =
			ours->places[i].n > 0 || m == NULL ? ours->places[i] : slice_of(m->place);
	}
	assert(list->n <= ours->n);
}

/* The next set. False: a newcomer is a member already, or two are the same server; the request has been
 * answered. */
static bool
request_compose(struct core *core, const struct members *ours, struct members *list)
{
	const struct masterset_request *request = &core->masterset->request;
	const struct master *old = request->op == MASTERS_REPLACE ? &core->masters[request->old] : NULL;
	int was = old != NULL ? members_find(ours, old->member) : -1;

	assert(request->open && request->newcomers <= MASTERS_NEW_MAX);
	*list = (struct members){.generation = core->masterset->newest + 1};
	request_staying(core, ours, list);
	for (unsigned i = 0; i < request->newcomers; i++) {
		const struct master *m = newcomer(core, i);
		bool same = was >= 0 && ours->ids[was] == m->id;

		if (members_find(list, m->id) >= 0 || (members_find(ours, m->id) >= 0 && !same)) {
			request_fails(
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
		request_fails(core, CODE_ERR,
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
request_offer(struct core *core)
{
	struct masterset_request *request = &core->masterset->request;
	char places[MASTERSET_PLACES_MAX];
	char text[MASTERSET_TEXT_MAX];
	struct members ours, list;
	bool readable = masterset_members(core, &ours);

	assert(readable);
	if (!request_compose(core, &ours, &list))
		return;
	assert(masterset_may_follow(&ours, &list));
	members_write(&list, text, places);
	memcpy(request->text, text, sizeof(text));
	timer_arm(&core->timers, &request->timer, TIMER_NEVER);
	masterset_next(core, slice_of(text), slice_of(places));
}

/* Offers the set once all newcomers have answered. */
static void
request_go(struct core *core)
{
	struct masterset_request *request = &core->masterset->request;
	const struct master *unfit = request_unfit(core);
	char why[MASTER_REASON_MAX];

	assert(request->open);
	for (unsigned i = 0; i < request->newcomers; i++) {
		if (newcomer(core, i)->id == 0)
			return;
	}
	if (unfit != NULL) {
		master_why_not(core, unfit, 0, why, sizeof(why));
		request_fails(core, CODE_NOMASTER,
			"%s, which stays, cannot be used: it %s; nothing has changed", unfit->place, why);
		return;
	}
	request_offer(core);
}

void
masterset_request_next(struct core *core)
{
	const struct masterset *set = core->masterset;

	if (checking(core))
		request_fails(core, CODE_ERR,
			"a change of the masters to %.*s is under way: MASTERS shows how far it is",
			members_shown(set->next.places), set->next.places);
}

void
masterset_request_done(struct core *core)
{
	struct masterset *set = core->masterset;
	struct members ours;
	bool readable = masterset_members(core, &ours);

	assert(readable);
	if (set->request.open && strcmp(set->request.text, set->text) == 0)
		emit_int(core, set->request.conn, ours.generation);
	else if (set->request.open)
		emit_error(core, set->request.conn, CODE_ERR,
			"another change of the masters went before it: the set is %.*s",
			members_shown(set->places), set->places);
	request_answer(core);
	assert(!set->request.open);
}

void
masterset_ask_behind(const struct master *m, struct call *hello)
{
	assert(hello->op == CALL_HELLO);
	if (!m->left) {
		hello->masterset = slice_of(MASTERSET_UNMATCHED);
		return;
	}
	hello->agreement = AGREEMENT_AGREED;
	hello->next.step = NEXT_LEFT;
}

/* A newcomer may join only if no daemon uses it. */
static enum membership
newcomer_answered(struct core *core, struct master *m, const struct vote *vote)
{
	struct masterset *set = core->masterset;
	struct members theirs = {0};

	assert(m->index >= core->settings.masters);
	if (vote->masterset.n > 0 && !members_read(vote->masterset, vote->places, &theirs)) {
		request_fails(core, CODE_ERR, "%s stores a set of masters that cannot be read", m->place);
		return MEMBERSHIP_APART;
	}
	if (vote->hello == HELLO_OTHERSET && vote->text.n > 0 &&
		!slice_equal(vote->masterset, slice_of(set->text))) {
		request_fails(core, CODE_ERR,
			"%s belongs to another set of masters, whose daemons live (%.*s): %.*s", m->place,
			(int)vote->text.n, vote->text.p, (int)vote->places.n,
			vote->places.n > 0 ? vote->places.p : "");
		return MEMBERSHIP_APART;
	}
	if (theirs.generation > set->newest)
		set->newest = theirs.generation;
	m->id = vote->id;
	request_go(core);
	return MEMBERSHIP_APART;
}

enum membership
masterset_answered_behind(struct core *core, struct master *m, const struct vote *vote)
{
	assert(m->index >= core->settings.masters && m->place[0] != '\0');
	if (m->left)
		master_move(core, m, slice_of(""), slice_of(""));
	else if (checking(core) && m->index < core->settings.masters + core->masterset->request.newcomers)
		return newcomer_answered(core, m, vote);
	return MEMBERSHIP_APART;
}

bool
masterset_known_twin(struct core *core, struct master *m)
{
	const struct masterset_request *request = &core->masterset->request;
	const struct master *twin = master_twin(core, m, true);

	if (m->index < core->settings.masters || !checking(core) || twin == NULL || twin->id == 0)
		return false;
	if (request->op != MASTERS_REPLACE || request->old != twin->index) {
		request_fails(
			core, CODE_ERR, "%s is the server that the set knows as %s", m->place, twin->place);
		return true;
	}
	m->id = twin->id;
	request_go(core);
	return true;
}

void
masterset_timer(struct core *core)
{
	const struct masterset_request *request = &core->masterset->request;
	char why[MASTER_REASON_MAX];

	if (!checking(core)) {
		if (!request->open && core->masterset->next.text[0] == '\0')
			behind_close(core);
		return;
	}
	for (unsigned i = 0; i < request->newcomers; i++) {
		const struct master *m = newcomer(core, i);

		if (m->id != 0)
			continue;
		master_why_not(core, m, 0, why, sizeof(why));
		request_fails(
			core, CODE_NOMASTER, "%s cannot be used: it %s; nothing has changed", m->place, why);
		return;
	}
}

void
masterset_drain(struct core *core, const struct reply *refusal)
{
	assert(refusal->type == REPLY_ERROR);
	if (!core->masterset->request.open)
		return;
	emit_reply(core, core->masterset->request.conn, refusal);
	request_answer(core);
}

/* Answers why nothing can be changed now, if there is a reason. */
static bool
asked_early(struct core *core, conn_id conn)
{
	const struct masterset *set = core->masterset;

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
	const struct masterset *set = core->masterset;

	if (set->next.text[0] != '\0')
		emit_error(core, conn, CODE_ERR,
			"a change of the masters to %.*s is under way: MASTERS shows how far it is",
			members_shown(set->next.places), set->next.places);
	else if (set->request.open)
		emit_error(core, conn, CODE_ERR, "a change of the masters is under way: newcomers are asked");
	else
		return false;
	return true;
}

static void
asked_abort(struct core *core, conn_id conn)
{
	struct masterset *set = core->masterset;
	if (!set->request.open && set->next.text[0] == '\0') {
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
	if (set->request.open)
		request_fails(core, CODE_ERR,
			"MASTERS ABORT was asked for: MASTERS shows the set that is in force");
	set->request.op = MASTERS_ABORT;
	set->request.newcomers = 0;
	set->request.text[0] = '\0';
	if (set->next.text[0] == '\0') {
		struct members ours;

		emit_int(core, conn, masterset_members(core, &ours) ? ours.generation : 0);
		return;
	}
	assert(!set->request.open);
	set->request.conn = conn;
	set->request.open = true;
	request_go(core);
}

/* Refuses the first newcomer that is no possible one. True: answered. */
static bool
asked_wrongly(struct core *core, conn_id conn, const struct masters_change *change, unsigned n)
{
	assert(n >= 1 && n <= MASTERS_NEW_MAX);
	for (unsigned i = 0; i < n; i++) {
		const struct master *m = request_old(core, change->places[i]);
		bool way = m != NULL && change->op == MASTERS_REPLACE &&
			   m == request_old(core, change->old) &&
			   !slice_equal(change->ways[i], slice_of(m->way));

		if (m == NULL || way)
			continue;
		emit_error(core, conn, CODE_ERR, "%.*s is a member of the set already",
			(int)change->places[i].n, change->places[i].p);
		return true;
	}
	if (n == 2 && slice_equal(change->places[0], change->places[1])) {
		emit_error(core, conn, CODE_ERR, "%.*s is named twice: give two servers",
			(int)change->places[0].n, change->places[0].p);
		return true;
	}
	return false;
}

static bool
asked_unfit(struct core *core, conn_id conn, const struct masters_change *change, const char *single)
{
	unsigned masters = core->settings.masters;

	if (change->op == MASTERS_REPLACE && request_old(core, change->old) == NULL)
		emit_error(core, conn, CODE_ERR, "%.*s is no member of the set: its members are %.*s",
			(int)change->old.n, change->old.p, members_shown(core->masterset->places),
			core->masterset->places);
	else if (change->op == MASTERS_ADD && masters + 2 > CORE_MASTERS_MAX)
		emit_error(core, conn, CODE_ERR, "the set would have %u masters: 1 to %d are allowed",
			masters + 2, CORE_MASTERS_MAX);
	else if (change->op == MASTERS_ADD && single != NULL)
		emit_error(core, conn, CODE_ERR, "%s", single);
	else
		return asked_wrongly(core, conn, change, change->op == MASTERS_ADD ? 2 : 1);
	return true;
}

void
masterset_asked(struct core *core, conn_id conn, const struct masters_change *change, const char *single)
{
	struct masterset_request *request = &core->masterset->request;
	const struct master *unfit;
	char why[MASTER_REASON_MAX];

	if (asked_early(core, conn))
		return;
	if (change->op == MASTERS_ABORT) {
		asked_abort(core, conn);
		return;
	}
	if (asked_late(core, conn) || asked_unfit(core, conn, change, single))
		return;
	request->op = change->op;
	request->old = change->op == MASTERS_REPLACE ? request_old(core, change->old)->index : 0;
	unfit = request_unfit(core);
	if (unfit != NULL) {
		master_why_not(core, unfit, 0, why, sizeof(why));
		emit_error(core, conn, CODE_NOMASTER,
			"%s, which stays, cannot be used: it %s; nothing has changed", unfit->place, why);
		return;
	}
	assert(!request->open && core->masterset->next.text[0] == '\0');
	behind_close(core);
	request->open = true;
	request->conn = conn;
	request->newcomers = change->op == MASTERS_ADD ? 2 : 1;
	request->text[0] = '\0';
	for (unsigned i = 0; i < request->newcomers; i++)
		master_move(core, newcomer(core, i), change->places[i], change->ways[i]);
	timer_arm(&core->timers, &request->timer, core->now.ms + REQUEST_CHECK_MS);
}
