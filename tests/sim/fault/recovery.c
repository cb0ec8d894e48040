/* recovery: see recovery.h. */
#include "tests/sim/fault/recovery.h"

#include "proto/record.h"
#include "tests/sim/fault/change.h"
#include "tests/sim/fault/fault.h"
#include "tests/sim/fault/handover.h"
#include "tests/sim/fault/shorter_leases.h"
#include "tests/sim/fault/unseen_process.h"
#include "tests/sim/fault/unsent_step.h"
#include "tests/sim/judge/backing.h"
#include "tests/sim/judge/inventory.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLACK_US 3000 /* whole ms, of two clocks */

void
recovery_draw(struct plan *plan)
{
	/* What it has not seen of a clock before it jumped, or of a memory before it went back, a daemon
	 * cannot know; and of a daemon and its copy with the same id either may have a lease. */
	static const enum fault known[] = {FAULT_JUMP, FAULT_FAST, FAULT_REVERT, FAULT_SWAP, FAULT_CLONE};
	struct rng rng = {plan->seed * UINT64_C(0xd6e8feb86659fd93) + 29};
	bool fits = true;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		fits &= !plan->fault[known[i]];
	plan->ledgers = rng_percent(&rng, 45);
	plan->fault[FAULT_RECOVER] = plan->ledgers && fits && rng_percent(&rng, 75);
	plan->fault[FAULT_COPY] = plan->fault[FAULT_RECOVER] && plan->hosts > 1 && !plan->fault[FAULT_STUN] &&
				  rng_percent(&rng, 20);
	/* The next process often has leases of another length (rollout.h). */
	if (plan->fault[FAULT_RECOVER] && plan->hosts > 1 && plan->others == 0 && !plan->private)
		plan->halves |= rng_percent(&rng, 30);
	shorter_leases_draw(plan);
}

/* ---- from one process to the next ---- */

/* A process that recovers may have read other rules than the one that died, which has written until when a
 * reader is waited for. */
static int64_t
delay_ms(const struct host *h, unsigned name)
{
	int64_t before_ms = h->recovery.delay_ms[name], ms = host_rule(h, name)->crash_delay_ms;
	return ms > before_ms ? ms : before_ms;
}

/* Of each closed connection that bound its session to a process: which session that is; or that it is over. A
 * session may have ended since its connection was closed, and its process did not. cut: nobody knows. */
static void
note_bound(struct host *h, bool cut)
{
	static struct inventory f;
	struct conn *c;
	inventory_all(&f, h, h->core);
	LIST_FOREACH (c, &h->world->conns.all, in_world) {
		bool bound = cut;
		if (c->host != h || c->host_life != h->life || !c->bound || c->unbound)
			continue;
		for (size_t i = 0; i < f.sessions_n; i++)
			if (f.sessions[i].bound_pid == c->pid) {
				c->session = f.sessions[i].id;
				bound = true;
			}
		c->unbound = !bound;
	}
}

void
recovery_ends(struct host *h)
{
	struct conn *c;
	bool cut = h->recovery.dies == DIES_UNWRITTEN;
	h->recovery.dies = DIES_NOT;
	h->recovery.drained = h->draining;
	(void)change_members(h->world, &h->recovery.generation);
	if (!h->world->plan.ledgers)
		return;
	for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
		h->recovery.delay_ms[i] = delay_ms(h, i);
	LIST_FOREACH (c, &h->world->conns.open[h->index], in_place)
		c->session = conn_session(c);
	note_bound(h, cut);
}

struct slice
recovery_from(struct host *h)
{
	struct world *w = h->world;
	struct slice left = ledgers_left(h);
	if (w->plan.fault[FAULT_RECOVER] && left.n > 0 && (w->plan.shortens || !rng_percent(&w->rng, 10)))
		return left;
	return (struct slice){NULL, 0};
}

