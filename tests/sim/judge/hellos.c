/* hellos: see hellos.h. */
#include "tests/sim/judge/hellos.h"

#include "daemon/redis/vote.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
text_read(struct store *store, const char *field, char *out, size_t size)
{
	struct slice text;
	if (store_field(store, SLICE("hf:node"), slice_of(field), &text) && text.n < size)
		memcpy(out, text.p, text.n);
}

/* "<deadline> <longest lease> <guarded lease> ..." */
static void
terms_read(struct hellos *g, struct slice registration)
{
	long long wanted_lease_ms = 0, guarded_lease_ms = 0;
	char text[64];
	snprintf(text, sizeof(text), "%.*s", (int)registration.n, registration.p);
	(void)sscanf(text, "%*d %lld %lld", &wanted_lease_ms, &guarded_lease_ms);
	g->wanted_lease_ms = wanted_lease_ms > g->wanted_lease_ms ? wanted_lease_ms : g->wanted_lease_ms;
	g->guarded_lease_ms = guarded_lease_ms < g->guarded_lease_ms ? guarded_lease_ms : g->guarded_lease_ms;
}

/* Which other daemons are registered and live, by the clock of the master, and which say that it jumped. */
static void
others_read(struct hellos *g, struct server *s, const char *me)
{
	struct slice field, value;
	int64_t now_us = server_wall_us(s);
	g->guarded_lease_ms = INT64_MAX;
	for (size_t i = 0; store_pair(master_store(s->master), now_us, SLICE("hf:node"), i, &field, &value);
		i++) {
		if (field.n < 2 || field.p[1] != ':' ||
			slice_equal((struct slice){field.p + 2, field.n - 2}, slice_of(me)) ||
			strtoll(value.p, NULL, 10) <= now_us)
			continue;
		g->living += field.p[0] == 'd';
		if (field.p[0] == 'd')
			terms_read(g, value);
		g->jumped += field.p[0] == 'l';
	}
}

static void
node_read(struct hellos *g, struct server *s)
{
	struct store *store = master_store(s->master);
	struct slice text;
	memset(g, 0, sizeof(*g));
	if (store_field(store, SLICE("hf:node"), SLICE("incarnation"), &text) && text.n >= 16)
		memcpy(g->memory, text.p, 16);
	g->admitted = store_field(store, SLICE("hf:node"), SLICE("admitted"), &text) &&
		      slice_equal(text, SLICE("1"));
	g->highest = server_highest(store);
	g->longest_ms = server_longest_ms(store);
	text_read(store, "run", g->run, sizeof(g->run));
	text_read(store, "replid", g->replid, sizeof(g->replid));
	text_read(store, "evicted", g->evicted, sizeof(g->evicted));
	for (unsigned i = 0; i < s->world->plan.names; i++)
		keys_read(&g->keys[i], s, i);
}

void
hellos_before(struct hellos *g, struct server *s, const struct call *call, const char *me)
{
	const struct master_health *health = master_health(s->master);
	g->looked_at = false;
	/* A server that refuses writes may have taken some of them. */
	if ((call->op != CALL_HELLO && call->op != CALL_ADMIT) || health->full || health->readonly ||
		health->misconf || health->loading)
		return;
	node_read(g, s);
	others_read(g, s, me);
	snprintf(g->me, sizeof(g->me), "%s", me);
	g->looked_at = true;
}

/* Nothing but clocks can have made it give up its memory: more than half of the living daemons say that they
 * jumped, this one among them. */
static void
check_given_up(const struct hellos *g, const struct hellos *now, struct server *s, const struct call *call)
{
	const struct plan *p = &s->world->plan;
	bool same = strcmp(g->run, now->run) == 0 && strcmp(g->replid, now->replid) == 0 &&
		    strcmp(g->evicted, now->evicted) == 0;
	if (call->op != CALL_HELLO || p->changes || p->others > 0 || p->rolls || !same ||
		g->highest < call->mark)
		return;
	if (call->doubted == 0 || 2 * (g->jumped + 1) <= g->living + 1)
		world_fail(s->world,
			"hellos: m%u gives its memory up, and %u of %u other daemons say that it jumped",
			s->index, g->jumped, g->living);
}

