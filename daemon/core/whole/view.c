/*
 * view: see view.h. It must never change what it shows.
 */
#include "daemon/core/view.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/starts.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/guest.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/liveness/liveness.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/reason.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/majority.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/masterset_change.h"
#include "daemon/core/masterset/members.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static const char *const master_words[] = {
#define MASTER_STATE(name, word) word,
	MASTER_STATES(MASTER_STATE)
#undef MASTER_STATE
};

static const char *const lease_words[] = {
#define LEASE_STATE(id, word) word,
	LEASE_STATES(LEASE_STATE)
#undef LEASE_STATE
};

/* The open slots behind the members are shown, too. */
static const struct master *
master_shown(const struct core *core, unsigned master)
{
	unsigned i = core->settings.masters;

	assert(master < core_masters(core));
	if (master < i)
		return &core->masters[master];
	for (unsigned left = master - i;; i++) {
		assert(i < CORE_SLOTS_MAX);
		if (core->masters[i].place[0] == '\0')
			continue;
		if (left-- == 0)
			return &core->masters[i];
	}
}

void
core_view_master(const struct core *core, int64_t now_ms, unsigned master, struct master_view *out)
{
	const struct master *m = master_shown(core, master);

	out->place = m->place;
	out->way = m->way;
	out->id = m->id;
	out->role = masterset_role(core, m);
	out->step = m->next_step;
	out->unacknowledged = m->unacknowledged;
	/* Until it has heard of the set it is not in use. */
	out->state = m->state == MASTER_ADMITTED && !m->enrolled ? MASTER_REGISTERING : m->state;
	out->word = master_words[out->state];
	out->failing = m->failing;
	out->reason = m->failing                                              ? m->error
		      : m->state == MASTER_AWAY || m->state == MASTER_REFUSED ? m->reason
									      : "";
	out->refused_count =
		out->state == MASTER_ADMITTED || out->state == MASTER_GUARDED ? m->refused_count : 0;
	out->refused = out->refused_count > 0 ? m->refused : "";
	out->guard_ms = 0;
	if (m->state == MASTER_GUARDED && m->guard_until_ms > now_ms)
		out->guard_ms = m->guard_until_ms - now_ms;
	else if (master_withheld(m)) /* the timer may be due */
		out->guard_ms = m->withheld_until_ms > now_ms ? m->withheld_until_ms - now_ms : 1;
	out->incarnation = m->incarnation;
	out->links_up = 0;
	out->down = (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED) && !m->registered;
	out->silent = out->down && !m->failing;
	for (unsigned i = 0; i < core->settings.links; i++) {
		out->links_up += m->links[i].identified;
		out->down |= m->links[i].suspect;
		out->silent |= m->links[i].suspect;
	}
	out->condition = out->silent ? "silent" : out->failing ? "failing" : out->word;
}

void
core_view_service(const struct core *core, struct service_view *out)
{
	unsigned link = 0;
	struct reply why;
	size_t left;

	assert(core->settings.links >= 1);
	*out = (struct service_view){.settled = true};
	while (link < core->settings.links - 1 && majority_usable(core, link))
		link++;
	out->available = majority_works(core, link);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];

		out->settled &= m->state != MASTER_REGISTERING &&
				(m->state != MASTER_AWAY || m->reason[0] != '\0') &&
				(m->state != MASTER_ADMITTED || m->enrolled);
	}
	if (core->drain != DRAIN_NONE) {
		out->available = false;
		out->settled = true;
		left = core->counts.grants + core->counts.withheld;
		(void)snprintf(out->text, sizeof(out->text), "draining, %zu hold%s left", left,
			left == 1 ? " is" : "s are");
		return;
	}
	/* Masters that answer with errors are asked all the same: the first that answers well is seen at
	 * once. */
	if (majority_usable(core, link)) {
		majority_missing(core, link, out->text, sizeof(out->text));
		return;
	}
	majority_refusal(core, link, &why);
	(void)snprintf(out->text, sizeof(out->text), "%s", why.text);
}

