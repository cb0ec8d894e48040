/* checker: see checker.h. */
#include "tests/sim/judge/checker.h"

#include "tests/sim/judge/answers.h"
#include "tests/sim/judge/events.h"
#include "tests/sim/judge/limits.h"
#include "tests/sim/judge/listings.h"
#include "tests/sim/judge/oracle.h"
#include "tests/sim/judge/sessions.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

const char *
checker_name(unsigned name)
{
	static const char *const names[PLAN_NAMES_MAX] = {"a", "ab", "foreign"};
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
	held_free(w);
	waits_free(w);
	bundles_free(w);
	session_terms_free(w);
}

/* The announced deadline counts from when the question was sent, by the client's clock. */
static int64_t
told_us(const struct conn *c, int64_t sent_us, int64_t ms)
{
	return sent_us + ms * INT64_C(1000000000) / (1000000 + (c->local ? c->host->ppm : c->client->ppm));
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

/* Who is told that it holds the name knows of that hold. */
static void
refused_holder(struct world *w, const struct conn *c, unsigned name, const char *owner, enum code code)
{
	struct hold *held = held_find(w, c, conn_session(c), name, owner);
	if (held != NULL && (code == CODE_HELD || code == CODE_UPGRADE))
		held_claimed(w, held);
	if (held != NULL && code == CODE_UPGRADE && held_names(c, owner))
		held_asked(c, held);
}

/* A grant tells a deadline, which counts from the LOCK and takes back none that was told before. */
static void
lock_told(struct world *w, const struct conn *c, struct hold *h, int64_t sent_us, int64_t ms)
{
	int64_t until_us = told_us(c, sent_us, ms);
	answers_told(w, c, h, ms);
	if (until_us > h->told_us)
		h->told_us = until_us;
}

static void
lock_answered(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	struct wait *v = waits_find_asked(w, c);
	if (v == NULL) {
		world_fail(w, "one answer: c%u is answered twice", c->client->index);
		return;
	}
	if (reply->type == REPLY_QUEUED)
		return;
	if (reply->type == REPLY_ERROR) {
		refused_holder(w, c, r->name, r->owner, reply->code);
	}
	if (reply->type != REPLY_INT && reply->type != REPLY_VALIDITY) {
		answers_refused(w, v, reply->type == REPLY_NULL ? CODE_COUNT : reply->code);
		refusals_refused(w, v, reply->type == REPLY_NULL ? CODE_COUNT : reply->code, reply->text);
		/* What its session holds by now, or is refused as it comes, it does not wait for: it has not
		 * come back to that place. */
		bool at_once = c->running && (reply->code == CODE_ERR || reply->code == CODE_WRONGKIND ||
						     reply->code == CODE_DRAINING);
		if (reply->type == REPLY_ERROR &&
			(reply->code == CODE_HELD || reply->code == CODE_UPGRADE ||
				reply->code == CODE_LIMIT || reply->code == CODE_LOST || at_once))
			waits_answered(w, v);
		else
			waits_end(w, v);
		return;
	}
	const struct hold *mine = held_find(w, c, conn_session(c), r->name, r->owner);
	if (mine != NULL && mine->token == reply->n) {
		waits_answered(w, v);
	} else {
		waits_check_order(w, v);
		waits_end(w, v);
	}
	const struct asked asked = {r->name, r->owner, r->kind, r->limit, r->permits, r->lease_ms,
		r->max_hold_ms, r->astray ? id_client_ttl_ms(c) : r->claim_ms, false, false, false};
	struct hold *h = grants_check(w, c, conn_session(c), &asked, reply->n);
	if (reply->type == REPLY_VALIDITY)
		lock_told(w, c, h, r->sent_us, reply->ms);
}

/* What its daemon is sure of no more is lost, and said to be, before anything else is answered (R3). */
static void
check_stale(struct world *w, const struct conn *c, const struct hold *h)
{
	if (h->valid_us <= w->now_us && promised(w, PROMISE_HOLD, h->name))
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
	bool sure = !h->lost && promised(w, PROMISE_HOLD, h->name) && !h->unannounced &&
		    held_until_us(h) > w->now_us;
	if (denied && sure && (r->token == 0 || r->token == h->token) &&
		session_terms_of(w, h->host, h->session))
		world_fail(w, "grace: c%u does not hold %s any more, and nobody told it", c->client->index,
			checker_name(r->name));
}

static void
held_answered(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	struct hold *h = held_find(w, c, conn_session(c), r->name, r->owner);
	if (h != NULL) {
		check_denied(w, c, h, reply);
		bool gone =
			reply->type == REPLY_NULL || (reply->type == REPLY_ERROR && reply->code != CODE_ERR &&
							     reply->code != CODE_WRONGKIND);
		if (!gone) {
			held_claimed(w, h);
			held_asked(c, h);
		}
	}
	if (reply->type != REPLY_INT)
		return;
	if (h == NULL) {
		world_fail(w, "owner only: c%u is answered :%" PRId64 " for %s, which it does not hold",
			c->client->index, reply->n, checker_name(r->name));
		return;
	}
	check_stale(w, c, h);
	if (r->token != 0 && r->token != h->token)
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
		if (reply->n == 0) {
			events_unlocked(w, h);
			held_remove(w, h);
		}
	} else if (r->verb == VERB_DOWNGRADE) {
		if (reply->n != h->token)
			world_fail(w, "downgrade: c%u is told token %" PRId64 " of %s, not %" PRId64,
				c->client->index, reply->n, checker_name(h->name), h->token);
		h->kind = KIND_SHARED;
	} else if (r->verb == VERB_CHECK) {
		if (reply->n < 0 || reply->n > w->plan.lease_ms)
			world_fail(w, "told: CHECK answers %" PRId64 " ms", reply->n);
		answers_told(w, c, h, reply->n);
		h->told_us = told_us(c, c->current.sent_us, reply->n);
	} else {
		if (!h->leased)
			world_fail(w, "terms: EXTEND of c%u is granted for %s, which has no LEASE",
				c->client->index, checker_name(h->name));
		/* EXTEND sets the end anew, sooner too: from its sending on the holder knows. */
		grants_extended(h, r->extend_ms);
		answers_told(w, c, h, reply->n);
		h->told_us = told_us(c, c->current.sent_us, reply->n);
	}
}

