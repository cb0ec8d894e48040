/* client: see client.h. */
#include "tests/sim/world/client.h"

#include "tests/sim/world/client_opening.h"
#include "tests/sim/world/id_client.h"
#include "tests/sim/world/latch_client.h"
#include "tests/sim/world/request.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void client_turn(void *arg, uint64_t turn, void *data);

void
client_after(struct client *c, int64_t most_us)
{
	if (c->manual)
		return;
	c->turn = ++c->world->serials;
	world_after(c->world, rng_range(&c->world->rng, 0, most_us), client_turn, c, c->turn, NULL);
}

void
client_init(struct world *w, unsigned index)
{
	struct client *c = &w->clients[index];
	*c = (struct client){.world = w, .index = index, .ppm = rng_range(&w->rng, -4000, 4000)};
	client_after(c, 100000);
}

void
client_stop(struct client *c)
{
	c->stopping = true;
}

/* What it comes back to, if it does. */
static void
client_remember(struct client *c)
{
	struct lost *lost = &c->lost;
	lost->host = c->conn->host;
	lost->host_life = c->conn->host_life;
	lost->local = c->conn->local;
	lost->tag = c->conn->tag;
	lost->state = c->state;
	lost->count = c->count;
}

/* Some time after its connection. */
static void
process_ends(void *arg, uint64_t a, void *data)
{
	(void)a;
	(void)data;
	conn_exit(arg);
}

/* Whether other connections may speak for its session. */
bool
client_shares(const struct client *c)
{
	return c->secret[0] != '\0' || c->conn->tag != c->conn->id;
}

static void
client_over(struct client *c)
{
	/* Of those who share a session few come back to it: else they would only oust each other. */
	if (client_shares(c) && rng_percent(&c->world->rng, 80))
		c->lost.secret[0] = '\0';
	/* Who was about to come back has not: it is as it was before. */
	if (c->lost.secret[0] != '\0' && !c->lost.returning)
		client_remember(c);
	c->lost.returning = false;
	if (c->lost.secret[0] == '\0')
		recorder_gives_up(c);
	/* Whoever comes back may find that it has ended. */
	if (c->conn->pid != 0 && c->conn->tag == c->conn->id)
		world_after(c->world, rng_range(&c->world->rng, 0, c->world->plan.lease_ms * 2000),
			process_ends, c->conn, 0, NULL);
	c->conn = NULL;
	c->life++;
	c->asked = false;
	c->canceling = false;
	c->finished = false;
	c->lost.unsure = false;
	c->secret[0] = '\0';
	c->state = CLIENT_IDLE;
	client_after(c, c->world->plan.think_us * 2 + 10000);
}

void
client_leave(struct client *c, bool quit)
{
	quit = quit && !client_shares(c);
	/* Without a word it may come back, or not. */
	if (quit || rng_percent(&c->world->rng, 30))
		c->lost.secret[0] = '\0';
	trace_line(&c->world->trace, c->world->now_us, "c%u     %s", c->index, quit ? "quits" : "is gone");
	conn_leave(c->conn, quit);
	client_over(c);
}

void
client_kill(struct client *c)
{
	if (c->conn != NULL)
		client_leave(c, false);
}

/* Its connection breaks: both ends see it, or only this one at first. */
static void
client_breaks(void *arg, uint64_t life, void *data)
{
	struct client *c = arg;
	struct rng *rng = &c->world->rng;
	(void)data;
	if (c->conn == NULL || c->life != life)
		return;
	bool vanishes = !c->conn->local && rng_percent(rng, 40);
	trace_line(&c->world->trace, c->world->now_us, "c%u     is cut off%s", c->index,
		vanishes ? ", and its daemon does not know" : "");
	if (vanishes)
		conn_vanish(c->conn);
	else
		conn_leave(c->conn, false);
	client_over(c);
}

static void
client_breaks_later(struct client *c)
{
	struct world *w = c->world;
	if (w->phase != PHASE_DRAIN && rng_percent(&w->rng, 70))
		world_after(
			w, rng_range(&w->rng, 0, w->plan.lease_ms * 2000), client_breaks, c, c->life, NULL);
}

