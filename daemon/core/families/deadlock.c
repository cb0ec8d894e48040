/*
 * deadlock: see deadlock.h. Called when a wait begins; it writes only the marks of its search.
 *
 * A search has three steps, over marks in the sessions and queues themselves, so that it needs no memory:
 *   1. meet all blocked sessions that can be reached from the session that begins to wait;
 *   2. free each session that can go on once the free ones have, until there is no more;
 *   3. among the rest, find the shortest way from the session back to itself.
 * The holds of a name are passed once in each step, however many wait for it. Before a search, a few visits
 * go the other way, from the session to those that wait for it: usually there are none that hold what it
 * waits for.
 *
 * All searches together have a number of visits per time. Otherwise a thousand LOCKs of a name with thousands
 * of readers would make one turn of a second. Searches beyond that are deferred: they run later, one at a
 * time, and refuse the wait then.
 *
 * Grants go in the order of the queue, so a wait is served unless a hold stays held. Of the waits ahead, only
 * an ASYNC wait of a blocked session counts: what it is granted is not given back.
 */
#include "daemon/core/families/deadlock.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/cycle.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/parts.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/share.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/session.h"
#include "proto/name.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_FEW 64 /* visits before a search, to see whether one is needed */
#define LATER_MS   10 /* until a search that was deferred runs, and between two such searches */

struct search {
	const struct core *core;
	uint64_t id;          /* marks sessions */
	uint64_t pass;        /* marks names whose holds have been passed */
	size_t budget;        /* visits left; 0: given up, or deferred */
	size_t most;          /* visits at the beginning */
	struct session *met;  /* blocked sessions, the last one met first */
	struct session *next; /* the first session to visit */
	struct session **end; /* where the next one is appended */
	struct session *at;   /* the session being visited */
	const struct session *target;
	bool closed;      /* the way has led back to the target */
	struct edge last; /* by this edge */
};

/* Called with a session that keeps w from being answered. ahead: by an ASYNC wait of its own ahead of w; else
 * by a hold. True: stop. */
typedef bool on_keeper(struct search *search, struct session *keeper, const struct waiter *w, bool ahead);

static bool
search_spend(struct search *search)
{
	if (search->budget > 0)
		search->budget--;
	return search->budget > 0;
}

static void
search_put(struct search *search, struct session *s)
{
	assert(s != NULL && *search->end == NULL);
	s->mark.next = NULL;
	*search->end = s;
	search->end = &s->mark.next;
}

static struct session *
search_take(struct search *search)
{
	struct session *s = search->next;

	if (s == NULL)
		return NULL;
	assert(s->mark.search == search->id);
	search->next = s->mark.next;
	if (search->next == NULL)
		search->end = &search->next;
	return s;
}

/* The wait that keeps a connection busy for as long as it takes; NULL: it is free, or soon will be. */
static const struct waiter *
conn_wait(const struct conn *conn)
{
	const struct waiter *w = conn->mlock != NULL ? part_waited(conn->mlock) : conn->blocked;

	return w == NULL || w->once ? NULL : w;
}

static bool
session_stands(struct search *search, const struct session *s)
{
	const struct conn *conn;

	/* Any connection can speak for it. */
	if (s->named != NULL)
		return false;
	TAILQ_FOREACH (conn, &s->conns, in_session) {
		if (!search_spend(search) || conn_wait(conn) == NULL)
			return false;
	}
	return s->conn_count > 0;
}

/* As far as this search knows. */
static bool
session_stuck(const struct search *search, const struct session *s)
{
	return s != NULL && s->mark.search == search->id && !s->mark.free;
}

/* ---- which sessions keep a wait from being answered ---- */

/* ASYNC waits ahead of it; for a reader, readers only count if a writer is between them. */
static bool
each_ahead(struct search *search, const struct waiter *w, on_keeper *tell)
{
	const struct waiter *ahead = w;
	bool apart = w->kind != KIND_SHARED;

	if (queue_of(w->resource)->async == 0)
		return false;
	while ((ahead = TAILQ_PREV(ahead, waiter_queue, in_resource)) != NULL && search_spend(search)) {
		apart = apart || ahead->kind != KIND_SHARED;
		if (apart && ahead->async && !ahead->once && tell(search, ahead->session, w, true))
			return true;
	}
	return false;
}

