/* held: see held.h. */
#include "tests/sim/judge/held.h"

#include "tests/sim/judge/events.h"
#include "tests/sim/judge/withheld.h"
#include "tests/sim/world/id_client.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void
held_free(struct world *w)
{
	struct checker *k = &w->checker;
	for (struct hold *h = k->holds, *next; h != NULL; h = next) {
		next = h->next;
		free(h);
	}
	k->holds = NULL;
}

static bool
hold_is(const struct hold *h, const struct conn *c, session_id session, unsigned name, const char *owner)
{
	return h->name == name && h->host == c->host && h->host_life == c->host_life &&
	       h->session == session && strcmp(h->owner, owner) == 0;
}

struct hold *
held_find(struct world *w, const struct conn *c, session_id session, unsigned name, const char *owner)
{
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (hold_is(h, c, session, name, owner))
			return h;
	return NULL;
}

void
held_remove(struct world *w, struct hold *hold)
{
	struct hold **at = &w->checker.holds;
	while (*at != hold)
		at = &(*at)->next;
	*at = hold->next;
	free(hold);
}

/* Until when its daemon stands for it. */
int64_t
held_good_us(const struct hold *h)
{
	return h->told_us > h->valid_us ? h->told_us : h->valid_us;
}

/* Until when its holder may rely on it. */
int64_t
held_until_us(const struct hold *h)
{
	return held_good_us(h) < h->ended_us ? held_good_us(h) : h->ended_us;
}

int64_t
held_longest_us(const struct world *w, unsigned name)
{
	int64_t good_us = 0;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->name == name && held_until_us(h) > good_us)
			good_us = held_until_us(h);
	return good_us;
}

int64_t
held_token(const struct world *w, unsigned name)
{
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->name == name && held_until_us(h) > w->now_us)
			return h->token;
	return 0;
}

struct hold *
held_by(struct world *w, const struct conn *c, unsigned name, const char *owner)
{
	return held_find(w, c, conn_session(c), name, owner);
}

const struct hold *
held_with(const struct world *w, const struct host *host, unsigned name, int64_t token)
{
	const struct hold *h = w->checker.holds;
	while (h != NULL &&
		!(h->name == name && h->host == host && h->host_life == host->life && h->token == token))
		h = h->next;
	return h;
}

bool
held_surely(const struct world *w, const struct hold *h)
{
	return !h->lost && !h->unannounced && promised(w, PROMISE_HOLD, h->name) && h->valid_us > w->now_us;
}

void
held_claimed(const struct world *w, struct hold *h)
{
	if (h->unannounced)
		h->valid_us = w->now_us + 1;
	/* To its daemon the session showed that it knows of the hold only if it had not been told. */
	if (h->unannounced && !h->unsent)
		held_named(h);
	h->unannounced = h->unsent = false;
}

static void
ends(struct hold *h)
{
	h->ends_ms = h->lease_ends_ms < h->ceiling_ms ? h->lease_ends_ms : h->ceiling_ms;
	if (h->claim_ends_ms < h->ends_ms)
		h->ends_ms = h->claim_ends_ms;
}

void
held_named(struct hold *h)
{
	h->claim_ends_ms = INT64_MAX;
	ends(h);
}

void
held_put_off(struct hold *h, int64_t ms)
{
	int64_t until_ms = host_ms(h->host) + ms;
	if (h->claim_ends_ms != INT64_MAX && h->claim_ends_ms < until_ms)
		h->claim_ends_ms = until_ms;
	ends(h);
}

void
held_asked(const struct conn *c, struct hold *h)
{
	const struct request *r = &c->current;
	bool lock = r->verb == VERB_LOCK;
	if (!id_client_is(c) || (lock ? h->leased && r->claim_ms == 0 : r->token == h->token))
		held_named(h);
	else
		held_put_off(h, lock && r->claim_ms > 0 ? r->claim_ms : id_client_ttl_ms(c));
}

bool
held_names(const struct conn *c, const char *owner)
{
	return c->running && (owner[0] != '\0' || id_client_is(c));
}

void
held_given_back(struct world *w, struct hold *h)
{
	if (--h->count == 0)
		held_remove(w, h);
	else
		held_named(h);
}

void
held_release_sent(struct world *w, struct conn *c, const struct request *r)
{
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->tag == c->tag && h->name == r->name && strcmp(h->owner, r->owner) == 0 &&
			((r->token == 0 && !id_client_is(c) && !h->lost) || r->token == h->token))
			h->ended_us = w->now_us;
}

void
held_session_ended(struct world *w, uint64_t tag)
{
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->tag == tag && h->ended_us > w->now_us)
			h->ended_us = w->now_us;
}

void
held_lost(struct host *host, unsigned name, int64_t token)
{
	for (struct hold *h = host->world->checker.holds; h != NULL; h = h->next)
		h->lost |= h->host == host && h->name == name && h->token == token;
}

/* Its client is away: until it comes back it relies on what it had been told when the connection was lost. */
static bool
is_detached(const struct world *w, const struct hold *h)
{
	const struct session_terms *p = session_terms_of(w, h->host, h->session);
	return p != NULL && p->detached;
}

