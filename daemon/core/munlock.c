/* munlock: see mlock.h. Gives back names one by one; that they came by one MLOCK means nothing by then. */
#include "daemon/core/mlock.h"

#include "daemon/core/core_inner.h"
#include "daemon/core/grant.h"
#include "daemon/core/resource.h"
#include "daemon/core/session.h"
#include "proto/slice.h"

#include <assert.h>

/* The token that MUNLOCK gives for its i-th name; 0: none. */
static int64_t
munlock_token(const struct command *c, size_t i)
{
	int64_t token = 0;

	if (c->tokens != NULL && !number_parse(c->tokens[i], 1, COMMAND_TOKEN_MAX, &token))
		assert(false && "proto/option.c has read it");
	return token;
}

/* It comes for the session of an id, and may be a late copy of one about earlier holds. True: answered. */
static bool
munlock_is_vague(struct core *core, const struct conn *conn, const struct command *c)
{
	struct session *s = conn->session;

	for (size_t i = 0; s->detached != NULL && c->tokens == NULL && i < c->name_count; i++) {
		if (grant_find(core, names_find(&core->names, c->names[i]), s, c->owner) == NULL)
			continue;
		emit_error(
			core, conn->id, CODE_ERR, EMIT_VAGUE "TOKENS token [token ...], one for each name");
		return true;
	}
	return false;
}

/* True: the name was held, or had been given back already by the session of an id. */
static bool
munlock_one(struct core *core, struct session *s, const struct command *c, size_t i)
{
	int64_t token = munlock_token(c, i);
	struct grant *g = grant_find(core, names_find(&core->names, c->names[i]), s, c->owner);
	struct loss *loss = loss_find(core, s, c->names[i], c->owner);
	bool returned = loss != NULL && loss->reason == LOSS_RETURNED && (token == 0 || token == loss->token);

	if (loss != NULL && s->detached != NULL)
		loss_renounce(core, s, loss, token);
	else if (loss != NULL)
		loss_forget(core, s, loss);
	if (g == NULL || (token != 0 && token != g->token))
		return returned;
	(void)grant_claim(core, g);
	grant_give_back(core, g);
	return true;
}

void
mlock_munlock(struct core *core, struct conn *conn, const struct command *c)
{
	int64_t given = 0;

	if (munlock_is_vague(core, conn, c))
		return;
	for (size_t i = 0; i < c->name_count; i++)
		given += munlock_one(core, conn->session, c, i);
	emit_int(core, conn->id, given);
}