/* Whether a hold is in the way of it, or of a wait ahead of it: a reader's hold is not in a reader's way. */
static bool
wait_is_shut(struct search *search, const struct waiter *w)
{
	const struct waiter *ahead;

	if (w->kind != KIND_SHARED)
		return true;
	TAILQ_FOREACH (ahead, &queue_of(w->resource)->waiters, in_resource) {
		if (!search_spend(search) || !lease_open(search->core, &w->resource->lease, ahead))
			return true;
		if (ahead == w)
			break;
	}
	return false;
}

/* Each name once in a pass: after that, tell() has had all its holders. */
static bool
each_holder(struct search *search, const struct waiter *w, on_keeper *tell)
{
	struct queue *q = queue_of(w->resource);
	const struct grant *g = NULL;

	/* Not on the queue that all names without waiters share. */
	assert(q->resource == w->resource);
	if (q->pass == search->pass)
		return false;
	while ((g = resource_next_grant(w->resource, g)) != NULL && search_spend(search)) {
		if (g->session != NULL && tell(search, g->session, w, false))
			return true;
	}
	q->pass = search->pass;
	q->stuck = resource_next_grant(w->resource, NULL);
	return false;
}

static bool
each_keeper(struct search *search, const struct waiter *w, on_keeper *tell)
{
	/* Only sessions are met of which each connection waits. */
	assert(w != NULL);
	if (w->resource->grant_count > 0 && wait_is_shut(search, w) && each_holder(search, w, tell))
		return true;
	return each_ahead(search, w, tell);
}

/* ---- which sessions are blocked ---- */

static bool
meet(struct search *search, struct session *keeper, const struct waiter *w, bool ahead)
{
	(void)w;
	(void)ahead;
	if (keeper->mark.search == search->id)
		return false;
	if (!session_stands(search, keeper)) {
		keeper->mark.search = search->id;
		keeper->mark.free = true;
		return false;
	}
	keeper->mark.search = search->id;
	keeper->mark.met = search->met;
	keeper->mark.edge.from = NULL;
	keeper->mark.free = false;
	search->met = keeper;
	search_put(search, keeper);
	return false;
}

static void
meet_all(struct search *search, struct session *first)
{
	const struct session *s;
	const struct conn *conn;

	assert(search->next == NULL && search->met == NULL);
	(void)meet(search, first, NULL, false);
	while ((s = search_take(search)) != NULL) {
		TAILQ_FOREACH (conn, &s->conns, in_session)
			(void)each_keeper(search, conn_wait(conn), meet);
	}
}

/* ---- which sessions can go on ---- */

static bool
keeper_is_stuck(struct search *search, struct session *keeper, const struct waiter *w, bool ahead)
{
	(void)w;
	(void)ahead;
	return session_stuck(search, keeper);
}

/* A free session stays free: the first hold of a stuck session is searched for from where it was last time.
 */
static bool
holder_is_stuck(struct search *search, const struct resource *r)
{
	struct queue *q = queue_of(r);

	if (q->pass != search->pass)
		return false;
	while (q->stuck != NULL && !session_stuck(search, q->stuck->session)) {
		if (!search_spend(search))
			return false;
		q->stuck = resource_next_grant(r, q->stuck);
	}
	return q->stuck != NULL;
}

/* How many permits of a semaphore will not come back. */
static int64_t
permits_stuck(struct search *search, const struct resource *r)
{
	const struct lease *l;
	const struct grant *g;
	int64_t stuck = 0;

	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
		for (g = l->grants; g != NULL; g = g->after) {
			if (search_spend(search) && session_stuck(search, g->session))
				stuck += g->lease->permits;
		}
	}
	return stuck;
}

/* Whether the other permits are too few for this wait or for one ahead of it. */
static bool
permits_lack(struct search *search, const struct waiter *w)
{
	const struct resource *r = w->resource;
	int64_t left = r->limit - permits_stuck(search, r);
	const struct waiter *ahead;

	assert(w->kind == KIND_PERMITS);
	if (left == r->limit && queue_of(r)->async == 0)
		return false;
	TAILQ_FOREACH (ahead, &queue_of(r)->waiters, in_resource) {
		if (!search_spend(search) || (!ahead->once && ahead->permits > left))
			return true;
		if (ahead == w)
			break;
		if (ahead->async && !ahead->once && session_stuck(search, ahead->session))
			left -= ahead->permits;
	}
	return false;
}

static bool
wait_is_stuck(struct search *search, const struct waiter *w)
{
	const struct resource *r = w->resource;

	assert(w != NULL);
	if (w->kind == KIND_PERMITS)
		return permits_lack(search, w);
	if (r->grant_count > 0 && wait_is_shut(search, w) && holder_is_stuck(search, r))
		return true;
	return each_ahead(search, w, keeper_is_stuck);
}

