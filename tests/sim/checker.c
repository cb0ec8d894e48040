/* checker: see checker.h. */
#include "tests/sim/checker.h"

#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *
checker_name(unsigned name)
{
	static const char *const names[PLAN_NAMES_MAX] = {"a", "b", "foreign"};
	return name < PLAN_NAMES_MAX ? names[name] : latches_name(name);
}

unsigned
checker_name_of(struct slice text)
{
	unsigned name = 0;
	while (!slice_equal(text, slice_of(checker_name(name))))
		name++;
	return name;
}

void
checker_done(struct world *w)
{
	struct checker *k = &w->checker;
	for (struct hold *h = k->holds, *next; h != NULL; h = next) {
		next = h->next;
		free(h);
	}
	k->holds = NULL;
	waits_free(w);
	bundles_free(w);
	pact_free(w);
}

static bool
hold_is(const struct hold *h, const struct conn *c, session_id session, unsigned name, const char *owner)
{
	return h->name == name && h->host == c->host && h->host_life == c->host_life &&
	       h->session == session && strcmp(h->owner, owner) == 0;
}

static struct hold *
hold_find(struct world *w, const struct conn *c, session_id session, unsigned name, const char *owner)
{
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (hold_is(h, c, session, name, owner))
			return h;
	return NULL;
}

static void
hold_remove(struct world *w, struct hold *hold)
{
	struct hold **at = &w->checker.holds;
	while (*at != hold)
		at = &(*at)->next;
	*at = hold->next;
	free(hold);
}

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Until when its daemon stands for it. */
static int64_t
hold_good_us(const struct hold *h)
{
	return h->told_us > h->valid_us ? h->told_us : h->valid_us;
}

/* Until when its holder may rely on it. */
static int64_t
hold_until(const struct hold *h)
{
	return hold_good_us(h) < h->ended_us ? hold_good_us(h) : h->ended_us;
}

int64_t
checker_good_us(const struct world *w, unsigned name)
{
	int64_t good_us = 0;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->name == name && hold_until(h) > good_us)
			good_us = hold_until(h);
	return good_us;
}

int64_t
checker_token(const struct world *w, unsigned name)
{
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->name == name && hold_until(h) > w->now_us)
			return h->token;
	return 0;
}

/* Whether it has a lease, or may have had the answer that grants it one under way. */
static bool
lease_there(const struct host *host, unsigned name)
{
	struct resource_view view;
	return host->alive &&
	       core_view_resource(host->core, host_ms(host), slice_of(checker_name(name)), &view) &&
	       (strcmp(view.lease, "held") == 0 || strcmp(view.lease, "acquiring") == 0);
}

void
checker_taint(struct world *w, unsigned name)
{
	for (unsigned i = 0; i < w->plan.hosts; i++)
		w->checker.tainted[name][i] = lease_there(&w->hosts[i], name);
	rival_taint(w, name);
	w->checker.tainted_us[name] = w->now_us;
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		h->tainted |= h->name == name;
}

/* ---- grants ---- */

/* What a granted LOCK had asked for. */
struct asked {
	unsigned name;
	const char *owner;
	enum kind kind;
	int64_t permits; /* of plan.permits; 0: it is of no semaphore */
	int64_t lease_ms;
	int64_t max_hold_ms;
};

/* What is locked is the key. */
static bool
same_key(const struct world *w, unsigned a, unsigned b)
{
	return plan_first(&w->plan, a) == plan_first(&w->plan, b);
}

/* Readers go together, and permits as long as there are some. taken: what a semaphore has given out. */
static bool
excludes(const struct world *w, const struct hold *h, const struct asked *r, int64_t *taken)
{
	*taken += h->permits;
	if (h->kind == KIND_PERMITS && r->kind == KIND_PERMITS)
		return *taken > w->plan.permits;
	return h->kind != KIND_SHARED || r->kind != KIND_SHARED;
}

