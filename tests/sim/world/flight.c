/* flight: see flight.h. */
#include "tests/sim/world/flight.h"

#include "daemon/redis/vote.h"
#include "tests/sim/fault/change.h"
#include "tests/sim/fault/guest_pause.h"
#include "tests/sim/judge/effects.h"
#include "tests/sim/judge/following.h"
#include "tests/sim/judge/hellos.h"
#include "tests/sim/judge/latch_effects.h"
#include "tests/sim/judge/master_answers.h"
#include "tests/sim/judge/turns.h"
#include "tests/sim/world/replica_poll.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BEHIND_US 500 /* what is behind a WAIT looks again */

void
flight_free(struct flight *f)
{
	LIST_REMOVE(f, in_world);
	call_command_done(&f->command);
	replica_poll_free(f->poll);
	if (f->reply != NULL)
		freeReplyObject(f->reply);
	free(f);
}

void
flights_free(struct all_flights *all)
{
	while (!LIST_EMPTY(all))
		flight_free(LIST_FIRST(all));
}

void
flight_drop(struct flight *f)
{
	f->waited = false;
	if (f->jobless)
		flight_free(f);
}

/* Whether a job of this flight has to wait first: for the network, the master or the daemon. */
static bool
flight_held(struct flight *f, bool answer)
{
	const struct route *way = f->wire->way;
	struct host *h = way->host;
	struct world *w = h->world;
	int64_t until = answer ? way->cut_back_until_us : way->cut_there_until_us;
	if (!answer && f->stuck_until_us > until)
		until = f->stuck_until_us;
	if (!answer && way->server->stopped_until_us > until)
		until = way->server->stopped_until_us;
	if (answer && f->wire->late_until_us > until)
		until = f->wire->late_until_us;
	if (answer && h->paused_until_us > until && h->life == f->host_life)
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
trace_hello(struct host *h, const struct vote *v)
{
	struct world *w = h->world;
	trace_line(&w->trace, w->now_us, "m%u > d%u hello #%" PRIu64 ": %s, %s set %d %.*s", v->master,
		h->index, v->attempt, v->hello == HELLO_GOOD ? "good" : "refused",
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
	bool of_lease = call_about_lease(v->op);
	struct slice holder = of_lease && v->holder.n > 0 ? v->holder : SLICE("");
	trace_line(&w->trace, w->now_us,
		"m%u > d%u %s %.*s #%" PRIu64 ": %s%s%.*s tokens %" PRId64 "..%" PRId64 " place %" PRId64
		" change %" PRId64,
		v->master, h->index, scripts[v->op].name, (int)v->name.n, v->name.n > 0 ? v->name.p : "",
		v->attempt, words[v->outcome], holder.n > 0 ? " by " : "", (int)holder.n, holder.p,
		v->token_first, v->token_last, of_lease ? v->position : 0, of_lease ? v->change_ms : 0);
}

/* What a step makes of timers that are due is made before it hears of this. A slot that has moved in the step
 * or is closed asks another server from now on, or none. */
static void
told(struct host *h, const struct vote *v)
{
	if (h->moving[v->master] || h->place[v->master] == PLAN_MASTERS_MAX)
		return;
	struct route *way = host_way(h, v->master);
	if (v->highest > way->told)
		way->told = v->highest;
	if (v->token_last > way->told)
		way->told = v->token_last;
}

void
flight_deliver(struct host *h, const struct vote *v)
{
	uint64_t life = h->life;
	if (h->moving[v->master] && v->outcome != OUTCOME_UNKNOWN && v->outcome != OUTCOME_UNSENT) {
		change_deafens(h, v);
		return;
	}
	/* One vote for each call. */
	assert(h->calls > 0);
	h->calls--;
	if (v->op == CALL_ACQUIRE)
		progress_answered(h, v);
	/* Who waits for what cannot be had loses its place. */
	if (v->op == CALL_ACQUIRE && (v->outcome == OUTCOME_WRONGKIND || v->outcome == OUTCOME_LIMIT)) {
		progress_queued(h, checker_name_of(v->name), false);
		waits_refuse(h->world, h, checker_name_of(v->name));
	}
	if (v->op == CALL_LATCH)
		trace_latch_vote(h, v);
	else if (v->op == CALL_HELLO && v->outcome == OUTCOME_YES)
		trace_hello(h, v);
	else
		trace_vote(h, v);
	struct vote kept = *v;
	struct event event = {.type = EVENT_VOTE, .vote = v, .master = v->master, .link = v->link};
	set_takeover_vote(h, v);
	fair_before(h, &event);
	host_step(h, &event);
	if (h->alive && h->life == life)
		clock_jumps_hello(h, &kept);
	hellos_told(h, &kept);
	if (h->alive && h->life == life)
		ballot_heard(h, &kept);
	if (h->alive && h->life == life)
		told(h, &kept);
	fair_after(h, &(struct event){.type = EVENT_VOTE, .vote = &kept});
}

void
flight_fail(struct flight *f, enum outcome outcome, const char *why)
{
	struct host *h = f->wire->way->host;
	uint64_t life = f->host_life;
	for (size_t i = 0; i < f->n && h->alive && h->life == life; i++) {
		struct vote v;
		call_fail(&f->calls[i], outcome, why, &v);
		flight_deliver(h, &v);
	}
}

/* What the master answered, or what is left of that without acknowledgement. */
void
flight_tell(struct flight *f, bool acknowledged)
{
	struct host *h = f->wire->way->host;
	struct vote votes[CALL_GROUP_MAX];
	call_decode(f->reply, f->calls, f->n, votes);
	h->answers = f->wire->way->server;
	h->answered_us = f->ran_us;
	h->asked_us = f->sent_us;
	for (size_t i = 0; i < f->n && h->alive && h->life == f->host_life; i++) {
		if (f->acked && !acknowledged)
			(void)replicas_disbelieve(&h->replicas, &f->calls[i], &votes[i]);
		following_told(f, &votes[i]);
		ballot_vote(h, &f->calls[i], &votes[i]);
		flight_deliver(h, &votes[i]);
	}
	h->answers = NULL;
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
flight_answer(void *arg, uint64_t a, void *data)
{
	struct flight *f = arg;
	struct wire *wire = f->wire;
	struct host *h = wire->way->host;
	(void)a;
	(void)data;
	if (flight_held(f, true))
		return;
	if (h->life != f->host_life || wire->life != f->wire_life) {
		flight_free(f);
		return;
	}
	assert(TAILQ_FIRST(&wire->waiting) == f);
	TAILQ_REMOVE(&wire->waiting, f, in_wire);
	f->waited = false;
	if (f->wait) {
		wire_acknowledged(wire, f);
		flight_free(f);
		return;
	}
	wire->bare = f->calls[0].op == CALL_HELLO ? call_noscript(f->reply) : wire->bare;
	if (call_noscript(f->reply)) {
		world_after(h->world, h->world->plan.network_us, load_scripts, wire->way->server,
			f->server_life, NULL);
		flight_fail(f, OUTCOME_UNSENT, NULL);
	} else if (f->acked || !TAILQ_EMPTY(&wire->kept)) {
		TAILQ_INSERT_TAIL(&wire->kept, f, in_wire);
		return;
	} else {
		flight_tell(f, true);
	}
	flight_free(f);
}

/* Runs the command; nothing but an acquire and a reclaim may bring a lease into being (R6). */
static void
flight_run(struct flight *f)
{
	struct server *s = f->wire->way->server;
	const char *daemon_id = f->daemon_id;
	bool there[CALL_GROUP_MAX] = {false};
	bool keeps = f->calls[0].op == CALL_RENEW || f->calls[0].op == CALL_RELEASE ||
		     f->calls[0].op == CALL_ADOPT;
	for (size_t i = 0; keeps && i < f->n; i++)
		there[i] = master_answers_lease_there(s, daemon_id, &f->calls[i]);
	moment_runs(s, &f->calls[0]);
	struct turns turns;
	turns_before(&turns, s, daemon_id, f->calls, f->n);
	struct effects effects;
	effects_before(&effects, s, daemon_id, f->calls, f->n);
	struct latch_effects tallies[PLAN_LATCHES_MAX];
	latch_effects_before(tallies, s, f->calls);
	struct hellos hellos;
	hellos_before(&hellos, s, f->calls, daemon_id);
	int64_t before = s->replication.stream.offset;
	f->arrived = true;
	f->ran_us = s->world->now_us;
	f->reply = server_run(s, f->command.argc, f->command.argv, f->command.argvlen);
	f->reach = s->replication.stream;
	f->wrote = f->reach.offset != before;
	/* If it wrote nothing, it rests on what its connection wrote before: WAIT asks for that. */
	if (f->reach.offset == before && f->wire_life == f->wire->life && f->wire->wrote > 0)
		f->reach.offset = f->wire->wrote;
	if (f->reach.offset != before && f->wire_life == f->wire->life)
		f->wire->wrote = f->reach.offset;
	latches_ran(s, f);
	turns_check(&turns, s, f->calls, f->n, f->reply);
	effects_check(&effects, s, daemon_id, f->calls, f->n, f->reply);
	latch_effects_check(tallies, s, f->calls, f->n, &f->command, f->reply);
	hellos_check(&hellos, s, f->calls, f->reply);
	const struct host *h = f->wire->way->host;
	if (h->life == f->host_life)
		master_answers_check(s, daemon_id, f->calls, f->n, f->reply);
	for (size_t i = 0; i < f->n && h->life == f->host_life; i++)
		orphan_acquire_ran(s, h, &f->calls[i]);
	for (size_t i = 0; keeps && i < f->n; i++)
		if (!there[i] && master_answers_lease_there(s, daemon_id, &f->calls[i]))
			world_fail(s->world, "re-created: a %s made a lease of %s",
				scripts[script_of(&f->calls[0])].name, f->names[i]);
}

/* Its answer is on its way. */
void
flight_returns(struct flight *f)
{
	struct wire *wire = f->wire;
	struct world *w = wire->way->host->world;
	int64_t at = w->now_us + route_delay(wire->way, false);
	if (at < wire->answers_us)
		at = wire->answers_us;
	wire->answers_us = at;
	schedule_add(&w->schedule, at, flight_answer, f, 0, NULL);
}

/* Whether the master has not come to it yet: something that was sent before has not arrived, or waits there.
 */
static bool
flight_behind(const struct flight *f)
{
	const struct flight *first;
	if (f->wire->blocked != NULL)
		return true;
	TAILQ_FOREACH (first, &f->wire->waiting, in_wire) {
		if (first == f)
			return false;
		if (!first->arrived)
			return true;
	}
	return false;
}

/* At the master: it runs whether or not anybody still waits for it. */
static void
flight_arrive(void *arg, uint64_t a, void *data)
{
	struct flight *f = arg;
	struct wire *wire = f->wire;
	struct server *s = wire->way->server;
	struct world *w = s->world;
	(void)a;
	(void)data;
	if (flight_held(f, false))
		return;
	bool dead = f->lost || f->server_life != s->life || !s->up;
	if (!dead && f->waited && w->plan.replicas > 0 && flight_behind(f)) {
		/* All who look again do so at the same time, in their order. */
		schedule_again(&w->schedule, (w->now_us / BEHIND_US + 1) * BEHIND_US);
		return;
	}
	if (!dead && f->wait) {
		f->arrived = true;
		replica_poll_arrives(f);
	} else if (!dead) {
		flight_run(f);
		if (!f->waited)
			trace_line(&w->trace, w->now_us, "m%u     ran %s %s of d%u, too late", s->index,
				scripts[script_of(&f->calls[0])].name, f->names[0], wire->way->host->index);
	}
	if (!f->waited) {
		/* A place that was taken since goes with the one that was left. */
		if (!dead && !f->wait && f->calls[0].op == CALL_LEAVE)
			progress_queued(wire->way->host, checker_name_of(slice_of(f->names[0])), false);
		flight_free(f);
		return;
	}
	f->jobless = dead; /* the wire's break will vote and free it */
	if (!dead && f->wait) {
		wire_blocks(wire, f);
	} else if (!dead) {
		flight_returns(f);
		guest_pause_answered(wire->way->host, &f->calls[0]);
	}
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
struct flight *
flight_new(struct wire *wire, const struct call *calls, size_t n)
{
	struct host *h = wire->way->host;
	struct world *w = h->world;
	struct slice *texts[CALL_TEXTS_MAX];
	size_t bytes = 0;
	for (size_t i = 0; i < n; i++) {
		struct call call = calls[i];
		for (size_t t = call_texts(&call, texts); t > 1; t--)
			bytes += texts[t - 1]->n;
	}
	struct flight *f = malloc(sizeof(*f) + n * (sizeof(f->calls[0]) + sizeof(f->names[0])) + bytes);
	assert(f != NULL);
	memset(f, 0, sizeof(*f));
	f->names = (char(*)[FLIGHT_NAME_BYTES])(void *)&f->calls[n];
	char *room = (char *)&f->names[n];
	f->wire = wire;
	f->host_life = h->life;
	memcpy(f->daemon_id, h->call_settings.daemon_id, sizeof(f->daemon_id));
	f->wire_life = wire->life;
	f->server_life = wire->server_life;
	f->sent_us = w->now_us;
	f->n = n;
	if (n > 0)
		memcpy(f->calls, calls, n * sizeof(f->calls[0]));
	for (size_t i = 0; i < n; i++) {
		assert(calls[i].name.n < FLIGHT_NAME_BYTES);
		memset(f->names[i], 0, FLIGHT_NAME_BYTES);
		if (calls[i].name.n > 0)
			memcpy(f->names[i], calls[i].name.p, calls[i].name.n);
		f->calls[i].name.p = f->names[i];
		for (size_t t = 1, count = call_texts(&f->calls[i], texts); t < count; t++)
			text_move(texts[t], &room);
	}
	LIST_INSERT_HEAD(&w->flights, f, in_world);
	return f;
}

void
flight_depart(struct flight *f)
{
	struct wire *wire = f->wire;
	struct world *w = wire->way->host->world;
	f->waited = true;
	TAILQ_INSERT_TAIL(&wire->waiting, f, in_wire);
	int64_t at = w->now_us + route_delay(wire->way, true);
	if (at < wire->arrives_us)
		at = wire->arrives_us;
	wire->arrives_us = at;
	schedule_add(&w->schedule, at, flight_arrive, f, 0, NULL);
}
