/* wire: see wire.h. */
#include "tests/sim/wire.h"

#include "tests/sim/said.h"
#include "tests/sim/turns.h"
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_US 2000000 /* as POOL_SETTINGS_DEFAULT.reply_ms */
#define WAITS_MAX  2       /* as in daemon/pool_lane.c */
#define BEHIND_US  500     /* what is behind a WAIT looks again */

static void wire_wait(struct wire *wire);

void
wire_init(struct wire *wire, struct way *way, unsigned index)
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
batch_free(struct batch *b)
{
	LIST_REMOVE(b, in_world);
	call_command_done(&b->command);
	if (b->reply != NULL)
		freeReplyObject(b->reply);
	free(b);
}

void
wire_free_all(struct all_batches *all)
{
	while (!LIST_EMPTY(all))
		batch_free(LIST_FIRST(all));
}

/* Whether a job of this batch has to wait first: for the network, the master or the daemon. */
static bool
batch_held(struct batch *b, bool answer)
{
	const struct way *way = b->wire->way;
	struct host *h = way->host;
	struct world *w = h->world;
	int64_t until = answer ? way->cut_back_until_us : way->cut_there_until_us;
	if (!answer && b->stuck_until_us > until)
		until = b->stuck_until_us;
	if (!answer && way->server->stopped_until_us > until)
		until = way->server->stopped_until_us;
	if (answer && h->paused_until_us > until && h->life == b->host_life)
		until = h->paused_until_us;
	if (until <= w->now_us)
		return false;
	schedule_again(&w->schedule, until);
	return true;
}

static void
trace_latch_vote(struct host *h, const struct vote *v)
{
	struct world *w = h->world;
	trace_line(&w->trace, w->now_us,
		"m%u > d%u latch %.*s #%" PRIu64 ": %d, %" PRIx64 " set %" PRId64 " left %" PRId64
		" for %" PRId64,
		v->master, h->index, (int)v->name.n, v->name.p, v->attempt, (int)v->outcome, v->latch.id,
		v->latch.set, v->latch.left, v->latch.ttl_ms);
}

static void
trace_greeting(struct host *h, const struct vote *v)
{
	struct world *w = h->world;
	trace_line(&w->trace, w->now_us, "m%u > d%u hello #%" PRIu64 ": %s, %s set %d %.*s", v->master,
		h->index, v->attempt, v->greeting == GREETING_GOOD ? "good" : "refused",
		v->admitted ? "admitted" : "guarded", (int)v->agreement, (int)v->masterset.n,
		v->masterset.n > 0 ? v->masterset.p : "");
}

static void
trace_vote(struct host *h, const struct vote *v)
{
	static const char *const words[] = {[OUTCOME_YES] = "yes",
		[OUTCOME_BUSY] = "busy",
		[OUTCOME_NO] = "no",
		[OUTCOME_LATE] = "late",
		[OUTCOME_FORGOTTEN] = "forgotten",
		[OUTCOME_WRONGKIND] = "wrongkind",
		[OUTCOME_LIMIT] = "limit",
		[OUTCOME_DEMOTED] = "demoted",
		[OUTCOME_ERROR] = "error",
		[OUTCOME_UNKNOWN] = "unknown",
		[OUTCOME_UNSENT] = "unsent"};
	struct world *w = h->world;
	trace_line(&w->trace, w->now_us,
		"m%u > d%u %s %.*s #%" PRIu64 ": %s%s%.*s tokens %" PRId64 "..%" PRId64 " place %" PRId64
		" change %" PRId64,
		v->master, h->index, scripts[v->op].name, (int)v->name.n, v->name.n > 0 ? v->name.p : "",
		v->attempt, words[v->outcome], v->holder.n > 0 ? " by " : "", (int)v->holder.n,
		v->holder.n > 0 ? v->holder.p : "", v->token_first, v->token_last, v->position, v->change_ms);
}