static void
check_exclusion(struct world *w, const struct conn *c, unsigned name, const struct asked *r, int64_t token,
	bool tainted)
{
	struct hold *h = w->checker.holds, *next;
	int64_t taken = r->permits;
	for (; h != NULL; h = next) {
		next = h->next;
		if (!same_key(w, h->name, name))
			continue;
		/* What its holder has ended may still be answered by its daemon. */
		if (hold_good_us(h) <= w->now_us) {
			/* Nobody relies on what nobody knows of, but its daemon may have it still. */
			if (!h->untold && (h->kind == KIND_EXCLUSIVE || h->kind != r->kind))
				hold_remove(w, h);
		} else if (hold_until(h) > w->now_us &&
			   !excuse(w, EXCUSE_EXCLUSION_TAINTED, h->tainted || tainted) &&
			   excludes(w, h, r, &taken)) {
			world_fail(w,
				"exclusion: %s is granted at d%u with token %" PRId64
				" while d%u's token %" PRId64 " is good for %" PRId64 " us more",
				checker_name(name), c->host->index, token, h->host->index, h->token,
				hold_until(h) - w->now_us);
		}
	}
}

static void
check_rival(struct world *w, const struct conn *c, unsigned name, int64_t token, bool tainted)
{
	if (rival_holds(w, name) && !excuse(w, EXCUSE_RIVAL_FORGOT, !rival_is_sound(w)) &&
		!excuse(w, EXCUSE_EXCLUSION_TAINTED, tainted))
		world_fail(w,
			"exclusion: %s is granted at d%u with token %" PRId64
			" while somebody else's lock is good for %" PRId64 " us more",
			checker_name(name), c->host->index, token, w->rival.until_us - w->now_us);
}

void
checker_rival_granted(struct world *w, unsigned name, int64_t token)
{
	struct checker *k = &w->checker;
	for (const struct hold *h = k->holds; h != NULL; h = h->next)
		if (h->name == name && hold_until(h) > w->now_us &&
			!excuse(w, EXCUSE_RIVAL_FORGOT, !rival_is_sound(w)) &&
			!excuse(w, EXCUSE_EXCLUSION_TAINTED, h->tainted))
			world_fail(w,
				"exclusion: somebody else locks %s while d%u's token %" PRId64
				" is good for %" PRId64 " us more",
				checker_name(name), h->host->index, h->token, hold_until(h) - w->now_us);
	/* A string has no token; and a master that forgot forgot his counter, too. */
	if (token == 0 || excuse(w, EXCUSE_RIVAL_TOKEN, plan_loses(&w->plan)))
		return;
	if (token <= k->token[name])
		world_fail(w, "tokens: somebody else gets %" PRId64 " of %s after %" PRId64, token,
			checker_name(name), k->token[name]);
	k->token[name] = k->exclusive[name] = token;
}

static void
check_token(struct world *w, unsigned name, const struct asked *r, int64_t token, bool tainted)
{
	struct checker *k = &w->checker;
	unsigned key = plan_first(&w->plan, name);
	int64_t last = r->kind == KIND_EXCLUSIVE ? k->token[key] : k->exclusive[key];
	(void)excuse(w, EXCUSE_TOKEN_TAINTED, tainted);
	if (token <= 0 || (token <= last && !tainted))
		world_fail(w, "tokens: %s is granted with %" PRId64 " after %" PRId64, checker_name(name),
			token, last);
	for (const struct hold *h = k->holds; h != NULL; h = h->next)
		if (same_key(w, h->name, name) && h->token == token && !tainted)
			world_fail(w, "tokens: %s is granted twice with %" PRId64, checker_name(name), token);
	if (token > k->token[key])
		k->token[key] = token;
	if (r->kind == KIND_EXCLUSIVE && token > k->exclusive[key])
		k->exclusive[key] = token;
}

/* The told deadline counts from when the question was sent, by the client's clock. */
static int64_t
told_us(const struct conn *c, int64_t ms)
{
	return c->current.sent_us +
	       ms * INT64_C(1000000000) / (1000000 + (c->local ? c->host->ppm : c->client->ppm));
}

/* Every grant has half the lease left when it is given (guarantees.md, told deadline). */
static void
check_validity(struct world *w, const struct host *host, unsigned name)
{
	struct resource_view view;
	int64_t lease_ms = w->rules[strcmp(checker_name(name), w->rules[0].match) == 0 ? 0 : 1].lease_ms;
	bool there = core_view_resource(host->core, host_ms(host), slice_of(checker_name(name)), &view);
	/* Within one step the lease may have been given back since. */
	if (there && strcmp(view.lease, "held") == 0 && view.lease_ms < lease_ms / 2)
		world_fail(w, "validity: %s is granted at d%u with %" PRId64 " ms left of %" PRId64,
			checker_name(name), host->index, there ? view.lease_ms : 0, lease_ms);
}