void
client_closed(struct client *c)
{
	client_over(c);
}

/* From now on it relies on it no more, unless its session has entered more often. */
static void
lets_go(struct client *c, struct request r, unsigned name)
{
	const struct hold *h = c->conn->open ? held_by(c->world, c->conn, name, r.owner) : NULL;
	r.name = name;
	if (h == NULL || h->count == 1)
		held_release_sent(c->world, c->conn, &r);
}

void
client_send(struct client *c, const struct request *r)
{
	if (r->verb == VERB_UNLOCK)
		lets_go(c, *r, r->name);
	for (unsigned i = 0; r->verb == VERB_MUNLOCK && i < r->count; i++)
		lets_go(c, *r, r->names[i]);
	c->asked = true;
	conn_send(c->conn, r);
}

/* Comes back for what it had when its connection was lost. */
static void
client_return(struct client *c)
{
	struct request r = {.verb = VERB_SESSION_RESUME, .tag = c->lost.tag};
	memcpy(r.secret, c->lost.secret, sizeof(r.secret));
	c->lost.returning = true;
	c->conn = conn_open(c, c->lost.host, c->lost.local);
	client_send(c, &r);
}

static void
client_connect(struct client *c)
{
	struct world *w = c->world;
	struct host *h = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)];
	if (c->lost.secret[0] != '\0' && c->lost.host->alive && c->lost.host->life == c->lost.host_life) {
		client_return(c);
		return;
	}
	if (c->lost.secret[0] != '\0' && recovery_awaited(c->lost.host, c->lost.host_life)) {
		client_after(c, w->plan.lease_ms * 100);
		return;
	}
	c->lost.secret[0] = '\0';
	recorder_gives_up(c);
	c->lost.vague = false;
	if (!h->alive) {
		client_after(c, 100000);
		return;
	}
	c->conn = conn_open(c, h, rng_percent(&w->rng, 60));
	if (id_client_begin(c))
		return;
	names_client_begin(c);
	chaos_client_begin(c);
	c->words = rng_percent(&w->rng, 15)   ? 0
		   : rng_percent(&w->rng, 60) ? 1
					      : (int)rng_range(&w->rng, 2, 4);
	if (!introduce(c))
		client_after(c, w->plan.think_us);
}

static void
client_lock(struct client *c)
{
	struct world *w = c->world;
	struct rng *rng = &w->rng;
	int64_t lease = w->plan.lease_ms;
	struct request *r = &c->lock;
	*r = (struct request){.verb = VERB_LOCK, .wait_ms = COMMAND_WAIT_RULE};
	r->name = (unsigned)rng_range(rng, 0, w->plan.names - 1);
	request_choose_kind(w, r);
	if (rng_percent(rng, 30))
		r->wait_ms = rng_percent(rng, 50) ? 0 : rng_range(rng, 1, lease);
	/* Only a WAIT ends a circle of sessions over several daemons (3.44). */
	if (c->lost.vague && w->plan.hosts > 1 && r->wait_ms == COMMAND_WAIT_RULE)
		r->wait_ms = rng_range(rng, 1, lease);
	if (rng_percent(rng, 30))
		snprintf(r->owner, sizeof(r->owner), "t%u%s", c->index, rng_percent(rng, 50) ? ".1" : "");
	if (rng_percent(rng, 15))
		r->lease_ms = rng_range(rng, 1, 2 * lease);
	/* What somebody else's session keeps has to end without him, too. */
	if (rng_percent(rng, 15) || client_shares(c))
		r->max_hold_ms = rng_range(rng, 1, 2 * lease);
	/* Both may end it in the same instant. */
	if (r->lease_ms > 0 && r->max_hold_ms > 0 && rng_percent(rng, 40))
		r->max_hold_ms = r->lease_ms;
	if (rng_percent(rng, 15))
		r->claim_ms = rng_range(rng, 1, lease);
	if (rng_percent(rng, 15))
		r->tries = rng_range(rng, 1, 4);
	r->validity = rng_percent(rng, 30);
	if (rng_percent(rng, 20) && !id_client_is(c->conn)) {
		snprintf(r->id, sizeof(r->id), "%" PRIu64, ++w->serials);
	}
	id_client_strays(c->conn, r);
	c->state = CLIENT_WAITING;
	client_send(c, r);
	if (rng_percent(rng, 2) && !id_client_is(c->conn)) {
		c->finished = true;
		conn_finish(c->conn);
	}
}

