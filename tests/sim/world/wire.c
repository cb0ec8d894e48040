/* wire: see wire.h. */
#include "tests/sim/world/wire.h"

#include "daemon/redis/vote.h"
#include "tests/sim/world/replica_poll.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_US 2000000 /* as POOL_SETTINGS_DEFAULT.reply_ms */
#define WAITS_MAX  2       /* as in daemon/redis/pool_link.c */

static void wire_wait(struct wire *wire);

void
wire_init(struct wire *wire, struct route *way, unsigned index)
{
	*wire = (struct wire){.way = way, .index = index};
	TAILQ_INIT(&wire->waiting);
	TAILQ_INIT(&wire->kept);
}

void
wire_done(struct wire *wire)
{
	groups_done(&wire->open);
}

static void
wire_tell_kept(struct wire *wire, bool acknowledged)
{
	struct flight *f;
	while ((f = TAILQ_FIRST(&wire->kept)) != NULL) {
		TAILQ_REMOVE(&wire->kept, f, in_wire);
		flight_tell(f, acknowledged);
		flight_free(f);
	}
}

void
wire_acknowledged(struct wire *wire, const struct flight *f)
{
	struct host *h = wire->way->host;
	bool before = h->replicas.missing;
	enum replicas_worth worth = replica_poll_judge(h, f);
	bool again = worth == REPLICAS_AGAIN && ++wire->again <= REPLICAS_AGAIN_MAX;
	wire->waits--;
	if (again) {
		h->replicas.missing = before;
	} else {
		wire->again = 0;
		wire_tell_kept(wire, worth == REPLICAS_ENOUGH);
		if (worth != REPLICAS_ENOUGH)
			host_probe_later(h);
	}
	if ((wire->wait_due || again || h->replicas.change.due) && wire->up && wire->waits < WAITS_MAX)
		wire_wait(wire);
}

static void
wait_look(struct wire *wire)
{
	struct flight *f = wire->blocked;
	struct server *s = wire->way->server;
	unsigned n = replication_acked(s, wire->wrote);
	bool master = s->replication.follows < 0;
	if (f == NULL || (master && n < (unsigned)f->replicas && s->world->now_us < wire->blocked_until_us))
		return;
	wire->blocked = NULL;
	f->replicas = master ? (int64_t)n : -1;
	replica_poll_ends(f);
	flight_returns(f);
}

static void
wait_over(void *arg, uint64_t life, void *data)
{
	struct wire *wire = arg;
	(void)data;
	if (wire->life == life)
		wait_look(wire);
}

void
wire_blocks(struct wire *wire, struct flight *f)
{
	struct world *w = wire->way->host->world;
	wire->blocked = f;
	wire->blocked_until_us = w->now_us + host_wait_us(wire->way->host);
	wait_look(wire);
	if (wire->blocked != NULL)
		schedule_add(&w->schedule, wire->blocked_until_us, wait_over, wire, wire->life, NULL);
}

void
wires_look(struct server *s)
{
	struct world *w = s->world;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		for (unsigned k = 0; k < w->plan.links; k++)
			wait_look(&w->hosts[i].ways[s->index].wires[k]);
}

/* The pool gives a silent master up. */
static void
wire_watch(void *arg, uint64_t life, void *data)
{
	struct wire *wire = arg;
	struct host *h = wire->way->host;
	(void)data;
	if (wire->life != life)
		return;
	if (h->paused_until_us > h->world->now_us) {
		schedule_again(&h->world->schedule, h->paused_until_us);
		return;
	}
	wire->watched = false;
	const struct flight *f = TAILQ_FIRST(&wire->waiting);
	if (f == NULL)
		return;
	if (h->world->now_us - f->sent_us >= SILENCE_US) {
		wire_break(wire, "no answer");
		return;
	}
	wire->watched = true;
	schedule_add(&h->world->schedule, f->sent_us + SILENCE_US, wire_watch, wire, life, NULL);
}

static void
wire_doom(void *arg, uint64_t life, void *data)
{
	struct wire *wire = arg;
	const struct host *h = wire->way->host;
	(void)data;
	if (wire->life == life && h->paused_until_us <= h->world->now_us)
		wire_break(wire, "reset");
}

/* What is wrong with the connection shows when something is under way. */
static void
depart(struct flight *f)
{
	struct wire *wire = f->wire;
	struct world *w = wire->way->host->world;
	flight_depart(f);
	if (wire->doomed) {
		wire->doomed = false;
		world_after(
			w, rng_range(&w->rng, 0, 2 * w->plan.network_us), wire_doom, wire, wire->life, NULL);
	}
	if (!wire->watched) {
		wire->watched = true;
		world_after(w, SILENCE_US, wire_watch, wire, wire->life, NULL);
	}
}