void
recovery_begins(struct host *h, bool recovers, const struct host *of)
{
	struct world *w = h->world;
	struct recovery *r = &h->recovery, before = *r;
	if (!w->plan.ledgers)
		return;
	*r = (struct recovery){.family = ++w->kins.families};
	if (of != NULL)
		r->family = of->recovery.family;
	else if (recovers)
		*r = (struct recovery){.family = before.family,
			.life = h->life - 1,
			.torn = before.torn,
			.torn_until_us = before.torn_until_us,
			.drained = before.drained,
			.generation = before.generation,
			.strange = before.strange};
	if (recovers && of == NULL)
		memcpy(r->delay_ms, before.delay_ms, sizeof(r->delay_ms));
	if (recovers)
		memcpy(r->owners, of != NULL ? of->recovery.owners : before.owners, sizeof(r->owners));
	lineage_add(w, h->call_settings.daemon_id, r->family);
}

struct core *
recovery_core(struct host *h, const struct core_settings *settings, struct slice ledger)
{
	char why[RECORD_WHY_MAX] = "";
	struct core *core = core_recover(settings, host_now(h), ledger, why);
	if (core == NULL || why[0] != '\0')
		world_fail(h->world, "recovered: d%u cannot read its ledger: %s", h->index, why);
	return core;
}

/* ---- whether it is as it was ---- */

static void
check_session(struct host *h, const struct inventory *f, uint64_t tag, session_id session)
{
	struct world *w = h->world;
	const struct session_view *view = inventory_session(f, session);
	const struct session_terms *p = session_terms_tagged(w, tag);
	if (view == NULL) {
		world_fail(w,
			"recovered: d%u does not know session %" PRIu64 " (grace %" PRId64
			"), which a client may come back to",
			h->index, session, p != NULL ? p->grace_ms : 0);
		return;
	}
	if (view->connections > 0 || view->waiters > 0)
		world_fail(w, "recovered: session %" PRIu64 " of d%u has connections, or waits", session,
			h->index);
	if (p != NULL && (view->grace_ms != p->grace_ms || view->heartbeat_ms != p->heartbeat_ms))
		world_fail(w,
			"recovered: session %" PRIu64 " of d%u has a grace of %" PRId64
			" ms and a heartbeat of %" PRId64 " ms, and asked for %" PRId64 " and %" PRId64,
			session, h->index, view->grace_ms, view->heartbeat_ms, p->grace_ms, p->heartbeat_ms);
}

static void
check_sessions(struct host *h, const struct inventory *f, const struct durable *d)
{
	for (size_t i = 0; i < d->n; i++)
		check_session(h, f, d->of[i].tag, d->of[i].session);
	for (size_t i = 0; i < f->sessions_n; i++) {
		bool known = f->sessions[i].id <= h->recovery.strange;
		for (size_t k = 0; k < d->n; k++)
			known |= d->of[k].session == f->sessions[i].id;
		if (!known)
			world_fail(h->world,
				"recovered: d%u goes on with session %" PRIu64 " (grace %" PRId64
				", process %" PRId64 "), which no client can come back to",
				h->index, f->sessions[i].id, f->sessions[i].grace_ms,
				f->sessions[i].bound_pid);
	}
}

/* It is there as its client knows it, and for as long as its daemon was sure of it. */
static void
check_hold(struct host *h, const struct hold *hold, const struct inventory_hold *is)
{
	struct world *w = h->world;
	const struct session_terms *p = session_terms_tagged(w, hold->tag);
	bool cut = p != NULL && p->detached;
	int64_t left_us = hold->valid_us - w->now_us;
	if (!inventory_held(is)) {
		if (left_us > SLACK_US && promised(w, PROMISE_HOLD, hold->name))
			world_fail(w,
				"recovered: d%u does not have %s with token %" PRId64
				", of which its client was told",
				h->index, checker_name(hold->name), hold->token);
		return;
	}
	const struct hold_view *v = &is->view;
	if (v->session != hold->session || strcmp(is->owner, hold->owner) != 0 || v->kind != hold->kind ||
		v->permits != hold->permits || (!hold->unannounced && v->count != hold->count))
		world_fail(w,
			"recovered: d%u has %s with token %" PRId64 " in another way: kind %d, %" PRId64
			" permits, %" PRId64 " times for '%s' of session %" PRIu64 ", not kind %d, %" PRId64
			" permits, %" PRId64 " times for '%s' of %" PRIu64,
			h->index, checker_name(hold->name), hold->token, (int)v->kind, v->permits, v->count,
			is->owner, v->session, (int)hold->kind, hold->permits, hold->count, hold->owner,
			hold->session);
	if (!cut && !hold->unannounced && promised(w, PROMISE_HOLD, hold->name) &&
		v->valid_ms * 1000 < left_us - left_us / 100 - SLACK_US)
		world_fail(w,
			"recovered: d%u is sure of %s with token %" PRId64 " for %" PRId64
			" ms, and was for %" PRId64 " us",
			h->index, checker_name(hold->name), hold->token, v->valid_ms, left_us);
}

