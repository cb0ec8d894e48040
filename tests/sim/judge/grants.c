/* grants: see grants.h. */
#include "tests/sim/judge/grants.h"

#include "tests/sim/world/id_client.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What is locked is the key. */
static bool
same_key(const struct world *w, unsigned a, unsigned b)
{
	return plan_first(&w->plan, a) == plan_first(&w->plan, b);
}

/* Readers go together, and permits as long as there are some. taken: what a semaphore has given out. */
static bool
excludes(const struct hold *h, const struct asked *r, int64_t *taken)
{
	*taken += h->permits;
	if (h->kind == KIND_PERMITS && r->kind == KIND_PERMITS)
		return h->limit != r->limit || *taken > r->limit;
	return h->kind != KIND_SHARED || r->kind != KIND_SHARED;
}

static void
check_exclusion(struct world *w, const struct conn *c, unsigned name, const struct asked *r, int64_t token)
{
	struct hold *h = w->checker.holds, *next;
	int64_t taken = r->permits;
	bool judged = promised(w, PROMISE_EXCLUSION, name);
	for (; h != NULL; h = next) {
		next = h->next;
		if (!same_key(w, h->name, name))
			continue;
		int64_t until_us = held_returns_us(w, h);
		/* What its holder has ended may still be answered by its daemon. */
		if (held_good_us(h) <= w->now_us && until_us <= w->now_us) {
			/* Nobody relies on what nobody knows of, but its daemon may have it still. */
			if (!h->unannounced && judged && (h->kind == KIND_EXCLUSIVE || h->kind != r->kind) &&
				!recovery_ends_it(h))
				held_remove(w, h);
		} else if (until_us > w->now_us && judged && excludes(h, r, &taken)) {
			world_fail(w,
				"exclusion: %s is granted at d%u with token %" PRId64
				" while d%u's token %" PRId64 " is good for %" PRId64 " us more",
				checker_name(name), c->host->index, token, h->host->index, h->token,
				until_us - w->now_us);
		}
	}
}

static void
check_rival(struct world *w, const struct conn *c, unsigned name, int64_t token)
{
	if (promised(w, PROMISE_RIVALS, name) && foreign_client_holds(w, name))
		world_fail(w,
			"exclusion: %s is granted at d%u with token %" PRId64
			" while somebody else's lock is good for %" PRId64 " us more",
			checker_name(name), c->host->index, token, w->rival.until_us - w->now_us);
}

void
grants_rival(struct world *w, unsigned name, int64_t token)
{
	struct checker *k = &w->checker;
	bool judged = promised(w, PROMISE_RIVALS, name);
	for (const struct hold *h = k->holds; h != NULL; h = h->next)
		if (h->name == name && held_until_us(h) > w->now_us && judged)
			world_fail(w,
				"exclusion: somebody else locks %s while d%u's token %" PRId64
				" is good for %" PRId64 " us more",
				checker_name(name), h->host->index, h->token, held_until_us(h) - w->now_us);
	/* A string has no token; and a master that forgot forgot his counter, too. */
	if (token == 0)
		return;
	if (token <= w->servers[0].token[name])
		world_fail(w,
			"tokens: somebody else gets %" PRId64 " of %s after %" PRId64 " was given out there",
			token, checker_name(name), w->servers[0].token[name]);
	w->servers[0].token[name] = token;
	if (token <= k->token[name] && judged)
		world_fail(w, "tokens: somebody else gets %" PRId64 " of %s after %" PRId64, token,
			checker_name(name), k->token[name]);
	k->token[name] = k->exclusive[name] = token;
}

#define TOKENS_AHEAD_US 500000

/* With one master they begin at its clock and stay behind it: no daemon's clock takes part (G2). */
static void
check_clock(struct world *w, unsigned name, int64_t token)
{
	int64_t most_us = 0;
	if (w->plan.masters > 1)
		return;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		if (w->servers[i].peak_us > most_us)
			most_us = w->servers[i].peak_us;
	if (token > most_us + TOKENS_AHEAD_US)
		world_fail(w,
			"tokens: %s is granted with %" PRId64 ", which is %" PRId64
			" us ahead of all that the clock of the master has shown",
			checker_name(name), token, token - most_us);
}

