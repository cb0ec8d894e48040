/* world: see world.h. */
#include "tests/sim/world/world.h"

#include "tests/sim/fault/change.h"
#include "tests/sim/fault/fault.h"
#include "tests/sim/fault/handover.h"
#include "tests/sim/fault/reconnects.h"
#include "tests/sim/fault/recovery.h"
#include "tests/sim/fault/reload.h"
#include "tests/sim/fault/resp2_client.h"
#include "tests/sim/fault/shorter_leases.h"
#include "tests/sim/judge/belief.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
world_failed(struct world *w, const char *format, ...)
{
	struct failure *f = &w->failure;
	va_list list;
	if (w->failed)
		return;
	w->failed = true;
	va_start(list, format);
	vsnprintf(f->why, sizeof(f->why), format, list);
	va_end(list);
	moment_text(w, f->when, sizeof(f->when));
	trace_line(&w->trace, w->now_us, "FAIL   %s", f->why);
}

void
world_after(struct world *w, int64_t delay_us, job_run *run, void *arg, uint64_t a, void *data)
{
	schedule_add(&w->schedule, w->now_us + delay_us, run, arg, a, data);
}

static void
init_settings(struct world *w)
{
	static const char *const matches[] = {NULL, "a", "ab", "*"};
	static const char *const keys[] = {NULL, "%b", "%", NULL};
	const struct plan *p = &w->plan;
	const size_t count = WORLD_RULES;
	w->rules[0] = (struct rule){.match = "foreign",
		.key = p->foreign && !p->redisson ? "lock:%" : NULL,
		.interop = p->redisson  ? INTEROP_REDISSON
			   : p->redsync ? INTEROP_STRING
					: INTEROP_NONE,
		.lease_ms = p->lease_ms,
		.wait_ms = p->wait_ms,
		.max_hold_ms = p->max_hold_ms};
	if (p->foreign)
		w->rules[0].lease_ms = p->lease_ms / 2;
	for (size_t i = 1; i < count; i++)
		w->rules[i] = (struct rule){.match = matches[i],
			.key = p->twins ? keys[i] : NULL,
			.lease_ms = p->lease_ms,
			.wait_ms = p->wait_ms,
			.max_hold_ms = p->max_hold_ms,
			.crash_delay_ms = p->crash_delay_ms};
	w->rules[1].slow_wait_ms = p->lease_ms / 3;
	w->rules[1].long_hold_ms = p->lease_ms / 2;
	w->settings = (struct core_settings){.rules = w->rules,
		.rule_count = count,
		.namespace_ = "hf",
		.lease_max_ms = p->lease_ms,
		.margin_ms = p->margin_ms,
		.masters = p->masters,
		.links = p->links,
		.retain_ms = p->retain_ms,
		.streak = p->streak,
		.streak_ms = p->streak_ms,
		.grants_per_session = p->session_grants > 0 ? p->session_grants : 100,
		.waiters_per_session = p->session_waits > 0 ? p->session_waits : 100,
		.lost_per_session = p->lost_most,
		.grace = {.sessions = 64, .per_user = 64, .most_ms = 3600000, .ttl_ms = 3600000},
		.per_user = {.locks = p->user_locks > 0 ? p->user_locks : 1000000, .latches = 1000000},
		.name_bytes = 64};
}

#define MASTER_SET_MAX 256
#define CALM_LEAST_US  2000000
#define AWAY_US        INT64_C(1000000000000)

static uint64_t
master_id(unsigned index)
{
	return 0x1001 + index;
}

/* A daemon of an earlier day has admitted it, and all of them have accepted their set: no guard to begin
 * with. Each server has an incarnation of its own, as it is drawn at random: daemons find the queue of a name
 * by it, whatever order they have the masters in. */
