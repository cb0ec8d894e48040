/*
 * check_recover: random histories of clients and a master that now and then does not answer. After every step
 * the ledger says what the core says; the daemon crashes at any time, and the next one has what the ledger
 * says, of which clients must not notice more than an end of their connections. A ledger that was cut,
 * changed or forged is refused, or is one that a core can have; it never ends the process.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/previous_owners.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/part.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/persist/ledger.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE (sizeof("holdfast state 1\n") - 1)
#define HEAD       6 /* of a record: its number and its length */
#define CONNS      6
#define CALLS      64
#define SECRETS    8

static struct story w;
static char why[RECORD_WHY_MAX];

/* ---- a random history ---- */

struct pending {
	struct call call;
	char name[64];
	char slots[64];
};

static struct {
	uint64_t random;
	conn_id conns[CONNS];
	conn_id last;
	char secrets[SECRETS][64];
	size_t secret_n;
	struct pending calls[CALLS];
	size_t call_n;
	int64_t token;
	unsigned processes; /* so far */
	size_t before;      /* length of the log before the last step */
	struct buffer next; /* the ledger that is being compacted; no bytes: none */
	uint64_t cursor;
	unsigned recoveries;
	unsigned kept; /* holds that a recovery has kept; and lost, for their time was over */
	unsigned lost;
	unsigned waited; /* for a hold beside durable ones */
} h;

static uint64_t
any(uint64_t n)
{
	h.random ^= h.random << 13;
	h.random ^= h.random >> 7;
	h.random ^= h.random << 17;
	return (h.random >> 11) % n;
}

static const char *
any_name(void)
{
	static const char *const names[] = {"a", "b", "c", "string-a", "fragile-a", "capped-a", "p"};

	return names[any(sizeof(names) / sizeof(names[0]))];
}

static struct slice
any_tag(void)
{
	static const char *const tags[] = {"", "", "tag", "other"};

	return slice_of(tags[any(4)]);
}

static conn_id
any_conn(void)
{
	return h.conns[any(CONNS)];
}

/* The calls of the last step wait for an answer. */
static void
keep_calls(void)
{
	for (size_t i = 0; i < w.actions.n && h.call_n < CALLS; i++) {
		const struct call *call = &w.actions.list[i].u.call;
		struct pending *p = &h.calls[h.call_n];

		if (w.actions.list[i].type != ACTION_CALL || call->op == CALL_LEAVE || call->op == CALL_ENTER)
			continue;
		*p = (struct pending){.call = *call};
		ck_assert_uint_lt(call->name.n, sizeof(p->name));
		if (call->name.n > 0)
			memcpy(p->name, call->name.p, call->name.n);
		if (call_about_lease(call->op) && call->slots.n > 0)
			memcpy(p->slots, call->slots.p, call->slots.n);
		h.call_n++;
	}
}

static void
keep_secret(void)
{
	for (size_t i = 0; i < w.actions.n; i++) {
		const struct action *a = &w.actions.list[i];

		if (a->type == ACTION_REPLY && a->u.reply.type == REPLY_TEXT)
			(void)snprintf(h.secrets[h.secret_n++ % SECRETS], 64, "%.48s", a->u.reply.text);
	}
}

/* The verbs that a session of an id takes. */
static bool
takes_as(const struct command *c)
{
	switch (c->verb) {
	case VERB_LOCK:
		return c->id.n == 0;
	case VERB_UNLOCK:
	case VERB_CHECK:
	case VERB_EXTEND:
	case VERB_DOWNGRADE:
	case VERB_MLOCK:
	case VERB_MUNLOCK:
	case VERB_SESSION_ONLOSS:
		return true;
	default:
		return false;
	}
}

static struct slice
any_as(void)
{
	static const char *const ids[] = {"first-0123456789", "second-0123456789", "third-0123456789"};

	return slice_of(ids[any(3)]);
}

/* Whether it may send: it waits for nothing, and is not being closed because its session ends. */
static bool
may_send(const struct conn *conn)
{
	return conn != NULL && conn->blocked == NULL && conn->mlock == NULL && conn->guest == NULL &&
	       !conn->session->ends;
}