void
core_view_key(const struct core *core, struct slice name, const char **key, enum interop *interop)
{
	const struct rule *rule = rules_find(&core->leases->rules, name);

	*key = rule->key;
	*interop = rule->interop;
}

void
core_view_masterset(const struct core *core, struct masterset_view *out)
{
	const struct masterset *set = core->masterset;
	struct members list;

	*out = (struct masterset_view){.word = masterset_refused(core) ? "refused"
					       : set->agreed           ? "agreed"
								       : "forming",
		.set = set->text,
		.places = set->places,
		.agreed = set->agreed,
		.change = "none",
		.next = "",
		.next_places = ""};
	if (members_read(slice_of(set->text), slice_of(set->places), &list))
		out->generation = list.generation;
	if (set->request.open && set->request.text[0] == '\0')
		out->change = "checking";
	if (!members_read(slice_of(set->next.text), slice_of(set->next.places), &list))
		return;
	out->change = masterset_accepted(core) ? "accepted" : "offered";
	out->next_generation = list.generation;
	out->next = set->next.text;
	out->next_places = set->next.places;
}

unsigned
core_members(const struct core *core)
{
	return core->settings.masters;
}

unsigned
core_masters(const struct core *core)
{
	unsigned n = core->settings.masters;

	for (unsigned i = n; i < CORE_SLOTS_MAX; i++)
		n += core->masters[i].place[0] != '\0';
	assert(n <= CORE_SLOTS_MAX);
	return n;
}

void
core_view_terms(const struct core *core, struct terms_view *out)
{
	*out = (struct terms_view){.wanted_lease_ms = core->settings.lease_max_ms,
		.longest_ms = terms_least_ms(core, core->settings.lease_max_ms),
		.guarded_lease_ms = core->quorum->guarded_lease_ms};
	assert(out->longest_ms <= out->wanted_lease_ms);
}

void
core_view_counts(const struct core *core, struct core_counts *out)
{
	*out = core->counts;
}

static int64_t
longer(int64_t ms, const struct starts *starts, int64_t now_ms)
{
	int64_t since_ms = starts_oldest(starts);

	return since_ms < now_ms && now_ms - since_ms > ms ? now_ms - since_ms : ms;
}

void
core_view_longest(const struct core *core, int64_t now_ms, struct longest_view *out)
{
	int64_t wait_ms = longer(0, &core->locks->wait_starts, now_ms);

	*out = (struct longest_view){.wait_ms = longer(wait_ms, &core->families->mlock_starts, now_ms),
		.hold_ms = longer(0, &core->locks->hold_starts, now_ms)};
}

int64_t
core_relied_until(const struct core *core)
{
	int64_t until_ms = 0;

	for (const struct resource *r = names_first(&core->leases->names); r != NULL;
		r = names_next(&core->leases->names, r)) {
		for (const struct grant *g = resource_next_grant(r, NULL); g != NULL;
			g = resource_next_grant(r, g)) {
			if (grant_relied_until_ms(g) > until_ms)
				until_ms = grant_relied_until_ms(g);
		}
	}
	return until_ms;
}

static void
view_hold(const struct core *core, int64_t now_ms, const struct grant *g, struct hold_view *out)
{
	assert(g->session != NULL || g->bounded);
	out->kind = g->kind;
	out->permits = g->lease->permits;
	out->session = g->session == NULL ? 0 : g->session->id;
	named_session_hash(core, g->session, out->as);
	if (g->session != NULL)
		out->peer = &g->session->peer;
	else
		out->peer = g->last == NULL ? NULL : &g->last->peer;
	out->owner = grant_owner(g);
	out->why = grant_why(g);
	out->token = g->token;
	out->count = g->count;
	out->held_ms = now_ms - grant_since_ms(g);
	out->valid_ms = grant_valid_ms(core, g) + core->now.ms - now_ms;
	out->withheld = g->session == NULL;
	out->ends = g->session != NULL && g->session->ends;
}

static enum kind
view_kind(const struct resource *r)
{
	if (r->limit > 0)
		return KIND_PERMITS;
	assert((r->grant_count > 0) == (r->lease.grants != NULL));
	if (r->grant_count > 0)
		return r->lease.grants->kind;
	return r->demand->count > 0 ? TAILQ_FIRST(&queue_of(r)->waiters)->kind : r->lease.kind;
}

