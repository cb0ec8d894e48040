/* change: see change.h. */
#include "tests/sim/fault/change.h"

#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE "master-"

struct set {
	int64_t generation;
	unsigned n;
	unsigned member[PLAN_MASTERS_MAX];
};

static int64_t
guard_us(const struct world *w)
{
	return (w->plan.lease_ms + w->plan.margin_ms) * 1020;
}

static bool
is_in(const unsigned *list, unsigned n, unsigned server)
{
	unsigned i = 0;
	while (i < n && list[i] != server)
		i++;
	return i < n;
}

bool
change_begins_with(const struct plan *p, unsigned server)
{
	return is_in(p->first, p->first_n, server);
}

/* ---- the set in force ---- */

static unsigned
place_server(struct slice place)
{
	size_t n = strlen(PLACE);
	return place.n > n && memcmp(place.p, PLACE, n) == 0 ? (unsigned)(place.p[n] - '1')
							     : PLAN_MASTERS_MAX;
}

/* What a server says, if it is agreed on. */
static bool
set_read(const struct server *s, struct set *set)
{
	struct slice text, places, agreement;
	struct store *store = master_store(s->master);
	*set = (struct set){0};
	if (!store_field(store, SLICE("hf:node"), SLICE("set"), &text) ||
		!store_field(store, SLICE("hf:node"), SLICE("places"), &places) ||
		!store_field(store, SLICE("hf:node"), SLICE("agreement"), &agreement) ||
		!slice_equal(agreement, SLICE("3")))
		return false;
	for (size_t i = 0; i < text.n && text.p[i] != ' '; i++)
		set->generation = set->generation * 10 + (text.p[i] - '0');
	for (size_t at = 0; at < places.n && places.p[at] != '|' && set->n < PLAN_MASTERS_MAX;) {
		size_t n = 0;
		while (at + n < places.n && places.p[at + n] != ' ')
			n++;
		set->member[set->n++] = place_server((struct slice){places.p + at, n});
		at += n + 1;
	}
	return set->n > 0;
}

/* The latest one that any server has. */
static struct set
set_in_force(const struct world *w)
{
	struct set latest = {.n = w->plan.first_n};
	memcpy(latest.member, w->plan.first, sizeof(latest.member));
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		struct set set;
		if (set_read(&w->servers[i], &set) && set.generation > latest.generation)
			latest = set;
	}
	return latest;
}

unsigned
change_members(const struct world *w, int64_t *generation)
{
	struct set set = {.n = w->plan.masters};
	unsigned members = 0;
	for (unsigned i = 0; i < set.n; i++)
		set.member[i] = i;
	if (w->plan.changes)
		set = set_in_force(w);
	for (unsigned i = 0; i < set.n; i++)
		members |= 1U << set.member[i];
	*generation = set.generation;
	return members;
}

static void
leavers_note(struct world *w)
{
	struct set set = set_in_force(w);
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		w->change_left[i] |= !is_in(set.member, set.n, i);
}

bool
change_stayed(struct world *w, const struct server *s)
{
	if (w->plan.changes)
		leavers_note(w);
	return !w->plan.changes || !w->change_left[s->index];
}

unsigned
change_list(struct world *w, bool first, unsigned *list)
{
	struct set set = set_in_force(w);
	if (w->now_us == 0 || (w->phase == PHASE_FAULTS && (rng_percent(&w->rng, 50) || first))) {
		set.n = w->plan.first_n;
		memcpy(set.member, w->plan.first, sizeof(set.member));
	}
	if (w->change_done) {
		set.n = w->plan.masters;
		for (unsigned i = 0; i < set.n; i++)
			set.member[i] = i;
	}
	memcpy(list, set.member, sizeof(set.member));
	return set.n;
}

bool
change_spares(const struct world *w, const struct server *s)
{
	struct set set = set_in_force(w);
	/* Of a lone master nobody knows that it was to be another. */
	bool lone = (set.n == 1 && set.member[0] == s->index) ||
		    (w->plan.first_n == 1 && change_begins_with(&w->plan, s->index));
	for (unsigned i = 0; i < set.n; i++) {
		const struct server *other = &w->servers[set.member[i]];
		if (other != s && other->forgot_us != 0 &&
			(!server_admitted(other) || w->now_us - other->forgot_us < guard_us(w)))
			return false;
	}
	return !lone;
}