static void
client_unlock(struct client *c)
{
	struct request r = {.verb = VERB_UNLOCK, .name = c->lock.name};
	memcpy(r.owner, c->lock.owner, sizeof(r.owner));
	if (id_client_is(c->conn) || rng_percent(&c->world->rng, 30))
		r.token = c->token;
	client_send(c, &r);
}

/* With an id it says which hold it means, but sometimes: then it is refused, or may claim nothing. That of an
 * EXTEND lasts for longer, as an EXTEND that ends it sooner may not do so at once. */
static void
client_name(const struct client *c, struct request *r)
{
	struct rng *rng = &c->world->rng;
	if (!id_client_is(c->conn) || r->verb == VERB_LOCK || r->token != 0)
		return;
	if (!rng_percent(rng, r->verb == VERB_CHECK ? 50 : 10))
		r->token = c->token;
	if (r->verb == VERB_EXTEND)
		r->extend_ms = 3 * c->world->plan.lease_ms;
}

/* What a holder does next. */
static void
client_hold(struct client *c)
{
	struct world *w = c->world;
	struct rng *rng = &w->rng;
	struct request r = {.name = c->lock.name};
	memcpy(r.owner, c->lock.owner, sizeof(r.owner));
	if (w->now_us >= c->hold_until_us || c->stopping) {
		if (rng_percent(rng, 92))
			client_unlock(c);
		else
			client_leave(c, rng_percent(rng, 30));
		return;
	}
	int chance = (int)rng_range(rng, 0, 99);
	if (chance < 40) {
		r.verb = VERB_CHECK;
	} else if (chance < 60 && (c->lock.lease_ms > 0 || chance < 42)) {
		r.verb = VERB_EXTEND;
		r.extend_ms = rng_range(rng, 1, 2 * w->plan.lease_ms);
	} else if (chance < 64 && w->plan.shared_percent > 0 && c->lock.kind == KIND_EXCLUSIVE) {
		r.verb = VERB_DOWNGRADE;
	} else if (chance >= 64 && chance < 67) {
		r.verb = chance < 65 ? VERB_UNLOCK : VERB_CHECK;
		r.token = CLIENT_WRONG_TOKEN;
	} else if (chance < 72) {
		r = c->lock;
		r.id[0] = '\0';
		r.wait_ms = 0;
		/* More than it has. */
		bool more = chance == 67 && rng_percent(rng, 30);
		if (more && r.kind == KIND_SHARED)
			r.kind = KIND_EXCLUSIVE;
		else if (more && r.permits > 0 && r.permits < r.limit)
			r.permits++;
	} else {
		client_after(c, w->plan.hold_us);
		return;
	}
	client_name(c, &r);
	client_send(c, &r);
}

/* Nobody has to wait for ever for what he does not want any more. */
static void
client_wait(struct client *c)
{
	struct world *w = c->world;
	if (c->lock.id[0] == '\0' || c->canceling)
		return;
	if (c->stopping || rng_percent(&w->rng, 20)) {
		struct request r = {.verb = VERB_CANCEL};
		memcpy(r.id, c->lock.id, sizeof(r.id));
		c->canceling = true;
		client_send(c, &r);
		return;
	}
	client_after(c, w->plan.lease_ms * 1000);
}

