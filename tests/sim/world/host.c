/* host: see host.h. */
#include "tests/sim/world/host.h"

#include "tests/sim/fault/change.h"
#include "tests/sim/fault/drain.h"
#include "tests/sim/fault/handover.h"
#include "tests/sim/fault/no_reuse.h"
#include "tests/sim/fault/recovery.h"
#include "tests/sim/fault/rollout.h"
#include "tests/sim/judge/events.h"
#include "tests/sim/judge/guard.h"
#include "tests/sim/judge/hellos.h"
#include "tests/sim/judge/latch_effects.h"
#include "tests/sim/judge/owed_releases.h"
#include "tests/sim/judge/withheld.h"
#include "tests/sim/world/clone.h"
#include "tests/sim/world/private_master.h"
#include "tests/sim/world/replica_poll.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACE "hf"

int64_t
host_ms(const struct host *h)
{
	return h->base_ms + (h->world->now_us - h->born_us) * (1000000 + h->ppm) / INT64_C(1000000000);
}

int64_t
host_true_us(const struct host *h, int64_t ms)
{
	int64_t rate = 1000000 + h->ppm;
	return h->born_us + ((ms - h->base_ms) * INT64_C(1000000000) + rate - 1) / rate;
}

void
host_stand_still(struct host *h, int64_t ms)
{
	h->base_ms -= ms;
	clock_error_step(&h->still, h->world->now_us, ms * 1000);
}

int64_t
host_reads_us(const struct host *h)
{
	return h->paused_until_us > h->unread_until_us ? h->paused_until_us : h->unread_until_us;
}

struct now
host_now(struct host *h)
{
	struct world *w = h->world;
	struct now now = {.ms = host_ms(h)};
	now.wall_us = WORLD_WALL_US + w->now_us + h->wall_offset_us;
	now.random[0] = rng_next(&w->rng);
	now.random[1] = rng_next(&w->rng);
	return now;
}

void
host_init(struct world *w, unsigned index)
{
	struct host *h = &w->hosts[index];
	*h = (struct host){.world = w, .index = index};
	h->ppm = rng_range(&w->rng, -4000, 4000);
	h->wall_offset_us = rng_range(&w->rng, -w->plan.wall_behind_us, w->plan.wall_ahead_us);
	h->call_settings.namespace_ = NAMESPACE;
	h->call_settings.margin_ms = w->plan.margin_ms;
	actions_init(&h->actions);
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		route_init(&h->ways[i], h, &w->servers[i]);
	host_start(h);
}

/* ---- what the pool knows of replicas ---- */

static void
replicas_begin(struct host *h)
{
	h->replicas = (struct replicas){.watched = h->world->plan.replicas > 0};
	if (h->replicas.watched)
		replica_poll_find(h, h->world->sentinels.known, true);
	h->probing = false;
}

int64_t
host_wait_us(const struct host *h)
{
	int64_t tenth_us = h->world->plan.lease_ms * 100;
	return tenth_us < 20000 ? 20000 : tenth_us > 500000 ? 500000 : tenth_us;
}

static void
probe(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	(void)data;
	if (!h->alive || h->life != life)
		return;
	h->probing = false;
	if (!h->replicas.missing)
		return;
	for (unsigned i = 0; h->paused_until_us <= h->world->now_us && i < h->world->plan.links; i++)
		if (wire_probe(&h->ways[h->aim].wires[i]))
			break;
	host_probe_later(h);
}

void
host_probe_later(struct host *h)
{
	if (h->probing)
		return;
	h->probing = true;
	world_after(h->world, 2 * host_wait_us(h), probe, h, h->life, NULL);
}

static void
way_connect(struct route *way)
{
	for (unsigned i = 0; i < way->host->world->plan.links; i++)
		wire_connect(&way->wires[i]);
	inbox_connect(&way->inbox);
}