static bool
session_goes_on(struct search *search, const struct session *s)
{
	const struct conn *conn;

	assert(s->conn_count > 0 && s->named == NULL);
	TAILQ_FOREACH (conn, &s->conns, in_session) {
		if (!wait_is_stuck(search, conn_wait(conn)))
			return true;
	}
	return false;
}

/* Takes sessions that can go on from the list of those that were met. True: there was one. */
static bool
free_some(struct search *search)
{
	struct session **at = &search->met, *s;
	bool any = false;

	while ((s = *at) != NULL && search->budget > 0) {
		if (!session_goes_on(search, s)) {
			at = &s->mark.met;
			continue;
		}
		assert(s->mark.search == search->id && !s->mark.free);
		s->mark.free = true;
		*at = s->mark.met;
		any = true;
	}
	return any;
}

static void
free_all(struct search *search)
{
	/* The session that was met last ends a chain of waits, and frees the others one by one. */
	while (search->budget > 0 && free_some(search))
		continue;
}

/* ---- the way back ---- */

static bool
step_to(struct search *search, struct session *keeper, const struct waiter *w, bool ahead)
{
	const struct edge edge = {search->at, w, ahead};

	assert(!search->closed);
	assert(w->session == search->at);
	if (!session_stuck(search, keeper))
		return false;
	if (keeper == search->target) {
		search->last = edge;
		search->closed = true;
		return true;
	}
	if (keeper->mark.edge.from == NULL) {
		keeper->mark.edge = edge;
		search_put(search, keeper);
	}
	return false;
}

static bool
find_way_back(struct search *search, const struct waiter *w)
{
	const struct conn *conn;

	assert(w->session == search->target);
	search->at = w->session;
	if (each_keeper(search, w, step_to))
		return true;
	while ((search->at = search_take(search)) != NULL) {
		TAILQ_FOREACH (conn, &search->at->conns, in_session) {
			if (each_keeper(search, conn_wait(conn), step_to))
				return true;
		}
	}
	return false;
}

/* ---- the other way ---- */

static void
search_put_once(struct search *search, struct session *s)
{
	if (s->mark.search == search->id)
		return;
	s->mark.search = search->id;
	search_put(search, s);
}

/* Puts the sessions that wait for what this one has; for its ASYNC waits, those behind it in the queue.
 * False: stop: this session or one of those may be the target, or there are too many. */
static bool
each_who_waits(struct search *search, const struct session *s)
{
	const struct grant *g;
	const struct waiter *w, *behind;

	LIST_FOREACH (g, &s->grants, in_session) {
		const struct queue *q = queue_of(g->lease->resource);

		if (q->pass == search->pass || !search_spend(search))
			return false;
		TAILQ_FOREACH (behind, &q->waiters, in_resource) {
			if (!search_spend(search))
				return false;
			search_put_once(search, behind->session);
		}
	}
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (!search_spend(search) || (w->async && queue_of(w->resource)->pass == search->pass))
			return false;
		for (behind = w; w->async && (behind = TAILQ_NEXT(behind, in_resource)) != NULL;) {
			if (!search_spend(search))
				return false;
			search_put_once(search, behind->session);
		}
	}
	return true;
}

/* Whether a way of waits may lead back to a session, from what it waits for. In a crowd only a search can
 * tell. */
static bool
way_may_lead_back(struct search *search, struct session *s)
{
	const struct waiter *w;

	LIST_FOREACH (w, &s->waiters, in_session) {
		if (!search_spend(search))
			return true;
		if (w->conn != NULL && !w->async && !w->once)
			queue_of(w->resource)->pass = search->pass;
	}
	search_put_once(search, s);
	while ((s = search_take(search)) != NULL) {
		if (!each_who_waits(search, s))
			return true;
	}
	return false;
}

static bool
session_may_close(struct core *core, struct session *s)
{
	struct search search = {.core = core, .id = ++core->families->searches, .budget = BUDGET_FEW};
	bool may;

	if (s->grant_count == 0 && s->waiter_count == 1)
		return false;
	search.pass = search.id;
	search.end = &search.next;
	may = way_may_lead_back(&search, s);
	assert(search.budget <= BUDGET_FEW);
	core->families->deferred.spent += BUDGET_FEW - search.budget;
	return may;
}

/* ---- searches ---- */

