/*
 * check: every invariant of the whole state, for tests and the simulator, and for a state that is loaded
 * (state.h). An invariant of one object is asserted where that object changes; here are those between
 * objects.
 */
#include "daemon/core/whole/check.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/starts.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/core.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/latch_quota.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/liveness/ending.h"
#include "daemon/core/liveness/liveness.h"
#include "daemon/core/lock/changes.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/holds.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/part.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/withheld.h"
#include "daemon/core/masterset/majority.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/name.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The check of a whole core. */
struct check {
	bool asserts;      /* what is wrong is our mistake */
	const char *wrong; /* the first thing that is; NULL: none */
};

#define HOLDS(c, what)                                                                                       \
	do {                                                                                                 \
		assert((what) || !(c)->asserts);                                                             \
		if ((c)->wrong == NULL && !(what))                                                           \
			(c)->wrong = #what;                                                                  \
	} while (0)

static void
check_waiters(struct check *c, const struct core *core, const struct resource *r)
{
	const struct waiter *w;
	size_t waiters = 0, once = 0, async = 0;
	uint64_t ticket = 0;

	TAILQ_FOREACH (w, &queue_of(r)->waiters, in_resource) {
		HOLDS(c, w->resource == r);
		HOLDS(c, w->conn == NULL || w->conn->session == w->session);
		HOLDS(c, w->conn == NULL || w->async || w->part != NULL || w->conn->blocked == w);
		HOLDS(c, !w->halved || (w->once && w->session->named != NULL && w->part == NULL));
		HOLDS(c, w->part == NULL || w->part->waiter == w);
		HOLDS(c, w->part == NULL || (w->conn != NULL && w->part->mlock == w->conn->mlock));
		/* An orphaned waiter exists only while the client may come back for it. */
		HOLDS(c, w->conn != NULL || (!w->once && (w->session->named != NULL ||
								 timer_is_armed(&w->session->grace_timer))));
		HOLDS(c, (w->kind == KIND_PERMITS) == (r->limit > 0) && w->permits <= r->limit);
		waiters++;
		HOLDS(c, w->ticket > ticket);
		ticket = w->ticket;
		once += w->once;
		async += w->async;
	}
	HOLDS(c, (queue_of(r) == &core->locks->no_queue) == (waiters == 0));
	w = TAILQ_FIRST(&queue_of(r)->waiters);
	HOLDS(c, w == NULL || (r->demand->kind == w->kind && r->demand->permits == w->permits));
	HOLDS(c, waiters == r->demand->count && once == r->demand->once && async == queue_of(r)->async);
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
check_held(struct check *c, const struct core *core, const struct lease *l, int64_t now_ms)
{
	const struct lease_held *held = lease_held(l);
	const struct round_held *t = l->round != NULL ? round_held(l) : NULL;
	int64_t at_ms = timer_at(&core->timers, &l->timer);

	HOLDS(c, held->valid_until_ms > now_ms && at_ms <= held->valid_until_ms);
	/* A validity is no longer than what can have been asked for, and tokens only grow. */
	HOLDS(c, held->valid_until_ms <= now_ms + l->term_ms && l->term_ms > 0);
	HOLDS(c, lease_votes_ours(core, l) > 0);
	/* A vote that the master has taken back keeps the lease no longer than it is good without. */
	for (unsigned i = 0; i < core->settings.masters; i++)
		HOLDS(c, lease_vote_is_ours(l, i) ||
				 lease_vote_of(l, i)->valid_until_ms < held->valid_until_ms);
	HOLDS(c, lease_previous(l) == NULL ||
			 (lease_previous(l)->masters != 0 && (lease_previous(l)->masters & ~l->ours) == 0));
	HOLDS(c, held->token >= 1 && held->token <= held->token_last + 1);
	HOLDS(c, t == NULL || t->spare_first == 0 || t->spare_first > held->token_last);
	/* A lease with work under way has a round. */
	HOLDS(c, t != NULL ||
			 (held->renewal != RENEWAL_ASKING && !held->wanted && held->writer == WRITER_NONE));
	HOLDS(c, held->writer == WRITER_NONE ||
			 (l->kind == KIND_SHARED && t != NULL && at_ms <= t->enqueue_at_ms));
	/* A held lease can only change to shared: the masters may learn it later, never before. */
	HOLDS(c, held->confirmed == l->kind || l->kind == KIND_SHARED);
	/* Only a name that was granted once is on trial. */
	HOLDS(c, (!held->again && !held->sampled) || held->served);
	HOLDS(c, !held->again || !held->sampled);
}

/* An attempt is given up once at a master. */
static void
check_unreleased(struct check *c, const struct core *core, const struct lease *l)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		bool unsure = l->round != NULL && l->round->questions[i].unsure_us > 0;

		if (lease_vote_is_ours(l, i) || lease_vote_is_odd(l, i) || unsure)
			HOLDS(c, release_find(core, l->attempt, i) == NULL);
	}
}

