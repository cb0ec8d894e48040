/* names_client: see names_client.h. */
#include "tests/sim/world/names_client.h"

#include "tests/sim/world/world.h"

#include <stdio.h>
#include <string.h>

#define BIT(name) (1U << (name))

void
names_client_begin(struct client *c)
{
	struct rng *rng = &c->world->rng;
	int percent = c->world->plan.many_percent;
	c->many = (struct names_client){.on = percent > 0 && rng_percent(rng, percent)};
	if (c->many.on && rng_percent(rng, 50))
		snprintf(c->many.owner, sizeof(c->many.owner), "m%u", c->index);
}

/* Names in any order, of those that are in the set. */
static void
pick_names(struct client *c, struct request *r, unsigned set, unsigned most)
{
	struct world *w = c->world;
	for (unsigned i = 0; i < w->plan.names; i++)
		if (set & BIT(i))
			r->names[r->count++] = i;
	for (unsigned i = 0; i + 1 < r->count; i++) {
		unsigned k = (unsigned)rng_range(&w->rng, i, r->count - 1), name = r->names[i];
		r->names[i] = r->names[k];
		r->names[k] = name;
	}
	r->count = r->count < most ? r->count : most;
}

static struct request
request_of(const struct client *c, enum verb verb)
{
	struct request r = {.verb = verb};
	memcpy(r.owner, c->many.owner, sizeof(r.owner));
	return r;
}

static int64_t
how_long(struct client *c)
{
	struct world *w = c->world;
	/* Who has come back may hold what it was never told of. */
	bool holds = c->many.held != 0 || c->lost.secret[0] != '\0';
	if (holds && w->plan.hosts > 1)
		return rng_range(&w->rng, 1, w->plan.lease_ms);
	if (rng_percent(&w->rng, 30))
		return rng_percent(&w->rng, 50) ? 0 : rng_range(&w->rng, 1, w->plan.lease_ms);
	return COMMAND_WAIT_RULE;
}

static void
names_client_take(struct client *c, unsigned from, bool together)
{
	struct world *w = c->world;
	struct request r = request_of(c, together ? VERB_MLOCK : VERB_LOCK);
	r.wait_ms = how_long(c);
	if (rng_percent(&w->rng, 15))
		r.lease_ms = rng_range(&w->rng, 1, 2 * w->plan.lease_ms);
	/* What somebody else's session keeps has to end without him, too. */
	if (rng_percent(&w->rng, 15) || client_shares(c))
		r.max_hold_ms = rng_range(&w->rng, 1, 2 * w->plan.lease_ms);
	if (rng_percent(&w->rng, 10))
		r.claim_ms = rng_range(&w->rng, 1, w->plan.lease_ms);
	if (rng_percent(&w->rng, 10))
		r.tries = rng_range(&w->rng, 1, 4);
	pick_names(c, &r, from, together ? (unsigned)rng_range(&w->rng, 1, w->plan.names) : 1);
	r.name = r.names[0];
	bool keyed = false;
	for (unsigned i = 0; i < r.count; i++)
		keyed |= plan_keyed(&w->plan, r.names[i]);
	if (!keyed && rng_percent(&w->rng, w->plan.shared_percent / 2))
		r.kind = KIND_SHARED;
	if (!together)
		r.count = 0;
	client_send(c, &r);
	if (rng_percent(&w->rng, 2)) {
		c->finished = true;
		conn_finish(c->conn);
	}
}

/* Those that it does not hold do not count. */
static void
names_client_give_back(struct client *c, unsigned set)
{
	struct request r = request_of(c, VERB_MUNLOCK);
	pick_names(c, &r, set, PLAN_NAMES_MAX);
	client_send(c, &r);
}

static void
names_client_one(struct client *c, enum verb verb)
{
	struct request r = request_of(c, verb);
	pick_names(c, &r, c->many.held, 1);
	r.name = r.names[0];
	r.count = 0;
	client_send(c, &r);
}

static void
names_client_hold(struct client *c)
{
	struct world *w = c->world;
	unsigned all = BIT(w->plan.names) - 1, more = all & ~c->many.held;
	int chance = (int)rng_range(&w->rng, 0, 99);
	if (w->now_us >= c->many.until_us || c->stopping) {
		if (chance < 8)
			client_leave(c, rng_percent(&w->rng, 30));
		else if (chance < 16)
			names_client_one(c, VERB_UNLOCK);
		else
			names_client_give_back(c, chance < 60 ? c->many.held : all);
	} else if (chance < 25) {
		names_client_one(c, VERB_CHECK);
	} else if (chance < 32) {
		names_client_one(c, VERB_UNLOCK);
	} else if (chance < 55 && more != 0) {
		names_client_take(c, more, chance < 40);
	} else if (chance < 58) {
		names_client_take(c, all, true);
	} else {
		client_after(c, w->plan.hold_us);
	}
}

void
names_client_turn(struct client *c)
{
	struct rng *rng = &c->world->rng;
	if (c->many.held != 0)
		names_client_hold(c);
	else if (c->stopping || rng_percent(rng, 3))
		client_leave(c, rng_percent(rng, 50));
	else
		names_client_take(c, BIT(c->world->plan.names) - 1, rng_percent(rng, 70));
}

static void
names_client_holds(struct client *c, unsigned name, int64_t token)
{
	struct world *w = c->world;
	if (c->many.held == 0) {
		c->many.until_us = w->now_us + rng_range(&w->rng, 0, w->plan.hold_us);
		if (rng_percent(&w->rng, w->plan.long_percent))
			c->many.until_us += w->plan.lease_ms * 2500;
	}
	c->many.held |= BIT(name);
	c->many.tokens[name] = token;
}

void
names_client_answered(struct client *c, const struct request *r, const struct reply *reply)
{
	bool number = reply->type == REPLY_INT;
	switch (r->verb) {
	case VERB_LOCK:
		if (number)
			names_client_holds(c, r->name, reply->n);
		break;
	case VERB_MLOCK:
		for (unsigned i = 0; reply->type == REPLY_TOKENS && i < r->count; i++)
			names_client_holds(c, r->names[i], reply->tokens[i]);
		break;
	case VERB_MUNLOCK:
		for (unsigned i = 0; i < r->count; i++)
			c->many.held &= ~BIT(r->names[i]);
		break;
	case VERB_UNLOCK:
		if (!number || reply->n == 0)
			c->many.held &= ~BIT(r->name);
		break;
	case VERB_CHECK:
		if (!number)
			c->many.held &= ~BIT(r->name);
		break;
	default:
		break;
	}
	/* It came back, and an answer was lost with its connection. */
	if (reply->type == REPLY_ERROR && reply->code == CODE_HELD && c->lost.secret[0] != '\0') {
		c->many.held = BIT(c->world->plan.names) - 1;
		c->many.until_us = c->world->now_us;
	}
	/* Who is in a circle has to give something back. */
	if (reply->type == REPLY_ERROR && reply->code == CODE_DEADLOCK)
		c->many.until_us = c->world->now_us;
	client_after(c, reply->type == REPLY_ERROR ? 50000 : c->world->plan.think_us);
}

void
names_client_lost(struct client *c, unsigned name, int64_t token)
{
	if (c->many.tokens[name] == token)
		c->many.held &= ~BIT(name);
}