/* Of several permit leases, the most telling: the lease of the oldest hold, else the one being acquired, else
 * the one used last. */
static const struct lease *
view_lease(const struct resource *r, const struct grant *oldest)
{
	static const struct lease none;

	assert(oldest == NULL || oldest->lease->resource == r);
	if (r->limit == 0)
		return &r->lease;
	if (oldest != NULL)
		return oldest->lease;
	if (permit_lease_acquiring(r) != NULL)
		return permit_lease_acquiring(r);
	return TAILQ_EMPTY(&r->permit_leases.list) ? &none : resource_next_lease(r, NULL);
}

static void
view_resource(const struct core *core, int64_t now_ms, const struct resource *r, struct resource_view *out)
{
	const struct grant *oldest = resource_next_grant(r, NULL);
	const struct lease *l = view_lease(r, oldest),
			   *acquire = permit_lease_acquiring(r) != NULL ? permit_lease_acquiring(r) : l;
	const struct resource_view none = {.held = false};

	assert((oldest != NULL) == (r->grant_count > 0));
	*out = none;
	out->name = resource_name(r);
	out->lease = lease_words[l->state];
	if (l->state == LEASE_HELD) {
		out->lease_ms = lease_held(l)->valid_until_ms - now_ms;
		out->renewing = lease_held(l)->renewal == RENEWAL_ASKING;
		out->tokens_left = lease_held(l)->token_last - lease_held(l)->token + 1;
		assert(out->tokens_left >= 0);
	}
	out->foreign = round_foreign(acquire);
	out->position = round_position(acquire);
	out->votes = lease_votes_ours(core, l);
	out->queue_master = acquire->queue_master;
	out->wanted = lease_wanted(l);
	out->waiters = r->demand->count;
	if (out->waiters > 0)
		out->longest_ms = now_ms - TAILQ_FIRST(&queue_of(r)->waiters)->since_ms;
	out->kind = view_kind(r);
	out->holds = r->grant_count;
	out->limit = r->limit;
	out->taken = r->limit == 0 ? 0 : r->permit_leases.taken;
	out->held = oldest != NULL;
	if (oldest != NULL)
		view_hold(core, now_ms, oldest, &out->hold);
}

bool
core_view_resource(const struct core *core, int64_t now_ms, struct slice name, struct resource_view *out)
{
	const struct resource *r = names_find(&core->leases->names, name);

	if (r == NULL)
		return false;
	view_resource(core, now_ms, r, out);
	return true;
}

bool
core_view_reason(const struct core *core, int64_t now_ms, struct slice name, char *out, size_t room)
{
	const struct resource *r = names_find(&core->leases->names, name);

	if (r == NULL || r->demand->count == 0)
		return false;
	wait_reason(core, TAILQ_FIRST(&queue_of(r)->waiters), now_ms, out, room);
	return true;
}

struct scan_view {
	const struct core *core;
	int64_t now_ms;
	union {
		bool (*each)(void *arg, const struct resource_view *view);
		bool (*each_latch)(void *arg, const struct latch_view *view);
		bool (*each_session)(void *arg, const struct session_view *view);
	};
	void *arg;
};

static scan_cursor
scan_table(const UT_hash_table *table, scan_cursor cursor, size_t budget,
	bool (*tell)(const struct scan_view *view, const void *element), const struct scan_view *view)
{
	struct scan scan = {.cursor = cursor, .budget = budget};
	const UT_hash_handle *hh;

	if (table == NULL)
		return 0;
	assert(table->num_buckets == 1U << table->log2_num_buckets);
	do {
		hh = table->buckets[scan_reverse(scan.cursor) & (table->num_buckets - 1)].hh_head;
		for (; hh != NULL; hh = hh->hh_next) {
			if (scan_meets(&scan, hh->hashv))
				scan.enough |= !tell(view, (const char *)hh - table->hho);
		}
	} while (scan_pass(&scan, table->log2_num_buckets));
	return scan.cursor;
}