static void
command(struct command c)
{
	conn_id id = any_conn();

	if (!may_send(conn_find(w.core, id)))
		return;
	if (takes_as(&c) && any(3) == 0)
		c.as = any_as();
	run(&w, id, c);
	if (c.verb == VERB_SESSION_GRACE || c.verb == VERB_SESSION_SECRET)
		keep_secret();
}

static void
any_lock(void)
{
	struct command c = {.verb = VERB_LOCK, .name = slice_of(any_name()), .owner = any_tag()};

	if (c.name.p[0] == 'p') {
		c.kind = KIND_PERMITS;
		c.limit = 3;
		c.permits = 1 + (int64_t)any(2);
	} else {
		c.kind = any(2) == 0 ? KIND_SHARED : KIND_EXCLUSIVE;
	}
	c.wait_ms = 1 + (int64_t)any(900);
	c.validity = any(2) == 0;
	c.lease_ms = any(4) == 0 ? 1 + (int64_t)any(900) : 0;
	c.max_hold_ms = any(4) == 0 ? 1 + (int64_t)any(900) : 0;
	c.claim_ms = any(4) == 0 ? 1 + (int64_t)any(900) : 0;
	if (any(4) == 0)
		c.id = slice_of(any(2) == 0 ? "x" : "y");
	if (any(4) == 0)
		c.why = SLICE("because");
	command(c);
}

static void
any_mlock(enum verb verb)
{
	static const struct slice names[] = {SLICE("a"), SLICE("b"), SLICE("c"), SLICE("fragile-a")};
	size_t n = 1 + any(3);

	command((struct command){.verb = verb,
		.names = &names[any(5 - n)],
		.name_count = n,
		.owner = any_tag(),
		.wait_ms = (int64_t)any(500),
		.kind = any(2) == 0 ? KIND_SHARED : KIND_EXCLUSIVE,
		.lease_ms = any(3) == 0 ? 500 : 0});
}

static void
any_hold_verb(void)
{
	static const enum verb verbs[] = {
		VERB_UNLOCK, VERB_UNLOCK, VERB_UNLOCK, VERB_CHECK, VERB_EXTEND, VERB_DOWNGRADE, VERB_BREAK};
	struct command c = {.verb = verbs[any(7)], .name = slice_of(any_name()), .owner = any_tag()};
	const struct resource *r = names_find(&w.core->leases->names, c.name);
	const struct grant *g = r == NULL ? NULL : resource_next_grant(r, NULL);

	c.extend_ms = 1 + (int64_t)any(900);
	if (c.verb == VERB_BREAK)
		c.token = g != NULL ? g->token : 1;
	command(c);
}

static void
any_session_verb(void)
{
	struct slice secret = slice_of(h.secrets[any(SECRETS)]);

	switch (any(12)) {
	case 9:
	case 10:
		command((struct command){
			.verb = VERB_SESSION_TTL, .ttl_ms = 1 + (int64_t)any(9000), .as = any_as()});
		return;
	case 11:
		command((struct command){.verb = VERB_SESSION_END, .as = any_as()});
		return;
	case 0:
	case 1:
		command((struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 1 + (int64_t)any(3000)});
		return;
	case 2:
		command((struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 0});
		return;
	case 3:
		command((struct command){.verb = VERB_SESSION_HEARTBEAT,
			.heartbeat_ms = any(2) == 0 ? 0 : (int64_t)any(3000)});
		return;
	case 4:
		command((struct command){.verb = VERB_SESSION_ONLOSS,
			.onloss = (enum onloss)(ONLOSS_CLOSE + any(ONLOSS_NEXT - ONLOSS_CLOSE + 1))});
		return;
	case 5:
		command((struct command){.verb = VERB_SESSION_SECRET});
		return;
	case 6:
		command((struct command){.verb = VERB_SESSION_JOIN, .secret = secret});
		return;
	default:
		command((struct command){.verb = VERB_SESSION_RESUME, .secret = secret});
	}
}

