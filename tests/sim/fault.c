/* fault: see fault.h. */
#include "tests/sim/fault.h"

#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct host *
any_host(struct world *w)
{
	struct host *h = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)];
	return h->alive && h->paused_until_us <= w->now_us ? h : NULL;
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Up to two leases and a half. */
static int64_t
some_time(struct world *w)
{
	int64_t lease_us = w->plan.lease_ms * 1000;
	return rng_percent(&w->rng, 60) ? rng_range(&w->rng, 1000, lease_us / 2)
					: rng_range(&w->rng, lease_us / 2, lease_us * 5 / 2);
}

/* Never earlier than before: what waits for the end of a fault must stay in order. */
static void
prolong(struct world *w, int64_t *until_us)
{
	*until_us = later(*until_us, w->now_us + some_time(w));
}

static void
host_returns(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	(void)data;
	if (!h->alive && h->life == life)
		host_start(h);
}

static void
health_over(void *arg, uint64_t fault, void *data)
{
	struct world *w = arg;
	struct master_health *health = master_health(w->server.master);
	(void)data;
	if (fault == FAULT_FULL)
		health->full = false;
	else if (fault == FAULT_READONLY)
		health->readonly = false;
	else if (fault == FAULT_LOADING)
		health->loading = false;
	else
		health->misconf = false;
	trace_line(&w->trace, w->now_us, "m      %s is over", fault_word[fault]);
}

static void
fault_health(struct world *w, enum fault fault)
{
	struct master_health *health = master_health(w->server.master);
	health->full |= fault == FAULT_FULL;
	health->readonly |= fault == FAULT_READONLY;
	health->loading |= fault == FAULT_LOADING;
	health->misconf |= fault == FAULT_MISCONF;
	world_after(w, some_time(w), health_over, w, fault, NULL);
}

static void
lease_key(struct world *w, unsigned name, char *out, size_t size)
{
	bool foreign = w->plan.foreign && name == 2;
	snprintf(out, size, "%s%s%s", foreign ? "lock:" : "hf:{", checker_name(name), foreign ? "" : "}");
}

/* Somebody else writes to our keys. */
static void
fault_meddle(struct world *w, enum fault fault)
{
	unsigned name = (unsigned)rng_range(&w->rng, 0, w->plan.names - 1);
	char key[64], script[160];
	int64_t ms = rng_range(&w->rng, 1, w->plan.lease_ms);
	lease_key(w, name, key, sizeof(key));
	if (fault == FAULT_DELETE && rng_percent(&w->rng, 50)) {
		static const char *const tails[] = {":f", ":q", ":w"};
		snprintf(key, sizeof(key), "hf:{%s}%s", checker_name(name), tails[rng_range(&w->rng, 0, 2)]);
	} else {
		checker_taint(w, name);
	}
	trace_line(&w->trace, w->now_us, "m      somebody meddles with %s", key);
	if (fault == FAULT_DELETE)
		snprintf(script, sizeof(script), "return redis.call('DEL', KEYS[1])");
	else if (fault == FAULT_OVERWRITE)
		snprintf(script, sizeof(script),
			"return redis.call('SET', KEYS[1], 'foreign', 'PX', %" PRId64 ")", ms);
	else
		snprintf(script, sizeof(script),
			"redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'f', 'v') "
			"return redis.call('PEXPIRE', KEYS[1], %" PRId64 ")",
			ms);
	server_meddle(w, script, key);
}

static void
slow_turns_dead(void *arg, uint64_t a, void *data)
{
	struct host *h = arg;
	(void)a;
	(void)data;
	int64_t lease_us = h->world->plan.lease_ms * 1000;
	h->cut_until_us = later(
		h->cut_until_us, h->world->now_us + rng_range(&h->world->rng, lease_us, lease_us * 5 / 2));
}

/* A network that gets slow often gets worse: the last answers are late ones. */
static void
fault_slow(struct world *w, struct host *h)
{
	prolong(w, &h->slow_until_us);
	h->slow_there = rng_percent(&w->rng, 50);
	if (rng_percent(&w->rng, 50))
		schedule_add(&w->schedule, h->slow_until_us - 1, slow_turns_dead, h, 0, NULL);
}