static void
admit_before(struct server *s)
{
	const struct plan *p = &s->world->plan;
	struct rng rng = {p->seed * UINT64_C(0xd6e8feb86659fd93) + s->index + 53};
	struct call_settings settings = {.namespace_ = "hf",
		.daemon_id = "0123456789abcdef0123456789abcdef",
		.margin_ms = p->margin_ms,
		.layout = "x",
		.trusted = true};
	char set[MASTER_SET_MAX], places[MASTER_SET_MAX] = "";
	struct call hello = {.op = CALL_HELLO,
		.master = s->index,
		.incarnation = rng_next(&rng) | 1,
		.id = master_id(s->index),
		.wanted_lease_ms = p->lease_ms,
		.guarded_lease_ms = p->lease_ms};
	struct call_command command;
	size_t n = (size_t)snprintf(set, sizeof(set), "1"), placed = 0;
	for (unsigned i = 0, first = 1; i < p->masters + p->spare; i++) {
		if (p->changes ? !change_begins_with(p, i) : i >= p->masters)
			continue;
		n += (size_t)snprintf(set + n, sizeof(set) - n, " %016" PRIx64 ":url", master_id(i));
		placed += (size_t)snprintf(
			places + placed, sizeof(places) - placed, "%smaster-%u", first ? "" : " ", i + 1);
		first = 0;
	}
	if (p->others == 0) {
		hello.masterset = slice_of(set);
		hello.places = slice_of(places);
	}
	call_command_init(&command);
	master_load_scripts(s->master);
	/* One step after the other; the last one is left to the daemons, and all where their lists differ. */
	unsigned last = p->others == 0 ? AGREEMENT_ACCEPTED : AGREEMENT_NONE;
	for (unsigned step = p->others == 0 ? AGREEMENT_OFFERED : AGREEMENT_NONE; step <= last; step++) {
		hello.agreement = step;
		if (!call_encode(&command, &settings, &hello, 1))
			abort();
		freeReplyObject(server_run(s, command.argc, command.argv, command.argvlen));
	}
	call_command_done(&command);
}

void
world_open(struct world *w, const struct plan *plan, bool keep_trace)
{
	memset(w, 0, sizeof(*w));
	w->plan = *plan;
	w->rng.state = plan->seed;
	w->calm_us = INT64_MAX;
	w->away = -1;
	w->promises = calloc(1, sizeof(*w->promises));
	if (w->promises == NULL)
		abort();
	promises_draw(w);
	trace_init(&w->trace, keep_trace);
	LIST_INIT(&w->flights);
	conns_init(&w->conns);
	LIST_INIT(&w->parcels);
	init_settings(w);
	for (unsigned i = 0; i < plan_servers(plan); i++) {
		server_init(w, i);
		bool begins = !plan->changes || change_begins_with(plan, i);
		if (plan->trusted && i < plan->masters + plan->spare && begins)
			admit_before(&w->servers[i]);
	}
	if (plan->replicas > 0) {
		replication_begin(w);
		w->sentinels.known = w->sentinels.ever = (1U << (plan_servers(plan) - plan->joins)) - 1;
	}
	for (unsigned i = 0; i < plan->hosts; i++)
		host_init(w, i);
	for (unsigned i = 0; i < plan->clients; i++)
		client_init(w, i);
	char text[320];
	plan_text(plan, text, sizeof(text));
	trace_line(&w->trace, 0, "seed %" PRIu64 ": %s", plan->seed, text);
}

void
world_run_until(struct world *w, int64_t until_us)
{
	while (!w->failed && schedule_run(&w->schedule, until_us, &w->now_us))
		w->moment = w->failed ? w->moment : (struct moment){0};
	if (!w->failed)
		w->now_us = until_us;
}

void
world_close(struct world *w)
{
	checker_done(w);
	latches_done(w);
	losses_done(w);
	recorder_done(w);
	flights_free(&w->flights);
	conns_free(&w->conns);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		host_done(&w->hosts[i]);
	replication_done(w);
	schedule_done(&w->schedule);
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		server_done(&w->servers[i]);
	trace_done(&w->trace);
	lineage_free(w);
	free(w->promises);
}

/* ---- the phases ---- */

static int64_t
lease_and_margin_us(const struct world *w)
{
	return (w->plan.lease_ms + w->plan.margin_ms) * 1000;
}