static void
check_lease(struct check *c, const struct core *core, const struct lease *l, int64_t now_ms)
{
	/* Nothing is granted without a lease that is surely ours. */
	HOLDS(c, l->grants == NULL || l->state == LEASE_HELD);
	/* In every state but NONE, a timer is armed. */
	HOLDS(c, (l->state != LEASE_NONE) == timer_is_armed(&l->timer));
	/* A lease in state NONE has no round, and one that is being acquired has one. */
	HOLDS(c, l->round == NULL || l->state != LEASE_NONE);
	HOLDS(c, l->round != NULL || l->state != LEASE_ACQUIRING);
	/* What is at the masters can be released there. */
	HOLDS(c, (l->state != LEASE_HELD && !lease_queued(l)) || (l->attempt != 0 && l->term_ms > 0));
	/* A refusal is counted in the step in which it comes: only permits may have to wait for it. */
	HOLDS(c, l->state != LEASE_WAITING || l->kind == KIND_PERMITS ||
			 lease_waiting(l)->why != WAIT_REFUSED);
	if (l->state == LEASE_HELD) {
		check_unreleased(c, core, l);
		check_held(c, core, l, now_ms);
	}
}

/* If there are waiters, a hold, a lease under way or the return of the master will serve them. A name that is
 * not needed has been forgotten. */
static void
check_share(struct check *c, const struct core *core, const struct resource *r)
{
	const struct lease *l = &r->lease;

	HOLDS(c, l->kind != KIND_PERMITS && l->permits == 0);
	HOLDS(c, r->demand->count == 0 || r->grant_count > 0 || l->state != LEASE_NONE ||
			 !majority_usable(core, r->link));
	HOLDS(c, r->grant_count > 0 || r->demand->count > 0 || l->state != LEASE_NONE);
}

/* Each permit lease has at most one hold, as large as itself. Those without a hold come first; the one being
 * acquired has none. */
static void
check_permit_leases(struct check *c, const struct core *core, const struct resource *r, int64_t now_ms)
{
	const struct lease *acquiring = permit_lease_acquiring(r), *l;
	const struct permit_lease *s;
	bool idle = false, held = false;

	HOLDS(c, r->grant_count > 0 || r->demand->count > 0 || !TAILQ_EMPTY(&r->permit_leases.list));
	TAILQ_FOREACH (s, &r->permit_leases.list, in_resource) {
		l = &s->lease;
		HOLDS(c, l->kind == KIND_PERMITS && lease_grants(l) <= 1);
		HOLDS(c, l->grants != NULL || !held);
		held |= l->grants != NULL;
		if (l == acquiring) {
			HOLDS(c, l->state != LEASE_HELD && l->grants == NULL);
			continue;
		}
		HOLDS(c, l->state == LEASE_HELD && permit_lease_find(core, r, l->attempt) == l);
		HOLDS(c, s->slots != NULL && s->offer == NULL);
		HOLDS(c, l->permits >= 1 && l->permits <= r->limit);
		/* Without a waiter an idle one is retained, for a while, and only if no other daemon wants
		 * it. */
		HOLDS(c, l->grants != NULL || r->demand->count > 0 ||
				 (lease_held(l)->idle_until_ms > now_ms && !lease_held(l)->wanted));
		idle |= l->grants == NULL;
	}
	HOLDS(c, acquiring == NULL || acquiring->state != LEASE_NONE || !majority_usable(core, r->link));
	HOLDS(c, r->demand->count == 0 || idle || acquiring != NULL || !majority_usable(core, r->link));
}

