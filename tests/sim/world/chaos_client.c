/* chaos_client: see chaos_client.h. */
#include "tests/sim/world/chaos_client.h"

#include "tests/sim/world/latch_client.h"
#include "tests/sim/world/request.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
chaos_client_begin(struct client *c)
{
	struct world *w = c->world;
	int percent = w->plan.chaos_percent;
	c->chaos = (struct chaos_client){.on = percent > 0 && rng_percent(&w->rng, percent)};
	if (!c->chaos.on)
		return;
	c->many.on = false;
	c->chaos.alone = rng_percent(&w->rng, 40);
	c->chaos.until_us = w->now_us + rng_range(&w->rng, 0, w->plan.lease_ms * 3000);
}

/* One begins with another, and each of the names "a" and "ab" with one of them makes the same text. */
static void
any_owner(struct client *c, struct request *r)
{
	static const char *const owners[] = {"b", "b1", "1"};
	struct rng *rng = &c->world->rng;
	r->name = (unsigned)rng_range(rng, 0, c->world->plan.names - 1);
	if (rng_percent(rng, 50))
		snprintf(r->owner, sizeof(r->owner), "%s", owners[rng_range(rng, 0, 2)]);
}

static void
any_id(struct client *c, struct request *r)
{
	static const char *const ids[] = {"x", "x1", "x12"};
	snprintf(r->id, sizeof(r->id), "%s", ids[rng_range(&c->world->rng, 0, 2)]);
}

/* How it wants it; every wait ends. */
static void
any_terms(struct client *c, struct request *r)
{
	struct rng *rng = &c->world->rng;
	int64_t lease = c->world->plan.lease_ms;
	r->wait_ms = rng_percent(rng, 40) ? 0 : rng_range(rng, 1, lease);
	if (rng_percent(rng, 30))
		r->lease_ms = rng_range(rng, 1, 2 * lease);
	if (!c->chaos.alone || client_shares(c) || rng_percent(rng, 30))
		r->max_hold_ms = rng_range(rng, 1, 2 * lease);
	if (rng_percent(rng, 15))
		r->claim_ms = rng_range(rng, 1, lease);
	if (rng_percent(rng, 15))
		r->tries = rng_range(rng, 1, 4);
}

static void
chaos_client_lock(struct client *c, struct request *r)
{
	struct rng *rng = &c->world->rng;
	r->verb = VERB_LOCK;
	any_owner(c, r);
	request_choose_kind(c->world, r);
	any_terms(c, r);
	r->validity = rng_percent(rng, 30);
	if (rng_percent(rng, 35))
		any_id(c, r);
	c->lock = *r;
	c->chaos.waits = true;
}

/* As it asked before its connection was lost, on other terms. */
static void
chaos_client_repeat(struct client *c, struct request *r)
{
	*r = c->lock;
	r->lease_ms = r->max_hold_ms = r->claim_ms = r->tries = 0;
	r->validity = rng_percent(&c->world->rng, 50);
	any_terms(c, r);
	c->lock = *r;
}

static void
chaos_client_mlock(struct client *c, struct request *r, enum verb verb)
{
	struct world *w = c->world;
	unsigned set = (unsigned)rng_range(&w->rng, 1, (1 << w->plan.names) - 1);
	bool keyed = false;
	r->verb = verb;
	any_owner(c, r);
	for (unsigned i = 0; i < w->plan.names; i++) {
		if (!(set & 1U << i))
			continue;
		r->names[r->count++] = i;
		keyed |= plan_keyed(&w->plan, i);
	}
	r->name = r->names[0];
	if (verb == VERB_MUNLOCK)
		return;
	any_terms(c, r);
	if (!keyed && rng_percent(&w->rng, w->plan.shared_percent / 2))
		r->kind = KIND_SHARED;
}

static void
chaos_client_hold(struct client *c, struct request *r)
{
	static const enum verb verbs[] = {
		VERB_UNLOCK, VERB_UNLOCK, VERB_UNLOCK, VERB_CHECK, VERB_CHECK, VERB_EXTEND, VERB_DOWNGRADE};
	struct rng *rng = &c->world->rng;
	r->verb = verbs[rng_range(rng, 0, 6)];
	any_owner(c, r);
	if (r->verb == VERB_EXTEND)
		r->extend_ms = rng_range(rng, 1, 2 * c->world->plan.lease_ms);
	else if (r->verb != VERB_DOWNGRADE && rng_percent(rng, 25))
		r->token = rng_percent(rng, 50) ? CLIENT_WRONG_TOKEN : held_token(c->world, r->name);
}

