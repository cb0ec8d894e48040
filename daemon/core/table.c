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

struct conn *
table_conn(const struct core *core, conn_id id)
{
	return roster_find(&core->conns, id);
}

bool
table_add_conn(struct core *core, struct conn *conn)
{
	return roster_add(&core->conns, conn->id, conn) == 0;
}

void
table_remove_conn(struct core *core, struct conn *conn)
{
	roster_remove(&core->conns, conn->id);
}

struct session *
table_session(const struct core *core, session_id id)
{
	struct session *found;

	HASH_FIND(hh, core->sessions, &id, sizeof(id), found);
	return found;
}

bool
table_add_session(struct core *core, struct session *session)
{
	HASH_ADD(hh, core->sessions, id, sizeof(session->id), session);
	return session->hh.tbl != NULL;
}

void
table_remove_session(struct core *core, struct session *session)
{
	HASH_DELETE(hh, core->sessions, session);
}

struct session *
table_bound(const struct core *core, const struct process *process)
{
	struct session *found;

	HASH_FIND(hh_process, core->bound, process, sizeof(*process), found);
	return found;
}

bool
table_add_bound(struct core *core, struct session *session)
{
	HASH_ADD(hh_process, core->bound, process, sizeof(session->process), session);
	return session->hh_process.tbl != NULL;
}

void
table_remove_bound(struct core *core, struct session *session)
{
	HASH_DELETE(hh_process, core->bound, session);
}

struct user *
table_user(const struct core *core, uint64_t id)
{
	struct user *found;

	HASH_FIND(hh, core->users, &id, sizeof(id), found);
	return found;
}

bool
table_add_user(struct core *core, struct user *user)
{
	HASH_ADD(hh, core->users, id, sizeof(user->id), user);
	return user->hh.tbl != NULL;
}

void
table_remove_user(struct core *core, struct user *user)
{
	HASH_DELETE(hh, core->users, user);
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