static void
check_grant(struct check *c, const struct grant *g, int64_t now_ms)
{
	const struct session *s = g->session;

	HOLDS(c, g->count >= 1 && g->token > 0);
	HOLDS(c, g->durable == (s != NULL && s->written && !g->unannounced && part_of(g) == NULL));
	HOLDS(c, grant_terms(g) == NULL || g->terms->grant == g);
	HOLDS(c, grant_ends_ms(g) > now_ms && (g->session != NULL || grant_ends_ms(g) != TIMER_NEVER));
	/* A renewed lease may last beyond a withheld hold; what was announced must not go beyond the lease.
	 */
	HOLDS(c, g->session != NULL ||
			 (g->bounded && g->terms->announced_until_ms <= lease_announced_until_ms(g->lease)));
	/* An unannounced hold exists only while the client may come back for it. */
	HOLDS(c, !g->unannounced ||
			 (g->session != NULL &&
				 (g->session->ends ||
					 (g->session->named != NULL
							 ? g->bounded && g->terms->claim_ends_ms > now_ms
							 : timer_is_armed(&g->session->grace_timer)))));
	/* Only a hold of a session can be claimed. A part of an MLOCK is none before its answer. */
	HOLDS(c, grant_claim_ends_ms(g) == TIMER_NEVER || (s != NULL && part_of(g) == NULL));
	HOLDS(c, !g->bounded || g->terms->long_at_ms == TIMER_NEVER || g->session != NULL);
}

static void
check_grants(struct check *c, const struct core *core, const struct lease *l, int64_t now_ms,
	struct core_counts *seen)
{
	size_t grants = lease_grants(l);
	const struct grant *g;

	if (l->state != LEASE_HELD)
		return; /* without holds, as check_lease() has seen */
	for (g = l->grants; g != NULL; g = g->after) {
		HOLDS(c, g->lease == l);
		/* A writer is alone, and holds on a lease that is not shared. */
		HOLDS(c, g->kind == KIND_SHARED || grants == 1);
		HOLDS(c, g->kind == l->kind || (g->kind == KIND_SHARED && l->kind == KIND_EXCLUSIVE));
		check_grant(c, g, now_ms);
		HOLDS(c, part_of(g) == NULL || l->resource->parts);
		HOLDS(c, !g->durable || g == l->grants || g->before->durable);
		HOLDS(c, g->session != NULL || withheld_find(core, l->resource, g->token) == g);
		seen->withheld += g->session == NULL;
	}
}

static void
check_resource(struct check *c, const struct core *core, const struct resource *r, int64_t now_ms,
	struct core_counts *seen)
{
	const struct lease *l;
	size_t grants = 0;
	int64_t taken = 0;

	HOLDS(c, rules_have(&core->leases->rules, r->rule));
	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l)) {
		HOLDS(c, l->resource == r);
		check_lease(c, core, l, now_ms);
		check_grants(c, core, l, now_ms, seen);
		seen->leases += l->state == LEASE_HELD;
		grants += lease_grants(l);
		taken += l->grants != NULL ? l->permits : 0;
	}
	HOLDS(c, r->limit == 0 || !r->parts);
	HOLDS(c, grants == r->grant_count && (r->limit == 0 || taken == r->permit_leases.taken));
	if (r->limit == 0)
		check_share(c, core, r);
	else
		check_permit_leases(c, core, r, now_ms);
}

/* What a session has, counted anew. A waiting MLOCK also counts its names that are neither held nor waited
 * for. */
static int64_t
mlock_apart(struct check *c, const struct mlock *b)
{
	size_t apart = 0;

	for (size_t i = 0; i < b->count; i++)
		apart += b->parts[i].waiter == NULL && b->parts[i].grant == NULL;
	HOLDS(c, apart == b->apart);
	return (int64_t)apart;
}

static int64_t
session_locks(struct check *c, const struct session *s)
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
		locks += conn->mlock != NULL ? mlock_apart(c, conn->mlock) : 0;
	return locks;
}

static int64_t
session_losses(struct check *c, const struct session *s)
{
	const struct loss *loss, *oldest = NULL, *oldest_returned = NULL;
	int64_t losses = 0;

	for (loss = s->losses; loss != NULL; loss = loss->hh.next) {
		if (loss->reason == LOSS_RETURNED && oldest_returned == NULL)
			oldest_returned = loss;
		if (loss->reason != LOSS_RETURNED && oldest == NULL)
			oldest = loss;
		losses++;
	}
	HOLDS(c, oldest == s->oldest_loss && oldest_returned == s->oldest_returned);
	HOLDS(c, losses == s->loss_count + s->returned_count && (s->returned_count == 0 || s->named != NULL));
	return losses;
}