/* What nobody comes back for is withheld no longer than anybody with the same lease was told. With a copy of
 * another daemon's ledger, these are that daemon's clients, too. */
static void
check_withheld(struct host *h, const struct inventory_hold *is)
{
	struct world *w = h->world;
	int64_t relied_ms = host_ms(h) + is->view.valid_ms - delay_ms(h, is->name);
	int64_t until_us = host_true_us(h, relied_ms), most_us = w->now_us;
	/* What was given in the last step of a process nobody was told of, also if the next one crashes, too.
	 */
	if (w->now_us < h->recovery.torn_until_us)
		return;
	for (const struct hold *hold = w->checker.holds; hold != NULL; hold = hold->next) {
		if ((hold->host != h && h->recovery.strange == 0) || hold->name != is->name)
			continue;
		most_us = held_good_us(hold) > most_us ? held_good_us(hold) : most_us;
	}
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *other = &w->hosts[i];
		if (other != h && h->recovery.strange == 0)
			continue;
		if (other->withheld_until_us[is->name] > most_us)
			most_us = other->withheld_until_us[is->name];
	}
	if (until_us > most_us + (most_us - w->now_us) / 100 + SLACK_US)
		world_fail(w, "recovered: d%u withholds %s for %" PRId64 " us longer than anybody was told",
			h->index, checker_name(is->name), until_us - most_us);
}

static void
check_holds(struct host *h, const struct inventory *f, const struct durable *d)
{
	struct world *w = h->world;
	for (const struct hold *hold = w->checker.holds; hold != NULL; hold = hold->next)
		if (hold->host == h && hold->host_life == h->recovery.life && !hold->lost &&
			!hold->unannounced && !hold->torn && hold->withheld_us == 0 &&
			durable_is(d, hold->tag))
			check_hold(h, hold, inventory_hold(f, hold->name, hold->token));
	for (size_t i = 0; i < f->holds_n; i++) {
		const struct inventory_hold *is = &f->holds[i];
		bool known = false;
		if (!inventory_held(is)) {
			check_withheld(h, is);
			continue;
		}
		for (const struct hold *hold = w->checker.holds; hold != NULL; hold = hold->next)
			known |= hold->host == h && hold->host_life == h->recovery.life &&
				 hold->name == is->name && hold->token == is->view.token &&
				 (hold->copied || durable_is(d, hold->tag));
		if (!known)
			world_fail(w,
				"recovered: d%u has %s with token %" PRId64 " for session %" PRIu64
				", which was told of none",
				h->index, checker_name(is->name), is->view.token, is->view.session);
	}
}

/* ---- the model passes on ---- */

static void
carry_pact(struct host *h, struct session_terms *p)
{
	bool left = p->detached && !p->graced; /* with a goodbye: its process keeps it */
	p->host_life = h->life;
	p->detached = true;
	p->cut_ms = host_ms(h);
	p->cut_grace_ms = p->grace_ms;
	p->graced = p->grace_ms > 0 && !left;
}

static void
carry_holds(struct host *h, const struct inventory *f, const struct durable *d)
{
	struct world *w = h->world;
	for (struct hold *hold = w->checker.holds, *next; hold != NULL; hold = next) {
		next = hold->next;
		if (hold->host != h || hold->host_life != h->recovery.life)
			continue;
		const struct inventory_hold *is = inventory_hold(f, hold->name, hold->token);
		if ((hold->copied || durable_is(d, hold->tag)) && !hold->torn && inventory_held(is)) {
			hold->host_life = h->life;
			memcpy(hold->daemon, h->call_settings.daemon_id, sizeof(hold->daemon));
			hold->withheld_us = 0;
			/* It counts as told for as long as its lease was good when the daemon died. */
			if (hold->longest_ms < host_ms(h) + is->view.valid_ms)
				hold->longest_ms = host_ms(h) + is->view.valid_ms;
		} else if (hold->unannounced) {
			if (hold->unsent && durable_is(d, hold->tag))
				losses_torn(h, hold);
			held_remove(w, hold);
		} else if (durable_is(d, hold->tag) && !hold->torn && !hold->lost && hold->withheld_us == 0) {
			losses_over(h, hold);
		}
	}
}