static void
refuse(void *arg, uint64_t life, void *data)
{
	struct flight *f = arg;
	struct host *h = f->wire->way->host;
	(void)data;
	if (h->alive && h->life == life && h->paused_until_us > h->world->now_us) {
		schedule_again(&h->world->schedule, h->paused_until_us);
		return;
	}
	flight_fail(f, OUTCOME_ERROR, h->replicas.why);
	flight_free(f);
}

static void
group_send(void *arg, struct group *group)
{
	struct wire *wire = arg;
	struct host *h = wire->way->host;
	struct flight *f = flight_new(wire, group_calls(group), group->n);
	group_clear(group);
	order_left(h->world, &wire->order, f->calls, f->n);
	if (replicas_refuse(&h->replicas, f->calls[0].op) != NULL) {
		world_after(h->world, 0, refuse, f, h->life, NULL);
		return;
	}
	if (!call_encode(&f->command, &h->call_settings, f->calls, f->n))
		abort();
	f->acked = replicas_matter(&h->replicas, f->calls[0].op);
	wire->wait_due |= f->acked;
	depart(f);
}

static void
wire_wait(struct wire *wire)
{
	struct flight *f = flight_new(wire, NULL, 0);
	f->wait = true;
	f->poll = replica_poll_new(wire->way->host);
	f->replicas = f->poll->asked;
	wire->waits++;
	wire->wait_due = false;
	depart(f);
}

void
wire_flush(struct wire *wire)
{
	groups_close(&wire->open, group_send, wire);
	order_over(&wire->order);
	if (wire->wait_due && wire->waits < WAITS_MAX)
		wire_wait(wire);
}

bool
wire_probe(struct wire *wire)
{
	if (wire->up && wire->waits == 0)
		wire_wait(wire);
	return wire->up;
}

bool
wires_know(const struct route *way, int64_t token)
{
	const struct flight *f;
	LIST_FOREACH (f, &way->host->world->flights, in_world)
		for (size_t i = 0; i < f->n && f->wire->way == way && !f->arrived; i++)
			if (f->calls[i].mark < token)
				return false;
	return true;
}

bool
wires_quiet(const struct route *way)
{
	bool quiet = true;
	for (unsigned i = 0; i < way->host->world->plan.links; i++)
		quiet = quiet && TAILQ_EMPTY(&way->wires[i].waiting) && groups_empty(&way->wires[i].open);
	return quiet;
}

static void
call_unsent(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	struct call *call = data;
	if (h->alive && h->life == life) {
		struct vote v;
		call->name.p = (const char *)(call + 1);
		call_fail(call, OUTCOME_UNSENT, NULL, &v);
		if (h->paused_until_us <= h->world->now_us) {
			flight_deliver(h, &v);
		} else {
			schedule_again(&h->world->schedule, h->paused_until_us);
			return;
		}
	}
	free(call);
}

void
wire_unsent(struct host *h, const struct call *call)
{
	struct call *copy = malloc(sizeof(*copy) + FLIGHT_NAME_BYTES);
	assert(copy != NULL && call->name.n < FLIGHT_NAME_BYTES);
	*copy = *call;
	if (call->name.n > 0)
		memcpy(copy + 1, call->name.p, call->name.n);
	world_after(h->world, 0, call_unsent, h, h->life, copy);
}

static void
release_called(struct host *h, const struct call *call)
{
	progress_released(h, call);
	orphan_given(h, checker_name_of(call->name), call->attempt);
}

void
wire_call(struct wire *wire, const struct call *call)
{
	struct host *h = wire->way->host;
	trace_line(&h->world->trace, h->world->now_us, "d%u > m%u %s %.*s #%" PRIu64 "%s", h->index,
		call->master, scripts[script_of(call)].name, (int)call->name.n,
		call->name.n > 0 ? call->name.p : "", call->attempt, wire->up ? "" : " (no link)");
	/* A release belongs to a round that was counted; a clock that stepped back needs many of them.
	 * Latches are no names of locks. */
	if (call->name.n > 0 && call->op != CALL_RELEASE && call->op != CALL_LATCH)
		progress_called(h, checker_name_of(call->name));
	if (call->op == CALL_ACQUIRE)
		progress_asked(h, checker_name_of(call->name), call->attempt);
	else if (call->op == CALL_LEAVE)
		progress_left(h, checker_name_of(call->name));
	else if (call->op == CALL_RELEASE)
		release_called(h, call);
	if (!wire->up) {
		wire_unsent(h, call);
		return;
	}
	/* What this master has told goes with every call that may be answered by a memory that went back
	 * (G4). */
	if (call->mark < wire->way->told)
		world_fail(h->world, "set: d%u asks m%u with the mark %" PRId64 ", and was told %" PRId64,
			h->index, wire->way->server->index, call->mark, wire->way->told);
	order_made(&wire->order, call);
	groups_add(&wire->open, call, group_send, wire);
}

