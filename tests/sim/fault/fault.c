/* fault: see fault.h. */
#include "tests/sim/fault/fault.h"

#include "tests/sim/fault/bare_majority.h"
#include "tests/sim/fault/change.h"
#include "tests/sim/fault/drain.h"
#include "tests/sim/fault/evict.h"
#include "tests/sim/fault/foreign_writes.h"
#include "tests/sim/fault/guest_pause.h"
#include "tests/sim/fault/handover.h"
#include "tests/sim/fault/recovery.h"
#include "tests/sim/fault/reload.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct host *
any_host(struct world *w)
{
	struct host *h = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)];
	return h->alive && h->paused_until_us <= w->now_us ? h : NULL;
}

static struct server *
any_server(struct world *w)
{
	return &w->servers[rng_range(&w->rng, 0, plan_servers(&w->plan) - 1)];
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t
fault_time_us(struct world *w)
{
	int64_t lease_us = w->plan.lease_ms * 1000;
	return rng_percent(&w->rng, 60) ? rng_range(&w->rng, 1000, lease_us / 2)
					: rng_range(&w->rng, lease_us / 2, lease_us * 5 / 2);
}

/* Never earlier than before: what waits for the end of a fault must stay in order. */
static void
prolong(struct world *w, int64_t *until_us)
{
	*until_us = later(*until_us, w->now_us + fault_time_us(w));
}

/* ---- what happens to a daemon ---- */

static void
host_returns(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	(void)data;
	if (!h->alive && h->life == life)
		host_start(h);
}

void
fault_crash_for(struct host *h, int64_t away_us)
{
	host_crash(h);
	world_after(h->world, away_us, host_returns, h, h->life, NULL);
}

void
fault_crash(struct host *h)
{
	host_crash(h);
	world_after(h->world, fault_time_us(h->world), host_returns, h, h->life, NULL);
}

static void
fault_host(struct world *w, enum fault fault)
{
	struct host *h = any_host(w);
	if (h == NULL)
		return;
	switch (fault) {
	case FAULT_PAUSE:
		prolong(w, &h->paused_until_us);
		trace_kept(&w->trace, w->now_us, "d%u     is paused until %" PRId64 " ms", h->index,
			h->paused_until_us / 1000);
		return;
	case FAULT_STUN:
		if (rng_percent(&w->rng, 50))
			stun(h, fault_time_us(w));
		else
			guest_pause_later(h, fault_time_us(w));
		return;
	case FAULT_CRASH:
		fault_crash(h);
		return;
	case FAULT_DRAIN:
		drain_begin(h);
		return;
	case FAULT_RELOAD:
		reload(h);
		return;
	case FAULT_HANDOVER:
		handover_begin(h);
		return;
	case FAULT_RECOVER:
		recovery_strike(h);
		return;
	default:
		h->wall_offset_us = rng_range(&w->rng, -w->plan.wall_behind_us, w->plan.wall_ahead_us);
		trace_kept(&w->trace, w->now_us, "d%u     its wall clock is %" PRId64 " us ahead", h->index,
			h->wall_offset_us);
		return;
	}
}

static void
fault_clone(struct world *w)
{
	const struct host *of = any_host(w);
	struct host *h = any_host(w);
	if (of != NULL && h != NULL && h != of)
		host_clone(h, of);
}

/* ---- what happens between a daemon and the masters ---- */

static void
way_cut(struct world *w, struct route *way, bool there, bool back)
{
	route_cut(way, there, back, w->now_us + fault_time_us(w));
}

static void
slow_turns_dead(void *arg, uint64_t a, void *data)
{
	struct route *way = arg;
	struct world *w = way->host->world;
	(void)a;
	(void)data;
	int64_t lease_us = w->plan.lease_ms * 1000;
	route_cut(way, true, true, w->now_us + rng_range(&w->rng, lease_us, lease_us * 5 / 2));
}

/* A network that gets slow often gets worse: the last answers are late ones. */
static void
way_slow(struct world *w, struct route *way)
{
	prolong(w, &way->slow_until_us);
	way->slow_there = rng_percent(&w->rng, 50);
	trace_kept(&w->trace, w->now_us, "d%u - m%u slow%s until %" PRId64 " ms", way->host->index,
		way->server->index, way->slow_there ? "" : " in answering", way->slow_until_us / 1000);
	if (rng_percent(&w->rng, 50))
		schedule_add(&w->schedule, way->slow_until_us - 1, slow_turns_dead, way, 0, NULL);
}

static void
fault_way(struct world *w, struct route *way, enum fault fault)
{
	bool there = rng_percent(&w->rng, 50);
	int64_t link;
	switch (fault) {
	case FAULT_LINK:
		link = rng_range(&w->rng, 0, w->plan.links - 1);
		way->wires[link].doomed = true;
		trace_kept(&w->trace, w->now_us, "d%u     link %" PRId64 " to m%u will break",
			way->host->index, link, way->server->index);
		return;
	case FAULT_INBOX:
		trace_kept(&w->trace, w->now_us, "d%u     the connection for messages of m%u breaks",
			way->host->index, way->server->index);
		inbox_break(&way->inbox);
		return;
	case FAULT_PARTITION:
		way_cut(w, way, true, true);
		return;
	case FAULT_ONEWAY:
		way_cut(w, way, there, !there);
		return;
	default: /* SLOW */
		way_slow(w, way);
		return;
	}
}

/* Mostly one way to one master; sometimes a daemon's ways to more of them. */
static void
fault_ways(struct world *w, enum fault fault)
{
	struct host *h = any_host(w);
	if (h == NULL)
		return;
	int percent = rng_percent(&w->rng, 60) ? 0 : 60;
	unsigned one = any_server(w)->index;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		if (i == one || rng_percent(&w->rng, percent))
			fault_way(w, &h->ways[i], fault);
}

/* Daemons and masters are left on two sides, and nothing gets from one to the other. */
static void
fault_split(struct world *w)
{
	uint64_t side = rng_next(&w->rng);
	int64_t until_us = w->now_us + fault_time_us(w);
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		for (unsigned k = 0; k < w->plan.masters; k++) {
			if ((side >> i & 1) != (side >> (32 + k) & 1))
				route_cut(&w->hosts[i].ways[k], true, true, until_us);
		}
	}
}

