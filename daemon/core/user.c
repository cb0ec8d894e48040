#include "daemon/core/user.h"

#include "daemon/core/emit.h"
#include "daemon/core/table.h"

#include <assert.h>
#include <stdlib.h>

static struct user *
user_get(struct core *core, uint64_t id)
{
	struct user *u = table_user(core, id);

	if (u != NULL)
		return u;
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return NULL;
	u->id = id;
	if (!table_add_user(core, u)) {
		free(u);
		return NULL;
	}
	return u;
}

/* Without a session there is nothing to remember. */
static void
user_settle(struct core *core, struct user *u)
{
	if (u->sessions > 0)
		return;
	table_remove_user(core, u);
	free(u);
}

bool
user_enter(struct core *core, const struct conn *conn, uint64_t id)
{
	const struct core_grace *most = &core->settings.grace;
	struct user *u = user_get(core, id);

	if (u == NULL) {
		emit_error(core, conn->id, CODE_LIMIT, "out of memory: try again later");
		return false;
	}
	if ((int64_t)core->counts.graces >= most->sessions)
		emit_error(core, conn->id, CODE_LIMIT,
			"grace-sessions: %zu sessions have a grace, as many as it allows",
			core->counts.graces);
	else if (id != 0 && u->sessions >= most->per_user)
		emit_error(core, conn->id, CODE_LIMIT,
			"sessions-per-user: this user has %lld sessions with a grace, as many as it allows",
			(long long)u->sessions);
	else {
		core->counts.graces++;
		u->sessions++;
		return true;
	}
	user_settle(core, u);
	return false;
}

void
user_leave(struct core *core, uint64_t id)
{
	struct user *u = table_user(core, id);

	assert(u != NULL && u->sessions > 0 && core->counts.graces > 0);
	core->counts.graces--;
	u->sessions--;
	user_settle(core, u);
}
