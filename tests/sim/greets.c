/* greets: see greets.h. */
#include "tests/sim/greets.h"

#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

static void
node_read(struct greets *g, struct server *s)
{
	struct store *store = master_store(s->master);
	struct slice text;
	memset(g, 0, sizeof(*g));
	if (store_field(store, SLICE("hf:node"), SLICE("incarnation"), &text) && text.n >= 16)
		memcpy(g->memory, text.p, 16);
	g->admitted = store_field(store, SLICE("hf:node"), SLICE("admitted"), &text) &&
		      slice_equal(text, SLICE("1"));
	g->highest = server_highest(store);
	for (unsigned i = 0; i < s->world->plan.names; i++)
		keys_read(&g->keys[i], s, i);
}

void
greets_before(struct greets *g, struct server *s, const struct call *call)
{
	const struct master_health *health = master_health(s->master);
	g->looked_at = false;
	/* A server that refuses writes may have taken some of them. */
	if ((call->op != CALL_HELLO && call->op != CALL_ADMIT) || health->full || health->readonly ||
		health->misconf || health->loading)
		return;
	node_read(g, s);
	g->looked_at = true;
}

void
greets_lost(struct server *s)
{
	const struct world *w = s->world;
	for (unsigned i = 0; i < w->plan.names; i++)
		if (w->checker.token[i] > s->lost_token)
			s->lost_token = w->checker.token[i];
}

/* How many of the other masters know a token that was granted. */
static unsigned
others_know(const struct server *s, int64_t token)
{
	struct world *w = s->world;
	unsigned n = 0;
	for (unsigned i = 0; i < w->plan.masters; i++)
		n += &w->servers[i] != s && server_highest(master_store(w->servers[i].master)) >= token;
	return n;
}

static void
check_admission(const struct greets *g, const struct greets *now, struct server *s, const struct call *call)
{
	const struct plan *p = &s->world->plan;
	if (!now->admitted || strcmp(g->memory, now->memory) != 0)
		world_fail(s->world, "greets: m%u says that it is admitted, and is not", s->index);
	else if (g->admitted && now->highest != g->highest)
		world_fail(s->world, "greets: an admission raises m%u, which is admitted", s->index);
	else if (!g->admitted && (now->highest < g->highest || now->highest < call->token))
		world_fail(s->world,
			"greets: m%u is admitted with %" PRId64 ", below %" PRId64 " and %" PRId64, s->index,
			now->highest, g->highest, call->token);
	else if (!g->admitted && p->masters > 1 && p->others == 0 && !p->changes &&
		 now->highest < s->lost_token && others_know(s, s->lost_token) + 1 >= plan_majority(p))
		world_fail(s->world,
			"greets: m%u is admitted with %" PRId64 ", and %" PRId64
			" was granted before its loss, which others know",
			s->index, now->highest, s->lost_token);
}

static void
check_greeting(const struct greets *g, const struct greets *now, struct server *s, const struct call *call,
	const struct vote *v)
{
	struct world *w = s->world;
	bool same = strcmp(g->memory, now->memory) == 0;
	if (v->greeting != GREETING_GOOD)
		return;
	if (now->highest <= g->highest)
		world_fail(w, "greets: a greeting leaves no mark at m%u", s->index);
	else if (v->highest != now->highest)
		world_fail(w, "greets: m%u tells the mark %" PRId64 ", and it is %" PRId64, s->index,
			v->highest, now->highest);
	else if (v->admitted != now->admitted || (v->admitted && !master_admitted(s->master)))
		world_fail(w, "greets: m%u says that it is %sadmitted, and by its process it is not so",
			s->index, v->admitted ? "" : "not ");
	else if (g->memory[0] != '\0' && !same && v->admitted)
		world_fail(w, "greets: m%u gives its memory up, and is admitted at once", s->index);
	else if (same && g->admitted != now->admitted)
		world_fail(w, "greets: a greeting %s m%u", now->admitted ? "admits" : "gives up", s->index);
	else if (same && call->mark > g->highest)
		world_fail(w,
			"greets: m%u goes on with a memory that knows %" PRId64 ", and it told %" PRId64,
			s->index, g->highest, call->mark);
}

void
greets_check(const struct greets *g, struct server *s, const struct call *call, const redisReply *reply)
{
	struct greets now;
	struct vote v;
	if (!g->looked_at || call_noscript(reply))
		return;
	call_decode(reply, call, 1, &v);
	if (v.outcome != OUTCOME_YES)
		return;
	node_read(&now, s);
	if (g->memory[0] != '\0' && strcmp(g->memory, now.memory) != 0)
		s->given_up_us = s->world->now_us;
	if (call->op == CALL_ADMIT)
		check_admission(g, &now, s, call);
	else
		check_greeting(g, &now, s, call, &v);
	/* A newcomer to the set forgets what it had. */
	for (unsigned i = 0; i < s->world->plan.names && !s->world->plan.changes; i++)
		if (!keys_equal(&g->keys[i], &now.keys[i]))
			world_fail(s->world, "greets: %s of m%u changes a lease or a queue of %s",
				scripts[script_of(call)].name, s->index, checker_name(i));
}
