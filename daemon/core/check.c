/*
 * check: every invariant of the whole state, for tests and the simulator. An invariant of one object is
 * asserted where that object changes; here are those between objects.
 */
#include "daemon/core/core.h"
#include "daemon/core/core_inner.h"
#include "daemon/core/grant.h"
#include "daemon/core/latch.h"
#include "daemon/core/lease.h"
#include "daemon/core/mlock.h"
#include "daemon/core/quorum.h"
#include "daemon/core/resource.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/semaphore.h"
#include "daemon/core/session.h"
#include "daemon/core/user.h"

#include <assert.h>

static void
check_waiters(const struct core *core, const struct resource *r)
{
	const struct waiter *w;
	size_t waiters = 0, once = 0, async = 0;
	uint64_t ticket = 0;

	TAILQ_FOREACH (w, &r->queue->waiters, in_resource) {
		assert(w->resource == r);
		assert(w->conn == NULL || w->conn->session == w->session);
		assert(w->conn == NULL || w->async || w->part != NULL || w->conn->blocked == w);
		assert(w->part == NULL || w->part->waiter == w);
		assert(w->part == NULL || (w->conn != NULL && w->part->mlock == w->conn->mlock));
		/* An orphaned waiter exists only while the client may come back for it. */
		assert(w->conn != NULL || (!w->once && timer_is_armed(&w->session->grace_timer)));
		assert((w->kind == KIND_PERMITS) == (r->limit > 0) && w->permits <= r->limit);
		waiters++;
		assert(w->ticket > ticket);
		ticket = w->ticket;
		once += w->once;
		async += w->async;
	}
	assert((r->queue == &core->nobody) == (waiters == 0));
	assert(waiters == r->queue->count && once == r->queue->once && async == r->queue->async);
}

static size_t
lease_grants(const struct lease *l)
{
	const struct grant *g;
	size_t n = 0;

	for (g = l->grants; g != NULL; g = g->after)
		n++;
	return n;
}

static void
check_held(const struct core *core, const struct lease *l, int64_t now_ms)
{
	const struct lease_held *held = lease_held(l);
	const struct round_held *t = l->round != NULL ? round_held(l) : NULL;
	int64_t at_ms = timer_at(&core->timers, &l->timer);

	assert(held->valid_ms > now_ms && at_ms <= held->valid_ms);
	/* A validity is no longer than what can have been asked for, and tokens only grow. */
	assert(held->valid_ms <= now_ms + l->term_ms && l->term_ms > 0);
	assert(seats_ours(core, l) > 0);
	assert(held->token >= 1 && held->token <= held->token_last + 1);
	assert(t == NULL || t->spare_first == 0 || t->spare_first > held->token_last);
	/* A lease with work under way has a round. */
	assert(t != NULL || (held->renewal != RENEWAL_ASKING && !held->wanted && !held->lines));
	assert(!held->lines || (l->kind == KIND_SHARED && at_ms <= t->line_ms));
	/* A held lease can only change to shared: the masters may be told later, never before. */
	assert(held->told == l->kind || l->kind == KIND_SHARED);
}

static void
check_lease(const struct core *core, const struct lease *l, int64_t now_ms)
{
	/* Nothing is granted without a lease that is surely ours. */
	assert(l->grants == NULL || l->state == LEASE_HELD);
	/* In every state but NONE, a timer is armed. */
	assert((l->state != LEASE_NONE) == timer_is_armed(&l->timer));
	/* A lease in state NONE has no round, and one that is being acquired has one. */
	assert(l->round == NULL || l->state != LEASE_NONE);
	assert(l->round != NULL || l->state != LEASE_ACQUIRING);
	/* A refusal is counted in the step in which it comes: only permits may have to wait for it. */
	assert(l->state != LEASE_WAITING || l->kind == KIND_PERMITS || lease_waiting(l)->why != WAIT_REFUSED);
	if (l->state == LEASE_HELD)
		check_held(core, l, now_ms);
}

/* If there are waiters, a hold, a lease under way or the return of the master will serve them. A name that is
 * not needed has been forgotten. */
static void
check_share(const struct core *core, const struct resource *r)
{
	const struct lease *l = &r->lease;

	assert(l->kind != KIND_PERMITS && l->permits == 0);
	assert(r->queue->count == 0 || r->grant_count > 0 || l->state != LEASE_NONE ||
		!quorum_usable(core, r->link));
	assert(r->grant_count > 0 || r->queue->count > 0 || l->state != LEASE_NONE);
}

