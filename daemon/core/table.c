#include "daemon/core/table.h"

#include "daemon/core/latch_data.h"

#include <string.h>

/* Of a client's choice. */
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

struct stake *
table_stake(const struct core *core, uint64_t attempt)
{
	struct stake *found;

	HASH_FIND(hh, core->stakes, &attempt, sizeof(attempt), found);
	return found;
}

bool
table_add_stake(struct core *core, struct stake *stake)
{
	HASH_ADD(hh, core->stakes, lease.attempt, sizeof(stake->lease.attempt), stake);
	return stake->hh.tbl != NULL;
}

void
table_remove_stake(struct core *core, struct stake *stake)
{
	HASH_DELETE(hh, core->stakes, stake);
}

struct undo *
table_undo(const struct core *core, uint64_t attempt, unsigned master)
{
	struct undo_key key;
	struct undo *found;

	memset(&key, 0, sizeof(key));
	key.attempt = attempt;
	key.master = master;
	HASH_FIND(hh, core->undos, &key, sizeof(key), found);
	return found;
}

bool
table_add_undo(struct core *core, struct undo *undo)
{
	HASH_ADD(hh, core->undos, of, sizeof(undo->of), undo);
	return undo->hh.tbl != NULL;
}

void
table_remove_undo(struct core *core, struct undo *undo)
{
	HASH_DELETE(hh, core->undos, undo);
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

struct mint *
table_mint(const struct core *core, uint64_t latch)
{
	struct mint *found;

	HASH_FIND(hh, core->mints, &latch, sizeof(latch), found);
	return found;
}

bool
table_add_mint(struct core *core, struct mint *mint)
{
	HASH_ADD(hh, core->mints, latch, sizeof(mint->latch), mint);
	return mint->hh.tbl != NULL;
}

void
table_remove_mint(struct core *core, struct mint *mint)
{
	HASH_DELETE(hh, core->mints, mint);
}

struct ask *
table_ask(const struct core *core, uint64_t attempt)
{
	struct ask *found;

	HASH_FIND(hh, core->asks, &attempt, sizeof(attempt), found);
	return found;
}

bool
table_add_ask(struct core *core, struct ask *ask)
{
	HASH_ADD(hh, core->asks, attempt, sizeof(ask->attempt), ask);
	return ask->hh.tbl != NULL;
}

void
table_remove_ask(struct core *core, struct ask *ask)
{
	HASH_DELETE(hh, core->asks, ask);
}