/* What is left at a master that should not be; false: nothing. */
static bool
keys_left(struct server *s, char *what, size_t size)
{
	struct store *store = master_store(s->master);
	struct slice key;
	size_t keys = store_count(store, server_wall_us(s));
	for (size_t i = 0; i < keys && store_key(store, i, &key); i++) {
		bool stays = (key.n >= 2 && memcmp(key.p + key.n - 2, ":f", 2) == 0) ||
			     (key.n >= 2 && memcmp(key.p + key.n - 2, ":l", 2) == 0) ||
			     slice_equal(key, SLICE("hf:node")) ||
			     slice_equal(key, SLICE(SERVER_TOKEN_COUNTER));
		/* Where clocks step back, keys live longer that nobody looks at. */
		stays |= store_expires_ms(store, key) > 0 &&
			 !promised(s->world, PROMISE_NOTHING_LEFT, PLAN_ANY_NAME);
		if (stays)
			continue;
		snprintf(what, size, "the key %.*s is left at m%u", (int)key.n, key.p, s->index);
		return true;
	}
	return false;
}

static bool
objects_left(const struct host *h, char *what, size_t size)
{
	struct core_counts n;
	core_view_counts(h->core, &n);
	snprintf(what, size,
		"d%u still has %zu sessions, %zu names, %zu leases, %zu grants, %zu withheld, %zu "
		"waiters, %zu latch requests",
		h->index, n.sessions, n.resources, n.leases, n.grants, n.withheld, n.waiters, n.requests);
	return n.sessions + n.resources + n.leases + n.grants + n.withheld + n.waiters + n.requests > 0;
}

/* A request that has no answer after all clients have left; NULL: none. */
static const struct conn *
anyone_waits(const struct world *w)
{
	if (w->checker.waits != NULL)
		return w->checker.waits->conn;
	if (w->checker.bundles != NULL)
		return w->checker.bundles->conn;
	return latches_wait(w) ? w->latches.waits->conn : NULL;
}

/* After all clients have left nothing may be left of them. */
static bool
anything_left(struct world *w, char *what, size_t size)
{
	bool left = false;
	for (unsigned i = 0; i < w->plan.hosts && !left; i++)
		left = w->hosts[i].alive && objects_left(&w->hosts[i], what, size);
	for (unsigned i = 0; i < w->plan.masters && !left; i++)
		left = keys_left(&w->servers[w->sentinels.master + i], what, size);
	return left;
}

/* Every waiter's turn comes: each of those before it at its daemon, and then a turn of each other daemon,
 * takes a streak, a hold and a change of hands; dead places and dead holders have ended by then. */
static int64_t
longest_wait_us(const struct world *w)
{
	const struct plan *p = &w->plan;
	int64_t turn_us = p->hold_us * 2 + (p->lease_ms * 5700 + p->crash_delay_ms * 1000) +
			  p->streak_ms * 1000 + 320000;
	/* Whoever takes several names keeps some while it waits for another. */
	int64_t turns =
		(int64_t)p->clients * p->hosts * (p->many_percent + p->chaos_percent > 0 ? p->names : 1);
	return 4000000 + 2 * lease_and_margin_us(w) + turns * turn_us;
}

/* Nothing goes wrong any more: who waits is served. */
static void
live_calm(struct world *w)
{
	int64_t since_us = w->now_us, most_us = longest_wait_us(w);
	do {
		world_run_until(w, w->now_us + 500000);
		waits_check_progress(w, since_us, most_us);
		bundles_check_progress(w, since_us, w->plan.names * most_us);
	} while (
		!w->failed && (w->now_us < w->calm_us + CALM_LEAST_US || waits_since(w, since_us + 1000000) ||
				      bundles_since(w, since_us + 1000000)));
}

/* A master of several stays away while the others serve, and comes back with its data. All stay if too few of
 * the others have agreed on the set: one that is yet to be agreed on takes effect when all have accepted it,
 * and a member without its memory gets it back from so many that each majority has one of them. */
