/* limits: see limits.h. */
#include "tests/sim/judge/limits.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SESSIONS_MOST 64
#define LIMIT_NONE    100 /* no session comes to so many */

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
	if (p->user_locks == 0 && waits >= LIMIT_NONE)
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
	bool fair = false, back = w->comes_back == c;
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

void
limits_before(struct world *w, const struct conn *c)
{
	w->comes_back = c->current.verb == VERB_LOCK && waits_has_place(w, c) ? c : NULL;
}

void
limits_reply(struct world *w, const struct conn *c, const struct reply *reply)
{
	enum verb verb = c->current.verb;
	if (reply->type == REPLY_ERROR && reply->code == CODE_LIMIT &&
		(verb == VERB_LOCK || verb == VERB_MLOCK))
		limits_refused(w, c, reply->text);
}