/* ---- what the driver does ---- */

static void
slot_leave(struct host *h, unsigned slot)
{
	struct route *way;
	uint64_t life = h->life;
	if (h->place[slot] == PLAN_MASTERS_MAX)
		return;
	way = &h->ways[h->place[slot]];
	inbox_forget(&way->inbox);
	for (unsigned i = 0; i < h->world->plan.links && h->alive && h->life == life; i++)
		wire_break(&way->wires[i], "the slot is another server's");
}

static void
slots_move(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	struct world *w = h->world;
	bool moving[CORE_SLOTS_MAX];
	(void)data;
	if (!h->alive || h->life != life)
		return;
	if (h->paused_until_us > w->now_us) {
		schedule_again(&w->schedule, h->paused_until_us);
		return;
	}
	/* A move of another slot may come of what these are told; it has a turn of its own. */
	memcpy(moving, h->moving, sizeof(moving));
	for (unsigned i = 0; i < CORE_SLOTS_MAX && h->alive && h->life == life; i++)
		if (moving[i])
			slot_leave(h, i);
	if (!h->alive || h->life != life)
		return;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		if (!moving[i])
			continue;
		h->place[i] = h->moves[i];
		h->moving[i] = false;
	}
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		if (!moving[i] || h->place[i] == PLAN_MASTERS_MAX)
			continue;
		struct route *way = &h->ways[h->place[i]];
		trace_line(&w->trace, w->now_us, "d%u     slot %u is m%u", h->index, i, h->place[i]);
		for (unsigned k = 0; k < w->plan.links; k++)
			wire_connect(&way->wires[k]);
		inbox_connect(&way->inbox);
	}
}

void
change_move(struct host *h, const struct action *a)
{
	struct world *w = h->world;
	const struct move *move = &a->u.move;
	bool waits = false;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		waits |= h->moving[i];
	h->moves[move->master] = move->place.n > 0 ? place_server(move->place) : PLAN_MASTERS_MAX;
	h->moving[move->master] = true;
	trace_line(&w->trace, w->now_us, "d%u     slot %u moves to %.*s", h->index, move->master,
		(int)move->place.n, move->place.n > 0 ? move->place.p : "");
	if (!waits)
		world_after(w, 0, slots_move, h, h->life, NULL);
}

void
change_deafens(struct host *h, const struct vote *v)
{
	struct vote unknown = {.op = v->op,
		.outcome = OUTCOME_UNKNOWN,
		.master = v->master,
		.link = v->link,
		.attempt = v->attempt,
		.name = v->name,
		.hash = v->hash};
	flight_deliver(h, &unknown);
}

/* ---- what operators do ---- */

void
change_reply(struct host *h, const struct reply *reply)
{
	struct world *w = h->world;
	w->change_answered = true;
	leavers_note(w);
	if (reply->type != REPLY_ERROR)
		recovery_changed(w);
	trace_line(&w->trace, w->now_us, "d%u > operator: %s %" PRId64 " %s", h->index,
		reply->type == REPLY_ERROR ? code_word(reply->code) : "generation", reply->n, reply->text);
}

static void
ask(struct host *h, enum masters_op op, unsigned old, const unsigned *new)
{
	static const char *const places[PLAN_MASTERS_MAX] = {
		PLACE "1", PLACE "2", PLACE "3", PLACE "4", PLACE "5"};
	struct world *w = h->world;
	struct masters_change asks = {.op = op};
	uint64_t life = h->life;
	leavers_note(w); /* it may bring one of them back */
	if (h->operator_conn == 0) {
		struct peer peer = {.pid = 1, .uid = 0, .admin = true};
		snprintf(peer.address, sizeof(peer.address), "unix");
		h->operator_conn = ++w->serials;
		host_step(h, &(struct event){.type = EVENT_OPEN, .conn = h->operator_conn, .peer = &peer});
	}
	if (!h->alive || h->life != life)
		return;
	assert(old < PLAN_MASTERS_MAX);
	if (op == MASTERS_REPLACE)
		asks.old = slice_of(places[old]);
	for (unsigned i = 0; op != MASTERS_ABORT && i < (op == MASTERS_ADD ? 2 : 1); i++) {
		asks.places[i] = slice_of(places[new[i]]);
		asks.ways[i] = SLICE("url");
	}
	trace_line(&w->trace, w->now_us, "d%u < operator: %s m%u m%u m%u", h->index,
		op == MASTERS_REPLACE ? "replace"
		: op == MASTERS_ADD   ? "add"
				      : "abort",
		old, new[0], new[1]);
	w->change_answered = false;
	host_step(h, &(struct event){.type = EVENT_MASTERS, .conn = h->operator_conn, .masters = &asks});
}