/* A LOCK that is answered, of somebody who holds it with this token: once more, or for the first time. */
static void
hold_entered(const struct world *w, const struct conn *c, struct hold *h)
{
	if (!c->over)
		h->ended_us = INT64_MAX;
	if (h->untold)
		h->valid_us = w->now_us + 1;
	else
		h->count++;
	h->untold = false;
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
	if (r->owner[0] == '\0' && !h->untold && !h->lost && c->current.verb == VERB_LOCK)
		world_fail(w, "re-entry: c%u enters %s once more without an OWNER", c->client->index,
			checker_name(h->name));
}

/* LEASE and MAXHOLD count from when its holder is told. */
static void
hold_begins(struct hold *h, const struct asked *r)
{
	int64_t now_ms = host_ms(h->host);
	h->leased = r->lease_ms > 0;
	h->ceiling_ms = r->max_hold_ms > 0 ? now_ms + r->max_hold_ms : INT64_MAX;
	h->ends_ms = h->leased ? earlier(now_ms + r->lease_ms, h->ceiling_ms) : h->ceiling_ms;
}

static struct hold *
hold_granted(struct world *w, const struct conn *c, session_id session, const struct asked *r, int64_t token)
{
	unsigned name = r->name;
	const char *owner = r->owner;
	struct hold *h = hold_find(w, c, session, name, owner);
	w->checker.grants++;
	well_touched(w, name);
	if (h != NULL && h->token == token && (h->untold || hold_good_us(h) > w->now_us)) {
		/* It was a part of an MLOCK, which waited beside what a lost connection left. */
		if (h->untold && c->current.verb == VERB_MLOCK)
			hold_begins(h, r);
		check_entered(w, c, h, r);
		hold_entered(w, c, h);
		return h;
	}
	bool tainted = w->checker.tainted[name][c->host->index];
	losses_granted(w, c->host, session, name, owner);
	if (c->host->draining)
		world_fail(w, "drain: d%u grants %s while it stops", c->host->index, checker_name(name));
	progress_granted(c->host, name, r->kind);
	check_exclusion(w, c, name, r, token, tainted);
	check_rival(w, c, name, token, tainted);
	check_token(w, name, r, token, tainted);
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
		.permits = r->permits,
		.token = token,
		.count = 1,
		.ended_us = INT64_MAX,
		.tainted = tainted};
	memcpy(h->owner, owner, sizeof(h->owner));
	hold_begins(h, r);
	/* Until the end of this step; then checker_step() asks the daemon. */
	h->valid_us = w->now_us + 1;

	if (c->over)
		h->ended_us = w->now_us;
	w->checker.holds = h;
	return h;
}

struct hold *
checker_hold(struct world *w, const struct conn *c, unsigned name, const char *owner)
{
	return hold_find(w, c, conn_session(c), name, owner);
}

const struct hold *
checker_hold_with(const struct world *w, const struct host *host, unsigned name, int64_t token)
{
	const struct hold *h = w->checker.holds;
	while (h != NULL &&
		!(h->name == name && h->host == host && h->host_life == host->life && h->token == token))
		h = h->next;
	return h;
}

bool
checker_holds(const struct world *w, const struct hold *h)
{
	return !h->lost && !h->untold && !h->tainted && h->valid_us > w->now_us;
}

void
checker_granted(struct world *w, struct conn *c, unsigned name, const char *owner, int64_t token)
{
	const struct request *r = &c->current;
	const struct asked asked = {name, owner, KIND_EXCLUSIVE, 0, r->lease_ms, r->max_hold_ms};
	(void)hold_granted(w, c, conn_session(c), &asked, token);
}

void
checker_given_back(struct world *w, struct hold *h)
{
	if (--h->count == 0)
		hold_remove(w, h);
}

void
checker_command(struct world *w, struct conn *c)
{
	bundles_command(w, c);
	if (latches_verb(c->current.verb))
		latches_command(w, c);
	if (c->current.verb != VERB_LOCK)
		return;
	waits_begin(w, c);
	progress_told(c->host, c->current.name);
}