/* ---- what happens to a master ---- */

static void
health_over(void *arg, uint64_t fault, void *data)
{
	struct server *s = arg;
	struct master_health *health = master_health(s->master);
	(void)data;
	if (fault == FAULT_FULL)
		health->full = false;
	else if (fault == FAULT_READONLY)
		health->readonly = false;
	else if (fault == FAULT_LOADING)
		health->loading = false;
	else
		health->misconf = false;
	trace_line(&s->world->trace, s->world->now_us, "m%u     %s is over", s->index, fault_word[fault]);
}

static void
fault_health(struct world *w, struct server *s, enum fault fault)
{
	struct master_health *health = master_health(s->master);
	health->full |= fault == FAULT_FULL;
	health->readonly |= fault == FAULT_READONLY;
	health->loading |= fault == FAULT_LOADING;
	health->misconf |= fault == FAULT_MISCONF;
	world_after(w, fault_time_us(w), health_over, s, fault, NULL);
}

/* At most J in the life of a lease, as exclusion assumes. */
static void
fault_forward(struct world *w, struct server *s)
{
	if (w->now_us < s->forward_until_us)
		return;
	server_step_clock(s, rng_range(&w->rng, w->plan.margin_ms * 500, w->plan.margin_ms * 1000));
	struct host *h = any_host(w);
	/* It shows where a lease is not renewed any more. */
	if (h != NULL && rng_percent(&w->rng, 50))
		for (unsigned i = 0; i < plan_servers(&w->plan); i++)
			if (i == s->index || rng_percent(&w->rng, 50))
				slow_turns_dead(&h->ways[i], 0, NULL);
	s->forward_until_us = w->now_us + (w->plan.lease_ms + w->plan.margin_ms) * 1100;
}

/* Not before the tokens that it gave out, or will give out as it has shown that clock: should it forget them
 * and nobody else know, its clock begins the next. */
void
fault_back(struct server *s, int64_t step_us)
{
	struct world *w = s->world;
	int64_t most_us = server_highest(master_store(s->master));
	for (unsigned i = 0; i < w->plan.names; i++)
		most_us = later(most_us, w->checker.token[i]);
	/* Unless its daemons live, and tell it. */
	if (w->plan.masters == 1 && plan_loses(&w->plan) && !w->plan.wild &&
		server_wall_us(s) - step_us <= most_us)
		return;
	/* It would hide that the clock went ahead. */
	if (w->plan.masters == 1 && (w->plan.fault[FAULT_JUMP] || w->plan.fault[FAULT_FAST]) &&
		(fault_lacks(s) || clock_jumps_unseen(s)))
		return;
	server_step_clock(s, -step_us);
}

bool
fault_lacks(const struct server *s)
{
	return !server_admitted(s) || s->world->now_us < s->lacks_until_us;
}

/* With its data it loses the group that it was the first of, and a replica that was promoted has half of
 * that: G1 assumes that it does not. */
static bool
is_failed_over(const struct server *s)
{
	const struct world *w = s->world;
	return w->plan.replicas > 0 && s->replication.follows < 0 && !s->replication.outside &&
	       w->sentinels.master != s->index;
}

