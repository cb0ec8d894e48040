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
	assert(name < PLAN_NAMES_MAX);
	return names[name];
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
	for (struct wait *v = k->waits, *next; v != NULL; v = next) {
		next = v->next;
		free(v);
	}
	k->holds = NULL;
	k->waits = NULL;
}

static session_id
session_of(const struct conn *c)
{
	return core_session_of(c->host->core, c->id);
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
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		h->tainted |= h->name == name;
}

/* ---- grants ---- */

static void
check_exclusion(struct world *w, const struct conn *c, unsigned name, int64_t token, bool tainted)
{
	struct hold *h = w->checker.holds, *next;
	for (; h != NULL; h = next) {
		next = h->next;
		if (h->name != name)
			continue;
		/* What its holder has ended may still be answered by its daemon. */
		if (hold_good_us(h) <= w->now_us) {
			hold_remove(w, h);
		} else if (hold_until(h) > w->now_us && !h->tainted && !tainted) {
			world_fail(w,
				"exclusion: %s is granted at d%u with token %" PRId64
				" while d%u's token %" PRId64 " is good for %" PRId64 " us more",
				checker_name(name), c->host->index, token, h->host->index, h->token,
				hold_until(h) - w->now_us);
		}
	}
}

static void
check_token(struct world *w, unsigned name, int64_t token, bool tainted)
{
	int64_t *last = &w->checker.token[name];
	if (token <= 0 || (token <= *last && !tainted))
		world_fail(w, "tokens: %s is granted with %" PRId64 " after %" PRId64, checker_name(name),
			token, *last);
	if (token > *last)
		*last = token;
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

static struct hold *
hold_granted(struct world *w, struct conn *c, unsigned name, const char *owner, int64_t token)
{
	session_id session = session_of(c);
	struct hold *h = hold_find(w, c, session, name, owner);
	w->checker.grants++;
	if (h != NULL && h->token == token && hold_good_us(h) > w->now_us) {
		h->count++;
		return h;
	}
	bool tainted = w->checker.tainted[name][c->host->index];
	progress_granted(w, name);
	check_exclusion(w, c, name, token, tainted);
	check_token(w, name, token, tainted);
	check_validity(w, c->host, name);
	h = calloc(1, sizeof(*h));
	assert(h != NULL);
	*h = (struct hold){.next = w->checker.holds,
		.name = name,
		.host = c->host,
		.host_life = c->host_life,
		.session = session,
		.tag = c->tag,
		.token = token,
		.count = 1,
		.ended_us = INT64_MAX,
		.tainted = tainted};
	memcpy(h->owner, owner, sizeof(h->owner));
	/* Until the end of this step; then checker_step() asks the daemon. */
	h->valid_us = w->now_us + 1;

	if (c->over)
		h->ended_us = w->now_us;
	w->checker.holds = h;
	return h;
}

/* ---- waiting ---- */

static struct wait **
wait_at(struct world *w, const struct conn *c, const char *id)
{
	struct wait **at = &w->checker.waits;
	while (*at != NULL && !((*at)->conn == c && strcmp((*at)->id, id) == 0))
		at = &(*at)->next;
	return at;
}

static void
wait_remove(struct wait **at)
{
	struct wait *v = *at;
	*at = v->next;
	free(v);
}

static void
wait_add(struct world *w, struct conn *c)
{
	const struct request *r = &c->current;
	struct wait *v = calloc(1, sizeof(*v)), **at = &w->checker.waits;
	assert(v != NULL);
	v->conn = c;
	v->name = r->name;
	memcpy(v->id, r->id, sizeof(v->id));
	v->since_us = w->now_us;
	v->until_ms = INT64_MAX;
	if (r->wait_ms > 0)
		v->until_ms = host_ms(c->host) + r->wait_ms;
	else if (r->wait_ms == 0)
		v->until_ms = host_ms(c->host) + 4001;
	while (*at != NULL)
		at = &(*at)->next;
	*at = v;
}

/* The one that is granted is the oldest that waits at this daemon for this name. */
static void
check_order(struct world *w, const struct conn *c, const struct wait *granted)
{
	const struct wait *v = w->checker.waits;
	while (v != granted && !(v->name == granted->name && v->conn->host == c->host &&
				       v->conn->host_life == c->host_life && !v->conn->closing))
		v = v->next;
	if (v != granted)
		world_fail(w, "order: c%u is granted %s before c%u, who waits for longer", c->client->index,
			checker_name(granted->name), v->conn->client->index);
}

void
checker_command(struct world *w, struct conn *c)
{
	if (c->current.verb != VERB_LOCK)
		return;
	wait_add(w, c);
	progress_told(c->host, c->current.name);
}

void
checker_finished(struct world *w, struct conn *c)
{
	int64_t until_ms = host_ms(c->host) + 4001;
	for (struct wait *v = w->checker.waits; v != NULL; v = v->next)
		if (v->conn == c && v->until_ms > until_ms)
			v->until_ms = until_ms;
}

void
checker_conn_closed(struct world *w, struct conn *c)
{
	struct wait **at = &w->checker.waits;
	while (*at != NULL) {
		if ((*at)->conn == c)
			wait_remove(at);
		else
			at = &(*at)->next;
	}
}

bool
checker_waits(const struct world *w, int64_t before_us)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		if (v->since_us < before_us)
			return true;
	return false;
}

