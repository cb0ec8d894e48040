/* changes: see changes.h. */
#include "daemon/core/lock/changes.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/change_list.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- losses ---- */

void
loss_changed(struct core *core, struct loss *loss)
{
	if (!loss->session->written || loss->changed)
		return;
	core_changed(core, CHANGE_LISTED);
	loss->changed = change_list_add(&core->locks->changed_losses, loss);
}

void
loss_gone(struct core *core, struct loss *loss)
{
	assert(loss->session->losses != NULL && !loss->gone);
	loss->gone = true;
	loss_changed(core, loss);
}

/* ---- holds ---- */

static void
grant_list(struct core *core, struct grant *g)
{
	if (g->changed)
		return;
	core_changed(core, CHANGE_LISTED);
	g->changed = change_list_add(&core->locks->changed_grants, g);
}

void
grant_changed(struct core *core, struct grant *g)
{
	struct session *s = g->session;

	assert(!g->gone);
	if (g->durable || (s != NULL && s->written) || lease_is_durable(g->lease))
		grant_list(core, g);
	/* Its entry says so from then on, whether it is durable or not. */
	if (s != NULL && !s->written && s->grant_count >= core->settings.ledger_many)
		session_changed(core, s);
}

void
grant_gone(struct core *core, struct grant *g)
{
	assert(g->session == NULL && !g->gone);
	g->gone = true;
	g->attempt = g->lease->attempt;
	if (g->durable || lease_is_durable(g->lease))
		grant_list(core, g);
	if (!g->changed)
		freelist_retire(core, &g->freed);
}

/* ---- the lists ---- */

bool
changes_missed(const struct core *core)
{
	return core->sessions->changed.missed || core->locks->changed_losses.missed ||
	       core->locks->changed_grants.missed;
}

void
changes_rest(struct core *core)
{
	change_list_rest(&core->sessions->changed);
	change_list_rest(&core->locks->changed_losses);
	change_list_rest(&core->locks->changed_grants);
}

static void
list_clear(struct change_list *list)
{
	list->n = 0;
	list->missed = false;
}

void
changes_forget(struct core *core)
{
	struct change_list *sessions = &core->sessions->changed, *losses = &core->locks->changed_losses,
			   *grants = &core->locks->changed_grants;

	for (size_t i = 0; i < sessions->n; i++)
		((struct session *)sessions->things[i])->changed = false;
	for (size_t i = 0; i < losses->n; i++)
		((struct loss *)losses->things[i])->changed = false;
	for (size_t i = 0; i < grants->n; i++)
		((struct grant *)grants->things[i])->changed = false;
	list_clear(sessions);
	list_clear(losses);
	list_clear(grants);
	changes_rest(core);
}

bool
changes_at_rest(const struct core *core)
{
	return change_list_at_rest(&core->sessions->changed) &&
	       change_list_at_rest(&core->locks->changed_losses) &&
	       change_list_at_rest(&core->locks->changed_grants);
}

void
changes_done(struct core *core)
{
	change_list_done(&core->sessions->changed);
	change_list_done(&core->locks->changed_losses);
	change_list_done(&core->locks->changed_grants);
}