static void
fault_host(struct world *w, enum fault fault)
{
	struct host *h = any_host(w);
	if (h == NULL)
		return;
	switch (fault) {
	case FAULT_LINK:
		h->wires[rng_range(&w->rng, 0, w->plan.links - 1)].doomed = true;
		return;
	case FAULT_INBOX:
		host_break_inbox(h);
		return;
	case FAULT_PARTITION:
		prolong(w, &h->cut_until_us);
		return;
	case FAULT_SLOW:
		fault_slow(w, h);
		return;
	case FAULT_PAUSE:
		prolong(w, &h->paused_until_us);
		return;
	case FAULT_CRASH:
		host_crash(h);
		world_after(w, some_time(w), host_returns, h, h->life, NULL);
		return;
	case FAULT_DRAIN:
		host_drain(h);
		return;
	default:
		h->wall_offset_us = rng_range(&w->rng, -w->plan.wall_behind_us, w->plan.wall_ahead_us);
		return;
	}
}

/* At most J in the life of a lease, as exclusion assumes. */
static void
fault_forward(struct world *w)
{
	struct server *s = &w->server;
	if (w->now_us < s->forward_until_us)
		return;
	s->wall_offset_us += rng_range(&w->rng, w->plan.margin_ms * 500, w->plan.margin_ms * 1000);
	struct host *h = any_host(w);
	/* It shows where a lease is not renewed any more. */
	if (h != NULL && rng_percent(&w->rng, 50))
		slow_turns_dead(h, 0, NULL);
	s->forward_until_us = w->now_us + (w->plan.lease_ms + w->plan.margin_ms) * 1100;
}

static void
fault_server(struct world *w, enum fault fault)
{
	struct server *s = &w->server;
	switch (fault) {
	case FAULT_MESSAGES:
		prolong(w, &s->deaf_until_us);
		return;
	case FAULT_STOP:
		prolong(w, &s->stopped_until_us);
		return;
	case FAULT_EMPTY:
		server_crash(w, NULL, some_time(w) / 4);
		return;
	case FAULT_STALE:
		server_crash(w, store_copy(s->backup), some_time(w) / 4);
		return;
	case FAULT_WHOLE:
		server_crash(w, master_store(s->master), some_time(w) / 4);
		return;
	case FAULT_FLUSH:
		server_flush(w);
		return;
	case FAULT_SCRIPTS:
		master_forget_scripts(s->master);
		return;
	case FAULT_FORWARD:
		fault_forward(w);
		return;
	default: /* BACK */
		s->wall_offset_us -= some_time(w);
		return;
	}
}

static void
fault_strike(struct world *w, enum fault fault)
{
	trace_line(&w->trace, w->now_us, "fault  %s", fault_word[fault]);
	switch (fault) {
	case FAULT_FULL:
	case FAULT_READONLY:
	case FAULT_LOADING:
	case FAULT_MISCONF:
		fault_health(w, fault);
		return;
	case FAULT_DELETE:
	case FAULT_OVERWRITE:
	case FAULT_KIND:
		fault_meddle(w, fault);
		return;
	case FAULT_LINK:
	case FAULT_INBOX:
	case FAULT_PARTITION:
	case FAULT_SLOW:
	case FAULT_PAUSE:
	case FAULT_CRASH:
	case FAULT_DRAIN:
	case FAULT_WALL:
		fault_host(w, fault);
		return;
	default:
		fault_server(w, fault);
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
		server_backup(w);
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
	int64_t over = w->server.stopped_until_us;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		over = later(over, later(h->paused_until_us, later(h->cut_until_us, h->slow_until_us)));
	}
	return over;
}

void
fault_heal(struct world *w)
{
	struct server *s = &w->server;
	w->phase = PHASE_CALM;
	while (over_us(w) > w->now_us && !w->failed)
		world_run_until(w, over_us(w));
	trace_line(&w->trace, w->now_us, "healed");
	*master_health(s->master) = (struct master_health){0};
	s->up = true;
	s->deaf_until_us = w->plan.fault[FAULT_MESSAGES] ? INT64_MAX : 0;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (!w->hosts[i].alive)
			host_start(&w->hosts[i]);
}