bool
checker_waits_for(const struct world *w, unsigned name)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		if (v->name == name)
			return true;
	return false;
}

void
checker_progress(struct world *w, int64_t since_us, int64_t most_us)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next) {
		int64_t from = v->since_us > since_us ? v->since_us : since_us;
		if (w->now_us - from <= most_us)
			continue;
		world_fail(w, "progress: c%u waits for %s at d%u for %" PRId64 " ms, while nothing is wrong",
			v->conn->client->index, checker_name(v->name), v->conn->host->index,
			(w->now_us - from) / 1000);
		return;
	}
}

/* ---- replies ---- */

#define ALLOW(code)  (1U << CODE_##code)
#define ANSWER(type) (1U << REPLY_##type)

/* What may come back, by verb. */
static const struct {
	enum verb verb;
	unsigned replies;
	unsigned codes;
} documented[] = {
	{VERB_LOCK, ANSWER(INT) | ANSWER(VALIDITY) | ANSWER(NULL) | ANSWER(QUEUED) | ANSWER(ERROR),
		ALLOW(HELD) | ALLOW(WRONGKIND) | ALLOW(NOMASTER) | ALLOW(GUARD) | ALLOW(MASTERERR) |
			ALLOW(DRAINING) | ALLOW(DEADLOCK)},
	{VERB_UNLOCK, ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD) | ALLOW(LOST)},
	{VERB_CHECK, ANSWER(INT) | ANSWER(NULL) | ANSWER(ERROR), ALLOW(LOST)},
	{VERB_EXTEND, ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD) | ALLOW(LOST) | ALLOW(ERR)},
	{VERB_CANCEL, ANSWER(INT), 0},
	{VERB_BREAK, ANSWER(INT) | ANSWER(ERROR), ALLOW(NOTHELD)},
	{VERB_SESSION_ONLOSS, ANSWER(OK), 0},
	{VERB_SESSION_SECRET, ANSWER(TEXT), 0},
	{VERB_SESSION_JOIN, ANSWER(INT) | ANSWER(ERROR), ALLOW(ERR)},
	{VERB_SESSION_BIND, ANSWER(INT) | ANSWER(ERROR), ALLOW(ERR)},
};

static void
check_documented(struct world *w, const struct conn *c, const struct reply *reply)
{
	size_t i = 0;
	while (documented[i].verb != c->current.verb)
		i++;
	bool good = (documented[i].replies & 1U << reply->type) &&
		    (reply->type != REPLY_ERROR || (documented[i].codes & 1U << reply->code));
	if (!good)
		world_fail(w, "reply: c%u got an undocumented answer %d/%s: %s", c->client->index,
			reply->type, reply->type == REPLY_ERROR ? code_word(reply->code) : "", reply->text);
}

