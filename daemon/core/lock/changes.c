/* changes: see changes.h. */
#include "daemon/core/lock/changes.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lock/attach.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/session.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define KEPT 256

static bool
list_grow(struct change_list *list)
{
	size_t room = list->room == 0 ? KEPT : 2 * list->room;
	void **things = realloc(list->things, room * sizeof(*things));

	if (things == NULL)
		return false;
	list->things = things;
	list->room = room;
	return true;
}

bool
changes_add(struct core *core, struct change_list *list, void *thing)
{
	if (list->n == list->room && !list_grow(list)) {
		core->locks->changes.missed = true;
		return false;
	}
	assert(list->n < list->room);
	list->things[list->n++] = thing;
	return true;
}

/* ---- sessions ---- */

static void
session_list(struct core *core, struct session *s)
{
	if (!s->changed)
		s->changed = changes_add(core, &core->locks->changes.sessions, s);
}

void
session_changed(struct core *core, struct session *s)
{
	bool durable = s->durable;
	struct conn *conn;

	assert(!s->gone);
	session_list(core, s);
	s->durable = session_is_durable(s);
	if (s->durable == durable)
		return;
	TAILQ_FOREACH (conn, &s->conns, in_session)
		attach_kept(core, conn);
}

void
session_gone(struct core *core, struct session *s)
{
	assert(s->grant_count == 0 && s->losses == NULL);
	s->gone = true;
	s->durable = false;
	if (s->written)
		session_list(core, s);
}

/* ---- losses ---- */

void
loss_changed(struct core *core, struct loss *loss)
{
	if (loss->session->written && !loss->changed)
		loss->changed = changes_add(core, &core->locks->changes.losses, loss);
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
	if (!g->changed)
		g->changed = changes_add(core, &core->locks->changes.grants, g);
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

static void
list_rest(struct change_list *list)
{
	void **things;

	assert(list->n == 0);
	if (list->room <= KEPT)
		return;
	things = realloc(list->things, KEPT * sizeof(*things));
	if (things == NULL)
		return;
	list->things = things;
	list->room = KEPT;
}

void
changes_rest(struct changes *changes)
{
	list_rest(&changes->sessions);
	list_rest(&changes->losses);
	list_rest(&changes->grants);
	assert(!changes->missed);
}

void
changes_forget(struct changes *changes)
{
	for (size_t i = 0; i < changes->sessions.n; i++)
		((struct session *)changes->sessions.things[i])->changed = false;
	for (size_t i = 0; i < changes->losses.n; i++)
		((struct loss *)changes->losses.things[i])->changed = false;
	for (size_t i = 0; i < changes->grants.n; i++)
		((struct grant *)changes->grants.things[i])->changed = false;
	changes->sessions.n = changes->losses.n = changes->grants.n = 0;
	changes->missed = false;
	changes_rest(changes);
}

static bool
list_at_rest(const struct change_list *list)
{
	return list->n == 0 && list->room <= KEPT;
}

bool
changes_at_rest(const struct changes *changes)
{
	return list_at_rest(&changes->sessions) && list_at_rest(&changes->losses) &&
	       list_at_rest(&changes->grants) && !changes->missed;
}

void
changes_done(struct changes *changes)
{
	free(changes->sessions.things);
	free(changes->losses.things);
	free(changes->grants.things);
}