static void
open_one(conn_id *at)
{
	struct peer peer = {.pid = 100 + (int64_t)any(5), .uid = 0, .user = any(3)};

	*at = ++h.last;
	step(&w, &(struct event){.type = EVENT_OPEN, .conn = *at, .peer = &peer});
	if (any(2) == 0)
		return;
	run(&w, *at, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = 1 + (int64_t)any(3000)});
	keep_secret();
}

static void
any_conn_event(void)
{
	conn_id *at = &h.conns[any(CONNS)];
	struct peer peer = {.pid = 200 + (int64_t)any(5), .uid = 1, .user = any(3)};
	const struct conn *conn = conn_find(w.core, *at);

	if (conn == NULL) {
		open_one(at);
		return;
	}
	switch (any(6)) {
	case 0:
		step(&w, &(struct event){.type = EVENT_PEER, .conn = *at, .peer = &peer});
		return;
	case 1:
		if (may_send(conn))
			step(&w, &(struct event){.type = EVENT_BIND,
					 .conn = *at,
					 .process = {1000 + (int64_t)any(++h.processes), 7, 3}});
		return;
	case 2:
		step(&w, &(struct event){.type = EVENT_EXIT,
				 .process = {1000 + (int64_t)any(h.processes + 1), 7, 3}});
		return;
	case 3:
		step(&w, &(struct event){.type = EVENT_FINISH, .conn = *at});
		return;
	default:
		close_as(&w, *at, (enum end)any(3));
		open_one(at);
	}
}

static bool
is_lost(const struct call *call)
{
	return call->op == CALL_RELEASE ? any(4) == 0 : any(8) == 0;
}

/* What the master says: usually yes. */
static void
answer_one(void)
{
	struct pending p;
	struct vote v;
	size_t at;

	if (h.call_n == 0)
		return;
	at = any(h.call_n);
	p = h.calls[at];
	h.calls[at] = h.calls[--h.call_n];
	v = (struct vote){.op = p.call.op,
		.link = p.call.link,
		.attempt = p.call.attempt,
		.name = {p.name, p.call.name.n}};
	w.at = p.call.master;
	if (p.call.op == CALL_HELLO || p.call.op == CALL_ADMIT) {
		v.admitted = true;
		v.incarnation = MEMORY + w.at;
		vote(&w, v);
		return;
	}
	if (is_lost(&p.call))
		v.outcome = any(2) == 0 ? OUTCOME_UNKNOWN : OUTCOME_NO;
	if (v.outcome == OUTCOME_NO && p.call.op == CALL_ACQUIRE)
		v.outcome = OUTCOME_BUSY;
	if (v.outcome == OUTCOME_YES && (p.call.op == CALL_ACQUIRE || p.call.block > 0)) {
		/* Of several masters a majority has to give the same. */
		v.token_first = w.settings.masters > 1 ? p.call.token : h.token + 1;
		v.token_last = v.token_first + (w.settings.masters > 1 ? p.call.block - 1 : (int64_t)any(20));
		h.token = v.token_last;
	}
	if (p.call.op == CALL_ACQUIRE && v.outcome == OUTCOME_YES && p.call.kind == KIND_PERMITS)
		v.slots =
			p.slots[0] != '\0' ? slice_of(p.slots) : slice_of(p.call.permits == 1 ? "1" : "0,2");
	if (v.outcome == OUTCOME_YES && any(6) == 0)
		v.position = 1;
	vote(&w, v);
}

static void
any_master_event(void)
{
	w.at = (unsigned)any(w.settings.masters);
	switch (any(6)) {
	case 0:
		link_down(&w, "away");
		break;
	case 1:
		w.jump_ms += any(20) == 0 ? 200 : 0;
		break;
	case 2:
		wanted(&w, any_name());
		break;
	default:
		if (w.core->masters[w.at].state == MASTER_AWAY) {
			keep_calls();
			link_up(&w);
		}
	}
}

