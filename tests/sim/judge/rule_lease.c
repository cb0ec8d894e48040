/* rule_lease: see rule_lease.h. */
#include "tests/sim/judge/rule_lease.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>

/* A round that began before may last until all masters have answered, or the lease is over. */
static bool
round_is_older(const struct host *h)
{
	const struct world *w = h->world;
	int64_t since_us = w->now_us - h->reload_us, lease_us = w->plan.lease_ms * 1000;
	if (h->reload_us == 0 || since_us > lease_us + lease_us / 50 + 10000)
		return false;
	return fault_free_all_us(w, h) > h->reload_us || since_us < lease_us * 2 / 5 + 100000;
}

void
rule_lease_call(struct host *h, const struct call *call)
{
	unsigned name;
	/* It may ask for less than its rule says while others have half the leases. */
	/* What is to be released is adopted first, for no longer than it is there. */
	bool ends = call->op == CALL_ADOPT && call->queue_ms == CALL_QUEUELESS;
	if ((call->op != CALL_ACQUIRE && call->op != CALL_RENEW && call->op != CALL_ADOPT) || ends ||
		round_is_older(h) || h->world->plan.halves)
		return;
	name = checker_name_of(call->name);
	if (call->ttl_ms < host_lease_ms(h, name))
		world_fail(h->world,
			"rule: d%u asks m%u for %" PRId64 " ms of %s, and its rule says %" PRId64, h->index,
			h->place[call->master], call->ttl_ms, checker_name(name), host_lease_ms(h, name));
}