/* The visits left now; their number grows again with time. */
static size_t
deferred_budget(struct core *core)
{
	struct deferred_checks *d = &core->families->deferred;
	int64_t ms = core->now.ms - d->since_ms;

	assert(ms >= 0);
	d->budget = ms >= LATER_MS ? DEADLOCK_BUDGET : d->budget + (size_t)ms * (DEADLOCK_BUDGET / LATER_MS);
	if (d->budget > DEADLOCK_BUDGET)
		d->budget = DEADLOCK_BUDGET;
	d->since_ms = core->now.ms;
	return d->budget;
}

void
deadlock_defer(struct core *core, struct session *s)
{
	struct deferred_checks *d = &core->families->deferred;

	assert(!s->deferred || !TAILQ_EMPTY(&d->sessions));
	if (!s->deferred)
		TAILQ_INSERT_TAIL(&d->sessions, s, in_deferred);
	s->deferred = true;
	if (!timer_is_armed(&d->timer))
		timer_arm(&core->timers, &d->timer, core->now.ms + LATER_MS);
}

static void
deadlock_forget(struct core *core, struct session *s)
{
	assert(!s->deferred || !TAILQ_EMPTY(&core->families->deferred.sessions));
	if (s->deferred)
		TAILQ_REMOVE(&core->families->deferred.sessions, s, in_deferred);
	s->deferred = false;
}

/* Whether a session is blocked and, for all this search knows, stuck for ever. search_end() follows in any
 * case. */
static bool
search_finds_stuck(struct search *search, struct core *core, struct session *s)
{
	*search = (struct search){.core = core, .id = ++core->families->searches, .target = s};
	search->budget = search->most = deferred_budget(core);
	search->pass = search->id;
	search->end = &search->next;
	if (!session_stands(search, s))
		return false;
	meet_all(search, s);
	free_all(search);
	search->pass = ++core->families->searches;
	return !s->mark.free;
}

/* Whether this wait of the session is part of a cycle. What was passed for another wait of it leads no way
 * back for this one either. */
static bool
search_closes(struct search *search, struct core *core, const struct waiter *w, struct reply *out)
{
	assert(w->session == search->target);
	if (!find_way_back(search, w) || search->budget == 0)
		return false;
	cycle_tell(search->target, &search->last, out);
	cycle_note(core, w, out);
	return true;
}

/* A search that has used up its budget, and began with less than the whole one, has said nothing yet: it is
 * deferred. */
static void
search_end(struct search *search, struct core *core, struct session *s)
{
	assert(search->budget <= search->most && search->most <= DEADLOCK_BUDGET);
	core->families->deferred.budget = search->budget;
	core->families->deferred.spent += search->most - search->budget;
	if (search->budget == 0 && search->most < DEADLOCK_BUDGET)
		deadlock_defer(core, s);
}

/* If not, the wait only asks the masters, and no way leads on from it (each_keeper()). */
static bool
wait_has_keeper(const struct waiter *w)
{
	return w->resource->grant_count > 0 || queue_of(w->resource)->async > 0;
}

bool
deadlock_closes(struct core *core, const struct waiter *w, struct reply *out)
{
	struct session *s = w->session;
	struct search search;
	bool closes;

	if (w->async || w->once || !wait_has_keeper(w) || !session_may_close(core, s))
		return false;
	closes = search_finds_stuck(&search, core, s) && search_closes(&search, core, w, out);
	search_end(&search, core, s);
	return closes;
}

/* One search for all waits of the session: there may be one for each connection, and this runs for each
 * connection that goes. */
static void
deadlock_check(struct core *core, struct session *s)
{
	struct waiter *w = NULL;
	struct search search;
	struct reply refusal;

	if (!session_may_close(core, s))
		return;
	if (search_finds_stuck(&search, core, s)) {
		LIST_FOREACH (w, &s->waiters, in_session) {
			if (w->conn != NULL && !w->async && !w->once &&
				search_closes(&search, core, w, &refusal))
				break;
		}
	}
	search_end(&search, core, s);
	if (w != NULL)
		queue_answer(core, w, &refusal);
}

/* The first search gets the whole budget, so that it is not deferred again. */
void
deadlock_timer(struct core *core)
{
	struct deferred_checks *d = &core->families->deferred;
	struct session *s;

	d->budget = DEADLOCK_BUDGET;
	d->since_ms = core->now.ms;
	while (d->budget > 0 && (s = TAILQ_FIRST(&d->sessions)) != NULL) {
		deadlock_forget(core, s);
		deadlock_check(core, s);
	}
	if (!TAILQ_EMPTY(&d->sessions))
		timer_arm(&core->timers, &d->timer, core->now.ms + LATER_MS);
}

const struct wait_watch deadlock_watch = {.check = deadlock_check, .forget = deadlock_forget};
