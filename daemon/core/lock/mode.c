/* mode: see mode.h. Every LOCK and every name of an MLOCK passes mode_refuses() before it gets a waiter. */
#include "daemon/core/lock/mode.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/seat.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

bool
mode_refuses(const struct resource *r, const struct command *c, struct reply *why)
{
	int64_t limit = c->kind == KIND_PERMITS ? c->limit : 0;
	bool foreign = r->rule->key != NULL || r->rule->interop != INTEROP_NONE;

	assert(c->kind != KIND_PERMITS || c->limit > 0);
	if (foreign && c->kind != KIND_EXCLUSIVE) {
		reply_error(why, CODE_WRONGKIND,
			"other programs lock this name too, and know exclusive locks only: its rule has a "
			"key or interop");
		return true;
	}
	if (limit == r->limit || (r->grant_count == 0 && r->demand->count == 0))
		return false;
	if (limit == 0)
		reply_error(why, CODE_WRONGKIND,
			"it is a semaphore while it is in use: LOCK it with LIMIT %lld, or take another name",
			(long long)r->limit);
	else if (r->limit == 0)
		reply_error(why, CODE_WRONGKIND,
			"it is no semaphore while it is in use: LOCK it without LIMIT, or take another name");
	else
		reply_error(why, CODE_LIMIT,
			"it has LIMIT %lld while it is in use: give that, or wait until nobody holds or "
			"wants it",
			(long long)r->limit);
	return true;
}

static void
mode_end(struct core *core, struct resource *r)
{
	assert(r->grant_count == 0 && r->demand->count == 0);
	r->parts = false;
	if (r->limit > 0) {
		permit_leases_drop(core, r);
	} else {
		lease_drop(core, &r->lease);
		lease_done(core, &r->lease);
	}
}

void
mode_join(struct core *core, struct resource *r, const struct command *c)
{
	int64_t limit = c->kind == KIND_PERMITS ? c->limit : 0;

	if (limit == r->limit)
		return;
	assert(limit >= 0 && limit <= COMMAND_LIMIT_MAX);
	mode_end(core, r);
	r->limit = (int16_t)limit;
	if (limit > 0) {
		permit_leases_init(r);
	} else {
		/* The lease and its seats end where the name begins. */
		memset(&r->lease, 0, r->name_at - offsetof(struct resource, lease));
		lease_init(&r->lease, r, resource_seats(r));
		assert(resource_seats(r) <= core->settings.masters);
		if (resource_seats(r) < core->settings.masters)
			seats_grow(core, &r->lease, 0, core->settings.masters);
	}
}
