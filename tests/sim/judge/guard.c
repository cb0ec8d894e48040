/* guard: see guard.h. */
#include "tests/sim/judge/guard.h"

#include "tests/sim/fault/change.h"
#include "tests/sim/fault/rollout.h"
#include "tests/sim/world/private_master.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>

/* The longest lease and the margin; a daemon's clock may run faster by less than it adds to that. */
static int64_t
guard_us(const struct world *w)
{
	return (rollout_shortest_ms(&w->plan) + w->plan.margin_ms) * 1000;
}

void
guard_taken(struct server *s, const struct call *call)
{
	struct world *w = s->world;
	int64_t since_us = s->ended_us > s->forgot_us ? s->ended_us : s->forgot_us;
	if (call->op != CALL_ACQUIRE || since_us == 0 || w->now_us - since_us >= guard_us(w) ||
		private_master_guarded(s))
		return;
	world_fail(w,
		"guard: m%u grants %.*s, %" PRId64 " us before a guard since it may have forgotten is over",
		s->index, (int)call->name.n, call->name.p, since_us + guard_us(w) - w->now_us);
}

/* Nothing that has happened to it is a reason to take a master for one that may have forgotten. */
static void
check_cause(struct host *h, unsigned master)
{
	struct world *w = h->world;
	struct server *s = host_way(h, master)->server;
	int64_t since_us = w->now_us > 4 * guard_us(w) ? w->now_us - 4 * guard_us(w) : 0;
	bool clock = w->plan.fault[FAULT_FORWARD] ||
		     clock_error_apart_us(&s->drift, since_us, w->now_us) > 0 ||
		     !promised(w, PROMISE_GUARD, PLAN_ANY_NAME);
	if (!w->plan.trusted || w->plan.others > 0 || w->plan.replicas > 0 || clock || s->ended_us != 0 ||
		s->forgot_us != 0 || !change_stayed(w, s))
		return;
	world_fail(w, "guard: d%u says that m%u may have forgotten, and nothing has happened to it", h->index,
		s->index);
}

void
guard_note(struct host *h, const struct note *n)
{
	if (n->type == NOTE_MASTER_GUARDED || n->type == NOTE_MASTER_ADMITTED)
		private_master_hello(h);
	if (n->type == NOTE_MASTER_GUARDED)
		check_cause(h, (unsigned)n->master);
}