/* Each permit lease has at most one hold, as large as itself. Those without a hold come first; the one being
 * acquired has none. */
static void
check_permit_leases(const struct core *core, const struct resource *r)
{
	const struct lease *acquiring = permit_lease_acquiring(r), *l;
	const struct permit_lease *s;
	bool kept = false, held = false;

	assert(r->grant_count > 0 || r->queue->count > 0 || !TAILQ_EMPTY(&r->permit_leases.list));
	TAILQ_FOREACH (s, &r->permit_leases.list, in_resource) {
		l = &s->lease;
		assert(l->kind == KIND_PERMITS && lease_grants(l) <= 1);
		assert(l->grants != NULL || !held);
		held |= l->grants != NULL;
		if (l == acquiring) {
			assert(l->state != LEASE_HELD && l->grants == NULL);
			continue;
		}
		assert(l->state == LEASE_HELD && permit_lease_find(core, r, l->attempt) == l);
		assert(s->slots != NULL && s->offer == NULL);
		assert(l->permits >= 1 && l->permits <= r->limit);
		kept |= l->grants == NULL;
	}
	assert(acquiring == NULL || acquiring->state != LEASE_NONE || !quorum_usable(core, r->link));
	assert(r->queue->count == 0 || kept || acquiring != NULL || !quorum_usable(core, r->link));
}

static void
check_grant(const struct grant *g, int64_t now_ms)
{
	assert(g->count >= 1 && g->token > 0);
	assert(grant_terms(g) == NULL || g->terms->grant == g);
	assert(grant_ends_ms(g) > now_ms && (g->session != NULL || grant_ends_ms(g) != TIMER_NEVER));
	/* A renewed lease may last beyond a withheld hold; what was told must not go beyond the lease. */
	assert(g->session != NULL || g->terms->told_until_ms <= lease_told_ms(g->lease));
	/* An untold hold exists only while the client may come back for it. */
	assert(!g->untold || (g->session != NULL && timer_is_armed(&g->session->grace_timer)));
}

static void
check_grants(const struct lease *l, int64_t now_ms, struct core_counts *seen)
{
	size_t grants = lease_grants(l);
	const struct grant *g;

	for (g = l->grants; g != NULL; g = g->after) {
		assert(g->lease == l);
		/* A writer is alone, and holds on a lease that is not shared. */
		assert(g->kind == KIND_SHARED || grants == 1);
		assert(g->kind == l->kind || (g->kind == KIND_SHARED && l->kind == KIND_EXCLUSIVE));
		check_grant(g, now_ms);
		assert(part_of(g) == NULL || l->resource->parts);
		seen->withheld += g->session == NULL;
	}
}

static void
check_resource(const struct core *core, const struct resource *r, int64_t now_ms, struct core_counts *seen)
{
	const struct lease *l;
	size_t grants = 0;
	int64_t taken = 0;

	assert(rules_have(&core->rules, r->rule));
	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
		assert(l->resource == r);
		check_lease(core, l, now_ms);
		check_grants(l, now_ms, seen);
		seen->leases += l->state == LEASE_HELD;
		grants += lease_grants(l);
		taken += l->grants != NULL ? l->permits : 0;
	}
	assert(r->limit == 0 || !r->parts);
	assert(grants == r->grant_count && (r->limit == 0 || taken == r->permit_leases.taken));
	if (r->limit == 0)
		check_share(core, r);
	else
		check_permit_leases(core, r);
}

/* What a session has, counted anew. A waiting MLOCK also counts its names that are neither held nor waited
 * for. */
static int64_t
mlock_apart(const struct mlock *b)
{
	size_t apart = 0;

	for (size_t i = 0; i < b->count; i++)
		apart += b->parts[i].waiter == NULL && b->parts[i].grant == NULL;
	assert(apart == b->apart);
	return (int64_t)apart;
}

static int64_t
session_locks(const struct session *s)
{
	const struct grant *g;
	const struct waiter *w;
	const struct conn *conn;
	int64_t locks = 0;

	LIST_FOREACH (g, &s->grants, in_session)
		locks += user_locks(g->lease->permits);
	LIST_FOREACH (w, &s->waiters, in_session)
		locks += user_locks(w->permits);
	TAILQ_FOREACH (conn, &s->conns, in_session)
		locks += conn->mlock != NULL ? mlock_apart(conn->mlock) : 0;
	return locks;
}