/* ---- replies ---- */

#define ALLOW(code)  (1U << CODE_##code)
#define ANSWER(type) (1U << REPLY_##type)
#define LATCH_CODES  (ALLOW(ERR) | ALLOW(NOMASTER) | ALLOW(GUARD) | ALLOW(MASTERERR) | ALLOW(DRAINING))

/* What may come back, by verb. */
static const struct {
	enum verb verb;
	unsigned replies;
	unsigned codes;
} documented[] = {
	{VERB_LOCK, ANSWER(INT) | ANSWER(VALIDITY) | ANSWER(NULL) | ANSWER(QUEUED) | ANSWER(ERROR),
		ALLOW(HELD) | ALLOW(WRONGKIND) | ALLOW(NOMASTER) | ALLOW(GUARD) | ALLOW(MASTERERR) |
			ALLOW(DRAINING) | ALLOW(DEADLOCK) | ALLOW(UPGRADE)},
	{VERB_DOWNGRADE, ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD) | ALLOW(LOST) | ALLOW(WRONGKIND)},
	{VERB_MLOCK, ANSWER(TOKENS) | ANSWER(NULL) | ANSWER(ERROR),
		ALLOW(HELD) | ALLOW(WRONGKIND) | ALLOW(NOMASTER) | ALLOW(GUARD) | ALLOW(MASTERERR) |
			ALLOW(DRAINING) | ALLOW(DEADLOCK) | ALLOW(UPGRADE)},
	{VERB_MUNLOCK, ANSWER(INT), 0},
	{VERB_UNLOCK, ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD) | ALLOW(LOST)},
	{VERB_CHECK, ANSWER(INT) | ANSWER(NULL) | ANSWER(ERROR), ALLOW(LOST)},
	{VERB_EXTEND, ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD) | ALLOW(LOST) | ALLOW(ERR)},
	{VERB_CANCEL, ANSWER(INT), 0},
	{VERB_BREAK, ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD)},
	{VERB_LATCH_SET, ANSWER(INT) | ANSWER(ERROR), LATCH_CODES},
	{VERB_LATCH_DOWN, ANSWER(INT) | ANSWER(ERROR), LATCH_CODES | ALLOW(LOST)},
	{VERB_LATCH_AWAIT, ANSWER(INT) | ANSWER(NULL) | ANSWER(ERROR), LATCH_CODES | ALLOW(LOST)},
	{VERB_LATCH_COUNT, ANSWER(INT) | ANSWER(NULL) | ANSWER(ERROR), LATCH_CODES | ALLOW(LOST)},
	{VERB_SESSION_ONLOSS, ANSWER(OK), 0},
	{VERB_SESSION_SECRET, ANSWER(TEXT), 0},
	{VERB_SESSION_JOIN, ANSWER(INT) | ANSWER(ERROR), ALLOW(ERR)},
	{VERB_SESSION_BIND, ANSWER(INT) | ANSWER(ERROR), ALLOW(ERR)},
	{VERB_SESSION_GRACE, ANSWER(TEXT) | ANSWER(ERROR), ALLOW(LIMIT) | ALLOW(DRAINING)},
	{VERB_SESSION_RESUME, ANSWER(INT) | ANSWER(ERROR), ALLOW(ERR) | ALLOW(DRAINING)},
	{VERB_SESSION_HEARTBEAT, ANSWER(OK), 0},
};

/* Whether it is about a name whose key is another's. */
static bool
names_a_twin(const struct world *w, const struct request *r)
{
	bool twin = r->verb == VERB_LOCK && plan_first(&w->plan, r->name) != r->name;
	for (unsigned i = 0; i < r->count; i++)
		twin |= r->verb == VERB_MLOCK && plan_first(&w->plan, r->names[i]) != r->names[i];
	return twin;
}

static void
check_documented(struct world *w, const struct conn *c, const struct reply *reply)
{
	size_t i = 0;
	while (documented[i].verb != c->current.verb)
		i++;
	unsigned codes = documented[i].codes | (names_a_twin(w, &c->current) ? ALLOW(ERR) : 0);
	bool good = (documented[i].replies & 1U << reply->type) &&
		    (reply->type != REPLY_ERROR || (codes & 1U << reply->code));
	if (!good)
		world_fail(w, "reply: c%u got an undocumented answer %d/%s: %s", c->client->index,
			reply->type, reply->type == REPLY_ERROR ? code_word(reply->code) : "", reply->text);
}