/* What sessions of this user have left behind. */
static int64_t
user_withheld(const struct core *core, const struct user *u)
{
	int64_t locks = 0;

	for (const struct resource *r = names_first(&core->leases->names); r != NULL;
		r = names_next(&core->leases->names, r)) {
		const struct grant *g = NULL;

		while ((g = resource_next_grant(r, g)) != NULL) {
			if (g->session == NULL && g->left_by == u)
				locks += user_locks(g->lease->permits);
		}
	}
	return locks;
}

static int64_t
user_latches(struct check *c, const struct core *core, const struct user *u)
{
	int64_t cost = 0;

	for (const struct latch_quota *m = core->families->latch_quotas; m != NULL; m = m->hh.next) {
		HOLDS(c, timer_is_armed(&m->timer));
		cost += m->user == u ? m->cost : 0;
	}
	return cost;
}

static void
check_users(struct check *c, const struct core *core)
{
	for (const struct user *u = core->sessions->users; u != NULL; u = u->hh.next) {
		int64_t sessions = 0, graces = 0, locks = 0, losses = 0;

		for (const struct session *s = core->sessions->all; s != NULL; s = s->hh.next) {
			if (s->user != u)
				continue;
			HOLDS(c, s->peer.user == u->id && s->locks == session_locks(c, s));
			sessions++;
			graces += session_has_grace(s);
			locks += s->locks;
			losses += session_losses(c, s);
		}
		HOLDS(c, sessions == u->sessions && graces == u->graces && losses == u->losses + u->returned);
		HOLDS(c, user_withheld(core, u) == u->withheld && locks + u->withheld == u->locks);
		HOLDS(c, user_latches(c, core, u) == u->latches);
		HOLDS(c, u->sessions > 0 || u->withheld > 0 || u->latches > 0);
	}
}

/* The connection with this number speaks for this session. */
static bool
conn_speaks(const struct core *core, conn_id id, const struct session *s)
{
	const struct conn *conn = conn_find(core, id);

	return conn != NULL && conn->session == s;
}

static void
check_sessions(struct check *c, const struct core *core, struct core_counts *seen)
{
	int64_t heartbeats = 0, held_ms = starts_oldest(&core->locks->hold_starts);

	for (struct session *s = core->sessions->all; s != NULL; s = s->hh.next) {
		const struct grant *g;
		const struct waiter *w;
		size_t grants = 0, waiters = 0;

		LIST_FOREACH (g, &s->grants, in_session) {
			HOLDS(c, g->session == s);
			HOLDS(c, grant_since_ms(g) >= held_ms);
			HOLDS(c, s->holds == NULL ||
					 holds_find(core, s, g->lease->resource, grant_owner(g)) == g);
			/* While a session has a connection, more may have been announced to it since, unless
			 * it ends.
			 */
			HOLDS(c, s->conn_count == 0 || s->ends || !g->bounded ||
					 g->terms->announced_until_ms == TIMER_NEVER);
			HOLDS(c, !s->ends || s->end != END_ABANDONED ||
					 (g->bounded && g->terms->announced_until_ms != TIMER_NEVER));
			grants++;
		}
		LIST_FOREACH (w, &s->waiters, in_session) {
			HOLDS(c, !w->async || s->asyncs == NULL || asyncs_find(core, s, waiter_id(w)) == w);
			waiters++;
		}
		HOLDS(c, grants == s->grant_count && waiters == s->waiter_count);
		HOLDS(c, s->durable == (s->grace_ms > 0 || session_outlives_conns(s)));
		HOLDS(c, s->written || !s->durable);
		HOLDS(c, s->onloss != ONLOSS_PUSH || s->named != NULL || conn_speaks(core, s->push_conn, s));
		HOLDS(c, s->onloss != ONLOSS_CLOSE || s->named == NULL);
		HOLDS(c, !s->unseen || (s->process.pid != 0 && s->conn_count > 0));
		HOLDS(c, s->conn_count > 0 || session_outlives_conns(s) || s->ends ||
				 timer_is_armed(&s->grace_timer));
		HOLDS(c, !s->ends || (s->waiter_count == 0 && s->grace_ms == 0 && s->process.pid == 0 &&
					     timer_is_armed(&core->liveness->ending_timer)));
		HOLDS(c, !s->orphaned || s->process.pid == 0);
		HOLDS(c, s->named == NULL || s->ends ||
				 (s->heartbeat_ms > 0 && s->grace_ms == 0 && s->process.pid == 0));
		HOLDS(c, s->named == NULL || s->ends ||
				 named_session_find(core, s->user->id, named_session_id(s)) == s);
		seen->graces += session_has_grace(s);
		heartbeats += s->heartbeat_ms > 0;
		seen->sessions++;
		seen->grants += grants;
		seen->waiters += waiters;
	}
	HOLDS(c, heartbeats == core->liveness->heartbeats);
}