/* What is under way and not yet there may be cut off anywhere: then nothing behind it arrives either. Or it
 * arrives when nobody thinks of it any more. */
static void
wire_cut(struct wire *wire)
{
	struct world *w = wire->way->host->world;
	bool lost = false;
	int percent = rng_percent(&w->rng, 50) ? 0 : 30;
	int64_t stuck_us = 0;
	if (rng_percent(&w->rng, 30))
		stuck_us = w->now_us + rng_range(&w->rng, 0, w->plan.lease_ms * 1500);
	struct flight *f;
	TAILQ_FOREACH (f, &wire->waiting, in_wire) {
		if (f->arrived)
			continue;
		lost = lost || rng_percent(&w->rng, percent);
		f->lost = lost;
		f->stuck_until_us = stuck_us;
	}
}

/* Nobody waits at the master for replicas any more, either. */
static void
wire_close(struct wire *wire)
{
	wire->up = false;
	wire->watched = false;
	wire->life++;
	wire->waits = wire->again = 0;
	wire->wait_due = false;
	wire->wrote = 0;
	if (wire->blocked != NULL)
		wire->blocked->jobless = true;
	wire->blocked = NULL;
}

static void
wire_reconnect(void *arg, uint64_t a, void *data)
{
	(void)a;
	(void)data;
	wire_connect(arg);
}

void
wire_break(struct wire *wire, const char *why)
{
	struct host *h = wire->way->host;
	struct world *w = h->world;
	unsigned master = route_master(wire->way);
	uint64_t life = h->life;
	struct flight *f;
	if (!wire->up)
		return;
	trace_line(&w->trace, w->now_us, "d%u     link %u to m%u is down: %s", h->index, wire->index,
		wire->way->server->index, why);
	wire->way->broke_us = w->now_us;
	wire_flush(wire);
	wire_cut(wire);
	wire_close(wire);
	wire_tell_kept(wire, false);
	while ((f = TAILQ_FIRST(&wire->waiting)) != NULL) {
		TAILQ_REMOVE(&wire->waiting, f, in_wire);
		flight_fail(f, OUTCOME_UNKNOWN, NULL);
		flight_drop(f);
	}
	if (!h->alive || h->life != life)
		return;
	host_step(h, &(struct event){.type = EVENT_LINK_DOWN,
			     .master = master,
			     .link = wire->index,
			     .text = slice_of(why)});
	if (route_aimed(wire->way))
		world_after(w, rng_range(&w->rng, 1000, 200000), wire_reconnect, wire, 0, NULL);
}

void
wire_forget(struct wire *wire)
{
	struct flight *f;
	wire_flush(wire);
	wire_cut(wire);
	wire_close(wire);
	while ((f = TAILQ_FIRST(&wire->kept)) != NULL) {
		TAILQ_REMOVE(&wire->kept, f, in_wire);
		flight_free(f);
	}
	while ((f = TAILQ_FIRST(&wire->waiting)) != NULL) {
		TAILQ_REMOVE(&wire->waiting, f, in_wire);
		flight_drop(f);
	}
}

static void
wire_connected(void *arg, uint64_t life, void *data)
{
	struct wire *wire = arg;
	struct server *s = wire->way->server;
	struct host *h = wire->way->host;
	struct world *w = h->world;
	(void)data;
	if (!h->alive || wire->up || h->life != life || !route_aimed(wire->way))
		return;
	if (h->handing || h->moving[route_master(wire->way)]) {
		wire_connect(wire);
		return;
	}
	if (!route_opens(wire->way) || master_health(s->master)->loading) {
		wire_connect(wire);
		return;
	}
	wire->up = true;
	wire->bare = false;
	wire->server_life = s->life;
	wire->arrives_us = wire->answers_us = w->now_us;
	master_load_scripts(s->master);
	trace_line(&w->trace, w->now_us, "d%u     link %u to m%u is up", h->index, wire->index, s->index);
	host_step(h, &(struct event){
			     .type = EVENT_LINK_UP, .master = route_master(wire->way), .link = wire->index});
}

void
wire_connect(struct wire *wire)
{
	struct host *h = wire->way->host;
	struct world *w = h->world;
	int64_t wait = rng_range(&w->rng, 2 * w->plan.network_us, 100000);
	if (h->alive && !wire->up && route_aimed(wire->way))
		world_after(w, wait, wire_connected, wire, h->life, NULL);
}