/* A new ledger is written while the daemon goes on: first the sessions, and then some names after each step.
 */
static void
compact(void)
{
	struct replay kept = {0};
	const char *differs;

	if (buffer_length(&h.next) == 0) {
		if (any(20) != 0)
			return;
		core_ledger_begin(w.core, &h.next);
		h.cursor = 0;
	} else {
		buffer_put(&h.next, buffer_bytes(&w.log) + h.before, buffer_length(&w.log) - h.before);
	}
	h.cursor = core_ledger_scan(w.core, h.cursor, 1 + any(3), &h.next);
	if (h.cursor != 0)
		return;
	ck_assert(replay_take(&kept, (struct slice){buffer_bytes(&h.next), buffer_length(&h.next)}));
	differs = replay_differs(&kept, &w.ledger);
	ck_assert_msg(differs == NULL, "%s", differs);
	replay_done(&kept);
	buffer_consume(&w.log, buffer_length(&w.log));
	buffer_put(&w.log, buffer_bytes(&h.next), buffer_length(&h.next));
	buffer_consume(&h.next, buffer_length(&h.next));
}

static void
one_step(void)
{
	w.actions.n = 0;
	h.before = buffer_length(&w.log);
	switch (any(14)) {
	case 0:
	case 1:
	case 2:
		any_lock();
		break;
	case 3:
	case 4:
		any_hold_verb();
		break;
	case 5:
		any_mlock(any(2) == 0 ? VERB_MLOCK : VERB_MUNLOCK);
		break;
	case 6:
		any_session_verb();
		break;
	case 7:
		any_conn_event();
		break;
	case 8:
		any_master_event();
		break;
	case 9:
		after(&w, (int64_t)any(any(10) == 0 ? 600 : 60));
		break;
	default:
		answer_one();
	}
	keep_calls();
	compact();
}

/* ---- the crash ---- */

static struct core *
recover(struct slice bytes, const char *daemon_id)
{
	struct core_settings settings = w.settings;

	settings.daemon_id = daemon_id;
	return core_recover(&settings, w.now, bytes, why);
}

static void
ck_hold(struct core *core, struct session *s, const struct grant *before)
{
	const struct resource *r = names_find(&core->leases->names, resource_name(before->lease->resource));
	const struct grant *g = grant_any(core, r, s, grant_owner(before));
	bool over = lease_held(before->lease)->valid_until_ms <= w.now.ms;

	if (over || grant_ends_ms(before) <= w.now.ms) {
		h.lost++;
		ck_assert_ptr_null(g);
		ck_assert_ptr_nonnull(
			loss_find(core, s, resource_name(before->lease->resource), grant_owner(before)));
		return;
	}
	h.kept++;
	ck_assert_ptr_nonnull(g);
	ck_assert(g->token == before->token && g->count == before->count && g->kind == before->kind);
	ck_assert(slice_equal(grant_why(g), grant_why(before)) && !g->unannounced);
	ck_assert_int_eq(grant_since_ms(g), grant_since_ms(before));
	ck_assert_int_eq(grant_ends_ms(g), grant_ends_ms(before));
	ck_assert(g->lease->kind == before->lease->kind && g->lease->permits == before->lease->permits);
	ck_assert(slice_equal(permit_lease_slots(g->lease), permit_lease_slots(before->lease)));
	ck_assert_int_eq(lease_held(g->lease)->valid_until_ms, lease_held(before->lease)->valid_until_ms);
	ck_assert_int_eq(lease_announced_until_ms(g->lease), lease_announced_until_ms(before->lease));
	ck_assert_int_ge(lease_held(g->lease)->token, before->token + 1);
	ck_assert_uint_gt(lease_previous_owners(g->lease).n, 0);
}