bool
fault_may_lose(const struct server *s)
{
	const struct world *w = s->world;
	unsigned lacking = 0;
	if (is_failed_over(s))
		return false;
	if (w->plan.masters == 1 || w->plan.fault[FAULT_TOTAL])
		return true;
	if (w->plan.changes)
		return change_spares(w, s);
	if (w->plan.others == 1 && s->index == w->plan.other[0])
		return false;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		lacking += &w->servers[i] != s && fault_lacks(&w->servers[i]);
	return lacking + 1 < plan_majority(&w->plan);
}

bool
fault_may_jump(const struct server *s)
{
	return fault_may_lose(s) && (s->world->plan.masters > 1 || clock_jumps_show(s));
}

static void
fault_total(struct world *w)
{
	bool stale = rng_percent(&w->rng, 30);
	unsigned spared = rng_percent(&w->rng, 70) ? w->plan.masters : any_server(w)->index;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		struct server *s = &w->servers[i];
		if (i != spared)
			server_crash(s, stale ? store_copy(s->backup) : NULL, fault_time_us(w) / 4);
	}
}

/* ---- the rest ---- */

/* Those after which a master may know less than before. */
static void
fault_loss(struct world *w, struct server *s, enum fault fault)
{
	/* Whole data or not, who sees it restart cannot tell: it is missed until it is admitted again. */
	if ((fault != FAULT_WHOLE || w->plan.wild) && !fault_may_lose(s)) {
		trace_line(&w->trace, w->now_us, "m%u     is spared", s->index);
		return;
	}
	switch (fault) {
	case FAULT_EMPTY:
		server_crash(s, NULL, fault_time_us(w) / 4);
		return;
	case FAULT_STALE:
		server_crash(s, store_copy(s->backup), fault_time_us(w) / 4);
		return;
	case FAULT_WHOLE:
		server_crash(s, master_store(s->master), fault_time_us(w) / 4);
		return;
	case FAULT_FAST:
		if (fault_may_jump(s))
			server_run_fast(s, fault_time_us(w), rng_range(&w->rng, 5, 60));
		return;
	case FAULT_REVERT:
		if (server_may_turn_to(s, s->backup))
			server_revert(s);
		return;
	case FAULT_SWAP:
		if (server_may_turn_to(s, s->other))
			server_swap(s);
		return;
	default: /* FLUSH */
		server_flush(s);
		return;
	}
}

static void
fault_server(struct world *w, struct server *s, enum fault fault)
{
	trace_line(&w->trace, w->now_us, "m%u     %s", s->index, fault_word[fault]);
	switch (fault) {
	case FAULT_MESSAGES:
		prolong(w, &s->deaf_until_us);
		trace_kept(&w->trace, w->now_us, "m%u     its messages are lost until %" PRId64 " ms",
			s->index, s->deaf_until_us / 1000);
		return;
	case FAULT_STOP:
		prolong(w, &s->stopped_until_us);
		trace_kept(&w->trace, w->now_us, "m%u     stands still until %" PRId64 " ms", s->index,
			s->stopped_until_us / 1000);
		return;
	case FAULT_SCRIPTS:
		master_forget_scripts(s->master);
		s->bare_until_us = w->now_us + 4 * (w->plan.network_us + w->plan.spread_us) + 50000;
		return;
	case FAULT_FORWARD:
		fault_forward(w, s);
		return;
	case FAULT_EVICT:
		if (fault_may_lose(s))
			evict(s);
		return;
	case FAULT_BACK:
		fault_back(s, fault_time_us(w));
		return;
	case FAULT_EMPTY:
	case FAULT_STALE:
	case FAULT_WHOLE:
	case FAULT_FLUSH:
	case FAULT_FAST:
	case FAULT_REVERT:
	case FAULT_SWAP:
		fault_loss(w, s, fault);
		return;
	default:
		fault_health(w, s, fault);
	}
}

/* ---- when ---- */

static void
fault_strike(struct world *w, enum fault fault)
{
	trace_line(&w->trace, w->now_us, "fault  %s", fault_word[fault]);
	switch (fault) {
	case FAULT_DELETE:
	case FAULT_OVERWRITE:
	case FAULT_KIND:
		meddle(w, fault);
		return;
	case FAULT_LINK:
	case FAULT_INBOX:
	case FAULT_PARTITION:
	case FAULT_ONEWAY:
	case FAULT_SLOW:
		fault_ways(w, fault);
		return;
	case FAULT_PAUSE:
	case FAULT_STUN:
	case FAULT_CRASH:
	case FAULT_DRAIN:
	case FAULT_RELOAD:
	case FAULT_HANDOVER:
	case FAULT_RECOVER:
	case FAULT_WALL:
		fault_host(w, fault);
		return;
	case FAULT_CLONE:
		fault_clone(w);
		return;
	case FAULT_COPY:
		recovery_copy(w);
		return;
	case FAULT_FAILOVER:
	case FAULT_CUT_OFF:
	case FAULT_RESYNC:
	case FAULT_JOIN:
	case FAULT_UNKNOWN:
		sentinels_strike(w, fault);
		return;
	case FAULT_SPLIT:
		fault_split(w);
		return;
	case FAULT_TOTAL:
		fault_total(w);
		return;
	case FAULT_AMNESIA:
		bare_majority_amnesia(w);
		return;
	case FAULT_JUMP:
		bare_majority_jump(w);
		return;
	default:
		fault_server(w, any_server(w), fault);
	}
}