static void
check_token(struct world *w, unsigned name, const struct asked *r, int64_t token)
{
	struct checker *k = &w->checker;
	unsigned key = plan_first(&w->plan, name);
	int64_t last = r->kind == KIND_EXCLUSIVE ? k->token[key] : k->exclusive[key];
	bool judged = promised(w, PROMISE_TOKENS, key);
	check_clock(w, name, token);
	if (token <= 0 || (token <= last && judged))
		world_fail(w, "tokens: %s is granted with %" PRId64 " after %" PRId64, checker_name(name),
			token, last);
	for (const struct hold *other = k->holds; other != NULL && judged; other = other->next)
		if (same_key(w, other->name, name) && other->token == token)
			world_fail(w, "tokens: %s is granted twice with %" PRId64, checker_name(name), token);
	if (token > k->token[key])
		k->token[key] = token;
	if (r->kind == KIND_EXCLUSIVE && token > k->exclusive[key])
		k->exclusive[key] = token;
}

/* Every grant has half the lease left when it is given (guarantees.md, announced deadline). */
static void
check_validity(struct world *w, const struct host *host, unsigned name)
{
	struct resource_view view;
	int64_t lease_ms = host->least_lease_ms[name];
	bool there = core_view_resource(host->core, host_ms(host), slice_of(checker_name(name)), &view);
	/* Within one step the lease may have been given back since. */
	if (there && strcmp(view.lease, "held") == 0 && view.lease_ms < lease_ms / 2)
		world_fail(w, "validity: %s is granted at d%u with %" PRId64 " ms left of %" PRId64,
			checker_name(name), host->index, there ? view.lease_ms : 0, lease_ms);
}

/* A LOCK that is answered, of somebody who holds it with this token: once more, or for the first time. */
static void
hold_entered(const struct world *w, const struct conn *c, struct hold *h, const struct asked *r)
{
	if (!c->over)
		h->ended_us = INT64_MAX;
	/* What its client does not know of, or has not claimed, is not entered once more. */
	bool names = held_names(c, r->owner) && !r->waited;
	bool repeats = h->kind == r->kind && h->permits == r->permits &&
		       ((h->unannounced && !h->unsent) || (names && h->claim_ends_ms != INT64_MAX));
	if (!id_client_is(c) && !repeats)
		h->count++;
	held_claimed(w, h);
	if (names)
		held_asked(c, h);
}

/* Who holds less of it, or tells its holds not apart, does not enter once more. */
static void
check_entered(struct world *w, const struct conn *c, const struct hold *h, const struct asked *r)
{
	if (h->kind == KIND_SHARED && r->kind == KIND_EXCLUSIVE)
		world_fail(w, "upgrade: c%u reads %s, and is told that it has it alone", c->client->index,
			checker_name(h->name));
	if (r->permits > h->permits)
		world_fail(w, "upgrade: c%u has %" PRId64 " permits of %s, and is told that it has %" PRId64,
			c->client->index, h->permits, checker_name(h->name), r->permits);
	if (r->owner[0] == '\0' && !id_client_is(c) && !h->unannounced && !h->lost && !r->part)
		world_fail(w, "re-entry: c%u enters %s once more without an OWNER", c->client->index,
			checker_name(h->name));
}

/* A daemon whose list of masters is refused takes nothing new, and passes nothing on. */
static void
check_set(struct world *w, const struct conn *c, const struct asked *r)
{
	struct masterset_view set;
	if (w->plan.others == 0 || r->part)
		return;
	core_view_masterset(c->host->core, &set);
	if (strcmp(set.word, "refused") == 0)
		world_fail(w, "set: d%u grants %s, and its masters are not those that were agreed on",
			c->host->index, checker_name(r->name));
}

/* LEASE, MAXHOLD and CLAIM count from when its holder is told. */
static void
hold_begins(struct hold *h, const struct asked *r)
{
	int64_t now_ms = host_ms(h->host);
	h->leased = r->lease_ms > 0;
	int64_t ruled_ms = host_rule(h->host, h->name)->max_hold_ms;
	h->ceiling_ms = r->max_hold_ms > 0 ? now_ms + r->max_hold_ms : INT64_MAX;
	if (ruled_ms > 0)
		h->ceiling_ms = earlier(h->ceiling_ms, now_ms + ruled_ms);
	h->lease_ends_ms = h->leased ? now_ms + r->lease_ms : INT64_MAX;
	h->claim_ends_ms = r->claim_ms > 0 ? now_ms + r->claim_ms : INT64_MAX;
	h->ends_ms = earlier(earlier(h->lease_ends_ms, h->ceiling_ms), h->claim_ends_ms);
}