static bool
scan_name(void *arg, struct resource *r)
{
	const struct scan_view *scan = arg;
	struct resource_view view;

	view_resource(scan->core, scan->now_ms, r, &view);
	return scan->each(scan->arg, &view);
}

scan_cursor
core_scan_names(const struct core *core, int64_t now_ms, scan_cursor cursor, size_t budget,
	bool (*each)(void *arg, const struct resource_view *view), void *arg)
{
	struct scan_view view = {core, now_ms, {each}, arg};

	return names_scan(&core->leases->names, cursor, budget, scan_name, &view);
}

void
core_each_hold(const struct core *core, int64_t now_ms, struct slice name,
	bool (*each)(void *arg, const struct hold_view *view), void *arg)
{
	const struct resource *r = names_find(&core->leases->names, name);
	const struct grant *g = NULL;

	if (r == NULL)
		return;
	while ((g = resource_next_grant(r, g)) != NULL) {
		struct hold_view view;

		view_hold(core, now_ms, g, &view);
		if (!each(arg, &view))
			return;
	}
}

void
core_each_waiter(const struct core *core, int64_t now_ms, struct slice name,
	bool (*each)(void *arg, const struct waiter_view *view), void *arg)
{
	const struct resource *r = names_find(&core->leases->names, name);
	const struct waiter *w;
	int64_t position = 0;

	if (r == NULL)
		return;
	TAILQ_FOREACH (w, &queue_of(r)->waiters, in_resource) {
		struct waiter_view view = {
			.ticket = w->ticket,
			.kind = w->kind,
			.permits = w->permits,
			.session = w->session->id,
			.peer = &w->session->peer,
			.owner = waiter_owner(w),
			.why = waiter_why(w),
			.position = ++position,
			.age_ms = now_ms - w->since_ms,
			.left_ms = w->until_ms == TIMER_NEVER ? -1 : w->until_ms - now_ms,
		};

		assert(position <= r->demand->count);
		if (!each(arg, &view))
			return;
	}
}

static int64_t
session_left_ms(const struct core *core, const struct session *s, int64_t now_ms)
{
	int64_t at_ms = timer_at(&core->timers, &s->grace_timer);

	if (s->conn_count > 0 || at_ms == TIMER_NEVER)
		return -1;
	return at_ms > now_ms ? at_ms - now_ms : 0;
}

static bool
scan_session(const struct scan_view *scan, const void *element)
{
	const struct session *s = element;
	struct session_view view = {
		.id = s->id,
		.peer = &s->peer,
		.connections = s->conn_count,
		.ends = s->ends,
		.grants = s->grant_count,
		.waiters = s->waiter_count,
		.age_ms = scan->now_ms - s->opened_ms,
		.bound_pid = s->process.pid,
		.bound_started = s->process.started,
		.bound_space = s->process.space,
		.grace_ms = s->grace_ms,
		.left_ms = session_left_ms(scan->core, s, scan->now_ms),
		.heartbeat_ms = s->heartbeat_ms,
	};

	named_session_hash(scan->core, s, view.as);
	return scan->each_session(scan->arg, &view);
}

scan_cursor
core_scan_sessions(const struct core *core, int64_t now_ms, scan_cursor cursor, size_t budget,
	bool (*each)(void *arg, const struct session_view *view), void *arg)
{
	const struct scan_view view = {core, now_ms, {.each_session = each}, arg};
	const struct session *first = core->sessions->all;

	return scan_table(first == NULL ? NULL : first->hh.tbl, cursor, budget, scan_session, &view);
}

bool
core_wants_heartbeat(const struct core *core, conn_id conn)
{
	const struct conn *c = core->liveness->heartbeats > 0 ? conn_find(core, conn) : NULL;

	return c != NULL && c->session->heartbeat_ms > 0;
}

void
core_expect(const struct core *core, conn_id conn, unsigned ahead)
{
	const struct conn *c = conn_find(core, conn);

	assert(ahead > 0);
	if (c == NULL)
		return;
	if (ahead > 1) {
		__builtin_prefetch(&c->session);
		__builtin_prefetch(&c->mlock);
	} else {
		__builtin_prefetch(c->session, 1);
		__builtin_prefetch(&c->session->waiters);
	}
}