/* The requests of one stage; each must be of a kind that belongs there. */
static void
check_latch_requests(struct check *c, const struct core *core, const struct latch *l,
	enum latch_request_stage stage, struct core_counts *seen, size_t *patient)
{
	const struct latch_request *a, *found;

	TAILQ_FOREACH (a, &l->requests[stage], in_stage) {
		HOLDS(c, a->latch == l && a->stage == stage && l->name.n > 0);
		HOLDS(c, stage == LATCH_REQUEST_SENT || a->conn != NULL);
		HOLDS(c, a->conn == NULL || (a->conn->latch_request == a && a->conn->blocked == NULL));
		/* A request that does not wait for ever has a timer. */
		HOLDS(c, a->conn == NULL || timer_is_armed(&a->timer) || a->kind == LATCH_REQUEST_AWAIT);
		HOLDS(c, stage != LATCH_REQUEST_SENT || a->kind == LATCH_REQUEST_SET ||
				 a->kind == LATCH_REQUEST_DOWN);
		HASH_FIND(hh, core->families->requests, &a->attempt, sizeof(a->attempt), found);
		HOLDS(c, (found == a) == (stage == LATCH_REQUEST_SENT));
		HOLDS(c, stage != LATCH_REQUEST_WAITS || (a->kind == LATCH_REQUEST_AWAIT && !a->once));
		*patient += a->conn != NULL && !a->once;
		seen->requests += a->conn != NULL;
	}
}

static void
check_latch(struct check *c, const struct core *core, const struct latch *l, struct core_counts *seen)
{
	size_t patient = 0;

	for (int stage = 0; stage < LATCH_REQUEST_STAGE_COUNT; stage++)
		check_latch_requests(c, core, l, (enum latch_request_stage)stage, seen, &patient);
	HOLDS(c, patient == l->patient);
	HOLDS(c, l->id == 0 || l->lost || (l->set > 0 && l->left >= 0 && l->left <= l->set));
	HOLDS(c, l->idle == latch_unused(l));
	HOLDS(c, !l->idle || (l->id != 0 && timer_at(&core->timers, &l->timer) == l->ends_ms));
	/* A waiting AWAIT has a refresh under way, a timer, or is notified of the master's return. */
	HOLDS(c, patient == 0 || l->refresh != 0 || timer_is_armed(&l->timer) ||
			 !majority_usable(core, l->link));
	seen->latches++;
}

/* The smallest missing name is waited for; an ordered MLOCK neither holds nor waits for a larger one. */
static void
check_mlock(struct check *c, const struct conn *conn)
{
	const struct mlock *b = conn->mlock;
	bool missing = false;

	HOLDS(c, b->conn == conn && !b->dirty && !b->refused && b->count > 0);
	for (size_t i = 0; i < b->count; i++) {
		const struct part *p = &b->parts[i];

		HOLDS(c, p->mlock == b && (p->waiter == NULL || p->grant == NULL));
		HOLDS(c, p->waiter == NULL || p->waiter->conn == conn);
		HOLDS(c, p->grant == NULL || (part_of(p->grant) == p && p->grant->session == conn->session));
		HOLDS(c, !b->ordered || !missing || (p->waiter == NULL && p->grant == NULL));
		HOLDS(c, missing || p->grant != NULL || p->waiter != NULL);
		missing = missing || p->grant == NULL;
	}
}

static bool
guest_waits(const struct conn *conn)
{
	return conn->blocked != NULL || conn->mlock != NULL || conn->latch_request != NULL;
}