static void
fault_turn(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	if (w->phase != PHASE_FAULTS)
		return;
	enum fault enabled[FAULT_COUNT];
	int n = 0;
	for (int i = 0; i < FAULT_COUNT; i++)
		if (w->plan.fault[i])
			enabled[n++] = (enum fault)i;
	if (n > 0)
		fault_strike(w, enabled[rng_range(&w->rng, 0, n - 1)]);
	if (rng_percent(&w->rng, 30))
		server_backup(any_server(w));
	if (rng_percent(&w->rng, 20))
		client_kill(&w->clients[rng_range(&w->rng, 0, w->plan.clients - 1)]);
	world_after(w, rng_range(&w->rng, 0, 2 * w->plan.fault_every_us), fault_turn, w, 0, NULL);
}

void
fault_plan(struct world *w)
{
	world_after(w, 200000, fault_turn, w, 0, NULL);
}

/* When everything that is slow, cut off or stands still will go on. */
static int64_t
over_us(const struct world *w)
{
	int64_t over = 0;
	for (unsigned k = 0; k < plan_servers(&w->plan); k++) {
		over = later(over, w->servers[k].stopped_until_us);
		over = later(over, w->servers[k].unseen_until_us);
	}
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		over = later(over, later(h->paused_until_us, h->deaf_until_us));
		if (h->alive && h->refusing && !h->draining)
			over = later(over, h->drain_until_us);
		for (unsigned k = 0; k < plan_servers(&w->plan); k++)
			over = later(over, route_clear_us(&h->ways[k]));
	}
	return over;
}

/* Daemons that have another list or other rules are stopped, and come back with the right ones. */
static void
heal_lists(struct world *w)
{
	for (unsigned i = 0; i < w->plan.hosts && (w->plan.others > 0 || w->plan.rolls); i++)
		if (w->hosts[i].alive)
			host_crash(&w->hosts[i]);
}

static bool
daemon_lives(const struct server *s)
{
	struct slice field, value;
	int64_t now_us = server_wall_us(s);
	for (size_t i = 0; store_pair(master_store(s->master), now_us, SLICE("hf:node"), i, &field, &value);
		i++)
		if (field.n > 2 && memcmp(field.p, "d:", 2) == 0 && strtoll(value.p, NULL, 10) > now_us)
			return true;
	return false;
}

/* A set that was only accepted, by daemons that are gone, would keep the others away: the operator deletes
 * it, as holdfastd(8) says. */
static void
heal_set(struct world *w, const struct server *s)
{
	static const struct slice words[] = {SLICE("HDEL"), SLICE("hf:node"), SLICE("set"), SLICE("places"),
		SLICE("agreement"), SLICE("generation")};
	bool written = false, agreed = false;
	const struct store_env env = {.wall_us = server_wall_us(s), .written = &written};
	for (unsigned k = 0; k < w->plan.masters; k++)
		agreed |= server_agreed(&w->servers[k]);
	if (agreed && server_field_is(s, "agreement", "2") && !daemon_lives(s))
		freeReplyObject(
			store_run(master_store(s->master), &env, sizeof(words) / sizeof(*words), words));
}

void
fault_heal(struct world *w)
{
	heal_lists(w);
	recovery_heal(w);
	w->phase = PHASE_CALM;
	while (over_us(w) > w->now_us && !w->failed)
		world_run_until(w, over_us(w));
	trace_line(&w->trace, w->now_us, "healed");
	for (unsigned k = 0; k < plan_servers(&w->plan); k++) {
		struct server *s = &w->servers[k];
		bool replica =
			w->plan.replicas > 0 && (s->replication.follows >= 0 || s->replication.outside);
		*master_health(s->master) = (struct master_health){
			.readonly = replica, .evicted = master_health(s->master)->evicted};
		s->up = true;
		s->deaf_until_us = w->plan.fault[FAULT_MESSAGES] ? INT64_MAX : 0;
	}
	for (unsigned k = 0; k < plan_servers(&w->plan) && w->plan.others > 0; k++)
		heal_set(w, &w->servers[k]);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (!w->hosts[i].alive)
			host_start(&w->hosts[i]);
	sentinels_heal(w);
}