static void
ck_session(struct core *core, const struct session *before)
{
	struct session *s = session_find(core, before->id);
	const struct grant *g;
	size_t holds = 0;

	ck_assert_int_eq(s != NULL, before->grace_ms > 0 || session_outlives_conns(before));
	if (s == NULL)
		return;
	ck_assert(s->secret[0] == before->secret[0] && s->secret[1] == before->secret[1]);
	ck_assert(s->has_secret == before->has_secret && s->user->id == before->user->id);
	ck_assert(slice_equal(named_session_id(s), named_session_id(before)));
	if (before->onloss != ONLOSS_PUSH)
		ck_assert_int_eq(s->onloss, before->onloss);
	else
		ck_assert_int_eq(s->onloss, s->named != NULL ? ONLOSS_NEXT : ONLOSS_CLOSE);
	ck_assert(s->grace_ms == before->grace_ms && s->heartbeat_ms == before->heartbeat_ms);
	ck_assert(s->process.pid == before->process.pid && s->opened_ms == before->opened_ms);
	for (const struct loss *loss = before->losses; loss != NULL; loss = loss->hh.next)
		ck_assert_ptr_nonnull(loss_find(core, s, loss_name(loss), loss_owner(loss)));
	LIST_FOREACH (g, &before->grants, in_session) {
		if (g->unannounced || part_of(g) != NULL)
			continue;
		ck_hold(core, s, g);
		holds += lease_held(g->lease)->valid_until_ms > w.now.ms && grant_ends_ms(g) > w.now.ms;
	}
	ck_assert_uint_eq(s->grant_count, holds);
}

/* Whoever may rely on a hold beside a durable one is waited for. */
static void
ck_others(struct core *core, const struct grant *before)
{
	const struct lease *l = before->lease;
	const struct resource *r = names_find(&core->leases->names, resource_name(l->resource));
	const struct grant *g = NULL;
	int64_t until_ms = before->session == NULL ? grant_ends_ms(before) : grant_relied_until_ms(before);

	if (!lease_is_durable(l) || before->durable || until_ms <= w.now.ms || r == NULL)
		return;
	while ((g = resource_next_grant(r, g)) != NULL && g->session != NULL)
		continue;
	h.waited++;
	ck_assert_ptr_nonnull(g);
	ck_assert_int_ge(grant_ends_ms(g), until_ms);
}

static void
crash(void)
{
	static const char *const ids[] = {"0123456789abcdef0123456789abcdef",
		"00000000000000000000000000000001", "00000000000000000000000000000002",
		"00000000000000000000000000000003"};
	const char *id = ids[++h.recoveries % 4];
	struct core *core;

	w.now.ms += (int64_t)any(any(4) == 0 ? 900 : 20);
	core = recover((struct slice){buffer_bytes(&w.log), buffer_length(&w.log)}, id);
	ck_assert_msg(core != NULL, "%s", why);
	core_check(core, w.now.ms);
	for (const struct session *s = w.core->sessions->all; s != NULL; s = s->hh.next)
		ck_session(core, s);
	for (const struct resource *r = names_first(&w.core->leases->names); r != NULL;
		r = names_next(&w.core->leases->names, r)) {
		for (const struct grant *g = NULL; (g = resource_next_grant(r, g)) != NULL;)
			ck_others(core, g);
	}
	core_free(w.core);
	free(w.attempts);
	w.attempts = NULL;
	w.attempts_room = 0;
	w.core = core;
	w.settings.daemon_id = id;
	h.call_n = 0;
	buffer_consume(&h.next, buffer_length(&h.next));
	step(&w, &(struct event){.type = EVENT_TIMER});
	for (w.at = 0; w.at < w.settings.masters; w.at++)
		link_up(&w);
	for (size_t i = 0; i < CONNS; i++)
		open_one(&h.conns[i]);
}