void
hellos_asked(struct host *h, const struct call *call)
{
	if (call->op != CALL_HELLO && call->op != CALL_ADMIT)
		return;
	if (call->guarded_lease_ms < h->guarded_lease_ms)
		world_fail(h->world,
			"hellos: the guards of d%u wait for %" PRId64
			" ms, and it knows of leases of %" PRId64,
			h->index, call->guarded_lease_ms, h->guarded_lease_ms);
	h->guarded_lease_ms = call->guarded_lease_ms;
}

void
hellos_told(struct host *h, const struct vote *vote)
{
	bool told = vote->op == CALL_HELLO && vote->outcome == OUTCOME_YES && vote->hello == HELLO_GOOD;
	if (told && vote->guarded_lease_ms > h->guarded_lease_ms)
		h->guarded_lease_ms = vote->guarded_lease_ms;
}

void
hellos_lost(struct server *s)
{
	struct world *w = s->world;
	for (unsigned i = 0; i < w->plan.names; i++)
		if (w->checker.token[i] > s->lost_token)
			s->lost_token = w->checker.token[i];
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		struct server *other = &w->servers[i];
		bool knows = server_highest(master_store(other->master)) >= s->lost_token;
		other->learnt_us[s->index] = knows ? w->now_us : INT64_MAX;
		s->learnt_us[i] = INT64_MAX;
	}
}

void
hellos_ran(struct server *s)
{
	const struct world *w = s->world;
	for (unsigned i = 0; i < w->plan.masters; i++)
		if (s->learnt_us[i] == INT64_MAX && w->servers[i].lost_token > 0 &&
			server_highest(master_store(s->master)) >= w->servers[i].lost_token)
			s->learnt_us[i] = w->now_us;
}

/* A daemon that ends is registered until nobody relies on its leases, so that those of other limits wait. */
static void
check_leave(const struct hellos *g, struct server *s)
{
	struct world *w = s->world;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (strcmp(h->daemon, g->me) == 0 && held_until_us(h) > w->now_us &&
			promised(w, PROMISE_LEAVE, h->name))
			world_fail(w,
				"hellos: %.6s leaves m%u, and told the holder of %s that it is good for "
				"%" PRId64 " us more",
				g->me, s->index, checker_name(h->name), held_until_us(h) - w->now_us);
}

/* How many of the other masters know the token that it lost, and knew it a lease ago: since then every daemon
 * has asked them. */
static unsigned
others_know(const struct server *s)
{
	struct world *w = s->world;
	int64_t by_us = w->now_us - w->plan.lease_ms * 1000;
	unsigned n = 0;
	for (unsigned i = 0; i < w->plan.masters; i++)
		n += &w->servers[i] != s && w->servers[i].learnt_us[s->index] <= by_us;
	return n;
}

static void
check_admission(const struct hellos *g, const struct hellos *now, struct server *s, const struct call *call)
{
	const struct plan *p = &s->world->plan;
	if (!now->admitted || strcmp(g->memory, now->memory) != 0)
		world_fail(s->world, "hellos: m%u says that it is admitted, and is not", s->index);
	else if (g->admitted && now->highest != g->highest)
		world_fail(s->world, "hellos: an admission raises m%u, which is admitted", s->index);
	else if (!g->admitted && (now->highest < g->highest || now->highest < call->token))
		world_fail(s->world,
			"hellos: m%u is admitted with %" PRId64 ", below %" PRId64 " and %" PRId64, s->index,
			now->highest, g->highest, call->token);
	else if (!g->admitted && p->masters > 1 && p->others == 0 && !p->changes &&
		 now->highest < s->lost_token && others_know(s) + 1 >= plan_majority(p) &&
		 promised(s->world, PROMISE_FLOOR, PLAN_ANY_NAME))
		world_fail(s->world,
			"hellos: m%u is admitted with %" PRId64 ", and %" PRId64
			" was granted before its loss, which others know",
			s->index, now->highest, s->lost_token);
}