static int64_t
session_losses(const struct session *s)
{
	const struct loss *loss;
	int64_t losses = 0;

	for (loss = s->losses; loss != NULL; loss = loss->hh.next)
		losses++;
	assert(losses == s->loss_count);
	return losses;
}

/* What sessions of this user have left behind. */
static int64_t
user_withheld(const struct core *core, const struct user *u)
{
	int64_t locks = 0;

	for (const struct resource *r = names_first(&core->names); r != NULL;
		r = names_next(&core->names, r)) {
		const struct grant *g = NULL;

		while ((g = resource_next_grant(r, g)) != NULL) {
			if (g->session == NULL && g->left_by == u)
				locks += user_locks(g->lease->permits);
		}
	}
	return locks;
}

static int64_t
user_latches(const struct core *core, const struct user *u)
{
	int64_t cost = 0;

	for (const struct latch_quota *m = core->latch_quotas; m != NULL; m = m->hh.next) {
		assert(timer_is_armed(&m->timer));
		cost += m->user == u ? m->cost : 0;
	}
	return cost;
}

static void
check_users(const struct core *core)
{
	for (const struct user *u = core->users; u != NULL; u = u->hh.next) {
		int64_t sessions = 0, graces = 0, locks = 0, losses = 0;

		for (const struct session *s = core->sessions; s != NULL; s = s->hh.next) {
			if (s->user != u)
				continue;
			assert(s->peer.user == u->id && s->locks == session_locks(s));
			sessions++;
			graces += s->grace_ms > 0;
			locks += s->locks;
			losses += session_losses(s);
		}
		assert(sessions == u->sessions && graces == u->graces && losses == u->losses);
		assert(user_withheld(core, u) == u->withheld && locks + u->withheld == u->locks);
		assert(user_latches(core, u) == u->latches);
		assert(u->sessions > 0 || u->withheld > 0 || u->latches > 0);
	}
}

static void
check_sessions(const struct core *core, struct core_counts *seen)
{
	int64_t heartbeats = 0;

	for (struct session *s = core->sessions; s != NULL; s = s->hh.next) {
		const struct grant *g;
		const struct waiter *w;
		size_t grants = 0, waiters = 0;

		LIST_FOREACH (g, &s->grants, in_session) {
			assert(g->session == s);
			assert(s->holds == NULL ||
				holds_find(core, s, g->lease->resource, grant_owner(g)) == g);
			/* While a session has a connection, it may have been told more since. */
			assert(s->conn_count == 0 || !g->bounded || g->terms->told_until_ms == TIMER_NEVER);
			grants++;
		}
		LIST_FOREACH (w, &s->waiters, in_session) {
			assert(!w->async || s->asyncs == NULL || asyncs_find(core, s, waiter_id(w)) == w);
			waiters++;
		}
		assert(grants == s->grant_count && waiters == s->waiter_count);
		assert(s->conn_count > 0 || s->process.pid != 0 || timer_is_armed(&s->grace_timer));
		seen->graces += s->grace_ms > 0;
		heartbeats += s->heartbeat_ms > 0;
		seen->sessions++;
		seen->grants += grants;
		seen->waiters += waiters;
	}
	assert(heartbeats == core->heartbeats);
}

/* The requests of one place; each must be of a kind that belongs there. */
static void
check_latch_requests(const struct core *core, const struct latch *l, enum latch_request_place place,
	struct core_counts *seen, size_t *patient)
{
	const struct latch_request *a;

	TAILQ_FOREACH (a, &l->requests[place], in_place) {
		assert(a->latch == l && a->place == place && l->name.n > 0);
		assert(place == LATCH_REQUEST_SENT || a->conn != NULL);
		assert(a->conn == NULL || (a->conn->latch_request == a && a->conn->blocked == NULL));
		/* A request that does not wait for ever has a timer. */
		assert(a->conn == NULL || timer_is_armed(&a->timer) || a->kind == LATCH_REQUEST_AWAIT);
		assert(place != LATCH_REQUEST_SENT || a->kind == LATCH_REQUEST_SET ||
			a->kind == LATCH_REQUEST_DOWN);
		assert(place != LATCH_REQUEST_SENT || latch_request_find(core, a->attempt) == a);
		assert(place != LATCH_REQUEST_WAITS || (a->kind == LATCH_REQUEST_AWAIT && !a->once));
		*patient += a->conn != NULL && !a->once;
		seen->requests += a->conn != NULL;
	}
}