session_id
core_session_of(const struct core *core, conn_id conn)
{
	const struct conn *c = conn_find(core, conn);

	return c == NULL ? 0 : c->session->id;
}

bool
core_view_keep(const struct core *core, conn_id conn, struct keep_view *out)
{
	const struct conn *c = conn_find(core, conn);

	if (c == NULL || !c->durable)
		return false;
	*out = (struct keep_view){.session = c->session->id,
		.pushed = c->session->onloss == ONLOSS_PUSH && c->session->push_conn == conn,
		.anchor = c->anchor};
	return true;
}

bool
core_conn_waits(const struct core *core, conn_id conn)
{
	const struct conn *c = conn_find(core, conn);

	return c == NULL || c->guest != NULL || c->waiters > 0 || c->mlock != NULL ||
	       c->latch_request != NULL || c->drains;
}

void
core_each_conn(const struct core *core, session_id session, bool (*each)(void *arg, conn_id conn), void *arg)
{
	const struct session *s = session_find(core, session);
	const struct conn *conn;

	if (s == NULL)
		return;
	TAILQ_FOREACH_REVERSE(conn, &s->conns, conn_list, in_session)
	{
		assert(conn->session == s);
		if (!each(arg, conn->id))
			return;
	}
}

static void
view_latch(const struct latch *l, int64_t now_ms, struct latch_view *out)
{
	bool there = l->id != 0 && !l->lost && now_ms < l->ends_ms;

	assert(l->idle == latch_unused(l));
	*out = (struct latch_view){
		.name = l->name, .state = l->lost ? "lost" : "unset", .waiters = l->patient};
	if (there) {
		out->state = l->left == 0 ? "open" : "closed";
		out->set = l->set;
		out->left = l->left;
		out->live_ms = l->ends_ms - now_ms;
	}
}

bool
core_view_latch(const struct core *core, int64_t now_ms, struct slice name, struct latch_view *out)
{
	const struct latch *l = latch_find(core, name);

	if (l == NULL)
		return false;
	view_latch(l, now_ms, out);
	return true;
}

static bool
scan_latch(const struct scan_view *scan, const void *element)
{
	struct latch_view view;

	view_latch(element, scan->now_ms, &view);
	return scan->each_latch(scan->arg, &view);
}

scan_cursor
core_scan_latches(const struct core *core, int64_t now_ms, scan_cursor cursor, size_t budget,
	bool (*each)(void *arg, const struct latch_view *view), void *arg)
{
	const struct scan_view view = {core, now_ms, {.each_latch = each}, arg};
	const struct latch *first = core->families->latches;

	return scan_table(first == NULL ? NULL : first->hh.tbl, cursor, budget, scan_latch, &view);
}

static bool
each_await(const struct core *core, const struct latch_request_list *asks, int64_t now_ms,
	bool (*each)(void *arg, const struct waiter_view *view), void *arg)
{
	const struct latch_request *a;

	TAILQ_FOREACH (a, asks, in_stage) {
		struct waiter_view view = {
			.ticket = a->conn->id, /* the connection asks for nothing else meanwhile */
			.session = a->session,
			.peer = &a->conn->session->peer,
			.age_ms = now_ms - a->since_ms,
			.left_ms =
				timer_is_armed(&a->timer) ? timer_at(&core->timers, &a->timer) - now_ms : -1,
		};

		assert(a->stage != LATCH_REQUEST_SENT && a->conn->latch_request == a);
		if (a->kind == LATCH_REQUEST_AWAIT && !each(arg, &view))
			return false;
	}
	return true;
}

void
core_each_latch_waiter(const struct core *core, int64_t now_ms, struct slice name,
	bool (*each)(void *arg, const struct waiter_view *view), void *arg)
{
	const struct latch *l = latch_find(core, name);

	if (l != NULL && each_await(core, &l->requests[LATCH_REQUEST_WAITS], now_ms, each, arg))
		(void)each_await(core, &l->requests[LATCH_REQUEST_DUE], now_ms, each, arg);
}