static void
history_begin(uint64_t seed, unsigned masters)
{
	memset(&h, 0, sizeof(h));
	buffer_init(&h.next, SIZE_MAX / 2);
	h.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	h.last = 100;
	story_init(&w);
	core_free(w.core);
	w.settings.masters = masters;
	w.settings.retain_ms = any(2) == 0 ? 0 : 300;
	w.settings.grants_per_session = 8;
	w.settings.waiters_per_session = 8;
	w.settings.lost_per_session = 1000;
	w.settings.ledger_many = any(3);
	w.settings.end_holds = 1 + (unsigned)any(3);
	w.settings.grace =
		(struct core_grace){.sessions = 100, .per_user = 100, .most_ms = 60000, .ttl_ms = 60000};
	w.core = core_new(&w.settings, w.now);
	ck_assert_ptr_nonnull(w.core);
	for (w.at = 0; w.at < masters; w.at++) {
		link_up(&w);
		hello(&w, true, MEMORY + w.at);
	}
	for (size_t i = 0; i < CONNS; i++)
		open_one(&h.conns[i]);
}

static void
history_end(void)
{
	buffer_done(&h.next);
	story_done(&w);
}

static void
histories(unsigned masters, uint64_t from, uint64_t to)
{
	unsigned kept = 0, lost = 0, waited = 0;

	for (uint64_t seed = from; seed <= to; seed++) {
		history_begin(seed, masters);
		for (int i = 0; i < 400; i++) {
			one_step();
			if (any(60) == 0)
				crash();
		}
		kept += h.kept;
		lost += h.lost;
		waited += h.waited;
		history_end();
	}
	ck_assert_msg(kept > 0 && lost > 0 && waited > 0, "%u holds kept, %u lost, %u waited for", kept, lost,
		waited);
}

START_TEST(a_ledger_says_what_the_core_says)
{
	histories(1, 1, 60);
}
END_TEST

START_TEST(with_three_masters_too)
{
	histories(3, 1001, 1040);
}
END_TEST

/* ---- hostile bytes ---- */

/* A core that goes on: its timers run, its masters and its clients come. */
static void
goes_on(struct core *core)
{
	struct actions actions;
	struct peer peer = {.uid = 0};
	const struct event events[] = {{.type = EVENT_TIMER}, {.type = EVENT_LINK_UP},
		{.type = EVENT_OPEN, .conn = 1, .peer = &peer}, {.type = EVENT_SUBSCRIBED},
		{.type = EVENT_EXIT, .process = {1000, 7, 3}},
		{.type = EVENT_LINK_DOWN, .text = SLICE("away")}};
	struct now now = w.now;

	actions_init(&actions);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		core_step(core, now, &events[i], &actions);
		core_check(core, now.ms);
		now.ms += 400;
		actions_empty(&actions);
	}
	actions_done(&actions);
	core_free(core);
}

/* Whether it was taken. */
static bool
try(const char *bytes, size_t n)
{
	/* Of its own size, so that each look behind its end is seen. */
	char *copy = malloc(n + 1);
	struct core *core;

	ck_assert_ptr_nonnull(copy);
	if (n > 0)
		memcpy(copy, bytes, n);
	core = recover((struct slice){copy, n}, "99999999999999999999999999999999");
	ck_assert(core != NULL || why[0] != '\0');
	free(copy);
	if (core != NULL)
		goes_on(core);
	return core != NULL;
}

static size_t
record_length(const char *record)
{
	const unsigned char *p = (const unsigned char *)record + 2;

	return HEAD + ((size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24);
}

/* A history whose ledger has a few of everything. */
static struct buffer
some_ledger(uint64_t seed)
{
	struct buffer bytes;

	history_begin(seed, 1);
	for (int i = 0; i < 300 || w.ledger.n < 12; i++)
		one_step();
	buffer_init(&bytes, SIZE_MAX / 2);
	buffer_put(&bytes, buffer_bytes(&w.log), buffer_length(&w.log));
	return bytes;
}

/* Between two entries, the ledger is as after a step that was not written to the end. */
START_TEST(a_ledger_cut_anywhere_is_refused_or_whole)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct buffer bytes = some_ledger(seed);
		size_t whole = FIRST_LINE;

		for (size_t n = 0; n < buffer_length(&bytes); n++) {
			if (n >= FIRST_LINE && n == whole + record_length(buffer_bytes(&bytes) + whole))
				whole = n;
			ck_assert_msg(try(buffer_bytes(&bytes), n) == (n > FIRST_LINE && n == whole),
				"cut after %zu bytes: %s", n, why);
		}
		buffer_done(&bytes);
		history_end();
	}
}
END_TEST

