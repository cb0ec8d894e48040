/*
 * durable: see durable.h.
 */
#include "daemon/core/persist/durable.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/liveness/liveness.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/persist/state.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- sessions ---- */

static void
as_field(struct record *r, struct slice *as)
{
	record_bytes(r, as, AS_BYTES_MAX);
	if (record_loads(r) && as->n > 0 &&
		(as->n < AS_BYTES_MIN || name_check_tag(*as, AS_BYTES_MAX) != NULL))
		record_fail(r, "the id of a session in it is invalid");
}

void
durable_session_fields(struct record *r, struct session_entry *e)
{
	state_count(r, &e->id);
	peer_fields(r, &e->peer);
	record_flag(r, &e->has_secret);
	record_unsigned(r, &e->secret[0]);
	record_unsigned(r, &e->secret[1]);
	e->onloss = (enum onloss)record_range(r, e->onloss, ONLOSS_CLOSE, ONLOSS_NEXT);
	e->opened_ms = state_time(r, e->opened_ms);
	e->grace_ms = record_range(r, e->grace_ms, 0, COMMAND_MS_MAX);
	e->heartbeat_ms = record_range(r, e->heartbeat_ms, 0, COMMAND_MS_MAX);
	record_number(r, &e->process.pid);
	record_unsigned(r, &e->process.started);
	as_field(r, &e->as);
	record_unsigned(r, &e->process.space);
	record_flag(r, &e->orphaned);
}

struct session_entry
durable_session(const struct session *s)
{
	return (struct session_entry){.id = s->id,
		.peer = s->peer,
		.has_secret = s->has_secret,
		.secret = {s->secret[0], s->secret[1]},
		.onloss = s->onloss,
		.opened_ms = s->opened_ms,
		.grace_ms = s->grace_ms,
		.heartbeat_ms = s->heartbeat_ms,
		.process = s->process,
		.as = named_session_id(s),
		.orphaned = s->orphaned};
}

struct session *
durable_session_make(struct core *core, struct record *r, const struct session_entry *e)
{
	struct session *s;

	if (e->id == 0)
		record_fail(r, "a session of it has no number");
	if (e->process.pid != 0 && session_bound(core, &e->process) != NULL)
		record_fail(r, "two of its sessions are bound to one process");
	if (e->orphaned && e->process.pid != 0)
		record_fail(r, "a session of it outlives a process that has not ended");
	if (r->failed)
		return NULL;
	s = session_make(core, e->id, &e->peer);
	if (s == NULL || (e->process.pid != 0 && !session_bind(core, s, &e->process))) {
		record_no_memory(r);
		return NULL;
	}
	s->has_secret = e->has_secret;
	memcpy(s->secret, e->secret, sizeof(s->secret));
	s->onloss = e->onloss;
	s->opened_ms = e->opened_ms;
	s->grace_ms = e->grace_ms;
	s->heartbeat_ms = e->heartbeat_ms;
	s->orphaned = e->orphaned;
	return s;
}

void
durable_session_settle(struct core *core, struct record *r, struct session *s, struct slice as)
{
	if (r->failed)
		return;
	if (as.n > 0 && ((s->heartbeat_ms == 0 && !s->ends) || s->grace_ms > 0 || s->process.pid != 0 ||
				s->onloss == ONLOSS_CLOSE ||
				(!s->ends && named_session_find(core, s->user->id, as) != NULL)))
		record_fail(r, "these fields cannot belong to a named session");
	else if (as.n > 0 && !named_session_give(core, s, as))
		record_no_memory(r);
	core->counts.graces += session_has_grace(s);
	s->user->graces += session_has_grace(s);
	core->liveness->heartbeats += s->heartbeat_ms > 0;
}

/* ---- losses ---- */

void
durable_loss_fields(struct record *r, struct loss_entry *e)
{
	record_unsigned(r, &e->session);
	state_name(r, &e->name);
	state_tag(r, &e->owner);
	if (r->type == RECORD_LOSS_GONE)
		return;
	e->reason = (enum loss_reason)record_range(r, e->reason, 0, LOSS_COUNT - 1);
	record_flag(r, &e->reported);
	e->token = record_range(r, e->token, 0, COMMAND_TOKEN_MAX);
}