void
host_aim(struct host *h, unsigned server, unsigned known)
{
	struct route *before = &h->ways[h->aim];
	uint64_t life = h->life;
	if (h->aim == server) {
		replica_poll_find(h, known, false);
		return;
	}
	trace_line(&h->world->trace, h->world->now_us, "d%u     is aimed at m%u", h->index, server);
	h->aim = server;
	replica_poll_find(h, known, true);
	inbox_forget(&before->inbox);
	for (unsigned i = 0; i < h->world->plan.links && h->alive && h->life == life; i++)
		wire_break(&before->wires[i], "the sentinels name another one");
	if (h->alive && h->life == life)
		way_connect(&h->ways[server]);
}

/* Its list of masters, which may have been changed while it was away. */
static void
host_configure(struct host *h)
{
	static const char *const names[PLAN_MASTERS_MAX] = {
		"master-1", "master-2", "master-3", "master-4", "master-5"};
	struct world *w = h->world;
	const struct plan *p = &w->plan;
	bool other = p->others > 0 && w->phase == PHASE_FAULTS && rng_percent(&w->rng, 50);
	unsigned list[PLAN_MASTERS_MAX];
	h->masters = p->changes ? change_list(w, h->first_list, list) : other ? p->others : p->masters;
	h->first_list = false;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		h->place[i] = h->moves[i] = PLAN_MASTERS_MAX;
	memset(h->moving, 0, sizeof(h->moving));
	for (unsigned i = 0; i < h->masters; i++) {
		h->place[i] = p->changes ? list[i] : other ? p->other[i] : i;
		h->where[i] = names[h->place[i]];
	}
	if (p->others > 0 || p->changes)
		trace_line(&w->trace, w->now_us, "d%u     has %u masters, the last is m%u", h->index,
			h->masters, h->place[h->masters - 1]);
}

unsigned
host_master_of(const struct host *h, const struct server *s)
{
	unsigned i = 0;
	while (i < CORE_SLOTS_MAX && h->place[i] != s->index)
		i++;
	return i;
}

struct route *
host_way(struct host *h, unsigned master)
{
	return &h->ways[h->world->plan.replicas > 0 ? h->aim : h->place[master]];
}

const struct rule *
host_rule(const struct host *h, unsigned name)
{
	size_t i = 0;
	while (strcmp(h->rules[i].match, "*") != 0 && strcmp(h->rules[i].match, checker_name(name)) != 0)
		i++;
	return &h->rules[i];
}

int64_t
host_lease_ms(const struct host *h, unsigned name)
{
	return host_rule(h, name)->lease_ms;
}

/* of: it is a copy of that one; ledger: it goes on from that, n == 0: from nothing. */
static void
host_begin(struct host *h, const struct host *of, struct slice ledger)
{
	struct world *w = h->world;
	struct core_settings settings = w->settings;
	h->alive = true;
	clock_jumps_start(h);
	h->decided = (struct set_takeover){0};
	h->guarded_lease_ms = 0;
	memset(w->fair[h->index], 0, sizeof(w->fair[h->index]));
	progress_begins(h);
	h->refusing = h->draining = h->ending = h->handing = false;
	h->unread_until_us = 0;
	h->life++;
	h->calls = 0;
	if (ledger.n == 0) {
		h->born_us = w->now_us;
		h->base_ms = rng_range(&w->rng, 1000, 100000000);
	}
	h->flushing = false;
	h->listens = false;
	h->timer_us = INT64_MAX;
	snprintf(h->call_settings.daemon_id, sizeof(h->call_settings.daemon_id), "%016" PRIx64 "%016x",
		rng_next(&w->rng), h->index);
	host_configure(h);
	memcpy(h->rules, w->rules, sizeof(h->rules));
	rollout_begin(h, of, ledger.n > 0, &settings);
	for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
		h->least_lease_ms[i] = rollout_least_ms(h, host_lease_ms(h, i));
	settings.rules = h->rules;
	settings.masters = h->masters;
	private_master_begin(h, &settings);
	settings.where = w->plan.others > 0 || w->plan.changes ? h->where : NULL;
	settings.follow = true;
	settings.end_holds = w->plan.seed % 3;
	settings.ledger_many = w->plan.ledgers && w->plan.seed % 4 > 0 ? w->plan.seed % 4 : 0;
	h->operator_conn = 0;
	settings.daemon_id = h->call_settings.daemon_id;
	h->settings = settings;
	h->core = ledger.n > 0 ? recovery_core(h, &settings, ledger) : NULL;
	if (h->core == NULL)
		h->core = core_new(&settings, host_now(h));
	fault_free_host_starts(w, h);
	assert(h->core != NULL);
	if (w->plan.no_reuse)
		no_reuse_begin(h->core);
	if (of != NULL) {
		memcpy(h->call_settings.daemon_id, of->call_settings.daemon_id, CALL_DAEMON_ID_SIZE);
		clone_make(h->core, of->core);
	}
	trace_line(&w->trace, w->now_us, "d%u     starts as %.6s", h->index, h->call_settings.daemon_id);
	ledgers_begin(h);
	replicas_begin(h);
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		h->ways[i].told = 0;
		way_connect(&h->ways[i]);
	}
	handover_started(h);
}