/* Each connection speaks for one session, and is found by its number. */
static void
check_conns(struct check *c, const struct core *core, struct core_counts *seen)
{
	const struct session *s, *next;
	const struct conn *conn;
	const struct waiter *w;
	size_t count = 0, anchors, waiters;

	HASH_ITER (hh, core->sessions->all, s, next) {
		anchors = waiters = 0;
		LIST_FOREACH (w, &s->waiters, in_session)
			waiters += w->conn != NULL;
		TAILQ_FOREACH (conn, &s->conns, in_session) {
			const struct conn *found = conn_find(core, conn->id);

			HOLDS(c, conn->session == s && found == (conn->host != NULL ? conn->host : conn));
			HOLDS(c, conn->host == NULL || (s->named != NULL && conn->host->guest == conn &&
							       guest_waits(conn)));
			HOLDS(c, conn->guest == NULL || (conn->guest->host == conn && !guest_waits(conn)));
			HOLDS(c, conn->durable == (conn->host == NULL && s->durable));
			HOLDS(c, conn->host == NULL || !conn->anchor);
			HOLDS(c, conn->blocked == NULL || conn->waiters > 0);
			HOLDS(c, conn->waiters <= waiters);
			waiters -= conn->waiters;
			anchors += conn->anchor;
			count += conn->host == NULL;
			if (conn->mlock == NULL)
				continue;
			HOLDS(c, conn->blocked == NULL);
			check_mlock(c, conn);
			seen->mlocks++;
		}
		HOLDS(c, anchors == s->anchors && waiters == 0);
	}
	HOLDS(c, count == core->sessions->conns.count);
}

/* Every waiter is in one of these queues, as check_waiters() has seen. */
static void
check_queues(struct check *c, const struct core *core)
{
	int64_t since_ms = starts_oldest(&core->locks->wait_starts);
	const struct queue *q;
	size_t waiters = 0;

	TAILQ_FOREACH (q, &core->locks->queues, in_core) {
		HOLDS(c, TAILQ_FIRST(&q->waiters)->since_ms >= since_ms);
		HOLDS(c, q->demand.count > 0 && queue_of(q->resource) == q);
		waiters += q->demand.count;
	}
	HOLDS(c, waiters == core->counts.waiters);
}

/* All but the counts of users: to count them takes long if there are many. */
static void
check_core(struct check *c, const struct core *core, int64_t now_ms)
{
	struct core_counts seen = {0};

	HOLDS(c, dirty_at_rest(&core->lease_changes));
	HOLDS(c, changes_at_rest(core));
	HOLDS(c, dirty_at_rest(&core->dirty) && TAILQ_EMPTY(&core->families->mlocks));
	for (const struct resource *r = names_first(&core->leases->names); r != NULL;
		r = names_next(&core->leases->names, r)) {
		check_waiters(c, core, r);
		check_resource(c, core, r, now_ms, &seen);
		seen.resources++;
	}
	check_queues(c, core);
	check_sessions(c, core, &seen);
	check_conns(c, core, &seen);
	for (const struct release *u = core->leases->releases; u != NULL; u = u->hh.next) {
		HOLDS(c, timer_at(&core->timers, &u->timer) <= u->give_up_at_ms &&
				 u->give_up_at_ms != TIMER_NEVER);
		seen.releasing++;
	}
	for (const struct latch *l = core->families->latches; l != NULL; l = l->hh.next)
		check_latch(c, core, l, &seen);
	HOLDS(c, seen.latches == core->counts.latches && seen.requests == core->counts.requests);
	HOLDS(c, seen.sessions == core->counts.sessions && seen.resources == core->counts.resources);
	HOLDS(c, seen.leases == core->counts.leases && seen.grants == core->counts.grants);
	HOLDS(c, seen.withheld == core->counts.withheld && seen.waiters == core->counts.waiters);
	HOLDS(c, starts_count(&core->locks->hold_starts) == seen.grants);
	HOLDS(c, starts_count(&core->locks->wait_starts) == seen.waiters);
	HOLDS(c, starts_count(&core->families->mlock_starts) == seen.mlocks);
	HOLDS(c, seen.graces == core->counts.graces);
	HOLDS(c, seen.releasing == core->counts.releasing && seen.mlocks == core->counts.mlocks);
	HOLDS(c, core->drain == DRAIN_ENDS || core_wake_at(core) > now_ms);
}

const char *
core_wrong(const struct core *core, int64_t now_ms)
{
	struct check check = {0};

	check_core(&check, core, now_ms);
	return check.wrong;
}

void
core_check(const struct core *core, int64_t now_ms)
{
	struct check check = {.asserts = true};

	if (core->ended)
		return; /* its last step scheduled nothing */
	check_core(&check, core, now_ms);
	check_users(&check, core);
}