static void
master_leaves(struct world *w)
{
	unsigned agreed = 0;
	if (!w->plan.away)
		return;
	unsigned away = (unsigned)rng_range(&w->rng, 0, w->plan.masters - 1);
	for (unsigned i = 0; i < w->plan.masters; i++)
		agreed += i != away && server_agreed(&w->servers[i]);
	if (agreed < w->plan.masters - plan_majority(&w->plan) + 1)
		return;
	w->away = (int)away;
	server_crash(&w->servers[away], master_store(w->servers[away].master), AWAY_US);
}

static void
master_returns(struct world *w)
{
	if (w->away < 0)
		return;
	w->servers[w->away].up = true;
	w->away = -1;
	world_run_until(w, w->now_us + 3000000 + 2 * lease_and_margin_us(w));
}

static bool
clients_are_gone(const struct world *w)
{
	for (unsigned i = 0; i < w->plan.clients; i++)
		if (w->clients[i].conn != NULL)
			return false;
	return true;
}

/* All clients leave: nothing is left of them. */
static void
live_drain(struct world *w)
{
	int64_t until_us = w->now_us + longest_wait_us(w);
	w->phase = PHASE_DRAIN;
	for (unsigned i = 0; i < w->plan.clients; i++)
		client_stop(&w->clients[i]);
	while (!w->failed && w->now_us < until_us && !clients_are_gone(w))
		world_run_until(w, w->now_us + 500000);
	/* What is lost is noticed, its grace is over, and what was told then; and somebody waited for that.
	 */
	until_us = w->now_us + 6 * lease_and_margin_us(w) + 5000000;
	char what[160];
	/* Twice: what is still under way might make something of it again. */
	for (int clean = 0; !w->failed && clean < 2;) {
		world_run_until(w, w->now_us + 500000);
		const struct conn *waits = anyone_waits(w);
		clean = waits != NULL || anything_left(w, what, sizeof(what)) ? 0 : clean + 1;
		bool late = clean == 0 && w->now_us >= until_us;
		w->moment.asks = waits;
		if (late && waits != NULL)
			world_fail(w, "one answer: c%u at d%u was never answered", waits->client->index,
				waits->host->index);
		else if (late)
			world_fail(w, "drain: %s", what);
	}
}

bool
world_calm(const struct world *w)
{
	return w->now_us >= w->calm_us;
}

bool
world_alike(const struct world *w)
{
	return (w->plan.others == 0 && !w->plan.changes && !w->plan.rolls) || w->progress.watched;
}

/* Daemons that go by different lists or rules may all be refused: nothing but safety is promised to them. */
static void
watch(struct world *w)
{
	orphan_watch(w);
	progress_watch(w);
	belief_watch(w);
	fault_free_watch(w);
}

void
world_live(struct world *w)
{
	const struct plan *p = &w->plan;
	bool alike = p->others == 0 && !p->changes && !p->rolls;
	fault_plan(w);
	reconnects_watch(w);
	resp2_client_watch(w);
	reload_watch(w);
	handover_watch(w);
	recovery_watch(w);
	shorter_leases_watch(w);
	change_watch(w);
	fault_free_watch_members(w);
	if (alike)
		watch(w);
	sentinels_watch(w);
	latches_watch(w);
	foreign_client_watch(w);
	world_run_until(w, p->faults_us);
	fault_heal(w);
	master_leaves(w);
	change_finish(w);
	/* A last failover may be on its way, and then there is another guard. */
	int64_t guards = (plan_loses(p) || !p->trusted) + 2 * (p->replicas > 0);
	world_run_until(w, w->now_us + 3000000 + guards * lease_and_margin_us(w));
	if (!alike) {
		/* The registrations of those who used other masters run out, and guards that begin then. */
		world_run_until(w, w->now_us + 4 * lease_and_margin_us(w));
		watch(w);
	}
	/* The leases and places of those who are gone end. */
	w->calm_us = w->now_us + lease_and_margin_us(w);
	live_calm(w);
	master_returns(w);
	live_drain(w);
	recorder_judge(w);
}