/* What it takes from now on, and what it tells the daemon. */
static void
check_terms(const struct hellos *g, const struct hellos *now, struct server *s, const struct call *call,
	const struct vote *v)
{
	struct world *w = s->world;
	int64_t guarded_lease_ms =
		g->guarded_lease_ms < call->guarded_lease_ms ? g->guarded_lease_ms : call->guarded_lease_ms;
	int64_t wanted_lease_ms =
		g->wanted_lease_ms > call->wanted_lease_ms ? g->wanted_lease_ms : call->wanted_lease_ms;
	if (now->longest_ms != v->longest_ms + w->plan.margin_ms)
		world_fail(w, "hellos: m%u tells a longest lease of %" PRId64 " ms, and takes %" PRId64,
			s->index, v->longest_ms, now->longest_ms - w->plan.margin_ms);
	else if (now->longest_ms > g->longest_ms && v->longest_ms > guarded_lease_ms)
		world_fail(w, "hellos: m%u takes leases of %" PRId64 " ms, and a guard waits for %" PRId64,
			s->index, v->longest_ms, guarded_lease_ms);
	else if (v->longest_ms > wanted_lease_ms)
		world_fail(w, "hellos: m%u takes leases of %" PRId64 " ms, which nobody wants", s->index,
			v->longest_ms);
	else if (v->guarded_lease_ms < wanted_lease_ms)
		world_fail(w,
			"hellos: m%u tells to guard %" PRId64 " ms, and some daemon would take %" PRId64,
			s->index, v->guarded_lease_ms, wanted_lease_ms);
}

static void
check_hello(const struct hellos *g, const struct hellos *now, struct server *s, const struct call *call,
	const struct vote *v)
{
	struct world *w = s->world;
	bool same = strcmp(g->memory, now->memory) == 0;
	if (v->hello != HELLO_GOOD)
		return;
	if (now->highest <= g->highest)
		world_fail(w, "hellos: a HELLO leaves no mark at m%u", s->index);
	else if (v->highest != now->highest)
		world_fail(w, "hellos: m%u tells the mark %" PRId64 ", and it is %" PRId64, s->index,
			v->highest, now->highest);
	else if (v->admitted != now->admitted || (v->admitted && !master_admitted(s->master)))
		world_fail(w, "hellos: m%u says that it is %sadmitted, and by its process it is not so",
			s->index, v->admitted ? "" : "not ");
	else if (g->memory[0] != '\0' && !same && v->admitted && !w->plan.rolls)
		world_fail(w, "hellos: m%u gives its memory up, and is admitted at once", s->index);
	else if (same && g->admitted != now->admitted)
		world_fail(w, "hellos: a HELLO %s m%u", now->admitted ? "admits" : "gives up", s->index);
	else if (same && call->mark > g->highest)
		world_fail(w,
			"hellos: m%u goes on with a memory that knows %" PRId64 ", and it told %" PRId64,
			s->index, g->highest, call->mark);
	else
		check_terms(g, now, s, call, v);
}

void
hellos_check(const struct hellos *g, struct server *s, const struct call *call, const redisReply *reply)
{
	struct hellos now;
	struct vote v;
	if (!g->looked_at || call_noscript(reply))
		return;
	call_decode(reply, call, 1, &v);
	if (v.outcome != OUTCOME_YES)
		return;
	node_read(&now, s);
	if (g->memory[0] != '\0' && strcmp(g->memory, now.memory) != 0) {
		s->given_up_us = s->world->now_us;
		check_given_up(g, &now, s, call);
	}
	if (call->op == CALL_ADMIT)
		check_admission(g, &now, s, call);
	else if (call->leaves)
		check_leave(g, s);
	else
		check_hello(g, &now, s, call, &v);
	/* A newcomer to the set forgets what it had. */
	for (unsigned i = 0; i < s->world->plan.names && !s->world->plan.changes; i++)
		if (!keys_equal(&g->keys[i], &now.keys[i]))
			world_fail(s->world, "hellos: %s of m%u changes a lease or a queue of %s",
				scripts[script_of(call)].name, s->index, checker_name(i));
}
