/* client_opening: see client_opening.h. */
#include "tests/sim/world/client_opening.h"

#include "tests/sim/world/world.h"

#include <string.h>

/* Somebody at the same daemon whose session can be joined. */
static const struct client *
friend_of(const struct client *c)
{
	for (unsigned i = 0; i < c->world->plan.clients; i++) {
		const struct client *other = &c->world->clients[i];
		if (other != c && other->conn != NULL && other->secret[0] != '\0' &&
			other->conn->secret[0] != '\0' && other->conn->host == c->conn->host &&
			other->conn->local == c->conn->local)
			return other;
	}
	return NULL;
}

/* What it says of its session before it begins, a word or several; false: nothing more. */
bool
introduce(struct client *c)
{
	struct rng *rng = &c->world->rng;
	const struct client *friend = friend_of(c);
	struct request r = {.verb = VERB_SESSION_ONLOSS};
	int64_t lease = c->world->plan.lease_ms;
	if (c->words-- <= 0)
		return false;
	int chance = (int)rng_range(rng, 0, 99);
	bool outlives = c->world->plan.fault[FAULT_RECOVER] && c->lost.secret[0] == '\0' &&
			!client_shares(c) && rng_percent(rng, 50);
	/* It wants to outlive its daemon: by its process alone, or by a grace. */
	if (outlives && c->conn->local && c->conn->pid == 0 && rng_percent(rng, 30)) {
		r.verb = VERB_SESSION_BIND;
		r.pid = (int64_t)++c->world->serials;
		c->words = 0;
		client_send(c, &r);
		return true;
	}
	if (outlives) {
		r.verb = VERB_SESSION_GRACE;
		r.ms = rng_range(rng, lease / 2, 3 * lease);
		client_send(c, &r);
		return true;
	}
	if (friend != NULL && !client_shares(c) && c->conn->pid == 0 && c->lost.secret[0] == '\0' &&
		chance < 60) {
		r.verb = VERB_SESSION_JOIN;
		r.tag = friend->conn->tag;
		memcpy(r.secret, friend->conn->secret, sizeof(r.secret));
	} else if (chance < 15) {
		r.verb = VERB_SESSION_SECRET;
	} else if (chance < 30 && c->conn->local && c->conn->pid == 0 && !client_shares(c)) {
		r.verb = VERB_SESSION_BIND;
		r.pid = (int64_t)++c->world->serials;
	} else if (chance < (client_shares(c) ? 35 : 50)) {
		r.verb = VERB_SESSION_GRACE;
		r.ms = rng_percent(rng, 10) ? 0 : rng_range(rng, 1, rng_percent(rng, 30) ? lease / 8 : lease);
	} else if (chance < 60) {
		r.verb = VERB_SESSION_HEARTBEAT;
		r.ms = rng_percent(rng, 10) ? 0 : rng_range(rng, lease / 4, 3 * lease);
	} else {
		static const enum onloss manners[] = {
			ONLOSS_PUSH, ONLOSS_PUSH, ONLOSS_NEXT, ONLOSS_NEXT, ONLOSS_CLOSE};
		r.onloss = manners[rng_range(rng, 0, 4)];
	}
	client_send(c, &r);
	return true;
}
