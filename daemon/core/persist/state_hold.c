/*
 * state_hold: see state_hold.h. The holds on a lease, oldest first, and the waits for a name, in their order.
 */
#include "daemon/core/persist/state_hold.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/guest.h"
#include "daemon/core/families/mlock.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/slow.h"
#include "daemon/core/persist/durable.h"
#include "daemon/core/persist/state.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/record.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- a hold ---- */

bool
state_grant_left(struct core *core, struct grant *g, uint64_t user)
{
	struct user *u = user_get(core, user);
	int64_t locks = user_locks(g->lease->permits);

	assert(g->session == NULL);
	if (u == NULL)
		return false;
	g->left_by = u;
	u->locks += locks;
	u->withheld += locks;
	return true;
}

/* A withheld hold: its user, and the client that had it. */
static void
left_fields(struct core *core, struct record *r, struct grant *g)
{
	uint64_t user = record_loads(r) ? 0 : g->left_by->id;
	bool known = !record_loads(r) && g->last != NULL;

	assert(g->session == NULL);
	record_unsigned(r, &user);
	record_flag(r, &known);
	if (record_loads(r) && !r->failed) {
		/* Without memory the client is not shown. */
		g->last = known ? freelist_new(core, sizeof(*g->last)) : NULL;
		if (!state_grant_left(core, g, user))
			record_no_memory(r);
	}
	if (known && g->last != NULL)
		peer_fields(r, &g->last->peer);
}

/* The last field. The timer is armed only here, when the hold is one of the core's: a hold that does not fit
 * is freed without its timer. */
static void
long_field(struct core *core, struct record *r, struct grant *g)
{
	if (!g->bounded)
		return;
	g->terms->long_at_ms = state_time(r, g->terms->long_at_ms);
	if (record_loads(r) && g->session == NULL)
		g->terms->long_at_ms = TIMER_NEVER;
	if (record_loads(r))
		terms_arm(core, g->terms);
}

/* What only a restart keeps of it: whether its client knows of it, and how long that relies on it. */
static void
announced_fields(struct core *core, struct record *r, struct grant *g)
{
	bool unannounced = g->unannounced, bounded = g->bounded;

	record_flag(r, &unannounced);
	g->unannounced = unannounced;
	record_flag(r, &bounded);
	if (bounded) {
		int64_t *until_ms = &grant_bound(core, g)->announced_until_ms;

		*until_ms = state_time(r, *until_ms);
	}
}

bool
state_grant_fits(const struct grant *g)
{
	const struct lease *l = g->lease;

	if (l->state != LEASE_HELD || (l->grants != NULL && l->grants->kind != KIND_SHARED) || g->token == 0)
		return false;
	if (g->session == NULL && (!g->bounded || g->unannounced))
		return false;
	if (l->kind == KIND_PERMITS)
		return g->kind == KIND_PERMITS && l->permits > 0;
	return g->kind == KIND_SHARED ||
	       (g->kind == KIND_EXCLUSIVE && l->kind == KIND_EXCLUSIVE && l->grants == NULL);
}

/* NULL: it cannot be, or there is no memory for it. */
static struct grant *
grant_load(struct state_loader *l)
{
	struct hold_entry e = {.count = 1};
	struct session *session;
	struct grant *g;

	durable_hold_fields(l->r, &e);
	session = e.session == 0 ? NULL : map_find(&l->sessions, e.session);
	if (l->r->failed || l->lease == NULL || l->lease->attempt != e.attempt ||
		(e.session != 0 && session == NULL))
		return NULL;
	g = durable_hold_make(l->core, l->lease, session, &e);
	if (g != NULL)
		announced_fields(l->core, l->r, g);
	return g;
}

void
state_load_grant(struct state_loader *l)
{
	struct grant *g = grant_load(l);

	if (g == NULL || l->r->failed || !state_grant_fits(g)) {
		record_fail(l->r, "a hold in it is invalid, or there is no memory for it");
		if (g != NULL)
			grant_free(g);
		return;
	}
	grant_join(l->core, g);
	if (g->session == NULL)
		left_fields(l->core, l->r, g);
	long_field(l->core, l->r, g);
}

static void
save_grant(struct core *core, struct record *r, struct grant *g)
{
	struct hold_entry e = durable_hold(g);

	assert(g->lease->state == LEASE_HELD);
	record_begin(r, RECORD_GRANT);
	durable_hold_fields(r, &e);
	announced_fields(core, r, g);
	if (g->session == NULL)
		left_fields(core, r, g);
	long_field(core, r, g);
	record_end(r);
}

void
state_save_grants(struct core *core, struct record *r, struct lease *l)
{
	for (struct grant *g = l->grants; g != NULL; g = g->after)
		save_grant(core, r, g);
}

/* ---- a wait ---- */