static void
carry(struct host *h, const struct inventory *f, const struct durable *d)
{
	struct world *w = h->world;
	uint64_t life = h->recovery.life;
	struct conn *c;
	for (size_t i = 0; i < d->n; i++)
		losses_carry(h, life, d->of[i].session);
	carry_holds(h, f, d);
	for (struct session_terms *p = w->checker.pacts.living[h->index]; p != NULL; p = p->next_living)
		if (durable_pact(p, h, life) && durable_is(d, p->tag))
			carry_pact(h, p);
	LIST_FOREACH (c, &w->conns.all, in_world)
		if (c->host == h && c->host_life == life && durable_is(d, c->tag))
			c->host_life = h->life;
	for (unsigned i = 0; i < w->plan.clients; i++) {
		struct lost *lost = &w->clients[i].lost;
		if (lost->secret[0] != '\0' && lost->host == h && lost->host_life == life &&
			durable_is(d, lost->tag))
			lost->host_life = h->life;
	}
}

/* Nobody knows of the holds of a copy. */
static void
copy_holds(struct host *h, const struct inventory *f)
{
	struct world *w = h->world;
	for (size_t i = 0; i < f->holds_n; i++) {
		const struct inventory_hold *is = &f->holds[i];
		struct hold *hold = calloc(1, sizeof(*hold));
		assert(hold != NULL);
		if (!inventory_held(is)) {
			free(hold);
			continue;
		}
		*hold = (struct hold){.next = w->checker.holds,
			.name = is->name,
			.host = h,
			.host_life = h->life,
			.session = is->view.session,
			.tag = ++w->serials,
			.kind = is->view.kind,
			.permits = is->view.permits,
			.token = is->view.token,
			.count = is->view.count,
			.since_us = w->now_us,
			.lease_ends_ms = INT64_MAX,
			.ends_ms = INT64_MAX,
			.claim_ends_ms = INT64_MAX,
			.ceiling_ms = INT64_MAX,
			.ended_us = INT64_MAX,
			.layout = h->call_settings.layout,
			.begun = true,
			.unannounced = true,
			.copied = true};
		memcpy(hold->owner, is->owner, sizeof(hold->owner));
		memcpy(hold->daemon, h->call_settings.daemon_id, sizeof(hold->daemon));
		w->checker.holds = hold;
	}
}

/* An acquire begins another lease, unless it asks for a lost vote of the same. */
void
recovery_called(struct host *h, const struct call *call)
{
	char owner[CALL_OWNER_SIZE];
	if (!h->world->plan.ledgers || call->kind == KIND_PERMITS ||
		(call->op != CALL_ACQUIRE && call->op != CALL_ADOPT && call->op != CALL_RECLAIM))
		return;
	char(*owners)[CALL_OWNER_SIZE] = h->recovery.owners[checker_name_of(call->name)];
	call_owner(h->call_settings.daemon_id, call->attempt, owner);
	if (strcmp(owners[0], owner) == 0)
		return;
	if (call->op == CALL_ACQUIRE)
		memset(owners, 0, RECOVERY_OWNERS * CALL_OWNER_SIZE);
	memmove(owners[1], owners[0], (RECOVERY_OWNERS - 1) * CALL_OWNER_SIZE);
	memcpy(owners[0], owner, sizeof(owner));
}

/* Whether this server has its lease. */
static bool
has_lease(const struct host *h, unsigned server, unsigned name)
{
	bool has = false;
	for (unsigned i = 0; i < RECOVERY_OWNERS; i++)
		has |= h->recovery.owners[name][i][0] != '\0' &&
		       backing_owned(&h->world->servers[server], name, h->recovery.owners[name][i]);
	return has;
}