static void
deliver_vote(struct host *h, const struct vote *v)
{
	struct way *way = &h->ways[v->master];
	if (v->highest > way->told)
		way->told = v->highest;
	if (v->token_last > way->told)
		way->told = v->token_last;
	if (v->op == CALL_ACQUIRE && v->outcome == OUTCOME_BUSY && v->position > 0 &&
		progress_stands(h, checker_name_of(v->name), v->attempt))
		progress_queued(h, checker_name_of(v->name), true);
	/* Who waits for what cannot be had loses its place. */
	if (v->op == CALL_ACQUIRE && (v->outcome == OUTCOME_WRONGKIND || v->outcome == OUTCOME_LIMIT)) {
		progress_queued(h, checker_name_of(v->name), false);
		waits_refuse(h->world, h, checker_name_of(v->name));
	}
	if (v->op == CALL_LATCH)
		trace_latch_vote(h, v);
	else if (v->op == CALL_HELLO && v->outcome == OUTCOME_YES)
		trace_greeting(h, v);
	else
		trace_vote(h, v);
	struct vote kept = *v;
	host_step(h, &(struct event){.type = EVENT_VOTE, .vote = v, .master = v->master, .link = v->link});
	if (kept.op == CALL_ACQUIRE && kept.outcome == OUTCOME_WRONGKIND && h->world->plan.masters == 1)
		waits_check_refused(h, checker_name_of(kept.name), kept.attempt);
}

static void
batch_fail(struct batch *b, enum outcome outcome, const char *why)
{
	struct host *h = b->wire->way->host;
	uint64_t life = b->host_life;
	for (size_t i = 0; i < b->n && h->alive && h->life == life; i++) {
		struct vote v;
		call_fail(&b->calls[i], outcome, why, &v);
		deliver_vote(h, &v);
	}
}

/* What the master answered, or what is left of that without acknowledgement. */
static void
batch_tell(struct batch *b, bool acknowledged)
{
	struct host *h = b->wire->way->host;
	struct vote votes[CALL_GROUP_MAX];
	call_decode(b->reply, b->calls, b->n, votes);
	for (size_t i = 0; i < b->n && h->life == b->host_life; i++) {
		if (b->acked && !acknowledged)
			(void)replicas_disbelieve(&h->replicas, &b->calls[i], &votes[i]);
		deliver_vote(h, &votes[i]);
	}
}

static void
wire_tell_kept(struct wire *wire, bool acknowledged)
{
	struct batch *b;
	while ((b = TAILQ_FIRST(&wire->kept)) != NULL) {
		TAILQ_REMOVE(&wire->kept, b, in_wire);
		batch_tell(b, acknowledged);
		batch_free(b);
	}
}

static void
wire_waited(struct wire *wire, int64_t acknowledged)
{
	struct host *h = wire->way->host;
	bool enough = replicas_judge(&h->replicas, acknowledged);
	wire->waits--;
	wire_tell_kept(wire, enough);
	if (!enough)
		host_probe_later(h);
	if (wire->wait_due && wire->up)
		wire_wait(wire);
}

static void
load_scripts(void *arg, uint64_t life, void *data)
{
	struct server *s = arg;
	(void)data;
	if (s->life == life)
		master_load_scripts(s->master);
}

static void
batch_answer(void *arg, uint64_t a, void *data)
{
	struct batch *b = arg;
	struct wire *wire = b->wire;
	struct host *h = wire->way->host;
	(void)a;
	(void)data;
	if (batch_held(b, true))
		return;
	if (h->life != b->host_life || wire->life != b->wire_life) {
		batch_free(b);
		return;
	}
	assert(TAILQ_FIRST(&wire->waiting) == b);
	TAILQ_REMOVE(&wire->waiting, b, in_wire);
	b->waited = false;
	if (b->wait) {
		int64_t acknowledged = b->replicas;
		batch_free(b);
		wire_waited(wire, acknowledged);
		return;
	}
	if (call_noscript(b->reply)) {
		world_after(h->world, h->world->plan.network_us, load_scripts, wire->way->server,
			b->server_life, NULL);
		batch_fail(b, OUTCOME_UNSENT, NULL);
	} else if (b->acked || !TAILQ_EMPTY(&wire->kept)) {
		TAILQ_INSERT_TAIL(&wire->kept, b, in_wire);
		return;
	} else {
		batch_tell(b, true);
	}
	batch_free(b);
}

