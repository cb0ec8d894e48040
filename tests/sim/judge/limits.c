/* limits: see limits.h. */
#include "tests/sim/judge/limits.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SESSIONS_MOST 64

/* What the daemon has in its tables. */
struct count {
	int64_t locks;
	size_t n; /* sessions that hold or wait */
	struct {
		session_id id;
		int64_t grants;
		int64_t waits;
	} of[SESSIONS_MOST];
};

static size_t
session_at(struct count *count, session_id id)
{
	size_t i = 0;
	while (i < count->n && count->of[i].id != id)
		i++;
	if (i == count->n && count->n < SESSIONS_MOST - 1) {
		count->of[i].id = id;
		count->of[i].grants = count->of[i].waits = 0;
		count->n++;
	}
	return i;
}

static bool
count_hold(void *arg, const struct hold_view *view)
{
	struct count *count = arg;
	count->locks += view->permits > 0 ? view->permits : 1;
	if (view->session != 0)
		count->of[session_at(count, view->session)].grants++;
	return true;
}

static bool
count_waiter(void *arg, const struct waiter_view *view)
{
	struct count *count = arg;
	count->locks += view->permits > 0 ? view->permits : 1;
	count->of[session_at(count, view->session)].waits++;
	return true;
}

static void
count_all(const struct world *w, const struct host *h, int64_t now_ms, struct count *count)
{
	*count = (struct count){.locks = 0};
	for (unsigned i = 0; i < w->plan.names; i++) {
		core_each_hold(h->core, now_ms, slice_of(checker_name(i)), count_hold, count);
		core_each_waiter(h->core, now_ms, slice_of(checker_name(i)), count_waiter, count);
	}
}

void
limits_stepped(struct world *w, const struct host *h, int64_t now_ms)
{
	const struct plan *p = &w->plan;
	struct count count;
	int64_t waits = h->settings.waiters_per_session;
	if (p->user_locks == 0 && waits >= LIMITS_HOLDS)
		return;
	count_all(w, h, now_ms, &count);
	if (p->user_locks > 0 && count.locks > p->user_locks)
		world_fail(w, "limit: at d%u a user has %" PRId64 " locks, of %" PRId64, h->index,
			count.locks, p->user_locks);
	for (size_t i = 0; i < count.n; i++)
		if (count.of[i].waits > waits && !bundles_of(w, h, count.of[i].id))
			world_fail(w,
				"limit: session %" PRIu64 " of d%u waits %" PRId64 " times, of %" PRId64,
				count.of[i].id, h->index, count.of[i].waits, waits);
}

/* What MLOCKs still wait for may not stand in a queue. */
static int64_t
names_waited(const struct world *w, const struct host *h, session_id session)
{
	int64_t n = 0;
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		if (v->conn->host == h && (session == 0 || conn_session(v->conn) == session))
			n += v->conn->current.count;
	return n;
}

static bool
starts(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static void
limits_refused(struct world *w, const struct conn *c, const char *text)
{
	const struct host *h = c->host;
	const struct plan *p = &w->plan;
	const struct request *r = &c->current;
	struct count count;
	int64_t asked = r->verb == VERB_MLOCK ? r->count : r->permits > 0 ? r->permits : 1;
	int64_t names = r->verb == VERB_MLOCK ? r->count : 1;
	/* What it has waited for before counts already. */
	bool fair = false, back = w->demand.back == c;
	count_all(w, h, host_ms(h), &count);
	size_t i = session_at(&count, conn_session(c));
	if (starts(text, "it has LIMIT"))
		return;
	if (starts(text, "locks-per-user:"))
		fair = !back && p->user_locks > 0 &&
		       count.locks + names_waited(w, h, 0) + asked > p->user_locks;
	else if (starts(text, "grants-per-session:"))
		fair = count.of[i].grants + names > h->settings.grants_per_session;
	else if (starts(text, "waiters-per-session:"))
		fair = !back && count.of[i].waits + names_waited(w, h, count.of[i].id) >=
					h->settings.waiters_per_session;
	if (!fair)
		world_fail(w, "limit: c%u is told -LIMIT %s, and has %" PRId64 " locks", c->client->index,
			text, count.locks);
}

/* The holds of a session, of one name after the other. */
struct census {
	session_id session;
	unsigned name;
	struct demand *into;
};

static bool
note_hold(void *arg, const struct hold_view *view)
{
	struct census *census = arg;
	struct demand *a = census->into;
	if (view->session != census->session || a->n == LIMITS_HOLDS)
		return true;
	struct held_before *of = &a->held[a->n++];
	*of = (struct held_before){.name = census->name, .token = view->token};
	snprintf(of->owner, sizeof(of->owner), "%.*s", (int)view->owner.n, view->owner.p);
	return true;
}

static void
note_holds(const struct conn *c, struct demand *into)
{
	struct census census = {.session = conn_session(c), .into = into};
	into->n = 0;
	for (; census.name < c->world->plan.names; census.name++)
		core_each_hold(c->host->core, host_ms(c->host), slice_of(checker_name(census.name)),
			note_hold, &census);
}

static bool
is_among(const struct demand *a, const struct held_before *of)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->held[i].name == of->name && a->held[i].token == of->token &&
			strcmp(a->held[i].owner, of->owner) == 0)
			return true;
	return false;
}

/* Whether it asks for more than its session may hold, and neither comes back to a wait nor enters once more.
 * What ends in this very step, as its time is over by the daemon's clock, does not count any more. */
static bool
asks_too_much(const struct world *w, const struct conn *c)
{
	const struct request *r = &c->current;
	int64_t kept = r->verb == VERB_MLOCK ? r->count : 1;
	struct demand now;
	if (w->demand.conn != c)
		return false;
	note_holds(c, &now);
	for (unsigned i = 0; i < w->demand.n; i++)
		kept += is_among(&now, &w->demand.held[i]);
	return kept > c->host->settings.grants_per_session;
}

void
limits_before(struct world *w, struct conn *c)
{
	const struct request *r = &c->current;
	w->demand.conn = NULL;
	w->demand.back = r->verb == VERB_LOCK && waits_has_place(w, c) ? c : NULL;
	if (c->host->settings.grants_per_session >= LIMITS_HOLDS ||
		(r->verb != VERB_LOCK && r->verb != VERB_MLOCK) ||
		(r->verb == VERB_LOCK && (waits_repeats(w, c) || held_by(w, c, r->name, r->owner) != NULL)))
		return;
	w->demand.conn = c;
	note_holds(c, &w->demand);
}

void
limits_after(struct world *w, const struct conn *c)
{
	if (c->host->alive && c->busy && c->open && !c->ending && asks_too_much(w, c))
		world_fail(w, "limit: c%u waits, and its session holds as much as it may", c->client->index);
	w->demand.conn = w->demand.back = NULL;
}

void
limits_reply(struct world *w, const struct conn *c, const struct reply *reply)
{
	enum verb verb = c->current.verb;
	bool refused = reply->type == REPLY_ERROR;
	if (!refused && asks_too_much(w, c))
		world_fail(
			w, "limit: c%u is served, and its session holds as much as it may", c->client->index);
	if (refused && reply->code == CODE_LIMIT && (verb == VERB_LOCK || verb == VERB_MLOCK))
		limits_refused(w, c, reply->text);
}