static struct host *
some_host(struct world *w)
{
	struct host *h = &w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)];
	return h->alive && !h->draining && !h->ending && h->paused_until_us <= w->now_us ? h : NULL;
}

static void
change_turn(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	if (w->phase != PHASE_FAULTS)
		return;
	struct host *h = some_host(w);
	struct set set = set_in_force(w);
	unsigned others[PLAN_MASTERS_MAX + 2] = {0}, n = 0;
	unsigned servers = plan_servers(&w->plan);
	unsigned begin = (unsigned)rng_range(&w->rng, 0, servers - 1);
	for (unsigned i = 0; i < servers; i++)
		if (!is_in(set.member, set.n, (begin + i) % servers))
			others[n++] = (begin + i) % servers;
	int64_t chance = rng_range(&w->rng, 0, 99);
	unsigned old = set.member[rng_range(&w->rng, 0, set.n - 1)];
	if (h != NULL && chance < 12)
		ask(h, MASTERS_ABORT, 0, others);
	else if (h != NULL && set.n + 2 <= w->plan.masters && n >= 2 && chance < 70)
		ask(h, MASTERS_ADD, 0, others);
	else if (h != NULL && n > 0)
		ask(h, MASTERS_REPLACE, old, others);
	world_after(w, rng_range(&w->rng, 0, w->plan.lease_ms * 2000), change_turn, w, 0, NULL);
}

void
change_watch(struct world *w)
{
	if (w->plan.changes)
		world_after(w, rng_range(&w->rng, 0, w->plan.lease_ms * 2000), change_turn, w, 0, NULL);
}

/* One step nearer to the set of the first servers; false: it is that. */
static bool
change_nearer(struct world *w, struct host *h)
{
	struct set set = set_in_force(w);
	unsigned missing[PLAN_MASTERS_MAX + 2] = {0}, n = 0, foreign = PLAN_MASTERS_MAX;
	for (unsigned i = 0; i < w->plan.masters; i++)
		if (!is_in(set.member, set.n, i))
			missing[n++] = i;
	for (unsigned i = 0; i < set.n; i++)
		if (set.member[i] >= w->plan.masters)
			foreign = set.member[i];
	if (n == 0)
		return false;
	if (h != NULL && set.n < w->plan.masters && n >= 2)
		ask(h, MASTERS_ADD, 0, missing);
	else if (h != NULL)
		ask(h, MASTERS_REPLACE, foreign, missing);
	return true;
}

void
change_finish(struct world *w)
{
	int64_t until_us = w->now_us + 30000000 + 12 * guard_us(w);
	if (!w->plan.changes)
		return;
	world_run_until(w, w->now_us + 3000000 + 2 * guard_us(w));
	while (!w->failed && change_nearer(w, some_host(w))) {
		int64_t wait_us = w->now_us + 6000000;
		if (w->now_us > until_us)
			world_fail(w, "set: the masters cannot be changed when all is well");
		do
			world_run_until(w, w->now_us + 100000);
		while (!w->failed && !w->change_answered && w->now_us < wait_us);
		/* The next change begins when the newcomers of this one are admitted. */
		world_run_until(w, w->now_us + 1000000 + guard_us(w));
	}
	w->change_done = true;
	for (unsigned i = 0; i < w->plan.hosts && !w->failed; i++)
		if (w->hosts[i].alive)
			host_crash(&w->hosts[i]);
	world_run_until(w, w->now_us + 2 * guard_us(w));
	for (unsigned i = 0; i < w->plan.hosts && !w->failed; i++)
		if (!w->hosts[i].alive)
			host_start(&w->hosts[i]);
	world_run_until(w, w->now_us + 4 * guard_us(w));
}
