/* foreign_writes: see foreign_writes.h. */
#include "tests/sim/fault/foreign_writes.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

void
meddle(struct world *w, enum fault fault)
{
	static const char *const tails[] = {":f", ":q", ":w"};
	unsigned name = (unsigned)rng_range(&w->rng, 0, w->plan.names - 1);
	while (!plan_breaks(&w->plan, ASSUMES_WRITES, name))
		name = (name + 1) % PLAN_NAMES_MAX;
	name = plan_first(&w->plan, name);
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
		spoil(&w->servers[i], fault, key);
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
	spoil(s, FAULT_DELETE, key);
	return true;
}