/* Runs the command; nothing but an acquire and a reclaim may bring a lease into being (rule 6). */
static void
batch_run(struct batch *b)
{
	struct server *s = b->wire->way->server;
	const char *daemon_id = b->daemon_id;
	bool there[CALL_GROUP_MAX] = {false};
	bool keeps = b->calls[0].op == CALL_RENEW || b->calls[0].op == CALL_RELEASE;
	for (size_t i = 0; keeps && i < b->n; i++)
		there[i] = said_lease_there(s, daemon_id, &b->calls[i]);
	struct turns turns;
	turns_before(&turns, s, daemon_id, b->calls, b->n);
	int64_t before = s->replication.stream.offset;
	b->arrived = true;
	b->reply = server_run(s, b->command.argc, b->command.argv, b->command.argvlen);
	b->reach = s->replication.stream;
	if (b->reach.offset != before && b->wire_life == b->wire->life)
		b->wire->wrote = b->reach.offset;
	latches_ran(s, b);
	turns_check(&turns, s, b->calls, b->n, b->reply);
	if (b->wire->way->host->life == b->host_life)
		said_check(s, daemon_id, b->calls, b->n, b->reply);
	for (size_t i = 0; keeps && i < b->n; i++)
		if (!there[i] && said_lease_there(s, daemon_id, &b->calls[i]))
			world_fail(s->world, "re-created: a %s made a lease of %s",
				scripts[script_of(&b->calls[0])].name, b->names[i]);
}

/* Its answer is on its way. */
static void
batch_leaves(struct batch *b)
{
	struct wire *wire = b->wire;
	struct world *w = wire->way->host->world;
	int64_t at = w->now_us + way_delay(wire->way, false);
	if (at < wire->answers_us)
		at = wire->answers_us;
	wire->answers_us = at;
	schedule_add(&w->schedule, at, batch_answer, b, 0, NULL);
}

static void
wait_look(struct wire *wire)
{
	struct batch *b = wire->blocked;
	struct server *s = wire->way->server;
	unsigned n = replication_acked(s, wire->wrote);
	bool master = s->replication.follows < 0;
	if (b == NULL || (master && n < (unsigned)b->replicas && s->world->now_us < wire->blocked_until_us))
		return;
	wire->blocked = NULL;
	b->replicas = master ? (int64_t)n : -1;
	batch_leaves(b);
}

static void
wait_over(void *arg, uint64_t life, void *data)
{
	struct wire *wire = arg;
	(void)data;
	if (wire->life == life)
		wait_look(wire);
}