static void
check_latch(const struct core *core, const struct latch *l, struct core_counts *seen)
{
	size_t patient = 0;

	for (int place = 0; place < LATCH_REQUEST_PLACE_COUNT; place++)
		check_latch_requests(core, l, (enum latch_request_place)place, seen, &patient);
	assert(patient == l->patient);
	assert(l->id == 0 || l->lost || (l->set > 0 && l->left >= 0 && l->left <= l->set));
	assert(!l->idle || (l->id != 0 && timer_at(&core->timers, &l->timer) == l->ends_ms));
	/* A waiting AWAIT has a look under way, a timer, or is told the master's return. */
	assert(patient == 0 || l->look != 0 || timer_is_armed(&l->timer) || !quorum_usable(core, l->link));
	seen->latches++;
}

/* The smallest missing name is waited for; an ordered MLOCK neither holds nor waits for a larger one. */
static void
check_mlock(const struct conn *conn)
{
	const struct mlock *b = conn->mlock;
	bool missing = false;

	assert(b->conn == conn && !b->dirty && !b->refused && b->count > 0);
	for (size_t i = 0; i < b->count; i++) {
		const struct part *p = &b->parts[i];

		assert(p->mlock == b && (p->waiter == NULL || p->grant == NULL));
		assert(p->waiter == NULL || p->waiter->conn == conn);
		assert(p->grant == NULL || (part_of(p->grant) == p && p->grant->session == conn->session));
		assert(!b->ordered || !missing || (p->waiter == NULL && p->grant == NULL));
		assert(missing || p->grant != NULL || p->waiter != NULL);
		missing = missing || p->grant == NULL;
	}
}

/* Each connection speaks for one session, and is found by its number. */
static void
check_conns(const struct core *core, struct core_counts *seen)
{
	const struct session *s, *next;
	const struct conn *conn;
	size_t count = 0;

	HASH_ITER (hh, core->sessions, s, next) {
		TAILQ_FOREACH (conn, &s->conns, in_session) {
			assert(conn->session == s && conn_find(core, conn->id) == conn);
			count++;
			if (conn->mlock == NULL)
				continue;
			assert(conn->blocked == NULL);
			check_mlock(conn);
			seen->mlocks++;
		}
	}
	assert(count == core->conns.count);
}

/* Every waiter is in one of these queues, as check_waiters() has seen. */
static void
check_queues(const struct core *core)
{
	const struct queue *q;
	size_t waiters = 0;

	TAILQ_FOREACH (q, &core->queues, in_core) {
		assert(q->count > 0 && q->resource->queue == q);
		waiters += q->count;
	}
	assert(waiters == core->counts.waiters);
}

void
core_check(const struct core *core, int64_t now_ms)
{
	struct core_counts seen = {0};

	if (core->ended)
		return; /* its last step scheduled nothing */
	assert(dirty_at_rest(core) && TAILQ_EMPTY(&core->mlocks));
	for (const struct resource *r = names_first(&core->names); r != NULL;
		r = names_next(&core->names, r)) {
		check_waiters(core, r);
		check_resource(core, r, now_ms, &seen);
		seen.resources++;
	}
	check_queues(core);
	check_sessions(core, &seen);
	check_users(core);
	check_conns(core, &seen);
	for (const struct release *u = core->releases; u != NULL; u = u->hh.next)
		seen.releasing++;
	for (const struct latch *l = core->latches; l != NULL; l = l->hh.next)
		check_latch(core, l, &seen);
	assert(seen.latches == core->counts.latches && seen.requests == core->counts.requests);
	assert(seen.sessions == core->counts.sessions && seen.resources == core->counts.resources);
	assert(seen.leases == core->counts.leases && seen.grants == core->counts.grants);
	assert(seen.withheld == core->counts.withheld && seen.waiters == core->counts.waiters);
	assert(seen.graces == core->counts.graces);
	assert(seen.releasing == core->counts.releasing && seen.mlocks == core->counts.mlocks);
	assert(core->drain == DRAIN_ENDS || core_wake_at(core) > now_ms);
}
