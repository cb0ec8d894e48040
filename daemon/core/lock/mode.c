/* mode: see mode.h. Every LOCK and every name of an MLOCK passes mode_refuses() before it gets a waiter. */
#include "daemon/core/lock/mode.h"

#include "daemon/core/base/base.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/family.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
			"it has LIMIT %lld while it is in use: give that, or wait until no client holds or "
			"wants it",
			(long long)r->limit);
	return true;
}

static void
mode_end(struct core *core, struct resource *r)
{
	assert(r->grant_count == 0 && r->demand->count == 0);
	r->parts = false;
	family_of_name(core, r)->end(core, r);
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
	family_of_name(core, r)->begin(core, r);
}