void
checker_reply(struct world *w, struct conn *c, const struct reply *reply)
{
	w->checker.answers++;
	oracle_reply(w, c, reply);
	losses_reply(w, c, reply);
	refusals_reply(w, c, reply);
	limits_reply(w, c, reply);
	session_terms_reply(w, c, reply);
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
		struct wait *v = waits_find_async(w, c);
		if ((reply->n == 1) != (v != NULL) && !(v != NULL && v->stray))
			world_fail(
				w, "one answer: CANCEL of c%u answers %" PRId64, c->client->index, reply->n);
		if (v != NULL)
			waits_end(w, v);
		return;
	}
	case VERB_BREAK:
		answers_break(w, c, reply);
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
		const struct asked asked = {v->name, v->owner, v->kind, v->limit, v->permits, v->lease_ms,
			v->max_hold_ms, v->claim_ms, false, false, v->since_us < w->now_us};
		const struct hold *mine = held_by(w, c, v->name, v->owner);
		if (mine == NULL || mine->token != push->token)
			waits_check_order(w, v);
		struct hold *h = grants_check(w, c, conn_session(c), &asked, push->token);
		if (v->validity != (push->ms >= 0))
			world_fail(w, "told: c%u is granted %s with %" PRId64 " ms, %s VALIDITY",
				c->client->index, checker_name(v->name), push->ms,
				v->validity ? "with" : "without");
		else if (v->validity)
			lock_told(w, c, h, v->sent_us, push->ms);
	} else {
		if (push->code != CODE_COUNT)
			refused_holder(w, c, v->name, v->owner, push->code);
		answers_refused(w, v, push->code);
		refusals_refused(w, v, push->code, push->text);
	}
	waits_end(w, v);
}

void
checker_step(struct world *w, struct host *host, int64_t now_ms)
{
	waits_step(w, host, now_ms);
	latches_step(w, host, now_ms);
	held_step(w, host, now_ms);
	events_step(w, host);
	losses_step(w, host);
	sessions_step(w, host, now_ms);
	limits_stepped(w, host, now_ms);
	bundles_step(w, host, now_ms);
	listings_step(w, host, now_ms);
}

/* Whether a HELLO that could not be run is the last one on some link to the first master. */
static bool
is_bare(const struct host *host)
{
	const struct route *way = &host->ways[host->world->plan.replicas > 0 ? host->aim : host->place[0]];
	bool bare = false;
	for (unsigned i = 0; i < host->world->plan.links; i++)
		bare |= way->wires[i].bare;
	return bare;
}

/* A wake-up may have been missed before: every wait asks again, if the master can be asked (R5). */
void
checker_subscribed(struct world *w, const struct host *host)
{
	struct master_view master;
	struct resource_view view;
	core_view_master(host->core, host_ms(host), 0, &master);
	/* That a script is missing tells the core nothing: a link it doubts stays so until the next HELLO.
	 */
	if (master.state != MASTER_ADMITTED || master.down || master.links_up < w->plan.links ||
		master.guard_ms > 0 || is_bare(host))
		return;
	/* Who rests for a rival, so that he can have his turn, comes back a moment later. */
	for (unsigned i = 0; i < w->plan.names; i++)
		if (!foreign_client_locks(w, i) &&
			core_view_resource(host->core, host_ms(host), slice_of(checker_name(i)), &view) &&
			view.waiters > 0 && strcmp(view.lease, "waiting") == 0)
			world_fail(w, "progress: d%u listens again and does not ask for %s", host->index,
				checker_name(i));
}
