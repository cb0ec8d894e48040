/*
 * table: see table.h.
 */
#include "daemon/core/table.h"

#include "daemon/core/latch_data.h"
#include "daemon/core/state.h"

#include <string.h>

/* Of a name that a client chose. */
static unsigned
table_hash(const struct core *core, struct slice name)
{
	return (unsigned)hash_secretly(core->secret, name);
}

struct latch *
table_latch(const struct core *core, struct slice name)
{
	unsigned hash = table_hash(core, name);
	struct latch *found;

	HASH_FIND_BYHASHVALUE(hh, core->latches, name.p, name.n, hash, found);
	return found;
}

bool
table_add_latch(struct core *core, struct latch *latch)
{
	unsigned hash = table_hash(core, latch->name);

	HASH_ADD_KEYPTR_BYHASHVALUE(hh, core->latches, latch->name.p, latch->name.n, hash, latch);
	return latch->hh.tbl != NULL;
}

void
table_remove_latch(struct core *core, struct latch *latch)
{
	HASH_DELETE(hh, core->latches, latch);
}

struct latch_quota *
table_latch_quota(const struct core *core, uint64_t latch)
{
	struct latch_quota *found;

	HASH_FIND(hh, core->latch_quotas, &latch, sizeof(latch), found);
	return found;
}

bool
table_add_latch_quota(struct core *core, struct latch_quota *latch_quota)
{
	HASH_ADD(hh, core->latch_quotas, latch, sizeof(latch_quota->latch), latch_quota);
	return latch_quota->hh.tbl != NULL;
}

void
table_remove_latch_quota(struct core *core, struct latch_quota *latch_quota)
{
	HASH_DELETE(hh, core->latch_quotas, latch_quota);
}

struct latch_request *
table_ask(const struct core *core, uint64_t attempt)
{
	struct latch_request *found;

	HASH_FIND(hh, core->requests, &attempt, sizeof(attempt), found);
	return found;
}

bool
table_add_ask(struct core *core, struct latch_request *latch_request)
{
	HASH_ADD(hh, core->requests, attempt, sizeof(latch_request->attempt), latch_request);
	return latch_request->hh.tbl != NULL;
}

void
table_remove_ask(struct core *core, struct latch_request *latch_request)
{
	HASH_DELETE(hh, core->requests, latch_request);
}