int64_t
held_returns_us(const struct world *w, const struct hold *h)
{
	int64_t until_us = held_until_us(h), sure_us = h->sure_us < h->ended_us ? h->sure_us : h->ended_us;
	bool there = h->host->alive && h->host->life == h->host_life && !h->host->draining;
	bool returns = there && !h->lost && !h->unannounced && h->withheld_us == 0 && is_detached(w, h);
	return returns && sure_us > until_us ? sure_us : until_us;
}

static void
check_kept(struct world *w, const struct hold *h, bool held)
{
	/* When its daemon ends nobody comes back; then it is withheld until what was told is over. */
	if (!held && !h->lost && promised(w, PROMISE_HOLD, h->name) && !h->unannounced &&
		h->ended_us > w->now_us && !(h->host->draining && held_until_us(h) <= w->now_us))
		world_fail(w,
			"grace: d%u has given %s with token %" PRId64 " up, which session %" PRIu64
			" may come back for",
			h->host->index, checker_name(h->name), h->token, h->session);
}

/* A hold, and the daemon that is asked for it. */
struct looked {
	const struct hold *hold;
	const struct host *host;
	int64_t now_ms;
	bool held;
	int64_t valid_us; /* held: until then, */
	int64_t left_ms;  /* which is so long */
	bool withheld;    /* held: from others alone */
	bool ends;        /* held: its session ends */
	enum kind kind;
	int64_t permits;
};

static bool
look_at_hold(void *arg, const struct hold_view *view)
{
	struct looked *looked = arg;
	if (view->token != looked->hold->token)
		return true;
	looked->held = true;
	looked->valid_us = host_true_us(looked->host, looked->now_ms + view->valid_ms);
	looked->left_ms = view->valid_ms;
	looked->withheld = view->withheld;
	looked->ends = view->ends;
	looked->kind = view->kind;
	looked->permits = view->permits;
	return false;
}

/* What is due comes first: nothing is held past its end. */
static void
check_over(struct world *w, const struct hold *h, const struct looked *looked)
{
	if (looked->left_ms <= 0)
		world_fail(w,
			"stale: d%u still has the hold of %s with token %" PRId64 ", %" PRId64
			" ms after its end",
			h->host->index, checker_name(h->name), h->token, -looked->left_ms);
	if (!looked->withheld && !h->unannounced &&
		(looked->kind != h->kind || looked->permits != h->permits))
		world_fail(w,
			"kind: d%u has the hold of %s with token %" PRId64
			" as another kind than was asked for",
			h->host->index, checker_name(h->name), h->token);
	/* What nobody was told of may be a part of an MLOCK: that has none before its answer. */
	if (!looked->withheld && !h->unannounced && looked->now_ms >= h->ends_ms)
		world_fail(w,
			"terms: d%u still has the hold of %s with token %" PRId64 ", %" PRId64
			" ms after the end of its LEASE, MAXHOLD or CLAIM",
			h->host->index, checker_name(h->name), h->token, looked->now_ms - h->ends_ms);
}

bool
held_there(const struct hold *h)
{
	struct looked looked = {.hold = h, .host = h->host, .now_ms = host_ms(h->host)};
	if (h->host->core == NULL)
		return false; /* between two daemons */
	core_each_hold(h->host->core, looked.now_ms, slice_of(checker_name(h->name)), look_at_hold, &looked);
	return looked.held;
}

/* That ends all that its session holds, also for a connection that joins it before the core has closed the
 * others. */
void
held_exited(struct world *w, const struct conn *c)
{
	const struct host *host = c->host;
	for (struct hold *h = w->checker.holds, *next; h != NULL; h = next) {
		next = h->next;
		struct looked looked = {.hold = h, .host = host, .now_ms = host_ms(host)};
		if (h->tag != c->tag || h->host != host || h->host_life != host->life)
			continue;
		core_each_hold(
			host->core, looked.now_ms, slice_of(checker_name(h->name)), look_at_hold, &looked);
		bool before = h->lost || (h->withheld_us != 0 && h->withheld_us < w->now_us);
		if (looked.held && !looked.ends && !before)
			world_fail(w, "session end: d%u keeps %s after the end of the process that had it",
				host->index, checker_name(h->name));
		/* A session gives up what it holds in parts, and a crash may come between them. */
		if (looked.held && looked.ends && !before)
			withheld_ended(h);
		if ((!looked.held || looked.ends) && !before)
			held_remove(w, h);
	}
}

void
held_step(struct world *w, struct host *host, int64_t now_ms)
{
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		struct looked looked = {.hold = h, .host = host, .now_ms = now_ms};
		if (h->host != host || h->host_life != host->life)
			continue;
		core_each_hold(host->core, now_ms, slice_of(checker_name(h->name)), look_at_hold, &looked);
		if (looked.withheld && h->withheld_us == 0)
			h->withheld_us = w->now_us;
		h->sure_us = looked.held && !looked.withheld && !looked.ends ? looked.valid_us : 0;
		if (looked.held)
			check_over(w, h, &looked);
		events_look(w, h, looked.held);
		if (is_detached(w, h))
			check_kept(w, h, looked.held);
		else if (looked.held && !looked.ends && !h->unannounced)
			withheld_valid(h, looked.valid_us, now_ms + looked.left_ms);
	}
}