/* An administrator who looked at the holder's token. */
static void
client_break(struct client *c)
{
	struct request r = {.verb = VERB_BREAK};
	r.name = (unsigned)rng_range(&c->world->rng, 0, c->world->plan.names - 1);
	r.token = held_token(c->world, r.name);
	if (rng_percent(&c->world->rng, 20))
		r.token = CLIENT_WRONG_TOKEN;
	if (r.token > 0)
		client_send(c, &r);
	else
		client_after(c, c->world->plan.think_us);
}

/* Of what it may have lost, and does not hold. */
static void
client_ask_in_vain(struct client *c)
{
	struct world *w = c->world;
	struct request r = {.verb = rng_percent(&w->rng, 50) ? VERB_UNLOCK : VERB_CHECK};
	r.name = (unsigned)rng_range(&w->rng, 0, w->plan.names - 1);
	r.token = CLIENT_WRONG_TOKEN;
	if (rng_percent(&w->rng, 50)) {
		r.token = 0;
		r.name = c->lock.name;
		memcpy(r.owner, c->lock.owner, sizeof(r.owner));
	}
	client_send(c, &r);
}

static void
client_turn(void *arg, uint64_t turn, void *data)
{
	struct client *c = arg;
	struct world *w = c->world;
	(void)data;
	if (c->turn != turn || c->asked)
		return;
	if (c->conn == NULL) {
		if (!c->stopping)
			client_connect(c);
		return;
	}
	if (c->chaos.on) {
		chaos_client_turn(c);
		return;
	}
	if (c->many.on) {
		names_client_turn(c);
		return;
	}
	switch (c->state) {
	case CLIENT_IDLE:
		if (c->stopping || rng_percent(&w->rng, 3))
			client_leave(c, rng_percent(&w->rng, 50));
		else if (w->phase == PHASE_FAULTS && rng_percent(&w->rng, 2))
			client_break(c);
		else if (!client_shares(c) && !id_client_is(c->conn) && rng_percent(&w->rng, 3))
			client_ask_in_vain(c);
		else if (w->plan.latches > 0 && !id_client_is(c->conn) &&
			 rng_percent(&w->rng, latch_client_percent(w)))
			latch_client_turn(c);
		else
			client_lock(c);
		return;
	case CLIENT_WAITING:
		client_wait(c);
		return;
	case CLIENT_HOLDING:
		client_hold(c);
		return;
	}
}

static void
client_holds(struct client *c, int64_t token)
{
	c->state = CLIENT_HOLDING;
	c->token = token;
	c->count = 1;
	c->canceling = false;
	c->hold_until_us = c->world->now_us + rng_range(&c->world->rng, 0, c->world->plan.hold_us);
	if (rng_percent(&c->world->rng, c->world->plan.long_percent))
		c->hold_until_us += c->world->plan.lease_ms * 2500;
	if (!c->asked)
		client_after(c, c->world->plan.hold_us / 4 + 1);
}

/* What its id has lost: until it gives that up, the name is not locked again. */
static void
client_gives_up(struct client *c, const char *text)
{
	struct request r = {.verb = VERB_UNLOCK, .name = c->lock.name};
	const char *token = strstr(text, ", token ");
	assert(token != NULL);
	memcpy(r.owner, c->lock.owner, sizeof(r.owner));
	r.token = strtoll(token + strlen(", token "), NULL, 10);
	c->state = CLIENT_IDLE;
	client_send(c, &r);
}

