/*
 * retain: see retain.h. share.c, semaphore.c and renew.c call it. It only says how long an unused lease is
 * retained, and releases nothing.
 */
#include "daemon/core/leasing/retain.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/ration.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/masterset/masterset.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RETAIN_TOGETHER                                                                                      \
	256 /* leases of short names that may be released in one millisecond: about half a millisecond of    \
	       work */

#define GIVE_BACK_STEP_MS 4 /* the longest that a lease waits to be given back with others */
#define MANY_SINCE        12 /* leases asked for since it was: so many clients that its release shares a call */

#define REUSE_LEAST                                                                                          \
	(REUSE_ALL / 8) /* a lease retained without reuse costs an eighth of what one in use saves           \
			 */
#define REUSE_WEIGHT 16 /* about how many of the last ones count */

/* One lease in this many is retained all the same. It is a prime, so that no rhythm of names escapes it. */
#define SAMPLE_EVERY 61

/* ---- how often clients come back ---- */

static void
reuse_add(struct core *core, const struct lease *l, bool back)
{
	struct reuse *e = rules_reuse(&core->leases->rules, l->resource->rule);

	if (back)
		e->back += (REUSE_ALL - e->back) / REUSE_WEIGHT;
	else
		e->back -= e->back / REUSE_WEIGHT;
	assert(e->back <= REUSE_ALL);
}

void
lease_serve(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);

	if (held->sampled)
		reuse_add(core, l, true);
	held->sampled = false;
	held->again = held->served;
	held->served = true;
	held->idle_until_ms = 0;
}

/* ---- how long ---- */

/* The earliest time, until_ms or later, at which there is room to give one more lease back. Leases that fall
 * out of use together, as when a session with thousands of locks ends, are released at different times, few
 * enough at once that no client waits. */
static int64_t
retain_until(struct ration *r, const struct lease *l, int64_t until_ms)
{
	return ration_turn(r, until_ms, RETAIN_TOGETHER, resource_work(l->resource));
}

bool
lease_idle_over(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);

	assert(held->idle_until_ms != 0);
	if (ration_take(&core->leases->ended, core->now.ms, resource_work(l->resource)) >= RETAIN_TOGETHER) {
		held->idle_until_ms =
			retain_until(&core->leases->retained, l, core->now.ms + core->settings.retain_ms);
		return false;
	}
	if (held->sampled)
		reuse_add(core, l, false);
	held->sampled = false;
	return true;
}

/* The next time at which leases that were deferred are given back. */
static int64_t
retain_step(int64_t ms)
{
	return ms + GIVE_BACK_STEP_MS - ms % GIVE_BACK_STEP_MS;
}

/* Clients are not expected to come back to the name. Until when its lease is deferred, to be given back with
 * others; 0: the lease is given back at once, because many clients are at work. */
static int64_t
retain_briefly(struct core *core, const struct lease *l)
{
	struct ration *ended = &core->leases->ended;
	int64_t step_ms = retain_step(core->now.ms), until_ms = core->now.ms + core->settings.retain_ms;
	uint64_t since = (core->attempts >> ATTEMPT_RANDOM_BITS) - (l->attempt >> ATTEMPT_RANDOM_BITS);

	assert(l->attempt <= core->attempts);
	if (since >= MANY_SINCE &&
		ration_take(ended, core->now.ms, resource_work(l->resource)) < RETAIN_TOGETHER)
		return 0;
	return retain_until(&core->leases->deferred, l, step_ms < until_ms ? step_ms : until_ms);
}

/* The lease has fallen out of use. Until when it is retained; 0: not at all. */
static int64_t
retain_begin(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);
	int64_t until_ms = core->now.ms + core->settings.retain_ms;
	struct reuse *e;
	bool few;

	assert((held->served || l->kind == KIND_PERMITS) && until_ms > core->now.ms);
	held->sampled = false;
	/* A semaphore is made to be used again. */
	if (held->again || l->kind == KIND_PERMITS)
		return retain_until(&core->leases->retained, l, until_ms);
	e = rules_reuse(&core->leases->rules, l->resource->rule);
	few = e->back < REUSE_LEAST;
	if (few && ++e->passed < SAMPLE_EVERY)
		return retain_briefly(core, l);
	held->sampled = true;
	e->passed = 0;
	return retain_until(&core->leases->retained, l, few ? retain_step(until_ms) : until_ms);
}

bool
lease_retain(struct core *core, struct lease *l)
{
	struct lease_held *held = lease_held(l);
	/* If a permit came back here before others were won, those are there for the next waiter. */
	bool used = held->served || l->kind == KIND_PERMITS;

	assert(l->grants == NULL && l->resource->demand->count == 0);
	if (!used || held->wanted || core->drain != DRAIN_NONE || core->settings.retain_ms == 0 ||
		l->resource->rule->key != NULL || l->resource->rule->interop != INTEROP_NONE ||
		!masterset_usable(core))
		return false;
	if (held->idle_until_ms == 0) {
		held->idle_until_ms = retain_begin(core, l);
		/* A timer that comes too early costs less than one that is set at every UNLOCK. */
		if (held->idle_until_ms != 0 && held->idle_until_ms < timer_at(&core->timers, &l->timer))
			lease_arm(core, l);
	}
	return core->now.ms < held->idle_until_ms;
}