static void on_timer(void *arg, uint64_t serial, void *data);

static void
host_recover(struct host *h, const struct host *of, struct slice ledger)
{
	host_begin(h, NULL, ledger);
	recovery_begins(h, true, of);
	recovery_done(h, of);
	/* What it asks for in its first step it asks for as soon as it runs. */
	h->timer_us = h->world->now_us;
	schedule_add(&h->world->schedule, h->world->now_us, on_timer, h, ++h->timers, NULL);
}

void
host_start(struct host *h)
{
	struct slice ledger = recovery_from(h);
	if (ledger.n > 0) {
		host_recover(h, NULL, ledger);
		return;
	}
	host_begin(h, NULL, ledger);
	recovery_begins(h, false, NULL);
}

static void
host_end(struct host *h)
{
	for (unsigned i = 0; i < plan_servers(&h->world->plan); i++) {
		for (unsigned k = 0; k < h->world->plan.links; k++)
			wire_forget(&h->ways[i].wires[k]);
		inbox_forget(&h->ways[i].inbox);
	}
	recovery_ends(h);
	h->alive = false;
	private_master_end(h);
	h->timers++;
	core_free(h->core);
	h->core = NULL;
	conn_host_gone(h);
}

void
host_crash(struct host *h)
{
	trace_line(&h->world->trace, h->world->now_us, "d%u     dies", h->index);
	host_end(h);
}

void
host_clone(struct host *h, const struct host *of)
{
	host_crash(h);
	host_begin(h, of, (struct slice){NULL, 0});
	recovery_begins(h, false, NULL);
}

void
host_copy(struct host *h, const struct host *of, struct slice ledger)
{
	trace_line(&h->world->trace, h->world->now_us, "d%u     gets a copy of the ledger of d%u", h->index,
		of->index);
	host_crash(h);
	h->ppm = of->ppm;
	h->born_us = of->born_us;
	h->base_ms = of->base_ms;
	h->wall_offset_us = of->wall_offset_us;
	h->still = of->still;
	host_recover(h, of, ledger);
}

void
host_done(struct host *h)
{
	for (unsigned i = 0; i < plan_servers(&h->world->plan); i++)
		for (unsigned k = 0; k < WAY_WIRES_MAX; k++)
			wire_done(&h->ways[i].wires[k]);
	core_free(h->core);
	buffer_done(&h->state);
	ledgers_drop(h);
	actions_done(&h->actions);
}

/* ---- the driver ---- */

static void
on_timer(void *arg, uint64_t serial, void *data)
{
	struct host *h = arg;
	(void)data;
	if (!h->alive || serial != h->timers)
		return;
	if (h->paused_until_us > h->world->now_us) {
		/* Whether it sees the alarm or what was sent to it first is left to chance. */
		schedule_add(&h->world->schedule, h->paused_until_us + rng_range(&h->world->rng, 0, 100),
			on_timer, h, serial, NULL);
		return;
	}
	h->timer_us = INT64_MAX;
	host_step(h, &(struct event){.type = EVENT_TIMER});
}

static void
host_arm(struct host *h)
{
	int64_t at_ms = core_wake_at(h->core);
	int64_t at_us = at_ms == INT64_MAX ? INT64_MAX : host_true_us(h, at_ms);
	if (at_us == h->timer_us)
		return;
	h->timer_us = at_us;
	h->timers++;
	if (at_us == INT64_MAX)
		return;
	if (at_us < h->world->now_us)
		at_us = h->world->now_us;
	schedule_add(&h->world->schedule, at_us, on_timer, h, h->timers, NULL);
}

