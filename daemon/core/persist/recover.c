/*
 * recover: see recover.h. A core from the ledger of a process that crashed.
 *
 * A ledger comes from a process of the same user, but it may be damaged: what cannot be right makes
 * core_recover() fail as a whole, as with a state (state.h). A lease that cannot be costs only its holds.
 */
#include "daemon/core/persist/recover.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/core.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/leasing/adopt.h"
#include "daemon/core/liveness/grace.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/slow.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/tokens.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/move.h"
#include "daemon/core/persist/durable.h"
#include "daemon/core/persist/ledger.h"
#include "daemon/core/persist/ledger_set.h"
#include "daemon/core/persist/recover_read.h"
#include "daemon/core/persist/state_hold.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "daemon/core/whole/check.h"
#include "proto/name.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ---- */

/* What the process before was bound by binds this one, and its set of masters is the one to begin with. */
static void
load_settings(struct recovery *v)
{
	if (v->terms.n > 0) {
		v->r.type = RECORD_LEDGER_TERMS;
		v->r.body = v->terms;
		binding_load(v->core, &v->r);
	}
	if (v->set.n > 0 && !v->r.failed) {
		v->r.type = RECORD_LEDGER_SET;
		v->r.body = v->set;
		v->one = ledger_set_load(v->core, &v->r);
	}
}

/* ---- the things in their order ---- */

static int
thing_order(const void *a, const void *b)
{
	const struct thing *const *one = a, *const *other = b;

	return ((*one)->since > (*other)->since) - ((*one)->since < (*other)->since);
}

/* ---- sessions ---- */

static void
load_session(struct recovery *v, struct thing *t)
{
	struct core *core = v->core;
	struct session_entry e = {.peer = {.uid = -1}};
	struct session *s;

	assert(t->type == RECORD_LEDGER_SESSION && t->whose == NULL);
	durable_session_fields(&v->r, &e);
	if (v->r.failed)
		return;
	if (core->sessions->last_id < e.id)
		core->sessions->last_id = e.id;
	/* A named session that was giving up its holds in parts has no heartbeat any more. */
	t->skipped = e.grace_ms == 0 && e.process.pid == 0 && (e.as.n == 0 || e.heartbeat_ms == 0);
	s = t->skipped ? NULL : durable_session_make(core, &v->r, &e);
	if (s != NULL)
		durable_session_settle(core, &v->r, s, e.as);
}

static void
load_loss(struct recovery *v, struct thing *t)
{
	struct loss_entry e = {0};

	if (t->whose == NULL || t->whose->skipped)
		return;
	durable_loss_fields(&v->r, &e);
	durable_loss_make(v->core, &v->r, session_find(v->core, e.session), &e);
}

/* ---- leases ---- */

/* NULL: it cannot have a lease more. */
static struct resource *
lease_resource(struct recovery *v, const struct lease_entry *e)
{
	struct resource *r = names_find(&v->core->leases->names, e->name);

	if (r != NULL && r->limit > 0 && r->limit == e->limit)
		return r;
	assert(r == NULL); /* refuse_leases() */
	r = resource_new(v->core, e->name);
	if (r == NULL) {
		record_no_memory(&v->r);
		return NULL;
	}
	r->limit = (int16_t)e->limit;
	if (r->limit > 0)
		permit_leases_init(r);
	return r;
}

/* The longest that the lease may be valid from now on: what the rule says, unless the process before had a
 * longer one. */
static int32_t
lease_term(const struct core *core, const struct resource *r, const struct lease_entry *e)
{
	int64_t ruled = terms_lease_ms(core, r->rule), left = e->announced_until_ms - core->now.ms;

	assert(e->announced_until_ms > core->now.ms);
	left += drift_ms(left);
	return (int32_t)(left > ruled ? left : ruled);
}

static struct lease_entry
read_lease(struct recovery *v, const struct thing *t)
{
	struct lease_entry e = {0};

	v->r.type = t->type;
	v->r.body = t->body;
	ledger_lease_fields(&v->r, v->core, &e);
	return e;
}

/* ---- leases that cannot be ---- */

struct claim {
	struct slice name;
	int64_t limit;
	struct thing *lease;
};