static void
note_kept(struct host *h)
{
	const struct plan *p = &h->world->plan;
	for (unsigned i = 0; i < p->names; i++) {
		h->recovery.kept[i] = 0;
		for (unsigned k = 0; k < p->masters + p->spare; k++)
			h->recovery.kept[i] |= has_lease(h, k, i) ? 1U << k : 0;
	}
}

static void
again(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	(void)data;
	if (h->alive && h->life == life && h->world->phase == PHASE_FAULTS)
		recovery_strike(h);
}

void
recovery_done(struct host *h, const struct host *of)
{
	static struct inventory f;
	static struct durable d;
	struct world *w = h->world;
	struct recovery *r = &h->recovery;
	r->at_us = w->now_us;
	inventory_all(&f, h, h->core);
	note_kept(h);
	/* Who waited for no holder any more has told them that it ends. */
	if (of != NULL || r->drained) {
		copy_holds(h, &f);
		for (size_t i = 0; i < f.sessions_n; i++)
			r->strange = f.sessions[i].id > r->strange ? f.sessions[i].id : r->strange;
		return;
	}
	durable_list(&d, h, r->life);
	check_sessions(h, &f, &d);
	check_holds(h, &f, &d);
	carry(h, &f, &d);
	trace_line(&w->trace, w->now_us, "d%u     has recovered %u sessions and %u holds", h->index,
		(unsigned)f.sessions_n, (unsigned)f.holds_n);
	r->torn = false;
	if (rng_percent(&w->rng, 25))
		world_after(w, rng_range(&w->rng, 0, w->plan.lease_ms * 400), again, h, h->life, NULL);
}

/* ---- afterwards ---- */

bool
recovery_ends_it(const struct hold *hold)
{
	const struct host *h = hold->host;
	bool unannounced = h->alive && h->life == hold->host_life && !hold->lost && h->paused_until_us != 0;
	return recovery_awaited(h, hold->host_life) || (h->world->plan.fault[FAULT_RECOVER] && unannounced);
}

bool
recovery_awaited(const struct host *h, uint64_t life)
{
	return h->world->plan.ledgers && !h->alive && h->life == life && ledgers_left(h).n > 0;
}

/* From when a master can be used until it has been asked: the ordinary renewal, and a bit. */
static int64_t
adopts_us(const struct plan *p)
{
	return p->lease_ms * 350 + 4 * (2 * p->network_us + p->spread_us) + 50000;
}

/* Masters that had it, a bit for each, of the set that is in force as when the daemon died; 0: it is another
 * set by now, and others may be asked. */
static unsigned
had_there(const struct host *h, unsigned name)
{
	int64_t generation;
	unsigned members = change_members(h->world, &generation);
	return generation == h->recovery.generation ? h->recovery.kept[name] & members : 0;
}

/* Masters that had it, and could be used for long enough. */
static unsigned
could_adopt(const struct host *h, unsigned name)
{
	const struct world *w = h->world;
	unsigned n = 0;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		const struct server *s = &w->servers[i];
		int64_t since_us =
			w->plan.changes ? w->well.member_us[h->index][i] : w->well.kept_us[h->index][i];
		n += (had_there(h, name) >> i & 1) && s->forgot_us < h->recovery.at_us &&
		     s->ended_us < h->recovery.at_us && since_us != INT64_MAX &&
		     w->now_us - since_us > adopts_us(&w->plan);
	}
	return n;
}

/* Masters that had it, and have it still; 0: others may be asked, after a failover or by another list. */
static unsigned
has_still(const struct host *h, unsigned name)
{
	const struct world *w = h->world;
	unsigned n = 0;
	for (unsigned i = 0; i < plan_servers(&w->plan) && w->plan.replicas == 0 && w->plan.others == 0; i++)
		n += (had_there(h, name) >> i & 1) && has_lease(h, i, name);
	return n;
}

/* A master that says no has it no more. */
static unsigned
had(const struct host *h, const struct hold *hold, const char *why)
{
	unsigned could = could_adopt(h, hold->name), has = 0;
	if (strcmp(why, "expired") != 0)
		has = has_still(h, hold->name);
	return could > has ? could : has;
}

