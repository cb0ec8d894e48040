/* backing: see backing.h. */
#include "tests/sim/judge/backing.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* If most daemons say that its clock jumped, its memory is given up though it is there: its guard keeps what
 * has not been reclaimed yet. */
static bool
given_up(const struct server *s, int64_t lease_us)
{
	struct slice forgot;
	return store_field(master_store(s->master), SLICE("hf:node"), SLICE("forgot"), &forgot) &&
	       server_wall_us(s) - strtoll(forgot.p, NULL, 10) <= lease_us && !server_admitted(s);
}

/* What was confirmed before a master lost it is relied on for at most a lease. */
bool
backing_lacks(const struct server *s)
{
	const struct world *w = s->world;
	int64_t lease_us = w->plan.lease_ms * 1010 + 10000;
	if (w->now_us < s->lacks_until_us || (s->forgot_us != 0 && w->now_us - s->forgot_us <= lease_us))
		return true;
	return given_up(s, lease_us);
}

/* What this master's clock has to show until then: its rate may be wrong by a part of a hundred, it may step
 * once in the time of a lease, and what is asked for and told is in whole ms. */
static int64_t
needed_us(const struct server *s, int64_t left_us)
{
	int64_t step_us = s->world->now_us < s->forward_until_us ? 0 : s->world->plan.margin_ms * 1000;
	return server_wall_us(s) + left_us - left_us / 100 + step_us - 3000;
}

bool
backing_vote(const struct server *s, unsigned name, const char *daemon_id, enum kind kind, int64_t left_us)
{
	struct slice owner, field, value, key = server_lease_key(s->world, name);
	struct store *store = master_store(s->master);
	int64_t wall_us = server_wall_us(s), until_us = needed_us(s, left_us);
	if (plan_keyed(&s->world->plan, name) ? server_owner(s, name, &owner)
					      : store_get(store, wall_us, key, &owner))
		return owner.n > 32 && lineage_same(s->world, owner.p, daemon_id) &&
		       store_expires_ms(store, key) * 1000 >= until_us;
	if (kind == KIND_EXCLUSIVE || !store_exists(store, wall_us, key))
		return false;
	for (size_t i = 0; store_pair(store, wall_us, key, i, &field, &value); i++) {
		const char *blank = memchr(value.p, ' ', value.n);
		if (blank != NULL && value.n > 32 && lineage_same(s->world, value.p, daemon_id) &&
			strtoll(blank, NULL, 10) > later(wall_us, until_us))
			return true;
	}
	return false;
}

bool
backing_owned(struct server *s, unsigned name, const char *owner)
{
	static struct keys keys;
	keys_read(&keys, s, name);
	for (unsigned i = 0; i < keys.n; i++)
		if (strcmp(keys.members[i].owner, owner) == 0 && keys_lives(&keys, &keys.members[i]) &&
			keys.members[i].till_us >= needed_us(s, 1))
			return true;
	return false;
}

#define SLOTS_MOST 512 /* of a semaphore, in these worlds */

/* The number of a permit; -1: the member is a reader. */
static int
slot_of(struct slice field)
{
	int slot = 0;
	for (size_t i = 0; i < field.n; i++) {
		if (field.p[i] < '0' || field.p[i] > '9' || slot >= SLOTS_MOST)
			return -1;
		slot = slot * 10 + field.p[i] - '0';
	}
	return field.n > 0 && slot < SLOTS_MOST ? slot : -1;
}

/* One more for each permit that this master keeps for it. */
static void
count_slots(const struct server *s, unsigned name, const char *daemon_id, int64_t left_us, uint8_t *slots)
{
	struct slice field, value, key = server_lease_key(s->world, name);
	struct store *store = master_store(s->master);
	int64_t wall_us = server_wall_us(s), until_us = later(wall_us, needed_us(s, left_us));
	for (size_t i = 0; store_pair(store, wall_us, key, i, &field, &value); i++) {
		const char *blank = memchr(value.p, ' ', value.n);
		if (blank == NULL || value.n < 33 || !lineage_same(s->world, value.p, daemon_id) ||
			strtoll(blank, NULL, 10) <= until_us)
			continue;
		int slot = slot_of(field);
		if (slot >= 0)
			slots[slot]++;
	}
}

int64_t
backing_permits(const struct world *w, unsigned name, const char *daemon_id, int64_t left_us)
{
	uint8_t slots[SLOTS_MOST] = {0};
	unsigned unknown = 0;
	int64_t n = 0;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		if (backing_lacks(&w->servers[i]))
			unknown++;
		else
			count_slots(&w->servers[i], name, daemon_id, left_us, slots);
	}
	for (unsigned i = 0; i < SLOTS_MOST; i++)
		n += slots[i] > 0 && slots[i] + unknown >= plan_majority(&w->plan);
	return unknown >= plan_majority(&w->plan) ? INT64_MAX : n;
}