void
host_ruled(struct host *h)
{
	h->settings.lease_max_ms = rollout_longest_ms(h);
	for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
		if (rollout_least_ms(h, host_lease_ms(h, i)) < h->least_lease_ms[i])
			h->least_lease_ms[i] = rollout_least_ms(h, host_lease_ms(h, i));
}

void
host_reload(struct host *h, const struct rule *rules)
{
	memcpy(h->rules, rules, sizeof(h->rules));
	host_ruled(h);
	core_set_rules(h->core, h->rules, WORLD_RULES);
	host_arm(h);
}

/* The end of a turn of the loop: what was called leaves. */
static void
on_flush(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	(void)data;
	if (!h->alive || h->life != life)
		return;
	if (h->paused_until_us > h->world->now_us) {
		schedule_again(&h->world->schedule, h->paused_until_us);
		return;
	}
	h->flushing = false;
	for (unsigned i = 0; i < plan_servers(&h->world->plan); i++)
		for (unsigned k = 0; k < h->world->plan.links; k++)
			wire_flush(&h->ways[i].wires[k]);
}

static void
perform_call(struct host *h, const struct call *call)
{
	owed_releases_call(h, call);
	recovery_called(h, call);
	hellos_asked(h, call);
	latches_called(h, call);
	if (h->moving[call->master] || h->place[call->master] == PLAN_MASTERS_MAX) {
		wire_unsent(h, call);
		return;
	}
	wire_call(&host_way(h, call->master)->wires[call->link], call);
	if (h->flushing)
		return;
	h->flushing = true;
	world_after(h->world, rng_percent(&h->world->rng, 70) ? 0 : rng_range(&h->world->rng, 0, 500),
		on_flush, h, h->life, NULL);
}

static void
perform_note(struct host *h, const struct note *n)
{
	static const char *const names[] = {
#define NOTE(id, name, level, ms, help) name,
#include "daemon/core/base/note.def"
	};
	clock_jumps_note(h, n);
	losses_note(h, n);
	guard_note(h, n);
	fair_note(h, n);
	withheld_note(h, n);
	events_note(h, n);
	if (n->type == NOTE_CLONED && promised(h->world, PROMISE_CLONED, PLAN_ANY_NAME))
		world_fail(h->world, "cloned: d%u takes itself for a copy, and nobody copied it", h->index);
	recovery_note(h, n);
	session_terms_note(h, n);
	handover_note(h, n);
	if (n->type == NOTE_GRANTED) {
		progress_passed(h->world, checker_name_of(n->name));
		refusals_granted(h, n);
	}
	if (n->type == NOTE_GRANTED || n->type == NOTE_LEASED)
		fault_free_touched(h, checker_name_of(n->name));
	if (n->type == NOTE_LEASED) {
		progress_leased(h, checker_name_of(n->name));
		rollout_leased(h, checker_name_of(n->name));
		ballot_leased(h, checker_name_of(n->name));
	}
	bool locks = strncmp(names[n->type], "lock.", 5) == 0 || strncmp(names[n->type], "lease.", 6) == 0;
	if (locks && n->name.n > 0)
		h->world->last_notes[h->index][checker_name_of(n->name)] =
			(struct last_note){names[n->type], h->world->now_us, n->ms};
	trace_line(&h->world->trace, h->world->now_us,
		"d%u     %s m%d %.*s session %" PRIu64 " token %" PRId64 " ttl %" PRId64 " %s", h->index,
		names[n->type], n->master, (int)n->name.n, n->name.n > 0 ? n->name.p : "", n->session,
		n->token, n->ms, n->text != NULL ? n->text : "");
}

/* It has given up, and is started again. */
static void
ended(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	(void)data;
	if (!h->alive || h->life != life)
		return;
	host_crash(h);
	ledgers_drop(h);
	host_start(h);
}