/* ---- its session ---- */

/* That of anybody who has been at this daemon, gone or not, or its own. */
static void
any_secret(struct client *c, struct request *r)
{
	struct world *w = c->world;
	const struct conn *other;
	unsigned n = 0;
	snprintf(r->secret, sizeof(r->secret), "%016x%032x", 1U, 7U);
	LIST_FOREACH (other, &w->conns.all, in_world) {
		if (other->secret[0] == '\0' || other->host != c->conn->host ||
			other->host_life != c->conn->host_life || other->local != c->conn->local ||
			rng_range(&w->rng, 0, n++) != 0)
			continue;
		memcpy(r->secret, other->secret, sizeof(r->secret));
		r->tag = other->tag;
	}
}

static void
chaos_client_binds(struct client *c, struct request *r)
{
	struct world *w = c->world;
	const struct conn *other;
	r->verb = VERB_SESSION_BIND;
	r->pid = (int64_t)++w->serials;
	/* No client knows the sessions that came with the ledger of a drained daemon (recovery.h). */
	LIST_FOREACH (other, &w->conns.all, in_world)
		if (other->bound && !other->unbound && other->host == c->conn->host &&
			(c->conn->host->recovery.strange == 0 || other->host_life == c->conn->host_life) &&
			rng_percent(&w->rng, 20))
			r->pid = other->pid;
}

static void
chaos_client_speaks(struct client *c, struct request *r)
{
	struct rng *rng = &c->world->rng;
	static const enum onloss manners[] = {ONLOSS_PUSH, ONLOSS_NEXT, ONLOSS_CLOSE};
	int64_t lease = c->world->plan.lease_ms;
	int chance = (int)rng_range(rng, 0, c->chaos.alone ? 39 : 99);
	r->verb = VERB_SESSION_ID;
	if (chance < 10) {
		r->verb = VERB_SESSION_ONLOSS;
		r->onloss = manners[rng_range(rng, 0, 2)];
	} else if (chance < 15) {
		r->verb = VERB_SESSION_HEARTBEAT;
		r->ms = rng_percent(rng, 40) ? 0 : rng_range(rng, lease / 4, 3 * lease);
	} else if (chance < 35) {
		r->verb = rng_percent(rng, 80) ? VERB_SESSION_JOIN : VERB_SESSION_RESUME;
		any_secret(c, r);
	} else if (chance >= 40 && chance < 60) {
		r->verb = VERB_SESSION_GRACE;
		r->ms = rng_percent(rng, 20)   ? 0
			: rng_percent(rng, 10) ? c->world->settings.grace.most_ms + 1
					       : rng_range(rng, 1, lease);
	} else if (chance >= 60 && chance < 75) {
		r->verb = VERB_SESSION_SECRET;
	} else if (chance >= 75 && c->conn->local && c->conn->tag == c->conn->id) {
		chaos_client_binds(c, r);
	}
}

void
chaos_client_turn(struct client *c)
{
	struct world *w = c->world;
	struct rng *rng = &w->rng;
	struct request r = {.wait_ms = 0};
	int chance = (int)rng_range(rng, 0, 99);
	if (c->stopping || w->now_us >= c->chaos.until_us) {
		client_leave(c, rng_percent(rng, 30));
		return;
	}
	if (chance < 4 && w->plan.latches > 0) {
		latch_client_turn(c);
		return;
	}
	if (c->chaos.waits && c->lost.secret[0] != '\0' && chance < 60)
		chaos_client_repeat(c, &r);
	else if (chance < 40)
		chaos_client_lock(c, &r);
	else if (chance < 70)
		chaos_client_hold(c, &r);
	else if (chance < 80)
		chaos_client_mlock(c, &r, chance < 76 ? VERB_MLOCK : VERB_MUNLOCK);
	else if (chance < 85) {
		r.verb = VERB_CANCEL;
		any_id(c, &r);
	} else
		chaos_client_speaks(c, &r);
	client_send(c, &r);
}

void
chaos_client_answered(struct client *c, const struct request *r, const struct reply *reply)
{
	if (r->verb == VERB_LOCK && reply->type != REPLY_QUEUED)
		c->chaos.waits = false;
	client_after(c, reply->type == REPLY_ERROR ? 20000 : c->world->plan.think_us);
}