static void
waiter_fields(struct core *core, struct record *r, struct waiter *w)
{
	record_unsigned(r, &w->ticket);
	record_flag(r, &w->once);
	record_flag(r, &w->validity);
	w->kind = (enum kind)record_range(r, w->kind, 0, KIND_COUNT - 1);
	w->permits = record_range(r, w->permits, 0, COMMAND_LIMIT_MAX);
	w->retries = record_range(r, w->retries, -1, COMMAND_RETRIES_MAX);
	w->until_ms = state_time(r, w->until_ms);
	w->since_ms = state_time(r, w->since_ms);
	w->lease_ms = record_range(r, w->lease_ms, 0, COMMAND_MS_MAX);
	w->max_hold_ms = record_range(r, w->max_hold_ms, 0, COMMAND_MS_MAX);
	state_timer(r, core, &w->timer);
	w->claim_ms = record_range(r, w->claim_ms, 0, COMMAND_MS_MAX);
	record_flag(r, &w->slow);
}

struct waiter_head {
	uint64_t session;
	conn_id conn; /* 0: lost */
	bool part;    /* of an MLOCK, which comes later and takes it */
	struct slice owner;
	struct slice why;
	struct slice id;
};

static void
waiter_head_fields(struct record *r, struct waiter_head *h)
{
	record_unsigned(r, &h->session);
	record_unsigned(r, &h->conn);
	record_flag(r, &h->part);
	state_tag(r, &h->owner);
	state_why(r, &h->why);
	state_tag(r, &h->id);
}

static uint16_t
keep(char *bytes, size_t at, struct slice from)
{
	assert(from.n <= UINT16_MAX);
	if (from.n > 0)
		memcpy(bytes + at, from.p, from.n);
	return (uint16_t)from.n;
}

static struct waiter *
waiter_load(struct state_loader *l, const struct waiter_head *h)
{
	struct waiter *w = freelist_new(l->core, sizeof(*w) + h->owner.n + h->why.n + h->id.n);

	if (w == NULL)
		return NULL;
	w->owner_n = keep(w->bytes, 0, h->owner);
	w->why_n = keep(w->bytes, w->owner_n, h->why);
	w->id_n = keep(w->bytes, (size_t)w->owner_n + w->why_n, h->id);
	w->resource = l->resource;
	w->session = map_find(&l->sessions, h->session);
	w->async = h->id.n > 0;
	if (h->conn != 0)
		w->conn = w->async ? conn_find(l->core, h->conn) : conn_speaking(l->core, h->conn);
	timer_init(&w->timer, TIMER_WAITER);
	waiter_fields(l->core, l->r, w);
	return w;
}

/* Whether it can be the next wait for its name: check.c asserts the same of the whole. */
static bool
waiter_fits(const struct core *core, const struct waiter *w, const struct waiter_head *h)
{
	const struct resource *r = w->resource;
	const struct waiter *last = TAILQ_LAST(&queue_of(r)->waiters, waiter_queue);

	assert(last == NULL || last->resource == r);
	if (w->session == NULL || (h->conn != 0 && (w->conn == NULL || w->conn->session != w->session)))
		return false;
	if (w->ticket > core->locks->tickets || w->ticket <= (last == NULL ? 0 : last->ticket))
		return false;
	if (w->conn == NULL ? w->once || h->part : h->part ? w->async : !w->async && w->conn->blocked != NULL)
		return false;
	return w->permits <= r->limit &&
	       (r->limit > 0 ? w->kind == KIND_PERMITS && w->permits > 0 : w->kind != KIND_PERMITS);
}

void
state_load_waiter(struct state_loader *l)
{
	struct waiter_head head = {0};
	struct waiter *w = NULL;

	waiter_head_fields(l->r, &head);
	if (!l->r->failed && l->resource != NULL)
		w = waiter_load(l, &head);
	if (w == NULL || l->r->failed || !waiter_fits(l->core, w, &head) || !queue_join(l->core, w)) {
		record_fail(l->r, "a wait in it is invalid, or there is no memory for it");
		if (w != NULL)
			timer_cancel(&l->core->timers, &w->timer);
		free(w);
		return;
	}
	if (head.part && map_add(&l->parts, w->ticket, w) != 0)
		record_no_memory(l->r);
	if (w->conn != NULL && !w->async && !head.part)
		w->conn->blocked = w;
}

static void
save_waiter(struct core *core, struct record *r, struct waiter *w)
{
	struct waiter_head head = {.session = w->session->id,
		.conn = w->conn == NULL ? 0 : w->conn->id,
		.part = w->part != NULL,
		.owner = waiter_owner(w),
		.why = waiter_why(w),
		.id = waiter_id(w)};

	/* Its MLOCK is saved as well, and takes it. */
	assert(w->part == NULL || w->part->waiter == w);
	record_begin(r, RECORD_WAITER);
	waiter_head_fields(r, &head);
	waiter_fields(core, r, w);
	record_end(r);
}

void
state_save_waiters(struct core *core, struct record *r, struct resource *name)
{
	struct waiter *w;

	TAILQ_FOREACH (w, &queue_of(name)->waiters, in_resource)
		save_waiter(core, r, w);
}