static void
perform(struct host *h, const struct action *a)
{
	switch (a->type) {
	case ACTION_REPLY:
		conn_reply(h, a->conn, &a->u.reply);
		return;
	case ACTION_PUSH:
		conn_push(h, a->conn, &a->u.push);
		return;
	case ACTION_CLOSE:
		conn_close_by_host(h, a->conn);
		return;
	case ACTION_CALL:
		h->calls++;
		perform_call(h, &a->u.call);
		return;
	case ACTION_LISTEN:
		h->listens = a->u.listen.on;
		for (unsigned i = 0; i < plan_servers(&h->world->plan); i++)
			inbox_listen(&h->ways[i].inbox, h->listens);
		return;
	case ACTION_MASTER:
		change_move(h, a);
		return;
	case ACTION_WATCH:
		recovery_watches(h, a);
		return;
	case ACTION_KEEP:  /* no connection of the simulation outlives a crash */
	case ACTION_WHOSE: /* no daemon of the simulation says what it holds for an id: the wait goes on */
		return;
	case ACTION_NOTE:
		perform_note(h, &a->u.note);
		return;
	}
}

/* What the step has changed, before any answer in it is judged: in which order it came does not show. */
static void
foresee(struct host *h)
{
	for (size_t i = 0; i < h->actions.n; i++) {
		const struct note *n = &h->actions.list[i].u.note;
		if (h->actions.list[i].type != ACTION_NOTE)
			continue;
		h->opinion.changed |= n->master >= 0;
		if (n->type == NOTE_LOST || n->type == NOTE_UNLEASED)
			h->world->lost_here[h->index] = true;
		h->world->released_here[h->index] |= n->type == NOTE_RELEASED;
	}
}

void
host_step(struct host *h, struct event *event)
{
	struct world *w = h->world;
	assert(h->alive && h->paused_until_us <= w->now_us && h->actions.n == 0);
	struct now now = host_now(h);
	refusals_before(h);
	moment_step(w, h, event);
	w->lost_here[h->index] = w->released_here[h->index] = false;
	core_step(h->core, now, event, &h->actions);
	core_check(h->core, now.ms);
	private_master_step(h);
	if (ledgers_stepped(h) && recovery_kills(h, event))
		return;
	drain_step(h);
	set_takeover_step(h);
	if (event->type == EVENT_VOTE) {
		owed_releases_vote(h, event->vote);
		latches_voted(h, event->vote);
		fault_free_voted(h, event->vote);
	}
	if (core_ended(h->core) && !h->ending) {
		h->ending = true;
		world_after(w, 0, ended, h, h->life, NULL);
	}
	foresee(h);
	for (size_t i = 0; i < h->actions.n; i++)
		perform(h, &h->actions.list[i]);
	w->moment.told = NULL;
	h->actions.n = 0;
	owed_releases_step(h);
	checker_step(w, h, now.ms);
	host_arm(h);
}

/* ---- ends ---- */

static void
links_gone(void *arg, uint64_t life, void *data)
{
	struct route *way = arg;
	struct host *h = way->host;
	struct world *w = h->world;
	(void)data;
	if (!h->alive || h->life != life)
		return;
	if (h->paused_until_us > w->now_us) {
		schedule_again(&w->schedule, h->paused_until_us);
		return;
	}
	for (unsigned i = 0; i < w->plan.links; i++)
		if (way->wires[i].server_life != way->server->life)
			wire_break(&way->wires[i], "reset");
}

void
host_server_gone(struct host *h, const struct server *s)
{
	struct route *way = &h->ways[s->index];
	if (!h->alive)
		return;
	inbox_break(&way->inbox);
	world_after(h->world, rng_range(&h->world->rng, 0, h->world->plan.network_us * 2), links_gone, way,
		h->life, NULL);
}

bool
host_sound_at(const struct host *h, const struct server *s)
{
	struct master_view view;
	const struct route *way = &h->ways[s->index];
	if (!h->alive || h->draining || h->world->now_us < h->paused_until_us || !route_aimed(way) ||
		!route_sound(way))
		return false;
	core_view_master(h->core, host_ms(h), route_master(way), &view);
	return view.state == MASTER_ADMITTED && view.guard_ms == 0;
}