static void
refuse(struct recovery *v, struct thing *t, struct slice name, const char *why)
{
	assert(t->type == RECORD_LEDGER_LEASE && name.n > 0);
	t->refused = true;
	t->name = name;
	if (v->doubt[0] == '\0')
		(void)snprintf(v->doubt, sizeof(v->doubt), "%s", why);
}

/* What it says of itself. A lease without a name, or with one that cannot be, is left to the load, which
 * fails: its holds cannot be reported. */
static void
claim_read(struct recovery *v, struct thing *t, struct claim *claim)
{
	struct record before = v->r;
	struct lease_entry e = read_lease(v, t);
	bool read = !v->r.failed;
	char why[RECORD_WHY_MAX];

	memcpy(why, v->r.why, sizeof(why));
	v->r = before;
	if (name_check(e.name, NAME_BYTES_MAX) != NULL)
		e.name = (struct slice){NULL, 0};
	*claim = (struct claim){.name = e.name, .limit = e.limit, .lease = t};
	if (e.name.n > 0 && !read)
		refuse(v, t, e.name, why);
	else if (e.name.n > 0 && !ledger_lease_fits(v->core, &e))
		refuse(v, t, e.name, "a lease in it is invalid");
}

static int
claim_order(const void *a, const void *b)
{
	const struct claim *one = a, *other = b;
	size_t n = one->name.n < other->name.n ? one->name.n : other->name.n;
	int bytes = n > 0 ? memcmp(one->name.p, other->name.p, n) : 0;

	return bytes != 0 ? bytes : (one->name.n > other->name.n) - (one->name.n < other->name.n);
}

/* Of one name there is one lease, or there are some of permits with one limit. If not, which of them is right
 * cannot be known here: none of them is. */
static void
claims_judge(struct recovery *v, const struct claim *claims, size_t n)
{
	for (size_t i = 0, next; i < n; i = next) {
		bool fits = true;

		for (next = i + 1; next < n && slice_equal(claims[next].name, claims[i].name); next++)
			fits = fits && claims[i].limit > 0 && claims[next].limit == claims[i].limit;
		for (size_t k = i; k < next && !fits && claims[i].name.n > 0; k++)
			refuse(v, claims[k].lease, claims[k].name, "two of its leases cannot be at once");
	}
}

/*
 * Its holds are lost, and their sessions are notified. No client gets the names before their time is over all
 * the same: the keys are at the masters, and a master that forgot is guarded for the longest lease of before.
 */