/* At the master: what comes behind it on the connection waits, too. */
static void
wait_begin(struct batch *b)
{
	struct wire *wire = b->wire;
	struct world *w = wire->way->host->world;
	wire->blocked = b;
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

/* Whether the master has not come to it yet: something that was sent before has not arrived, or waits there.
 */
static bool
batch_behind(const struct batch *b)
{
	const struct batch *first;
	if (b->wire->blocked != NULL)
		return true;
	TAILQ_FOREACH (first, &b->wire->waiting, in_wire) {
		if (first == b)
			return false;
		if (!first->arrived)
			return true;
	}
	return false;
}

/* At the master: it runs whether or not anybody still waits for it. */
static void
batch_arrive(void *arg, uint64_t a, void *data)
{
	struct batch *b = arg;
	struct wire *wire = b->wire;
	struct server *s = wire->way->server;
	struct world *w = s->world;
	(void)a;
	(void)data;
	if (batch_held(b, false))
		return;
	bool dead = b->lost || b->server_life != s->life || !s->up;
	if (!dead && b->waited && w->plan.replicas > 0 && batch_behind(b)) {
		/* All who look again do so at the same time, in their order. */
		schedule_again(&w->schedule, (w->now_us / BEHIND_US + 1) * BEHIND_US);
		return;
	}
	if (!dead && b->wait) {
		b->arrived = true;
	} else if (!dead) {
		batch_run(b);
		if (!b->waited)
			trace_line(&w->trace, w->now_us, "m%u     ran %s %s of d%u, too late", s->index,
				scripts[script_of(&b->calls[0])].name, b->names[0], wire->way->host->index);
	}
	if (!b->waited) {
		/* A place that was taken since goes with the one that was left. */
		if (!dead && !b->wait && b->calls[0].op == CALL_LEAVE)
			progress_queued(wire->way->host, checker_name_of(slice_of(b->names[0])), false);
		batch_free(b);
		return;
	}
	b->jobless = dead; /* the wire's break will vote and free it */
	if (!dead && b->wait)
		wait_begin(b);
	else if (!dead)
		batch_leaves(b);
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
	const struct batch *b = TAILQ_FIRST(&wire->waiting);
	if (b == NULL)
		return;
	if (h->world->now_us - b->sent_us >= SILENCE_US) {
		wire_break(wire, "no answer");
		return;
	}
	wire->watched = true;
	schedule_add(&h->world->schedule, b->sent_us + SILENCE_US, wire_watch, wire, life, NULL);
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

static void
text_move(struct slice *text, char **room)
{
	if (text->n > 0)
		memcpy(*room, text->p, text->n);
	text->p = *room;
	*room += text->n;
}

/* A copy of the calls. */
static struct batch *
batch_new(struct wire *wire, const struct call *calls, size_t n)
{
	struct host *h = wire->way->host;
	struct world *w = h->world;
	size_t slots_n = 0;
	for (size_t i = 0; i < n; i++)
		slots_n += calls[i].slots.n + calls[i].masterset.n + calls[i].places.n;
	struct batch *b = malloc(sizeof(*b) + n * (sizeof(b->calls[0]) + sizeof(b->names[0])) + slots_n);
	assert(b != NULL);
	memset(b, 0, sizeof(*b));
	b->names = (char(*)[WIRE_NAME_BYTES])(void *)&b->calls[n];
	char *slots = (char *)&b->names[n];
	b->wire = wire;
	b->host_life = h->life;
	memcpy(b->daemon_id, h->call_settings.daemon_id, sizeof(b->daemon_id));
	b->wire_life = wire->life;
	b->server_life = wire->server_life;
	b->sent_us = w->now_us;
	b->n = n;
	if (n > 0)
		memcpy(b->calls, calls, n * sizeof(b->calls[0]));
	for (size_t i = 0; i < n; i++) {
		assert(calls[i].name.n < WIRE_NAME_BYTES);
		memset(b->names[i], 0, WIRE_NAME_BYTES);
		if (calls[i].name.n > 0)
			memcpy(b->names[i], calls[i].name.p, calls[i].name.n);
		b->calls[i].name.p = b->names[i];
		text_move(&b->calls[i].slots, &slots);
		text_move(&b->calls[i].masterset, &slots);
		text_move(&b->calls[i].places, &slots);
	}
	LIST_INSERT_HEAD(&w->batches, b, in_world);
	return b;
}

static void
batch_depart(struct batch *b)
{
	struct wire *wire = b->wire;
	struct world *w = wire->way->host->world;
	b->waited = true;
	TAILQ_INSERT_TAIL(&wire->waiting, b, in_wire);
	int64_t at = w->now_us + way_delay(wire->way, true);
	if (at < wire->arrives_us)
		at = wire->arrives_us;
	wire->arrives_us = at;
	schedule_add(&w->schedule, at, batch_arrive, b, 0, NULL);
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
batch_refuse(void *arg, uint64_t life, void *data)
{
	struct batch *b = arg;
	struct host *h = b->wire->way->host;
	(void)data;
	if (h->alive && h->life == life && h->paused_until_us > h->world->now_us) {
		schedule_again(&h->world->schedule, h->paused_until_us);
		return;
	}
	batch_fail(b, OUTCOME_ERROR, h->replicas.why);
	batch_free(b);
}

static void
batch_send(void *arg, struct group *group)
{
	struct wire *wire = arg;
	struct host *h = wire->way->host;
	struct batch *b = batch_new(wire, group_calls(group), group->n);
	group_clear(group);
	if (replicas_refuse(&h->replicas, b->calls[0].op) != NULL) {
		world_after(h->world, 0, batch_refuse, b, h->life, NULL);
		return;
	}
	if (!call_encode(&b->command, &h->call_settings, b->calls, b->n))
		abort();
	b->acked = replicas_matter(&h->replicas, b->calls[0].op);
	wire->wait_due |= b->acked;
	batch_depart(b);
}

static void
wire_wait(struct wire *wire)
{
	struct batch *b = batch_new(wire, NULL, 0);
	b->wait = true;
	b->replicas = replicas_needed(&wire->way->host->replicas);
	wire->waits++;
	wire->wait_due = false;
	batch_depart(b);
}

void
wire_flush(struct wire *wire)
{
	groups_close(&wire->open, batch_send, wire);
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
wires_know(const struct way *way, int64_t token)
{
	const struct batch *b;
	LIST_FOREACH (b, &way->host->world->batches, in_world)
		for (size_t i = 0; i < b->n && b->wire->way == way && !b->arrived; i++)
			if (b->calls[i].mark < token)
				return false;
	return true;
}

bool
wires_quiet(const struct way *way)
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
			deliver_vote(h, &v);
		} else {
			schedule_again(&h->world->schedule, h->paused_until_us);
			return;
		}
	}
	free(call);
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
	if (!wire->up) {
		struct call *copy = malloc(sizeof(*copy) + WIRE_NAME_BYTES);
		assert(copy != NULL && call->name.n < WIRE_NAME_BYTES);
		*copy = *call;
		if (call->name.n > 0)
			memcpy(copy + 1, call->name.p, call->name.n);
		world_after(h->world, 0, call_unsent, h, h->life, copy);
		return;
	}
	groups_add(&wire->open, call, batch_send, wire);
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
	struct batch *b;
	TAILQ_FOREACH (b, &wire->waiting, in_wire) {
		if (b->arrived)
			continue;
		lost = lost || rng_percent(&w->rng, percent);
		b->lost = lost;
		b->stuck_until_us = stuck_us;
	}
}

/* Nobody waits at the master for replicas any more, either. */
static void
wire_close(struct wire *wire)
{
	wire->up = false;
	wire->watched = false;
	wire->life++;
	wire->waits = 0;
	wire->wait_due = false;
	wire->wrote = 0;
	if (wire->blocked != NULL)
		wire->blocked->jobless = true;
	wire->blocked = NULL;
}

/* Frees it, unless a job still knows it. */
static void
batch_leave(struct batch *b)
{
	b->waited = false;
	if (b->jobless)
		batch_free(b);
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
	unsigned master = way_master(wire->way);
	uint64_t life = h->life;
	struct batch *b;
	if (!wire->up)
		return;
	trace_line(&w->trace, w->now_us, "d%u     link %u to m%u is down: %s", h->index, wire->index,
		wire->way->server->index, why);
	wire_flush(wire);
	wire_cut(wire);
	wire_close(wire);
	wire_tell_kept(wire, false);
	while ((b = TAILQ_FIRST(&wire->waiting)) != NULL) {
		TAILQ_REMOVE(&wire->waiting, b, in_wire);
		batch_fail(b, OUTCOME_UNKNOWN, NULL);
		batch_leave(b);
	}
	if (!h->alive || h->life != life)
		return;
	host_step(h, &(struct event){.type = EVENT_LINK_DOWN,
			     .master = master,
			     .link = wire->index,
			     .text = slice_of(why)});
	if (way_aimed(wire->way))
		world_after(w, rng_range(&w->rng, 1000, 200000), wire_reconnect, wire, 0, NULL);
}

void
wire_forget(struct wire *wire)
{
	struct batch *b;
	wire_flush(wire);
	wire_cut(wire);
	wire_close(wire);
	while ((b = TAILQ_FIRST(&wire->kept)) != NULL) {
		TAILQ_REMOVE(&wire->kept, b, in_wire);
		batch_free(b);
	}
	while ((b = TAILQ_FIRST(&wire->waiting)) != NULL) {
		TAILQ_REMOVE(&wire->waiting, b, in_wire);
		batch_leave(b);
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
	if (!h->alive || wire->up || h->life != life || !way_aimed(wire->way))
		return;
	if (!way_opens(wire->way) || master_health(s->master)->loading) {
		wire_connect(wire);
		return;
	}
	wire->up = true;
	wire->server_life = s->life;
	wire->arrives_us = wire->answers_us = w->now_us;
	master_load_scripts(s->master);
	host_see_replicas(h, s);
	trace_line(&w->trace, w->now_us, "d%u     link %u to m%u is up", h->index, wire->index, s->index);
	host_step(h,
		&(struct event){.type = EVENT_LINK_UP, .master = way_master(wire->way), .link = wire->index});
}

void
wire_connect(struct wire *wire)
{
	struct host *h = wire->way->host;
	struct world *w = h->world;
	int64_t wait = rng_range(&w->rng, 2 * w->plan.network_us, 100000);
	if (h->alive && !wire->up && way_aimed(wire->way))
		world_after(w, wait, wire_connected, wire, h->life, NULL);
}