static void
lock_answered(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	struct wait *v = waits_find(w, c, r->id);
	if (v == NULL) {
		world_fail(w, "one answer: c%u is answered twice", c->client->index);
		return;
	}
	if (reply->type == REPLY_QUEUED) {
		if (r->id[0] == '\0')
			world_fail(w, "reply: QUEUED for a LOCK without ASYNC");
		return;
	}
	if (reply->type == REPLY_ERROR && reply->code == CODE_DEADLOCK)
		circle_verify(w, c, reply);
	if (reply->type != REPLY_INT && reply->type != REPLY_VALIDITY) {
		honest_refused(w, v, reply->type == REPLY_NULL ? CODE_COUNT : reply->code, reply->text);
		waits_end(w, v);
		return;
	}
	const struct hold *mine = hold_find(w, c, conn_session(c), r->name, r->owner);
	if (mine == NULL || mine->token != reply->n)
		waits_check_order(w, v);
	waits_end(w, v);
	const struct asked asked = {r->name, r->owner, r->kind, r->permits, r->lease_ms, r->max_hold_ms};
	struct hold *h = hold_granted(w, c, conn_session(c), &asked, reply->n);
	if (reply->type == REPLY_VALIDITY && told_us(c, reply->ms) > h->told_us)
		h->told_us = told_us(c, reply->ms);
}

/* What its daemon is sure of no more is lost, and said to be, before anything else is answered (rule 3). */
static void
check_stale(struct world *w, const struct conn *c, const struct hold *h)
{
	if (h->valid_us <= w->now_us)
		world_fail(w, "stale: c%u is answered for %s as its holder, %" PRId64 " us after its end",
			c->client->index, checker_name(h->name), w->now_us - h->valid_us);
}

/* Whoever comes back within his grace holds what he held, unless he is told that it is lost. */
static void
check_denied(struct world *w, const struct conn *c, const struct hold *h, const struct reply *reply)
{
	const struct request *r = &c->current;
	bool denied =
		reply->type == REPLY_NULL || (reply->type == REPLY_ERROR && reply->code == CODE_NOTHELD);
	bool sure = !h->lost && !h->tainted && !h->untold && hold_until(h) > w->now_us;
	if (denied && sure && (r->token == 0 || r->token == h->token) && pact_of(w, h->host, h->session))
		world_fail(w, "grace: c%u does not hold %s any more, and nobody told it", c->client->index,
			checker_name(r->name));
}

static void
held_answered(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	struct hold *h = hold_find(w, c, conn_session(c), r->name, r->owner);
	if (h != NULL)
		check_denied(w, c, h, reply);
	if (reply->type != REPLY_INT)
		return;
	if (h == NULL) {
		world_fail(w, "owner only: c%u is answered :%" PRId64 " for %s, which it does not hold",
			c->client->index, reply->n, checker_name(r->name));
		return;
	}
	if (h->untold)
		h->valid_us = w->now_us + 1;
	h->untold = false;
	check_stale(w, c, h);
	if ((r->verb == VERB_UNLOCK || r->verb == VERB_CHECK) && r->token != 0 && r->token != h->token)
		world_fail(w, "owner only: c%u is answered for %s with another token than its own",
			c->client->index, checker_name(r->name));
	if (r->verb == VERB_UNLOCK) {
		if (reply->n != h->count - 1)
			world_fail(w, "re-entry: c%u has %" PRId64 " holds of %s left, not %" PRId64,
				c->client->index, h->count - 1, checker_name(r->name), reply->n);
		h->count = reply->n;
		/* Somebody of its session has entered once more than who thought that this was its end. */
		if (!c->over)
			h->ended_us = INT64_MAX;
		if (reply->n == 0)
			hold_remove(w, h);
	} else if (r->verb == VERB_DOWNGRADE) {
		h->kind = KIND_SHARED;
	} else if (r->verb == VERB_CHECK) {
		if (reply->n < 0 || reply->n > w->plan.lease_ms)
			world_fail(w, "told: CHECK answers %" PRId64 " ms", reply->n);
		h->told_us = told_us(c, reply->n);
	} else {
		if (!h->leased)
			world_fail(w, "terms: EXTEND of c%u is granted for %s, which has no LEASE",
				c->client->index, checker_name(h->name));
		/* EXTEND sets the end anew, sooner too: from its sending on the holder knows. */
		h->told_us = w->now_us;
		h->ends_ms = earlier(host_ms(c->host) + r->extend_ms, h->ceiling_ms);
	}
}