struct hold *
grants_check(struct world *w, const struct conn *c, session_id session, const struct asked *r, int64_t token)
{
	unsigned name = r->name;
	const char *owner = r->owner;
	struct hold *h = held_find(w, c, session, name, owner);
	w->checker.grants++;
	fault_free_touched(c->host, name);
	/* Where clocks stand still its daemon may have it for longer than it was good. */
	if (h != NULL && h->token == token &&
		(h->unannounced || held_good_us(h) > w->now_us || !promised(w, PROMISE_HOLD, name))) {
		/* It was a part of an MLOCK, which waited beside what a lost connection left. */
		if (h->unannounced && r->part) {
			h->kind = r->kind;
			h->limit = h->permits = 0;
			hold_begins(h, r);
		}
		check_entered(w, c, h, r);
		hold_entered(w, c, h, r);
		return h;
	}
	losses_granted(w, c->host, session, name, owner);
	waits_had(w, c->host, session, name, owner);
	if (plan_first(&w->plan, name) != name)
		world_fail(w, "names: d%u grants %s, whose key has another name", c->host->index,
			checker_name(name));
	if (c->host->refusing)
		world_fail(w, "drain: d%u grants %s while it stops", c->host->index, checker_name(name));
	check_set(w, c, r);
	if (!r->torn)
		progress_granted(c->host, name, r->kind);
	check_exclusion(w, c, name, r, token);
	check_rival(w, c, name, token);
	check_token(w, name, r, token);
	if (r->kind != KIND_PERMITS)
		check_validity(w, c->host, name);
	h = calloc(1, sizeof(*h));
	assert(h != NULL);
	*h = (struct hold){.next = w->checker.holds,
		.name = name,
		.host = c->host,
		.host_life = c->host_life,
		.session = session,
		.tag = c->tag,
		.kind = r->kind,
		.limit = r->limit,
		.permits = r->permits,
		.token = token,
		.count = 1,
		.since_us = w->now_us,
		.ended_us = INT64_MAX,
		.layout = c->host->call_settings.layout};
	memcpy(h->owner, owner, sizeof(h->owner));
	memcpy(h->daemon, c->host->call_settings.daemon_id, sizeof(h->daemon));
	hold_begins(h, r);
	/* Until the end of this step; then checker_step() asks the daemon. */
	h->valid_us = w->now_us + 1;

	if (c->over)
		h->ended_us = w->now_us;
	w->checker.holds = h;
	return h;
}

void
grants_part(struct world *w, struct conn *c, unsigned name, const char *owner, int64_t token)
{
	const struct request *r = &c->current;
	const struct asked asked = {
		name, owner, r->kind, 0, 0, r->lease_ms, r->max_hold_ms, r->claim_ms, true, false, false};
	const struct hold *before = held_with(w, c->host, name, token);
	/* It was taken for a grant to a stray LOCK of the session, until this answer showed whose it is. */
	bool guessed = before != NULL && before->unannounced && before->since_us == w->now_us;
	struct hold *h = grants_check(w, c, conn_session(c), &asked, token);
	if (guessed)
		hold_begins(h, &asked);
	/* EVENTS told of it when it was taken. */
	h->begun = true;
}

/* What a daemon has given with this token. */
struct given {
	int64_t token;
	bool found;
	enum kind kind;
	int64_t permits;
};

static bool
look_at_given(void *arg, const struct hold_view *view)
{
	struct given *given = arg;
	if (view->token != given->token)
		return true;
	given->found = true;
	given->kind = view->kind;
	given->permits = view->permits;
	return false;
}

/* How long a grant may be held at most; INT64_MAX: as long as its holder likes. */
static int64_t
bound_ms(const struct host *h, unsigned name, int64_t lease_ms, int64_t max_hold_ms, int64_t claim_ms)
{
	int64_t ruled_ms = host_rule(h, name)->max_hold_ms, bound = INT64_MAX;
	bound = lease_ms > 0 ? earlier(bound, lease_ms) : bound;
	bound = max_hold_ms > 0 ? earlier(bound, max_hold_ms) : bound;
	bound = claim_ms > 0 ? earlier(bound, claim_ms) : bound;
	return ruled_ms > 0 ? earlier(bound, ruled_ms) : bound;
}

static int64_t
wait_bound_ms(const struct host *h, const struct wait *v)
{
	return bound_ms(h, v->name, v->lease_ms, v->max_hold_ms, v->claim_ms);
}

/*
 * Of several waits of a session for one name the one that was served is told by what was asked for: a hold
 * that is good for longer than a wait allows was not given to it.
 */
static struct wait *
stray_served(struct host *host, const struct note *n, unsigned name, const struct given *given)
{
	struct wait *found = NULL;
	for (struct wait *v = waits_find_stray(host->world, host, n->session, name, n->owner); v != NULL;
		v = waits_next_stray(v, n->owner)) {
		if (given->found && (given->kind != v->kind || given->permits != v->permits))
			continue;
		if (wait_bound_ms(host, v) == n->ms)
			return v;
		if (found == NULL && wait_bound_ms(host, v) > n->ms)
			found = v;
	}
	return found;
}