struct loss_entry
durable_loss(const struct loss *loss)
{
	return (struct loss_entry){.session = loss->session->id,
		.name = loss_name(loss),
		.owner = loss_owner(loss),
		.reason = loss->reason,
		.reported = loss->reported,
		.token = loss->token};
}

void
durable_loss_make(struct core *core, struct record *r, struct session *s, const struct loss_entry *e)
{
	if (s == NULL || s->id != e->session || e->name.n == 0)
		record_fail(r, "a loss of it has no session, or no name");
	else if (!r->failed && !loss_put(core, s, e->name, e->owner, e->reason, e->reported, e->token))
		record_no_memory(r);
}

/* ---- holds ---- */

void
durable_hold_fields(struct record *r, struct hold_entry *e)
{
	record_unsigned(r, &e->attempt);
	e->token = record_range(r, e->token, 0, COMMAND_TOKEN_MAX);
	if (r->type == RECORD_HOLD_GONE)
		return;
	record_unsigned(r, &e->session);
	state_tag(r, &e->owner);
	state_why(r, &e->why);
	e->kind = (enum kind)record_range(r, e->kind, 0, KIND_COUNT - 1);
	e->count = record_range(r, e->count, 1, UINT32_MAX);
	e->granted_ms = state_time(r, e->granted_ms);
	e->ends_ms = state_time(r, e->ends_ms);
	e->ceiling_at_ms = state_time(r, e->ceiling_at_ms);
	record_flag(r, &e->leased);
	e->ends_why = (enum loss_reason)record_range(r, e->ends_why, 0, LOSS_COUNT - 1);
	e->claim_ends_ms = state_time(r, e->claim_ends_ms);
}

struct hold_entry
durable_hold(const struct grant *g)
{
	const struct terms *t = grant_terms(g);
	bool ends = t != NULL && t->ends_ms != TIMER_NEVER;

	return (struct hold_entry){.attempt = g->lease->attempt,
		.token = g->token,
		.session = g->session != NULL ? g->session->id : 0,
		.owner = grant_owner(g),
		.why = grant_why(g),
		.kind = (enum kind)g->kind,
		.count = g->count,
		.granted_ms = grant_since_ms(g),
		.ends_ms = ends ? t->ends_ms : TIMER_NEVER,
		.ceiling_at_ms = ends ? t->ceiling_at_ms : TIMER_NEVER,
		.leased = ends && t->leased,
		.ends_why = ends ? t->ends_why : LOSS_EXPIRED,
		.claim_ends_ms = grant_claim_ends_ms(g)};
}

static void
hold_terms(struct core *core, struct grant *g, const struct hold_entry *e)
{
	struct terms *t;

	if (e->ends_ms == TIMER_NEVER && e->claim_ends_ms == TIMER_NEVER)
		return;
	t = grant_bound(core, g);
	t->leased = e->leased;
	t->ceiling_at_ms = e->ceiling_at_ms;
	t->ends_ms = e->ends_ms;
	t->ends_why = e->ends_why;
	t->claim_ends_ms = e->claim_ends_ms;
}

struct grant *
durable_hold_make(struct core *core, struct lease *l, struct session *session, const struct hold_entry *e)
{
	struct grant *g = freelist_new(core, offsetof(struct grant, bytes) + e->owner.n + e->why.n);

	assert(e->owner.n <= OWNER_BYTES_MAX && e->why.n <= WHY_BYTES_MAX);
	if (g == NULL)
		return NULL;
	if (e->owner.n > 0)
		memcpy(g->bytes, e->owner.p, e->owner.n);
	if (e->why.n > 0)
		memcpy(g->bytes + e->owner.n, e->why.p, e->why.n);
	g->owner_n = (uint8_t)e->owner.n;
	g->why_n = e->why.n & GRANT_WHY_MAX;
	g->lease = l;
	g->session = session;
	g->kind = e->kind;
	g->token = e->token;
	g->count = (uint32_t)e->count;
	g->granted_ms = e->granted_ms;
	hold_terms(core, g, e);
	return g;
}