static void
refuse_leases(struct recovery *v, struct thing *const *live, size_t n)
{
	struct claim *claims = calloc(n + 1, sizeof(*claims));
	size_t count = 0;

	if (claims == NULL) {
		record_no_memory(&v->r);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (live[i]->type == RECORD_LEDGER_LEASE)
			claim_read(v, live[i], &claims[count++]);
	qsort(claims, count, sizeof(*claims), claim_order);
	claims_judge(v, claims, count);
	free(claims);
}

/* ---- leases ---- */

/* The first hold of it has come. */
static void
lease_entry_check(struct recovery *v, struct thing *t)
{
	struct lease_entry e = read_lease(v, t);

	if (!v->r.failed && !ledger_lease_fits(v->core, &e))
		record_fail(&v->r, "a lease in it is invalid");
	if (v->r.failed)
		return;
	t->name = e.name;
	t->over = e.valid_until_ms <= v->core->now.ms;
	tokens_saw(v->core, e.newest);
}

/* A hold stands on it: it is held from now on. */
static void
load_lease(struct recovery *v, struct thing *t)
{
	struct lease_entry e = read_lease(v, t);
	struct resource *name = lease_resource(v, &e);

	if (name == NULL)
		return;
	t->lease = lease_recover(v->core, name,
		&(struct lease_past){.kind = e.kind,
			.permits = (int16_t)e.permits,
			.slots = e.slots,
			.valid_until_ms = e.valid_until_ms,
			.term_ms = lease_term(v->core, name, &e),
			.token = e.newest,
			.daemon_id = v->daemon_id,
			.attempt = e.attempt,
			.previous = e.previous,
			.asked = e.asked});
	if (t->lease == NULL)
		record_no_memory(&v->r);
	else if (e.announced_until_ms > e.valid_until_ms)
		round_held(t->lease)->announced_until_ms = e.announced_until_ms;
	if (v->valid_until_ms < e.valid_until_ms)
		v->valid_until_ms = e.valid_until_ms;
}

/* ---- holds ---- */

static void
hold_put(struct recovery *v, struct lease *l, struct session *s, const struct hold_entry *e)
{
	struct core *core = v->core;
	struct grant *g = NULL;

	assert(l->state == LEASE_HELD && s != NULL);
	if (grant_any(core, l->resource, s, e->owner) == NULL)
		g = durable_hold_make(core, l, s, e);
	if (g == NULL) {
		record_fail(&v->r, "a session of it holds a name twice, or there is no memory for it");
		return;
	}
	if (e->token > round_newest(l) || !state_grant_fits(g)) {
		record_fail(&v->r, "a hold in it is invalid");
		grant_free(g);
		return;
	}
	if (g->bounded)
		terms_arm(core, g->terms);
	if (core->now.ms < e->granted_ms + l->resource->rule->long_hold_ms)
		grant_watch(core, g); /* else it was noted before the crash */
	grant_join(core, g);
	if (l->kind == KIND_PERMITS) {
		struct permit_lease_list *all = &l->resource->permit_leases.list;

		TAILQ_REMOVE(all, permit_lease_of(l), in_resource);
		TAILQ_INSERT_TAIL(all, permit_lease_of(l), in_resource);
	}
}

/* Why the hold is over by now; LOSS_COUNT: it is not. */
static enum loss_reason
hold_over(const struct core *core, const struct hold_entry *e, const struct thing *lease)
{
	if (e->claim_ends_ms <= core->now.ms && e->claim_ends_ms < e->ends_ms)
		return LOSS_CLAIM;
	if (e->ends_ms <= core->now.ms)
		return e->ends_why;
	return lease->over ? LOSS_EXPIRED : LOSS_COUNT;
}

/* Its session, whose number comes behind what identifies the hold, was not durable. */
static bool
hold_skipped(const struct recovery *v, const struct thing *t)
{
	const struct thing *session = recover_find(
		v, RECORD_LEDGER_SESSION, (struct slice){t->body.p + t->key.n, sizeof(session_id)});

	assert(t->type == RECORD_LEDGER_HOLD && t->body.n >= t->key.n + sizeof(session_id));
	return session != NULL && session->live && session->skipped;
}

/* Its client may rely on it until it ends. */
static void
skip_hold(struct thing *lease, const struct hold_entry *e)
{
	int64_t ends_ms = e->ends_ms < e->claim_ends_ms ? e->ends_ms : e->claim_ends_ms;

	if (lease->others_until_ms < ends_ms)
		lease->others_until_ms = ends_ms;
}

static void
load_hold(struct recovery *v, struct thing *t)
{
	struct core *core = v->core;
	struct hold_entry e = {.count = 1, .claim_ends_ms = TIMER_NEVER};
	struct thing *of = t->whose;
	struct session *s;
	enum loss_reason over;

	/* Without its lease: its step was not written to the end. */
	if (of == NULL)
		return;
	durable_hold_fields(&v->r, &e);
	if (!v->r.failed && hold_skipped(v, t)) {
		skip_hold(of, &e);
		return;
	}
	s = session_find(core, e.session);
	if (!v->r.failed && (s == NULL || !ledger_hold_fits(&e)))
		record_fail(&v->r, "a hold in it is invalid, or has no session");
	if (!v->r.failed && of->refused) {
		loss_remember(core, s, of->name, e.owner, LOSS_EXPIRED, false, e.token);
		return;
	}
	if (!v->r.failed && of->name.n == 0)
		lease_entry_check(v, of);
	if (v->r.failed)
		return;
	over = hold_over(core, &e, of);
	if (over != LOSS_COUNT) {
		loss_remember(core, s, of->name, e.owner, over, loss_is_chosen(over), e.token);
		return;
	}
	if (of->lease == NULL)
		load_lease(v, of);
	if (of->lease != NULL)
		hold_put(v, of->lease, s, &e);
}

/* A token that no hold of the lease has. */
static int64_t
token_unused(const struct lease *l)
{
	int64_t least = INT64_MAX, most = 0;

	for (const struct grant *g = l->grants; g != NULL; g = g->after) {
		least = g->token < least ? g->token : least;
		most = g->token > most ? g->token : most;
	}
	assert(least > 0 && least <= most);
	return least > 1 ? least - 1 : most + 1;
}

/* Until when holds beside the durable ones are withheld. */
static int64_t
others_until_ms(const struct thing *t, const struct lease_entry *e)
{
	int64_t delay_ms = t->lease->resource->rule->crash_delay_ms;
	int64_t until_ms =
		e->others_until_ms != TIMER_NEVER ? e->others_until_ms : e->announced_until_ms + delay_ms;
	int64_t relied_ms =
		t->others_until_ms < e->announced_until_ms ? t->others_until_ms : e->announced_until_ms;

	if (t->others_until_ms == 0 || relied_ms + delay_ms < until_ms)
		return until_ms;
	return relied_ms + delay_ms;
}

/* Holds beside the durable ones, whose clients may rely on them for a while. */
static void
load_others(struct recovery *v, struct thing *t)
{
	struct core *core = v->core;
	struct hold_entry other = {.kind = KIND_SHARED,
		.count = 1,
		.granted_ms = core->now.ms,
		.ceiling_at_ms = TIMER_NEVER,
		.claim_ends_ms = TIMER_NEVER};
	struct lease_entry e;
	struct grant *g;

	if (t->lease == NULL)
		return;
	e = read_lease(v, t);
	other.token = token_unused(t->lease);
	other.ends_ms = others_until_ms(t, &e);
	if (other.ends_ms <= core->now.ms)
		return;
	g = durable_hold_make(core, t->lease, NULL, &other);
	if (g == NULL) {
		record_no_memory(&v->r);
		return;
	}
	g->terms->announced_until_ms =
		e.announced_until_ms < other.ends_ms ? e.announced_until_ms : other.ends_ms;
	if (!state_grant_fits(g) || !state_grant_left(core, g, 0)) {
		record_fail(&v->r, "a lease of it is shared and is not, or there is no memory for it");
		grant_free(g);
		return;
	}
	terms_arm(core, g->terms);
	grant_join(core, g);
}

/* ---- the whole ---- */

static void (*const loads[])(struct recovery *v, struct thing *t) = {
	load_session, load_loss, load_hold, load_others};

static void
load_live(struct recovery *v)
{
	struct thing **order = calloc(v->count + 1, sizeof(struct thing *));
	size_t n = 0;

	if (order == NULL) {
		record_no_memory(&v->r);
		return;
	}
	for (size_t i = 0; i < v->count; i++) {
		if (v->things[i].live)
			order[n++] = &v->things[i];
	}
	qsort(order, n, sizeof(struct thing *), thing_order);
	refuse_leases(v, order, n);
	for (size_t k = 0; k < RECOVER_KINDS; k++) {
		for (size_t i = 0; i < n && !v->r.failed; i++) {
			if (order[i]->type != recover_kinds[k])
				continue;
			v->r.type = order[i]->type;
			v->r.body = order[i]->body;
			loads[k](v, order[i]);
		}
	}
	free(order);
}

static void
recover(struct recovery *v)
{
	struct core *core = v->core;
	const char *wrong;

	/* What is recovered is not written again before all of it is. */
	assert(core->ledger == NULL && core->sessions->all == NULL);
	recover_read(v);
	if (v->r.failed)
		return;
	load_settings(v);
	load_live(v);
	if (v->r.failed)
		return;
	for (struct session *s = core->sessions->all; s != NULL; s = s->hh.next)
		session_recover(core, s);
	ledger_mark(core);
	if (v->one && v->valid_until_ms > 0)
		masters_were_one(core, v->valid_until_ms);
	core->resumes = true;
	core->retry = true;
	wrong = core_wrong(core, core->now.ms);
	if (wrong != NULL)
		record_fail(&v->r, "it contradicts itself: %s", wrong);
}

struct core *
core_recover(
	const struct core_settings *settings, struct now now, struct slice ledger, char why[RECORD_WHY_MAX])
{
	struct recovery v = {.core = core_new(settings, now)};

	if (record_load(&v.r, ledger) && v.core != NULL) {
		/* Attempts are no secrets, and the random numbers are. */
		v.core->random = hash_secretly(v.core->secret, SLICE("attempts"));
		recover(&v);
	} else if (v.core == NULL) {
		record_no_memory(&v.r);
	}
	free(v.things);
	map_done(&v.by_key);
	memcpy(why, v.r.failed ? v.r.why : v.doubt, sizeof(v.r.why));
	if (!v.r.failed)
		return v.core;
	core_free(v.core);
	return NULL;
}
