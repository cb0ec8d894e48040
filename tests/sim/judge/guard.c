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

/* Surely; a greeting is forgotten after a guard, and a daemon that ends may have taken it back. */
static bool
is_registered(struct host *h, const struct server *s)
{
	for (unsigned i = 0; i < core_members(h->core) && !h->draining; i++)
		if (host_way(h, i)->server == s)
			return h->leaps[i].greeted_us > h->born_us &&
			       h->world->now_us - h->leaps[i].greeted_us < guard_us(h->world);
	return false;
}

/* The hosts of more than half of the daemons that live, and are registered there, have stood still: to them
 * its clock leapt. */
static bool
most_stood_still(struct world *w, const struct server *s)
{
	unsigned still = 0, others = 0;
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		struct host *h = &w->hosts[i];
		still += h->alive && h->stunned_us != 0;
		others += h->alive && h->stunned_us == 0 && is_registered(h, s);
	}
	return still > 0 && still >= others;
}

/* Nothing that has happened to it is a reason to take a master for one that may have forgotten. */
static void
check_cause(struct host *h, unsigned master)
{
	struct world *w = h->world;
	struct server *s = host_way(h, master)->server;
	const bool *fault = w->plan.fault;
	int64_t since_us = w->now_us > 4 * guard_us(w) ? w->now_us - 4 * guard_us(w) : 0;
	bool clock = fault[FAULT_FORWARD] || fault[FAULT_BACK] || fault[FAULT_LEAP] || fault[FAULT_FAST] ||
		     clock_error_apart_us(&s->drift, since_us, w->now_us) > 0;
	s->leapt |= most_stood_still(w, s);
	if (!w->plan.trusted || w->plan.others > 0 || w->plan.replicas > 0 || clock || s->ended_us != 0 ||
		s->forgot_us != 0 || s->leapt || !change_stayed(w, s))
		return;
	world_fail(w, "guard: d%u says that m%u may have forgotten, and nothing has happened to it", h->index,
		s->index);
}

static uint64_t
memory_of(const struct host *h, unsigned master)
{
	struct master_view view;
	core_view_master(h->core, host_ms(h), master, &view);
	return view.incarnation;
}

/* Another memory than the one whose clock leapt was guarded since then, unless the daemon hears of it only
 * now that its guard is over: the clock may have leapt once more. Where the set is changed, masters change
 * their places. */
static bool
is_trusted_again(const struct host *h, const struct note *n)
{
	unsigned master = (unsigned)n->master;
	if (h->world->plan.changes)
		return n->type == NOTE_MASTER_ADMITTED;
	return memory_of(h, master) != h->shunned[master] &&
	       (n->type == NOTE_MASTER_GUARDED || !h->leaps[master].doubted);
}

void
guard_note(struct host *h, const struct note *n)
{
	if (n->type == NOTE_MASTER_GUARDED || n->type == NOTE_MASTER_ADMITTED) {
		private_master_greeted(h);
		if (is_trusted_again(h, n))
			h->shuns_us[n->master] = 0;
	}
	if (n->type == NOTE_MASTER_LEAPT) {
		h->shuns_us[n->master] = h->world->now_us;
		h->shunned[n->master] = h->leaps[n->master].memory;
	} else if (n->type == NOTE_MASTER_GUARDED) {
		check_cause(h, (unsigned)n->master);
	}
}

bool
guard_shuns(const struct host *h, unsigned master)
{
	return h->shuns_us[master] != 0 && h->world->now_us - h->shuns_us[master] < guard_us(h->world);
}

/* What was given before the leap is good for no longer than it would have been. Of the time that its host
 * stood still since it asked, as much as the margin need not show, and the keys outlive the lease by that. */
static bool
ends_in_time(const struct host *h, const struct asking *a, int64_t ttl_ms)
{
	const struct world *w = h->world;
	int64_t margin_us = w->plan.margin_ms * 1000;
	int64_t still_us = clock_error_gained_us(&h->still, a->asked_us, w->now_us);
	int64_t hidden_us = still_us < margin_us ? still_us : margin_us;
	return w->now_us + ttl_ms * 1000 <= a->asked_us + w->plan.lease_ms * 1000 + hidden_us;
}

void
guard_leased(struct host *h, unsigned name, int64_t ttl_ms)
{
	struct world *w = h->world;
	const struct asking *a = &w->progress.asking[h->index][name];
	unsigned sound = 0, members = core_members(h->core);
	bool in_time = ends_in_time(h, a, ttl_ms);
	if (w->plan.replicas > 0)
		return;
	for (unsigned i = 0; i < members; i++)
		sound += !guard_shuns(h, i) || (h->shuns_us[i] > a->asked_us && in_time);
	if (sound < members / 2 + 1)
		world_fail(w,
			"guard: d%u gets a lease of %s, and to it the clocks of all but %u masters leapt",
			h->index, checker_name(name), sound);
}