static unsigned
majority(const struct world *w)
{
	int64_t generation;
	return (unsigned)__builtin_popcount(change_members(w, &generation)) / 2 + 1;
}

void
recovery_note(struct host *h, const struct note *n)
{
	struct world *w = h->world;
	if (n->type != NOTE_LOST || h->recovery.at_us == 0 || n->text == NULL ||
		(strcmp(n->text, "expired") != 0 && strcmp(n->text, "taken") != 0 &&
			strcmp(n->text, "refused") != 0))
		return;
	unsigned name = checker_name_of(n->name);
	const struct hold *hold = held_with(w, h, name, n->token);
	if (hold == NULL || hold->since_us >= h->recovery.at_us || hold->kind == KIND_PERMITS ||
		!promised(w, PROMISE_LOSS, name))
		return;
	if (had(h, hold, n->text) >= majority(w))
		world_fail(w, "recovered: d%u loses %s (%s), and %u masters had it, which it could use",
			h->index, checker_name(name), n->text, had(h, hold, n->text));
}

void
recovery_watches(struct host *h, const struct action *action)
{
	if (h->recovery.at_us == 0)
		return;
	unseen_process_watched(h, action->u.process.pid);
	conn_watched(h, action->u.process.pid);
}

/* A client has bound a session to another process with this number since: that keeps it, also without a
 * connection. */
static bool
is_another(const struct host *h, int64_t pid)
{
	const struct conn *c;
	LIST_FOREACH (c, &h->world->conns.all, in_world)
		if (c->host == h && c->host_life == h->life && c->pid == pid && c->bound && !c->unbound)
			return true;
	return false;
}

static void
sees_exit(void *arg, uint64_t pid, void *data)
{
	struct host *h = arg;
	(void)data;
	if (!h->alive || h->recovery.strange == 0 || is_another(h, (int64_t)pid))
		return;
	if (h->paused_until_us > h->world->now_us)
		schedule_again(&h->world->schedule, h->paused_until_us);
	else
		host_step(h, &(struct event){.type = EVENT_EXIT, .process = {(int64_t)pid, 1, 3}});
}

void
recovery_exited(const struct conn *c)
{
	struct world *w = c->world;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		struct host *h = &w->hosts[i];
		bool own = c->host == h && c->host_life == h->life;
		if (h->recovery.strange != 0 && !own)
			world_after(w, rng_range(&w->rng, 10, 200), sees_exit, h, (uint64_t)c->pid, NULL);
	}
}

/* ---- when ---- */

/* Usually the service manager starts it again at once. */
static void
crash(struct host *h)
{
	struct world *w = h->world;
	int64_t lease_us = w->plan.lease_ms * 1000;
	int64_t away_us = rng_percent(&w->rng, 50)   ? rng_range(&w->rng, 0, lease_us / 20)
			  : rng_percent(&w->rng, 60) ? rng_range(&w->rng, 0, lease_us / 2)
						     : fault_time_us(w);
	fault_crash_for(h, away_us);
}

bool
recovery_kills(struct host *h, const struct event *event)
{
	struct recovery *r = &h->recovery;
	bool may = event->type == EVENT_COMMAND || event->type == EVENT_VOTE || event->type == EVENT_TIMER;
	if (r->dies == DIES_NOT || !may || h->ending || h->draining)
		return false;
	trace_line(&h->world->trace, h->world->now_us, "d%u     dies in a step whose entries are %swritten",
		h->index, r->dies == DIES_WRITTEN ? "" : "not ");
	h->actions.n = 0;
	r->torn = r->dies == DIES_WRITTEN;
	if (r->torn) {
		const struct plan *p = &h->world->plan;
		r->torn_until_us = h->world->now_us + 2 * (p->lease_ms + p->margin_ms) * 1000;
		note_bound(h, false);
		torn(h);
	} else {
		ledgers_cut(h);
	}
	crash(h);
	return true;
}

