/* foreign_writes: see foreign_writes.h. */
#include "tests/sim/fault/foreign_writes.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Until when at least, by true time, this master keeps a name's lease for that owner. */
static int64_t
kept_until_us(const struct server *s, unsigned name, struct slice owner)
{
	struct slice found;
	/* What is asserted during a guard is no vote: somebody may have been given that before. */
	if (!server_admitted(s) || !server_owner(s, name, &found) || !slice_equal(found, owner))
		return 0;
	struct slice key = server_lease_key(s->world, name);
	int64_t left_us = store_expires_ms(master_store(s->master), key) * 1000 - server_wall_us(s);
	/* Less what its clock may yet step, and what it runs too fast. */
	return s->world->now_us + left_us - s->world->plan.margin_ms * 1000 - left_us / 100;
}

/* Until when at most anybody relies on a lease with this owner text, or will when it is handed on. */
static int64_t
needed_until_us(const struct world *w, unsigned name, const char *owner)
{
	int64_t until_us = held_longest_us(w, name);
	if (foreign_client_holds(w, name) && w->rival.until_us > until_us)
		until_us = w->rival.until_us;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		struct resource_view view;
		if (!h->alive || strncmp(owner, h->call_settings.daemon_id, 32) != 0 ||
			!core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view))
			continue;
		/* An answer from before may be on its way, and count. */
		bool asks = strcmp(view.lease, "acquiring") == 0 || view.renewing;
		int64_t lease_ms = asks ? w->plan.lease_ms : view.lease_ms;
		int64_t lease_us = host_true_us(h, host_ms(h) + lease_ms);
		until_us = lease_us > until_us ? lease_us : until_us;
	}
	return until_us;
}

/* Whether enough other masters keep what this one is about to lose. */
static bool
others_keep(const struct server *victim, unsigned name)
{
	const struct world *w = victim->world;
	struct slice owner;
	char text[64];
	/* Who of several is kept elsewhere is not looked at. */
	if (!server_owner(victim, name, &owner))
		return !store_exists(
			master_store(victim->master), server_wall_us(victim), server_lease_key(w, name));
	snprintf(text, sizeof(text), "%.*s", (int)owner.n, owner.p);
	int64_t needed_us = needed_until_us(w, name, text);
	unsigned keep = 0;
	for (unsigned i = 0; i < w->plan.masters; i++)
		keep += &w->servers[i] != victim &&
			kept_until_us(&w->servers[i], name, slice_of(text)) >= needed_us;
	return keep >= plan_majority(&w->plan);
}

static void
spoil(struct server *s, enum fault fault, const char *key)
{
	struct world *w = s->world;
	char script[160];
	int64_t ms = rng_range(&w->rng, 1, w->plan.lease_ms);
	trace_line(&w->trace, w->now_us, "m%u     somebody meddles with %s", s->index, key);
	if (fault == FAULT_DELETE)
		snprintf(script, sizeof(script), "return redis.call('DEL', KEYS[1])");
	else if (fault == FAULT_OVERWRITE)
		snprintf(script, sizeof(script),
			"return redis.call('SET', KEYS[1], 'foreign', 'PX', %" PRId64 ")", ms);
	else
		snprintf(script, sizeof(script),
			"redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'f', 'v') "
			"return redis.call('PEXPIRE', KEYS[1], %" PRId64 ")",
			ms);
	server_meddle(s, script, key);
}

/* What spoil() has written. */
static bool
is_foreign(const struct server *s, unsigned name)
{
	struct slice value, key = server_lease_key(s->world, name);
	struct store *store = master_store(s->master);
	if (!store_exists(store, server_wall_us(s), key))
		return false;
	return store_get(store, server_wall_us(s), key, &value) ? slice_equal(value, SLICE("foreign"))
								: store_field(store, key, SLICE("f"), &value);
}

void
foreign_writes_look(struct server *s)
{
	for (unsigned i = 0; i < s->world->plan.names; i++)
		if (is_foreign(s, plan_first(&s->world->plan, i)))
			s->foreign_us[i] = s->world->now_us;
}

void
meddle(struct world *w, enum fault fault)
{
	static const char *const tails[] = {":f", ":q", ":w"};
	unsigned name = plan_first(&w->plan, (unsigned)rng_range(&w->rng, 0, w->plan.names - 1));
	unsigned one = (unsigned)rng_range(&w->rng, 0, w->plan.masters - 1);
	int percent = rng_percent(&w->rng, 70) ? 0 : 60;
	bool lease = fault != FAULT_DELETE || rng_percent(&w->rng, 50);
	char key[64];
	snprintf(key, sizeof(key), "%s", server_lease_key(w, name).p);
	if (!lease)
		snprintf(key, sizeof(key), "hf:{%s}%s", checker_name(name), tails[rng_range(&w->rng, 0, 2)]);
	for (unsigned i = 0; i < w->plan.masters; i++) {
		if (i != one && !rng_percent(&w->rng, percent))
			continue;
		if (lease && !others_keep(&w->servers[i], name))
			held_taint(w, name);
		if (lease)
			w->servers[i].spoilt_us[name] = w->now_us;
		else if (key[strlen(key) - 1] != 'f')
			w->servers[i].unqueued_us[name] = w->now_us;
		spoil(&w->servers[i], fault, key);
		foreign_writes_look(&w->servers[i]);
	}
}

bool
foreign_writes_evict(struct server *s, unsigned name)
{
	struct world *w = s->world;
	char key[64];
	snprintf(key, sizeof(key), "%s", server_lease_key(w, name).p);
	if (!store_exists(master_store(s->master), server_wall_us(s), slice_of(key)))
		return false;
	if (!others_keep(s, name))
		held_taint(w, name);
	s->spoilt_us[name] = w->now_us;
	spoil(s, FAULT_DELETE, key);
	return true;
}