void
grants_stray(struct host *host, const struct note *n)
{
	struct world *w = host->world;
	unsigned name = checker_name_of(n->name);
	struct given given = {.token = n->token};
	core_each_hold(host->core, host_ms(host), slice_of(checker_name(name)), look_at_given, &given);
	/* What was answered just now was given to another LOCK of this session, or is a part of an MLOCK. */
	struct wait *v = stray_served(host, n, name, &given);
	if (v == NULL || held_with(w, host, name, n->token) != NULL)
		return;
	/* What is taken back in the same step does not show which of the two it was given to. */
	if (!given.found && bundles_take(w, host, n->session, name, n->owner))
		return;
	waits_check_order(w, v);
	const struct asked asked = {name, v->owner, v->kind, v->limit, v->permits, v->lease_ms,
		v->max_hold_ms, v->claim_ms, false, false, v->since_us < w->now_us};
	struct hold *h = grants_check(w, v->conn, n->session, &asked, n->token);
	h->unannounced = h->begun = true;
	h->valid_us = 0;
	waits_end(w, v);
}

void
grants_extended(struct hold *h, int64_t extend_ms)
{
	h->lease_ends_ms = host_ms(h->host) + extend_ms;
	held_named(h);
}

/* ---- that no client was told of, as its daemon died in the step ---- */

static bool
owner_is(const char *owner, struct slice shown)
{
	return slice_equal(slice_of(owner), shown) || (owner[0] == '\0' && shown.n == 0);
}

/* Who asked for a hold that a step made in which its daemon died. */
struct unsent_step {
	const struct host *host;
	const struct hold_view *view;
	const struct conn *conn; /* NULL: nobody */
	struct asked asked;
	int64_t distance_ms; /* from the end of what was asked for to that of the hold */
};

/* Of several requests of one session the one that was served is told by the end of the hold. */
static void
torn_take(struct unsent_step *t, const struct conn *c, const struct asked *asked)
{
	int64_t bound = bound_ms(t->host, asked->name, asked->lease_ms, asked->max_hold_ms, asked->claim_ms);
	int64_t valid = t->view->valid_ms, distance = bound > valid ? bound - valid : valid - bound;
	if (t->conn != NULL && distance >= t->distance_ms)
		return;
	t->conn = c;
	t->asked = *asked;
	t->distance_ms = distance;
}

static void
torn_waits(struct unsent_step *t, unsigned name)
{
	const struct host *host = t->host;
	const struct hold_view *view = t->view;
	for (const struct wait *v = host->world->checker.waits; v != NULL; v = v->next) {
		session_id session = v->stray ? v->session : conn_session(v->conn);
		if (v->conn->host == host && v->conn->host_life == host->life && v->name == name &&
			session == view->session && v->kind == view->kind && v->permits == view->permits &&
			owner_is(v->owner, view->owner))
			torn_take(t, v->conn,
				&(struct asked){name, v->owner, v->kind, v->limit, v->permits, v->lease_ms,
					v->max_hold_ms, v->claim_ms, false, true,
					v->since_us < host->world->now_us});
	}
}

static void
torn_bundles(struct unsent_step *t, unsigned name)
{
	const struct host *host = t->host;
	for (const struct bundle_wait *v = host->world->checker.bundles; v != NULL; v = v->next) {
		const struct request *r = &v->conn->current;
		bool part = false;
		for (unsigned i = 0; i < r->count; i++)
			part |= r->names[i] == name;
		if (v->conn->host == host && v->conn->host_life == host->life && part &&
			r->kind == t->view->kind && conn_session(v->conn) == t->view->session &&
			owner_is(r->owner, t->view->owner))
			torn_take(t, v->conn,
				&(struct asked){name, r->owner, r->kind, 0, 0, r->lease_ms, r->max_hold_ms,
					r->claim_ms, true, true, false});
	}
}

void
grants_torn(struct host *host, unsigned name, const struct hold_view *view)
{
	struct unsent_step t = {.host = host, .view = view};
	torn_waits(&t, name);
	torn_bundles(&t, name);
	if (t.conn == NULL) {
		world_fail(host->world,
			"recovered: the ledger of d%u has %s with token %" PRId64 " for session %" PRIu64
			", which has not asked for it",
			host->index, checker_name(name), view->token, view->session);
		return;
	}
	struct hold *h = grants_check(host->world, t.conn, view->session, &t.asked, view->token);
	h->unannounced = h->unsent = h->begun = true;
	h->valid_us = 0;
}