void
checker_reply(struct world *w, struct conn *c, const struct reply *reply)
{
	w->checker.answers++;
	check_documented(w, c, reply);
	losses_reply(w, c, reply);
	honest_reply(w, c, reply);
	pact_reply(w, c, reply);
	switch (c->current.verb) {
	case VERB_LOCK:
		lock_answered(w, c, reply);
		return;
	case VERB_MLOCK:
	case VERB_MUNLOCK:
		bundles_reply(w, c, reply);
		return;
	case VERB_UNLOCK:
	case VERB_CHECK:
	case VERB_DOWNGRADE:
	case VERB_EXTEND:
		held_answered(w, c, reply);
		return;
	case VERB_CANCEL: {
		struct wait *v = waits_find(w, c, c->current.id);
		if ((reply->n == 1) != (v != NULL))
			world_fail(
				w, "one answer: CANCEL of c%u answers %" PRId64, c->client->index, reply->n);
		if (v != NULL)
			waits_end(w, v);
		return;
	}
	case VERB_BREAK:
		if (reply->type == REPLY_INT && c->current.token == CLIENT_WRONG_TOKEN)
			world_fail(w, "owner only: BREAK ends a hold of %s that was not named",
				checker_name(c->current.name));
		return;
	default:
		if (latches_verb(c->current.verb))
			latches_reply(w, c, reply);
	}
}

void
checker_push(struct world *w, struct conn *c, const struct push *push)
{
	char id[24] = {0};
	losses_push(w, c, push);
	if (push->type == PUSH_LOST)
		return;
	assert(push->id.n < sizeof(id));
	memcpy(id, push->id.p, push->id.n);
	struct wait *v = waits_find(w, c, id);
	if (v == NULL) {
		world_fail(w, "one answer: a push for %s that c%u does not wait for", id, c->client->index);
		return;
	}
	if (push->type == PUSH_GRANT) {
		const struct asked asked = {
			v->name, v->owner, v->kind, v->permits, v->lease_ms, v->max_hold_ms};
		waits_check_order(w, v);
		(void)hold_granted(w, c, conn_session(c), &asked, push->token);
	} else {
		honest_refused(w, v, push->code, push->text);
	}
	waits_end(w, v);
}

/* ---- holders ---- */

void
checker_release_sent(struct world *w, struct conn *c, const struct request *r)
{
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->tag == c->tag && h->name == r->name && strcmp(h->owner, r->owner) == 0 &&
			(r->token == 0 || r->token == h->token))
			h->ended_us = w->now_us;
}

void
checker_ended(struct world *w, uint64_t tag)
{
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->tag == tag && h->ended_us > w->now_us)
			h->ended_us = w->now_us;
}

/* Nobody can be told more than he was when its connection was lost. */
static bool
is_detached(const struct world *w, const struct hold *h)
{
	const struct pact *p = pact_of(w, h->host, h->session);
	return p != NULL && p->detached;
}

static void
check_kept(struct world *w, const struct hold *h, bool held)
{
	if (!held && !h->lost && !h->tainted && !h->untold && h->ended_us > w->now_us)
		world_fail(w, "grace: d%u has given %s up, which session %" PRIu64 " may come back for",
			h->host->index, checker_name(h->name), h->session);
}

void
checker_lost(struct host *host, unsigned name, int64_t token)
{
	for (struct hold *h = host->world->checker.holds; h != NULL; h = h->next)
		h->lost |= h->host == host && h->name == name && h->token == token;
}