static void
client_lock_answered(struct client *c, const struct reply *reply)
{
	bool granted = reply->type == REPLY_INT || reply->type == REPLY_VALIDITY;
	if (c->lock.astray && c->state == CLIENT_WAITING)
		granted = false;
	if (id_client_is(c->conn) && reply->type == REPLY_ERROR && reply->code == CODE_LOST) {
		client_gives_up(c, reply->text);
		return;
	}
	if (c->state != CLIENT_HOLDING && reply->type == REPLY_ERROR && reply->code == CODE_HELD &&
		c->lost.secret[0] != '\0') {
		/* It came back: the answer was lost with its connection. */
		client_holds(c, 0);
		return;
	}
	if (c->state == CLIENT_HOLDING) {
		const struct hold *h = held_by(c->world, c->conn, c->lock.name, c->lock.owner);
		/* It entered once more, or claimed its hold, or finds it lost. */
		if (granted && h != NULL && h->token == reply->n) {
			c->count = (int)h->count;
			c->token = h->token; /* another one, if a hold that nobody claimed was lost before */
		} else if (granted && reply->n == c->token) {
			c->count += !id_client_is(c->conn);
		} else if (granted) {
			client_holds(c, reply->n);
		} else if (reply->type != REPLY_ERROR ||
			   (reply->code != CODE_HELD && reply->code != CODE_UPGRADE)) {
			c->state = CLIENT_IDLE;
		}
	} else if (granted) {
		client_holds(c, reply->n);
		return;
	} else if (reply->type != REPLY_QUEUED) {
		/* It came back and asked for another kind than it was granted. */
		c->lost.vague |= reply->type == REPLY_ERROR && reply->code == CODE_UPGRADE;
		c->state = CLIENT_IDLE;
	}
	client_after(c, reply->type == REPLY_ERROR ? 50000 : c->world->plan.think_us);
}

/* It has its session back: what waited is asked for again, and the rest goes on. */
static void
client_resumed(struct client *c, const struct reply *reply)
{
	c->lost.returning = false;
	if (reply->type != REPLY_INT) {
		c->lost.secret[0] = '\0';
		client_after(c, c->world->plan.think_us);
		return;
	}
	c->state = c->lost.state;
	c->count = c->lost.count;
	client_breaks_later(c);
	if (c->chaos.on) {
		client_after(c, c->world->plan.think_us);
		return;
	}
	/* What nobody asks for again within the grace is given up (5.9), but for a hold whose answer was lost
	 * with the connection. */
	if (c->state == CLIENT_WAITING && !c->many.on && c->world->plan.forgets &&
		rng_percent(&c->world->rng, 60)) {
		c->lost.vague = true;
		recorder_forgets(c);
		c->state = CLIENT_IDLE;
		client_after(c, c->world->plan.lease_ms * 3000);
		return;
	}
	/* It may want it as another kind by now, and gets no hold of the kind of before (5.9). */
	if (c->state == CLIENT_WAITING && c->lock.permits == 0 && c->world->plan.shared_percent > 0 &&
		!plan_keyed(&c->world->plan, c->lock.name) && c->lock.id[0] == '\0' &&
		rng_percent(&c->world->rng, 15))
		c->lock.kind = c->lock.kind == KIND_SHARED ? KIND_EXCLUSIVE : KIND_SHARED;
	c->lost.unsure = c->state == CLIENT_WAITING && !c->many.on && rng_percent(&c->world->rng, 40);
	if (c->lost.unsure) {
		struct request r = {.verb = rng_percent(&c->world->rng, 80) ? VERB_CHECK : VERB_EXTEND,
			.name = c->lock.name,
			.extend_ms = c->world->plan.lease_ms};
		memcpy(r.owner, c->lock.owner, sizeof(r.owner));
		client_send(c, &r);
	} else if (c->state == CLIENT_WAITING && !c->many.on)
		client_send(c, &c->lock);
	else
		client_after(c, c->world->plan.think_us);
}

/* It came back, and asked whether it holds what it had waited for: if not, it waits for it again. */
static void
client_finds_out(struct client *c, const struct reply *reply)
{
	bool holds = reply->type == REPLY_INT || (reply->type == REPLY_ERROR && reply->code == CODE_ERR);
	c->lost.unsure = false;
	if (holds)
		client_holds(c, 0);
	else
		client_send(c, &c->lock);
}