START_TEST(a_changed_ledger_is_refused_or_sound)
{
	static const unsigned char flips[] = {0x01, 0x80, 0xff};

	for (uint64_t seed = 11; seed <= 12; seed++) {
		struct buffer bytes = some_ledger(seed);
		struct slice least = replay_bytes(&w.ledger);
		char *p = (char *)(uintptr_t)least.p;

		for (size_t i = 0; i < least.n; i++) {
			for (size_t f = 0; f < sizeof(flips); f++) {
				p[i] = (char)(p[i] ^ (char)flips[f]);
				(void)try(p, least.n);
				p[i] = (char)(p[i] ^ (char)flips[f]);
			}
		}
		ck_assert(try(p, least.n));
		free(p);
		buffer_done(&bytes);
		history_end();
	}
}
END_TEST

/* The records of one ledger, in another order, twice, or not all. */
START_TEST(a_forged_ledger_is_refused_or_sound)
{
	size_t taken = 0, refused = 0;

	for (uint64_t seed = 21; seed <= 60; seed++) {
		struct buffer bytes = some_ledger(seed), forged;
		const char *records[4000] = {NULL};
		size_t n = 0;

		for (const char *p = buffer_bytes(&bytes) + FIRST_LINE;
			p < buffer_bytes(&bytes) + buffer_length(&bytes); p += record_length(p)) {
			ck_assert_uint_lt(n, sizeof(records) / sizeof(records[0]));
			records[n++] = p;
		}
		ck_assert_uint_gt(n, 1);
		for (int i = 0; i < 20; i++) {
			buffer_init(&forged, SIZE_MAX / 2);
			buffer_put(&forged, buffer_bytes(&bytes), FIRST_LINE);
			buffer_put(&forged, records[0], record_length(records[0]));
			for (size_t k = 1; k < n; k++) {
				const char *record = records[any(8) == 0 ? 1 + any(n - 1) : k];

				if (any(8) != 0)
					buffer_put(&forged, record, record_length(record));
			}
			if (try(buffer_bytes(&forged), buffer_length(&forged)))
				taken++;
			else
				refused++;
			buffer_done(&forged);
		}
		buffer_done(&bytes);
		history_end();
	}
	ck_assert_uint_gt(taken, 0);
	ck_assert_uint_gt(refused, 0);
}
END_TEST

START_TEST(a_ledger_twice_says_the_same)
{
	struct buffer bytes = some_ledger(71);
	struct replay once = {0}, twice = {0};
	size_t n = buffer_length(&bytes);
	struct core *core =
		recover((struct slice){buffer_bytes(&bytes), n}, "9999999999999999999999999999999a");

	ck_assert_msg(core != NULL, "%s", why);
	replay_snapshot(&once, core);
	core_free(core);
	buffer_put(&bytes,
		buffer_bytes(&w.log) + FIRST_LINE + record_length(buffer_bytes(&bytes) + FIRST_LINE),
		n - FIRST_LINE - record_length(buffer_bytes(&bytes) + FIRST_LINE));
	core = recover((struct slice){buffer_bytes(&bytes), buffer_length(&bytes)},
		"9999999999999999999999999999999a");
	ck_assert_msg(core != NULL, "%s", why);
	replay_snapshot(&twice, core);
	core_free(core);
	ck_assert_uint_eq(once.n, twice.n);
	replay_done(&once);
	replay_done(&twice);
	buffer_done(&bytes);
	history_end();
}
END_TEST

int
main(void)
{
	return SUITE_RUN("recover", NULL, NULL, a_ledger_says_what_the_core_says, with_three_masters_too,
		a_ledger_cut_anywhere_is_refused_or_whole, a_changed_ledger_is_refused_or_sound,
		a_forged_ledger_is_refused_or_sound, a_ledger_twice_says_the_same);
}