void
checker_granted_to_stray(struct host *host, session_id session, unsigned name, int64_t token)
{
	struct world *w = host->world;
	struct wait *v = waits_find_stray(w, host, session, name);
	if (v == NULL)
		return;
	waits_check_order(w, v);
	const struct asked asked = {name, v->owner, v->kind, v->permits, v->lease_ms, v->max_hold_ms};
	struct hold *h = hold_granted(w, v->conn, session, &asked, token);
	h->untold = true;
	h->valid_us = 0;
	waits_end(w, v);
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
	/* What nobody was told of may be a part of an MLOCK: that has none before its answer. */
	if (!looked->withheld && !h->untold && looked->now_ms >= h->ends_ms)
		world_fail(w,
			"terms: d%u still has the hold of %s with token %" PRId64 ", %" PRId64
			" ms after the end of its LEASE or MAXHOLD",
			h->host->index, checker_name(h->name), h->token, looked->now_ms - h->ends_ms);
}

/* What has been confirmed since then by a majority that has not forgotten is the daemon's own. */
static bool
taint_over(const struct world *w, unsigned name)
{
	int64_t since_us = w->checker.tainted_us[name];
	for (unsigned i = 0; i < w->plan.masters; i++)
		if (w->servers[i].forgot_us >= since_us || w->servers[i].lacks_until_us >= since_us)
			return false;
	return w->now_us - since_us > w->plan.lease_ms * 1010 + 10000;
}

/* Their daemons learn of it when they renew. */
static void
taints_step(struct world *w, const struct host *host)
{
	for (unsigned i = 0; i < w->plan.names; i++) {
		bool *tainted = &w->checker.tainted[i][host->index];
		if (!*tainted)
			continue;
		*tainted = lease_there(host, i) && !taint_over(w, i);
		for (struct hold *h = w->checker.holds; h != NULL && !*tainted && taint_over(w, i);
			h = h->next)
			h->tainted &= h->name != i || h->host != host;
	}
}

void
checker_step(struct world *w, struct host *host, int64_t now_ms)
{
	waits_step(w, host, now_ms);
	latches_step(w, host, now_ms);
	taints_step(w, host);
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		struct looked looked = {.hold = h, .host = host, .now_ms = now_ms};
		if (h->host != host || h->host_life != host->life)
			continue;
		core_each_hold(host->core, now_ms, slice_of(checker_name(h->name)), look_at_hold, &looked);
		if (looked.withheld && h->withheld_us == 0)
			h->withheld_us = w->now_us;
		if (looked.held)
			check_over(w, h, &looked);
		if (is_detached(w, h))
			check_kept(w, h, looked.held);
		else if (looked.held && !h->untold)
			h->valid_us = looked.valid_us;
	}
	losses_step(w, host);
	bundles_step(w, host, now_ms);
	circle_step(w, host);
}

/* A wake-up may have been missed before: every wait asks again, if the master can be asked (rule 5). */
void
checker_subscribed(struct world *w, const struct host *host)
{
	struct master_view master;
	struct resource_view view;
	core_view_master(host->core, host_ms(host), 0, &master);
	/* That a script is missing tells the core nothing: a link it doubts stays so until the next greeting.
	 * A master whose clock leapt for this daemon is asked for nothing until guard_ms is over. */
	if (master.state != MASTER_ADMITTED || master.guard_ms > 0 || master.links_up < w->plan.links ||
		w->plan.fault[FAULT_SCRIPTS])
		return;
	/* Who rests for a rival, so that he can have his turn, comes back a moment later. */
	for (unsigned i = 0; i < w->plan.names; i++)
		if (!rival_locks(w, i) &&
			core_view_resource(host->core, host_ms(host), slice_of(checker_name(i)), &view) &&
			view.waiters > 0 && strcmp(view.lease, "waiting") == 0)
			world_fail(w, "progress: d%u listens again and does not ask for %s", host->index,
				checker_name(i));
}

/* That ends all that its session holds. */
void
checker_exited(struct world *w, const struct conn *c)
{
	const struct host *host = c->host;
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		struct looked looked = {.hold = h, .host = host, .now_ms = host_ms(host)};
		if (h->tag != c->tag || h->host != host || h->host_life != host->life)
			continue;
		core_each_hold(
			host->core, looked.now_ms, slice_of(checker_name(h->name)), look_at_hold, &looked);
		bool before = h->lost || (h->withheld_us != 0 && h->withheld_us < w->now_us);
		if (looked.held && !before)
			world_fail(w, "session end: d%u keeps %s after the end of the process that had it",
				host->index, checker_name(h->name));
	}
}