/* Of what it holds or waits for. */
static void
client_told(struct client *c, const struct request *request, const struct reply *reply)
{
	if (c->chaos.on) {
		chaos_client_answered(c, request, reply);
		return;
	}
	if (c->many.on) {
		names_client_answered(c, request, reply);
		return;
	}
	if (c->lost.unsure) {
		client_finds_out(c, reply);
		return;
	}
	if (request->token == CLIENT_WRONG_TOKEN) {
		/* It holds what it held, or has lost it. */
		if (reply->type == REPLY_ERROR && reply->code == CODE_LOST)
			c->state = CLIENT_IDLE;
		client_after(c, 50000);
		return;
	}
	switch (request->verb) {
	case VERB_LOCK:
		client_lock_answered(c, reply);
		return;
	case VERB_UNLOCK:
		if (reply->type == REPLY_INT && reply->n > 0)
			c->count = (int)reply->n;
		else
			c->state = CLIENT_IDLE;
		break;
	case VERB_DOWNGRADE:
		if (reply->type == REPLY_INT)
			c->lock.kind = KIND_SHARED;
		else if (reply->code != CODE_WRONGKIND && reply->code != CODE_ERR)
			c->state = CLIENT_IDLE;
		break;
	case VERB_CHECK:
	case VERB_EXTEND:
		if (reply->type != REPLY_INT)
			c->state = reply->code == CODE_ERR ? c->state : CLIENT_IDLE;
		break;
	case VERB_CANCEL:
		if (reply->type == REPLY_INT && reply->n == 1)
			c->state = CLIENT_IDLE;
		c->canceling = false;
		break;
	default:
		break;
	}
	client_after(c, c->world->plan.think_us);
}

void
client_answered(struct client *c, const struct request *request, const struct reply *reply)
{
	c->asked = false;
	/* The push is waited for, too (1.11). */
	if (c->finished && reply->type == REPLY_QUEUED)
		return;
	if (c->finished) {
		/* Of several names it could not tell, when it came back, which ones it has. */
		if (c->many.on)
			c->lost.secret[0] = '\0';
		client_leave(c, false);
		return;
	}
	switch (request->verb) {
	case VERB_SESSION_SECRET:
		snprintf(c->secret, sizeof(c->secret), "%.63s", reply->text);
		break;
	case VERB_SESSION_GRACE:
		if (reply->type != REPLY_TEXT)
			break;
		c->lost.secret[0] = '\0';
		if (request->ms == 0)
			break;
		snprintf(c->lost.secret, sizeof(c->lost.secret), "%.63s", reply->text);
		client_breaks_later(c);
		break;
	case VERB_SESSION_RESUME:
		if (!c->lost.returning) {
			if (reply->type == REPLY_INT || c->conn->tag != c->conn->id)
				c->secret[0] = c->lost.secret[0] = '\0';
			client_told(c, request, reply);
			return;
		}
		client_resumed(c, reply);
		return;
	case VERB_SESSION_JOIN:
	case VERB_SESSION_BIND:
		if (reply->type == REPLY_INT || c->conn->tag != c->conn->id)
			c->secret[0] = c->lost.secret[0] = '\0';
		break;
	case VERB_SESSION_ID:
	case VERB_SESSION_ONLOSS:
	case VERB_SESSION_HEARTBEAT:
		break;
	default:
		client_told(c, request, reply);
		return;
	}
	if (!introduce(c))
		client_after(c, c->world->plan.think_us);
}

void
client_pushed(struct client *c, enum push_type type, unsigned name, const char *id, int64_t token)
{
	if (c->finished && type != PUSH_LOST) {
		client_leave(c, false);
		return;
	}
	if (c->many.on) {
		names_client_lost(c, name, token);
		return;
	}
	if (c->chaos.on)
		return;
	if (type == PUSH_LOST) {
		if (c->state == CLIENT_HOLDING && c->token == token)
			c->state = CLIENT_IDLE;
	} else if (c->state == CLIENT_WAITING && strcmp(id, c->lock.id) == 0) {
		if (type == PUSH_GRANT) {
			client_holds(c, token);
			return;
		}
		c->state = CLIENT_IDLE;
	} else {
		return;
	}
	if (!c->asked)
		client_after(c, c->world->plan.think_us);
}