static void
lock_answered(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	struct wait **at = wait_at(w, c, r->id);
	if (*at == NULL) {
		world_fail(w, "one answer: c%u is answered twice", c->client->index);
		return;
	}
	if (reply->type == REPLY_QUEUED) {
		if (r->id[0] == '\0')
			world_fail(w, "reply: QUEUED for a LOCK without ASYNC");
		return;
	}
	if (reply->type != REPLY_INT && reply->type != REPLY_VALIDITY) {
		wait_remove(at);
		return;
	}
	const struct hold *mine = hold_find(w, c, session_of(c), r->name, r->owner);
	if (mine == NULL || mine->token != reply->n)
		check_order(w, c, *at);
	wait_remove(at);
	struct hold *h = hold_granted(w, c, r->name, r->owner, reply->n);
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

static void
held_answered(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	if (reply->type != REPLY_INT)
		return;
	struct hold *h = hold_find(w, c, session_of(c), r->name, r->owner);
	if (h == NULL) {
		world_fail(w, "owner only: c%u is answered :%" PRId64 " for %s, which it does not hold",
			c->client->index, reply->n, checker_name(r->name));
		return;
	}
	check_stale(w, c, h);
	if (r->verb == VERB_UNLOCK) {
		if (reply->n != h->count - 1)
			world_fail(w, "re-entry: c%u has %" PRId64 " holds of %s left, not %" PRId64,
				c->client->index, h->count - 1, checker_name(r->name), reply->n);
		h->count = reply->n;
		if (reply->n == 0)
			hold_remove(w, h);
	} else if (r->verb == VERB_CHECK) {
		if (reply->n < 0 || reply->n > w->plan.lease_ms)
			world_fail(w, "told: CHECK answers %" PRId64 " ms", reply->n);
		h->told_us = told_us(c, reply->n);
	} else {
		/* EXTEND sets the end anew, sooner too: from its sending on the holder knows. */
		h->told_us = w->now_us;
	}
}

void
checker_reply(struct world *w, struct conn *c, const struct reply *reply)
{
	w->checker.answers++;
	check_documented(w, c, reply);
	switch (c->current.verb) {
	case VERB_LOCK:
		lock_answered(w, c, reply);
		return;
	case VERB_UNLOCK:
	case VERB_CHECK:
	case VERB_EXTEND:
		held_answered(w, c, reply);
		return;
	case VERB_CANCEL: {
		struct wait **at = wait_at(w, c, c->current.id);
		if ((reply->n == 1) != (*at != NULL))
			world_fail(
				w, "one answer: CANCEL of c%u answers %" PRId64, c->client->index, reply->n);
		if (*at != NULL)
			wait_remove(at);
		return;
	}
	default:
		return;
	}
}

void
checker_push(struct world *w, struct conn *c, const struct push *push)
{
	char id[24] = {0};
	if (push->type == PUSH_LOST)
		return;
	assert(push->id.n < sizeof(id));
	memcpy(id, push->id.p, push->id.n);
	struct wait **at = wait_at(w, c, id);
	if (*at == NULL) {
		world_fail(w, "one answer: a push for %s that c%u does not wait for", id, c->client->index);
		return;
	}
	if (push->type == PUSH_GRANT) {
		unsigned name = (*at)->name;
		check_order(w, c, *at);
		/* The OWNER of an ASYNC lock is remembered by its client. */
		hold_granted(w, c, name, c->client->lock.owner, push->token);
	}
	wait_remove(at);
}

/* ---- holders ---- */

void
checker_release_sent(struct world *w, struct conn *c, const struct request *r)
{
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->tag == c->tag && h->name == r->name && strcmp(h->owner, r->owner) == 0)
			h->ended_us = w->now_us;
}

void
checker_ended(struct world *w, uint64_t tag)
{
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->tag == tag && h->ended_us > w->now_us)
			h->ended_us = w->now_us;
}

static void
check_waits(struct world *w, const struct host *host, int64_t now_ms)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next) {
		if (v->conn->host != host || v->conn->host_life != host->life || v->until_ms > now_ms)
			continue;
		world_fail(w, "in time: c%u waits for %s %" PRId64 " ms longer than it wants",
			v->conn->client->index, checker_name(v->name), now_ms - v->until_ms);
	}
}

void
checker_step(struct world *w, struct host *host, int64_t now_ms)
{
	check_waits(w, host, now_ms);
	for (unsigned i = 0; i < w->plan.names; i++)
		w->checker.tainted[i][host->index] &= lease_there(host, i);
	for (struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		struct resource_view view;
		if (h->host != host || h->host_life != host->life)
			continue;
		if (!core_view_resource(host->core, now_ms, slice_of(checker_name(h->name)), &view) ||
			!view.held || view.hold.token != h->token)
			continue;
		h->valid_us = host_true_us(host, now_ms + view.hold.valid_ms);
	}
}

/* A wake-up may have been missed before: every wait asks again, if the master can be asked (rule 5). */
void
checker_subscribed(struct world *w, const struct host *host)
{
	struct master_view master;
	struct resource_view view;
	core_view_master(host->core, host_ms(host), 0, &master);
	/* That a script is missing tells the core nothing: a link it doubts stays so until the next greeting.
	 */
	if (master.state != MASTER_ADMITTED || master.links_up < w->plan.links ||
		w->plan.fault[FAULT_SCRIPTS])
		return;
	for (unsigned i = 0; i < w->plan.names; i++)
		if (core_view_resource(host->core, host_ms(host), slice_of(checker_name(i)), &view) &&
			view.waiters > 0 && strcmp(view.lease, "waiting") == 0)
			world_fail(w, "progress: d%u listens again and does not ask for %s", host->index,
				checker_name(i));
}