void
recovery_strike(struct host *h)
{
	struct world *w = h->world;
	if (!h->alive || h->paused_until_us > w->now_us)
		return;
	if (w->plan.fault[FAULT_HANDOVER] && rng_percent(&w->rng, 20))
		handover_begin(h);
	if (rng_percent(&w->rng, 40))
		crash(h);
	else
		h->recovery.dies = rng_percent(&w->rng, 50) ? DIES_WRITTEN : DIES_UNWRITTEN;
}

void
recovery_heal(struct world *w)
{
	for (unsigned i = 0; i < w->plan.hosts; i++)
		w->hosts[i].recovery.dies = DIES_NOT;
}

/* What was copied, before the daemon wrote on. */
struct copy {
	struct host *of;
	int64_t base_ms; /* of that daemon's clock: each boot has another one */
	size_t n;
	char bytes[];
};

static void
copy_begins(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	struct copy *copy = data;
	/* If that daemon began anew meanwhile, its clock is another one: the copy is of another boot. */
	if (h->alive && h->life == life && copy->of->alive && copy->of->base_ms == copy->base_ms &&
		h->world->phase == PHASE_FAULTS)
		host_copy(h, copy->of, (struct slice){copy->bytes, copy->n});
	free(copy);
}

void
recovery_copy(struct world *w)
{
	struct host *of = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)];
	struct host *h = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)];
	if (of == h || !of->alive || !h->alive || ledgers_left(of).n == 0)
		return;
	struct slice ledger = ledgers_left(of);
	struct copy *copy = malloc(sizeof(*copy) + ledger.n);
	assert(copy != NULL);
	copy->of = of;
	copy->base_ms = of->base_ms;
	copy->n = ledger.n;
	memcpy(copy->bytes, ledger.p, ledger.n);
	world_after(w, rng_percent(&w->rng, 30) ? 0 : rng_range(&w->rng, 0, w->plan.lease_ms * 900),
		copy_begins, h, h->life, copy);
}

/* Preferably one with something to lose. */
static struct host *
victim(struct world *w)
{
	const struct hold *hold = w->checker.holds;
	struct host *h = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)];
	if (rng_percent(&w->rng, 30))
		return h;
	while (hold != NULL &&
		(hold->unannounced || hold->lost || hold->host_life != hold->host->life ||
			session_terms_of(w, hold->host, hold->session) == NULL || rng_percent(&w->rng, 30)))
		hold = hold->next;
	return hold != NULL ? hold->host : h;
}

/* A hold that somebody comes back for, and that lasts for long enough to be adopted. */
static const struct hold *
some_kept(const struct world *w)
{
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->host->alive && h->host->life == h->host_life &&
			h->host->paused_until_us <= w->now_us && held_surely(w, h) &&
			held_until_us(h) > w->now_us + w->plan.lease_ms * 600 &&
			session_terms_of(w, h->host, h->session) != NULL)
			return h;
	return NULL;
}

/* A daemon with something to lose, again and again, and it comes back with the first list. */
static void
strikes_holder(void *arg, uint64_t turns, void *data)
{
	struct world *w = arg;
	const struct hold *hold = some_kept(w);
	(void)data;
	if (w->phase != PHASE_FAULTS || turns == 0)
		return;
	if (hold != NULL) {
		hold->host->first_list = true;
		fault_crash_for(hold->host, rng_range(&w->rng, 0, w->plan.lease_ms * 50));
	}
	world_after(w, w->plan.lease_ms * (hold != NULL ? 1000 : 20), strikes_holder, w, turns - 1, NULL);
}

void
recovery_changed(struct world *w)
{
	if (w->plan.fault[FAULT_RECOVER])
		world_after(w, 0, strikes_holder, w, 200, NULL);
}

static void
turn(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	if (w->phase != PHASE_FAULTS)
		return;
	if (w->plan.fault[FAULT_COPY] && rng_percent(&w->rng, 30))
		recovery_copy(w);
	else
		recovery_strike(victim(w));
	world_after(w, rng_range(&w->rng, 0, 2000 * w->plan.lease_ms), turn, w, 0, NULL);
}

void
recovery_watch(struct world *w)
{
	if (w->plan.fault[FAULT_RECOVER])
		world_after(w, rng_range(&w->rng, 0, 2000 * w->plan.lease_ms), turn, w, 0, NULL);
}
